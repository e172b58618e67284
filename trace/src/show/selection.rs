//! Which events a picture shows.
use crate::History;
use std::collections::{BTreeMap, BTreeSet};

/// Some events of a trace, in causal order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// The places of the events, ascending.
    pub places: Vec<usize>,
    /// How many chosen events come before these and are not shown.
    pub before: usize,
    /// How many come after.
    pub after: usize,
    /// The event that it was made for, if it was made for one.
    pub about: Option<usize>,
    /// The event whose causal past is marked: what did not happen before it is drawn faintly.
    pub past_of: Option<usize>,
    /// Events that are highlighted, with what is written beside them.
    pub marked: BTreeMap<usize, String>,
    /// Pairs of events that nothing orders, joined by a line.
    pub unordered: Vec<(usize, usize)>,
}

/// What part of a selection to show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bounds {
    /// Not what comes before this event.
    pub from: Option<usize>,
    /// Not what comes after this event.
    pub to: Option<usize>,
    /// As much on either side of this event as there is room for.
    pub around: Option<usize>,
    /// At most this many events: the first of them, or the last where only [`to`](Self::to) is given.
    pub most: Option<usize>,
}

impl Selection {
    /// Every event.
    #[must_use]
    pub fn all(history: &History) -> Self {
        Self { places: (0..history.events.len()).collect(), ..Self::default() }
    }

    /// An event and all that is known to have happened before it.
    #[must_use]
    pub fn past(history: &History, event: usize) -> Self {
        Self { places: history.past(event).chain([event]).collect(), about: Some(event), ..Self::default() }
    }

    /// An event and all that it is known to have happened before.
    #[must_use]
    pub fn future(history: &History, event: usize) -> Self {
        Self {
            places: [event].into_iter().chain(history.future(event)).collect(),
            about: Some(event),
            ..Self::default()
        }
    }

    /// Only those that `keep` says; the order among them stays.
    #[must_use]
    pub fn only(mut self, keep: impl Fn(usize) -> bool) -> Self {
        self.places.retain(|place| keep(*place));
        self
    }

    /// The part of it that lies within bounds, and how much does not.
    ///
    /// # Example: the middle of five
    /// ```
    /// use stillpoint_trace::Sketch;
    /// use stillpoint_trace::show::{Bounds, Selection};
    /// let mut sketch = Sketch::new(&["a", "b"]);
    /// (0..5).for_each(|tag| drop(sketch.local(0, tag)));
    /// let middle = Selection::all(&sketch.history()).within(Bounds { around: Some(2), most: Some(3), ..Bounds::default() });
    /// assert_eq!((middle.places, middle.before, middle.after), (vec![1, 2, 3], 1, 1));
    /// ```
    #[must_use]
    pub fn within(self, bounds: Bounds) -> Self {
        let Self { places, before, after, about, past_of, marked, unordered } = self;
        let first = bounds.from.map_or(0, |from| places.partition_point(|place| *place < from));
        let end = bounds.to.map_or(places.len(), |to| places.partition_point(|place| *place <= to)).max(first);
        let room = bounds.most.unwrap_or(usize::MAX).min(end - first);
        let start = match bounds.around {
            Some(event) => {
                let at = places.partition_point(|place| *place < event).clamp(first, end);
                at.saturating_sub(room / 2).clamp(first, end - room)
            }
            // What leads to an event ends with it.
            None if bounds.to.is_some() && bounds.from.is_none() => end - room,
            None => first,
        };
        Self {
            places: places[start..start + room].to_vec(),
            before: before + start,
            after: after + places.len() - start - room,
            about: bounds.around.or(about).or(bounds.to.filter(|_| bounds.from.is_none())),
            past_of,
            marked,
            unordered,
        }
    }

    /// The nodes that have an event in it.
    #[must_use]
    pub fn nodes(&self, history: &History) -> BTreeSet<u8> {
        self.places.iter().map(|place| history.events[*place].id.node).collect()
    }

    /// `events 1 to 200 of 9000`, or nothing if all are shown.
    #[must_use]
    pub fn extent(&self) -> Option<String> {
        let total = self.before + self.places.len() + self.after;
        let shown = self.places.len();
        (shown < total).then(|| match shown {
            0 => format!("none of {total} events"),
            _ => format!("events {} to {} of {total}", self.before + 1, self.before + shown),
        })
    }
}

//! Causality: synchronisation, and what flows through shared objects (Hyder 3.4, definition 3-11).
//!
//! A trace is read in the order that messages and calls make, *synchronisation*. An access of a shared object depends on
//! others as well: a read on the write that it sees, a write on the write and the reads before it. [`History::causality`]
//! adds these dependences. Races are what synchronisation leaves unordered, so they are looked for without them.
mod serial;
mod stream;
#[cfg(test)]
mod tests;

use crate::local::is_beyond;
use crate::order::clock::newer;
use crate::pattern::last_up_to;
use crate::{Event, History, Past, Why};
use serial::Accesses;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap};
use stillpoint_core::EventKind;
pub use stream::CausalityStream;

impl History {
    /// The same events ordered by causality: each comes after what it depends on through messages, calls and shared objects.
    ///
    /// # Example: a read depends on the write that it sees
    /// ```
    /// use stillpoint_core::{Event, EventKind};
    /// use stillpoint_trace::Sketch;
    /// let mut sketch = Sketch::new(&["a", "b"]);
    /// let write = sketch.event(0, Event { kind: EventKind::Access, arg: 5, value: 1 });
    /// let read = sketch.event(1, Event { kind: EventKind::Access, arg: 5, value: 0 });
    /// let (sync, causality) = (sketch.history(), sketch.history().causality());
    /// let before = |history: &stillpoint_trace::History| {
    ///     history.before(history.index_of(write).unwrap(), history.index_of(read).unwrap())
    /// };
    /// assert_eq!((before(&sync), before(&causality)), (false, true));
    /// ```
    #[must_use]
    pub fn causality(self) -> Self {
        if !self.events.iter().any(|event| event.kind() == EventKind::Access) {
            return self;
        }
        let accesses = serial::accesses(&self);
        if accesses.before.is_empty() && accesses.missing.is_empty() {
            return self;
        }
        let sync = sync_causes(&self);
        let places = sorted(&self, &sync, &accesses);
        rebuilt(&self, &sync, accesses, &places)
    }
}

/// For each event, the events immediately before it: on its node, through messages and calls, and through shared objects.
pub(crate) fn causes(history: &History) -> Vec<Vec<usize>> {
    let mut causes = sync_causes(history);
    for (place, before) in &history.data {
        causes[*place].extend(before);
    }
    causes
}

/// For each event, the last event before it on its node, its send, and what else its clock has news of.
fn sync_causes(history: &History) -> Vec<Vec<usize>> {
    let mut last: Vec<Option<usize>> = vec![None; history.width()];
    let mut causes = Vec::with_capacity(history.events.len());
    for (place, event) in history.events.iter().enumerate() {
        let node = usize::from(event.id.node);
        let before = last[node].replace(place);
        let send = event.partner.filter(|_| event.kind() == EventKind::Receive).and_then(|id| history.index_of(id));
        let mut of: Vec<usize> = before.into_iter().chain(send).collect();
        let clock = history.clock(place);
        let told = |other: usize| of.iter().any(|from| !newer(clock[other], history.clock(*from)[other]));
        let news: Vec<usize> =
            (0..clock.len()).filter(|other| *other != node && clock[*other] != 0 && !told(*other)).collect();
        of.extend(news.into_iter().filter_map(|other| last_up_to(history, other as u8, clock[other])));
        causes.push(of);
    }
    causes
}

/// The places of all events so that causes come first, as near to the order that they have as can be.
fn sorted(history: &History, sync: &[Vec<usize>], accesses: &Accesses) -> Vec<usize> {
    let count = history.events.len();
    let (mut left, mut followers) = (vec![0_usize; count], vec![Vec::new(); count]);
    for place in 0..count {
        let through = accesses.before.get(&place).into_iter().flatten();
        for from in sync[place].iter().chain(through) {
            left[place] += 1;
            followers[*from].push(place);
        }
    }
    let mut ready: BinaryHeap<Reverse<usize>> = (0..count).filter(|place| left[*place] == 0).map(Reverse).collect();
    let mut done = vec![false; count];
    let mut places = Vec::with_capacity(count);
    let mut next = 0;
    while places.len() < count {
        // Dependences that contradict each other, of a damaged log, are passed over: the first in the order as it is goes on.
        let place = ready.pop().map_or_else(
            || {
                while done[next] {
                    next += 1;
                }
                next
            },
            |Reverse(place)| place,
        );
        if std::mem::replace(&mut done[place], true) {
            continue;
        }
        places.push(place);
        for follower in &followers[place] {
            left[*follower] = left[*follower].saturating_sub(1);
            if left[*follower] == 0 && !done[*follower] {
                ready.push(Reverse(*follower));
            }
        }
    }
    places
}

/// The events at `places` in that order, with clocks that know what shared objects carry.
fn rebuilt(history: &History, sync: &[Vec<usize>], accesses: Accesses, places: &[usize]) -> History {
    let now: HashMap<usize, usize> = places.iter().enumerate().map(|(at, place)| (*place, at)).collect();
    let mut sorted = history.empty();
    let mut tainted: Vec<Option<Why>> = Vec::with_capacity(places.len());
    let mut data: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (at, place) in places.iter().enumerate() {
        let mut event = history.events[*place];
        let mut clock = history.clock(*place).to_vec();
        let missing = accesses.missing.get(place).map(|node| Why::NotRecorded(*node));
        let mut taint = graver(beyond(&event), missing);
        let through = accesses.before.get(place).into_iter().flatten();
        for from in sync[*place].iter().chain(through).map(|from| now[from]).filter(|from| *from < at) {
            for (mine, other) in clock.iter_mut().zip(sorted.clock(from)) {
                if newer(*other, *mine) {
                    *mine = *other;
                }
            }
            taint = graver(taint, tainted[from]);
        }
        event.past = with(event.past, taint);
        if let Some(before) = accesses.before.get(place) {
            let earlier = before.iter().map(|from| now[from]).filter(|from| *from < at);
            data.insert(at, earlier.collect());
        }
        tainted.push(taint);
        sorted.add(&event, &clock);
    }
    sorted.data = data;
    sorted
}

/// Why an event lies beyond the end of the recording, if it does. So does all that depends on it, through objects too.
fn beyond(event: &Event) -> Option<Why> {
    match event.past {
        Past::Unknown { why } if is_beyond(event) => Some(why),
        _ => None,
    }
}

/// Of two reasons the one that there is, and of those the one that puts an event beyond the end of the recording.
fn graver(one: Option<Why>, other: Option<Why>) -> Option<Why> {
    let after = other.filter(|why| matches!(why, Why::After(_)));
    one.filter(|why| after.is_none() || matches!(why, Why::After(_))).or(other)
}

/// What is known of the past of an event if that is missing, too.
fn with(past: Past, missing: Option<Why>) -> Past {
    let all = match past {
        Past::Known => missing,
        Past::Unknown { why } => graver(Some(why), missing),
    };
    all.map_or(Past::Known, |why| Past::Unknown { why })
}

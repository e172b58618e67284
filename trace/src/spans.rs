//! Spans: stretches of a node's program between an `Enter` and a `Leave` of one name (Hyder 8.1.2).
use crate::History;
use std::collections::HashMap;
use stillpoint_core::EventKind;

/// A span of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Whose.
    pub node: u8,
    /// The number of its name.
    pub tag: u16,
    /// The place of its `Enter`.
    pub enter: usize,
    /// The place of its `Leave`; none if the trace does not have it.
    pub leave: Option<usize>,
    /// How many spans of the node were open when it began. Two spans of one depth do not overlap.
    pub depth: usize,
}

impl History {
    /// The spans, by their beginnings. A `Leave` ends the last open span of its name on its node, a reset ends all of them without
    /// one.
    ///
    /// # Example: one inside the other
    /// ```
    /// use stillpoint_core::{Event, EventKind::{Enter, Leave}};
    /// use stillpoint_trace::Sketch;
    /// let mut sketch = Sketch::new(&["a"]);
    /// for (kind, tag) in [(Enter, 1), (Enter, 2), (Leave, 2), (Leave, 1)] {
    ///     sketch.event(0, Event::new(kind, tag));
    /// }
    /// let spans = sketch.history().spans();
    /// let ends: Vec<_> = spans.iter().map(|span| (span.enter, span.leave, span.depth)).collect();
    /// assert_eq!(ends, [(0, Some(3), 0), (1, Some(2), 1)]);
    /// ```
    #[must_use]
    pub fn spans(&self) -> Vec<Span> {
        let mut spans: Vec<Span> = Vec::new();
        let mut open: HashMap<u8, Vec<usize>> = HashMap::new();
        for (place, event) in self.events.iter().enumerate() {
            let (node, tag) = (event.id.node, event.what.arg);
            match event.kind() {
                EventKind::Enter => {
                    let open = open.entry(node).or_default();
                    let is_free = |depth: &usize| open.iter().all(|of| spans[*of].depth != *depth);
                    let depth = (0..).find(is_free).unwrap_or(0);
                    open.push(spans.len());
                    spans.push(Span { node, tag, enter: place, leave: None, depth });
                }
                EventKind::Leave => {
                    let open = open.entry(node).or_default();
                    if let Some(at) = open.iter().rposition(|of| spans[*of].tag == tag) {
                        spans[open.remove(at)].leave = Some(place);
                    }
                }
                EventKind::Reset => drop(open.remove(&node)),
                _ => {}
            }
        }
        spans
    }
}

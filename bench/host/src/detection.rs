//! Detection of a conjunction over four nodes.
use crate::callgrind::Work;
use std::hint::black_box;
use stillpoint_core::{Event, EventKind};
use stillpoint_trace::detect::detect;
use stillpoint_trace::{BoardInfo, History, NameInfo, Sketch};

/// How many events.
pub const EVENTS: [usize; 3] = [12_000, 24_000, 48_000];

const CONJUNCTION: &str = "a.x == 1 & b.x == 1 & c.x == 1 & d.x == 1";

/// The name of a count.
pub fn name(events: usize) -> String {
    format!("conjunction over 4 nodes, {events} events")
}

pub fn works() -> Vec<Work> {
    let work = |events| {
        Work::new(name(events), events, move || {
            let history = history(events);
            move || _ = black_box(detect(CONJUNCTION, &history, 5).map(|found| found.possibly))
        })
    };
    EVENTS.map(work).into()
}

/// A token goes round; who has it sets `x` and clears it. So it never holds at two nodes at once, and every event has to be
/// looked at to know that.
fn history(events: usize) -> History {
    let mut sketch = Sketch::new(&["a", "b", "c", "d"]);
    let watch = NameInfo { kind: "watch".into(), number: 0, text: "x".into(), ..NameInfo::default() };
    sketch.header().boards = vec![BoardInfo { names: vec![watch], ..BoardInfo::default() }];
    for node in &mut sketch.header().nodes {
        node.watches = vec![0];
    }
    for turn in 0..events / 4 {
        let node = turn % 4;
        for value in [1, 0] {
            sketch.event(node, Event { kind: EventKind::Watch, arg: 0, value });
        }
        sketch.message(node, (node + 1) % 4);
    }
    sketch.history()
}

#[cfg(test)]
mod tests {
    use super::*;
    use stillpoint_trace::detect::Answer;

    #[test]
    fn what_never_holds_at_once_is_not_found_and_what_does_is() {
        let history = history(4_000);
        assert_eq!(history.events.len(), 4_000);
        let possibly = |expression| detect(expression, &history, 5).map(|found| found.possibly);
        assert_eq!(possibly(CONJUNCTION), Ok(Answer::No));
        assert_eq!(possibly("a.x == 0 & b.x == 0 & c.x == 0 & d.x == 1"), Ok(Answer::Yes));
    }
}

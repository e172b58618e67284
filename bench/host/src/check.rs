//! What the order of accesses costs where there are none, and what it takes to check a run while it goes on.
use crate::callgrind::Work;
use crate::input::{header, pieces};
use crate::order::EVENTS;
use std::fmt::Write as _;
use std::hint::black_box;
use std::time::{Duration, Instant};
use stillpoint_trace::check::{Live, Source, parse};
use stillpoint_trace::{Builder, History, Item, Sketch};

/// The names of the counts.
pub const SYNC: &str = "history by synchronisation, 8 nodes, no shared objects";
pub const CAUSALITY: &str = "history by causality, 8 nodes, no shared objects";
pub const LIVE: &str = "live checks of events in order, 8 nodes, 20 rules";

const NODES: usize = 8;
const TURNS: usize = 4_000;
/// A turn: the token is taken, three more tracepoints, sent and received.
const A_TURN: usize = 6;

pub fn works() -> Vec<Work> {
    let history = |name: &str, order: fn(History) -> History| {
        Work::new(name.into(), EVENTS, move || {
            let pieces = pieces(NODES, EVENTS);
            move || {
                let mut builder = Builder::new(&header(NODES));
                for (node, records) in &pieces {
                    records.iter().for_each(|record| builder.push(*node, 0, Item::Record(*record)));
                }
                black_box(order(builder.finish(None)).events.len());
            }
        })
    };
    let live = Work::new(LIVE.into(), TURNS * A_TURN, || {
        let mut run = Run::new(TURNS);
        move || _ = black_box(run.check())
    });
    vec![history(SYNC, |history| history), history(CAUSALITY, History::causality), live]
}

/// Events a second that are checked, the best of three.
pub fn events_per_second() -> f64 {
    let mut best = Duration::MAX;
    for _ in 0..3 {
        let mut run = Run::new(10 * TURNS);
        let began = Instant::now();
        black_box(run.check());
        best = best.min(began.elapsed());
    }
    (10 * TURNS * A_TURN) as f64 / best.as_secs_f64()
}

/// A token goes round eight nodes; twenty rules say so, and all hold.
struct Run {
    history: History,
    live: Live,
}

impl Run {
    fn new(turns: usize) -> Self {
        let names = ["n0", "n1", "n2", "n3", "n4", "n5", "n6", "n7"];
        let mut sketch = Sketch::new(&names);
        for turn in 0..turns {
            let node = turn % NODES;
            for tag in [7, 8, 8, 9] {
                sketch.local(node, tag);
            }
            sketch.message(node, (node + 1) % NODES);
        }
        let mut text = String::new();
        for node in 1..NODES {
            let _ = writeln!(text, "pred n{node}:trace(7)^i {{ n{}:trace(9)^i }}", node - 1);
            let _ = writeln!(text, "not parallel (n{node}:trace(7), n{}:trace(9))", node - 1);
        }
        text.push_str("pred n0:trace(7)^i { n7:trace(9)^i-1 }\n");
        text.push_str("not parallel (*:trace(7), *:trace(9))\n");
        text.push_str("pred n3:trace(9) { n3:trace(7), n2:send(to_n3), n1:trace(9) }\n");
        text.push_str("pred n5:recv(from_n4) { n4:send(to_n5) }\n");
        text.push_str("pred n6:trace(8) { n0:trace(7), n5:trace(8) }\n");
        text.push_str("not parallel (n0:send(to_n1), n4:send(to_n5))\n");
        let model = parse(&Source { name: "rules".into(), text }).expect("the rules are well formed");
        let history = sketch.history();
        let live = Live::new(&[model], &history.header).expect("the names are there");
        Self { history, live }
    }

    /// Checks every event. Returns how many checks hold for some event.
    fn check(&mut self) -> usize {
        let Self { history, live } = self;
        let check = |at: usize| live.event(&history.events[at], history.clock(at)).len();
        let wrong: usize = (0..history.events.len()).map(check).sum();
        assert_eq!(wrong, 0, "a token that goes round breaks no rule");
        self.live.progress().filter(|check| check.events > 0).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_twenty_rules_are_checked_on_many_events_and_little_is_kept() {
        let mut run = Run::new(400);
        assert_eq!((run.check(), run.live.left().len()), (20, 0));
        assert!(run.live.held() < 100, "{} events are kept", run.live.held());
    }
}

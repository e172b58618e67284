//! Random runs with shared objects, against the transitive closure of what was drawn.
use crate::races::Races;
use crate::{Builder, EventId, History, Item, Sketch};
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use stillpoint_core::shared::{AccessKind, AccessValue};
use stillpoint_core::{Event, EventKind};

const OBJECTS: usize = 2;

/// A run with its two orders by brute force.
struct Run {
    history: History,
    /// As it was read.
    sync_history: History,
    /// The events in the order of the history, by their places in what was drawn.
    drawn: Vec<usize>,
    sync: Vec<Vec<bool>>,
    causality: Vec<Vec<bool>>,
    /// Pairs that conflict: of one object, at least one of them a write, on two nodes.
    conflicts: Vec<(usize, usize)>,
}

fn close(count: usize, direct: &[(usize, usize)]) -> Vec<Vec<bool>> {
    let mut before = vec![vec![false; count]; count];
    for (from, to) in direct {
        before[*from][*to] = true;
    }
    for mid in 0..count {
        for from in 0..count {
            if before[from][mid] {
                let through = before[mid].clone();
                before[from].iter_mut().zip(through).for_each(|(known, more)| *known |= more);
            }
        }
    }
    before
}

/// Node, what, which; each node's clock is off by so many ticks.
fn run_of(nodes: usize, draws: &[(usize, u8, usize)], skew: &[u64]) -> Run {
    let mut sketch = Sketch::new(&["a", "b", "c"][..nodes]);
    let (mut last, mut waiting) = (vec![None; nodes], vec![Vec::new(); nodes * nodes]);
    let (mut sync, mut through, mut conflicts) = (Vec::new(), Vec::new(), Vec::new());
    let mut versions = [0_u8; OBJECTS];
    let mut accesses: Vec<(usize, usize, usize, bool)> = Vec::new();
    let mut ids: Vec<EventId> = Vec::new();
    for (node, what, which) in draws {
        let (node, peer, object) = (node % nodes, which % nodes, which % OBJECTS);
        let now = ids.len();
        let id = match what {
            0 if peer != node => {
                waiting[node * nodes + peer].push(now);
                sketch.send(node, peer)
            }
            1 if peer != node && !waiting[peer * nodes + node].is_empty() => {
                sync.push((waiting[peer * nodes + node].remove(0), now));
                sketch.receive(peer, node)
            }
            2..=5 => {
                let writes = *what < 4;
                versions[object] = (versions[object] + u8::from(writes)) % 64;
                let kind = if writes { AccessKind::Write } else { AccessKind::Read };
                let value = AccessValue { kind, race: false, version: versions[object], place: 0 }.to_bits();
                for (other, of, by, wrote) in &accesses {
                    if *of == object && (writes || *wrote) {
                        through.push((*other, now));
                        if *by != node {
                            conflicts.push((*other, now));
                        }
                    }
                }
                accesses.push((now, object, node, writes));
                sketch.event(node, Event { kind: EventKind::Access, arg: object as u16, value })
            }
            _ => sketch.local(node, 1),
        };
        sync.extend(last[node].replace(now).map(|before| (before, now)));
        ids.push(id);
    }
    let mut builder = Builder::new(sketch.header());
    for (wall, (node, item)) in sketch.items().enumerate() {
        let item = match item {
            Item::Record(mut record) => {
                record.time.0 += skew[usize::from(node) % skew.len()];
                Item::Record(record)
            }
            other => other,
        };
        builder.push(node, wall as u64, item);
    }
    let sync_history = builder.finish(None);
    let history = sync_history.clone().causality();
    let drawn = history.events.iter().map(|event| ids.iter().position(|id| *id == event.id).unwrap()).collect();
    let all: Vec<(usize, usize)> = sync.iter().chain(&through).copied().collect();
    let count = ids.len();
    Run { history, sync_history, drawn, sync: close(count, &sync), causality: close(count, &all), conflicts }
}

/// How many runs: 150, or what `CASES` says.
fn cases() -> usize {
    std::env::var("CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(150)
}

fn each_case(most: usize, skew: u64, mut each: impl FnMut(&Run, &[(usize, u8, usize)])) {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let draws = prop::collection::vec((0..3_usize, 0..7_u8, 0..6_usize), 1..most);
    let strategy = (2..4_usize, draws, prop::collection::vec(0..=skew, 3));
    for _ in 0..cases() {
        let (nodes, draws, skew) = strategy.new_tree(&mut runner).unwrap().current();
        each(&run_of(nodes, &draws, &skew), &draws);
    }
}

fn assert_is_closure(run: &Run, draws: &[(usize, u8, usize)]) {
    for (a, one) in run.drawn.iter().enumerate() {
        for (b, other) in run.drawn.iter().enumerate() {
            let (found, truth) = (run.history.before(a, b), run.causality[*one][*other]);
            assert_eq!(found, truth, "{one} and {other} of {draws:?}");
            assert!(!truth || a < b, "causes come first");
        }
    }
}

#[test]
fn causality_is_the_transitive_closure_of_messages_and_accesses() {
    each_case(40, 0, assert_is_closure);
}

/// Logical times of two cores drift apart; versions do not.
#[test]
fn the_order_of_accesses_does_not_hang_on_the_clocks_of_cores() {
    each_case(50, 40, assert_is_closure);
}

#[test]
fn versions_that_come_round_are_told_apart() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    // Mostly writes of one node to one object, so that others miss whole rounds of versions.
    let draws = prop::collection::vec((0..12_usize, 2..6_u8, Just(0_usize)), 150..220);
    for _ in 0..cases() / 10 {
        let draws = draws.new_tree(&mut runner).unwrap().current();
        let draws: Vec<_> =
            draws.into_iter().map(|(node, what, which)| (node.saturating_sub(9), what, which)).collect();
        assert_is_closure(&run_of(3, &draws, &[0]), &draws);
    }
}

#[test]
fn races_are_looked_for_without_the_order_of_accesses() {
    let mut raced = 0;
    each_case(40, 0, |run, draws| {
        let expected = run.conflicts.iter().filter(|(one, other)| !run.sync[*one][*other]).count() as u64;
        let found = Races::of(&run.sync_history);
        assert_eq!(found.races.iter().map(|race| race.pairs).sum::<u64>(), expected, "{draws:?}");
        raced += expected;
    });
    assert!(raced > 0);
}

#[test]
fn a_run_without_shared_objects_is_left_as_it_is() {
    let mut sketch = Sketch::new(&["a", "b"]);
    (0..3).for_each(|_| {
        sketch.message(0, 1);
    });
    let (sync, causality) = (sketch.history(), sketch.history().causality());
    assert_eq!(sync.events, causality.events);
    assert!((0..sync.events.len()).all(|place| sync.clock(place) == causality.clock(place)));
}

#[test]
fn a_write_that_is_missing_leaves_the_past_unknown() {
    let access = |writes: bool, version| {
        let kind = if writes { AccessKind::Write } else { AccessKind::Read };
        let value = AccessValue { kind, race: false, version, place: 0 }.to_bits();
        Event { kind: EventKind::Access, arg: 1, value }
    };
    let mut sketch = Sketch::new(&["a", "b"]);
    sketch.event(0, access(true, 1));
    sketch.event(1, access(false, 1));
    let known = sketch.event(0, access(true, 2));
    let after = sketch.event(1, access(false, 5));
    let later = sketch.local(1, 9);
    let history = sketch.history().causality();
    let past = |id| history.events[history.index_of(id).unwrap()].past.is_known();
    assert!(past(known) && !past(after) && !past(later));
}

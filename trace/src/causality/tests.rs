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

/// What is drawn, with the pairs of events that follow each other immediately.
struct Drawn {
    sketch: Sketch,
    ids: Vec<EventId>,
    sync: Vec<(usize, usize)>,
    through: Vec<(usize, usize)>,
    conflicts: Vec<(usize, usize)>,
}

/// Node, what, which.
fn draw(nodes: usize, draws: &[(usize, u8, usize)]) -> Drawn {
    let mut sketch = Sketch::new(&["a", "b", "c"][..nodes]);
    let (mut last, mut waiting) = (vec![None; nodes], vec![Vec::new(); nodes * nodes]);
    let (mut sync, mut through, mut conflicts) = (Vec::new(), Vec::new(), Vec::new());
    let (mut versions, mut reads) = ([0_u8; OBJECTS], [0_u8; OBJECTS]);
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
                let since = if writes { std::mem::take(&mut reads[object]) } else { 0 };
                reads[object] = (reads[object] + u8::from(!writes)) % 128;
                let value = AccessValue { kind, race: false, version: versions[object], reads: since, place: 0 };
                let value = value.to_bits();
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
    Drawn { sketch, ids, sync, through, conflicts }
}

/// Each node's clock is off by so many ticks.
fn run_of(nodes: usize, draws: &[(usize, u8, usize)], skew: &[u64]) -> Run {
    let Drawn { mut sketch, ids, sync, through, conflicts } = draw(nodes, draws);
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

fn access(writes: bool, version: u8, reads: u8) -> Event {
    let kind = if writes { AccessKind::Write } else { AccessKind::Read };
    Event {
        kind: EventKind::Access,
        arg: 1,
        value: AccessValue { kind, race: false, version, reads, place: 0 }.to_bits(),
    }
}

fn knows_its_past(history: &History, id: EventId) -> bool {
    history.events[history.index_of(id).unwrap()].past.is_known()
}

#[test]
fn a_write_that_is_missing_leaves_the_past_unknown() {
    let mut sketch = Sketch::new(&["a", "b"]);
    sketch.event(0, access(true, 1, 0));
    sketch.event(1, access(false, 1, 0));
    let known = sketch.event(0, access(true, 2, 1));
    let after = sketch.event(1, access(false, 5, 0));
    let later = sketch.local(1, 9);
    let history = sketch.history().causality();
    let past = |id| knows_its_past(&history, id);
    assert!(past(known) && !past(after) && !past(later));
}

/// Nothing but the versions that a sees tells of the writes of b.
#[test]
fn a_write_is_missed_though_the_recording_has_no_access_of_the_node_that_made_it() {
    let mut sketch = Sketch::new(&["a", "b"]);
    let known = sketch.event(0, access(true, 1, 0));
    sketch.local(1, 9);
    let after = sketch.event(0, access(false, 3, 0));
    let history = sketch.history().causality();
    assert!(knows_its_past(&history, known) && !knows_its_past(&history, after));
}

/// Table 3-2: a write has the number of reads before it; a read that is not recorded is noticed there.
#[test]
fn a_read_that_is_missing_leaves_the_past_of_the_next_write_unknown() {
    let history = |reads: u8| {
        let mut sketch = Sketch::new(&["a", "b"]);
        let mut ids = vec![sketch.event(0, access(true, 1, 0)), sketch.event(1, access(false, 1, 0))];
        ids.extend([sketch.event(0, access(true, 2, reads)), sketch.local(0, 9), sketch.event(1, access(true, 3, 0))]);
        (sketch.history().causality(), ids)
    };
    for (reads, is_known) in [(1, true), (2, false), (0, false)] {
        let (history, ids) = history(reads);
        let known: Vec<bool> = ids.iter().map(|id| knows_its_past(&history, *id)).collect();
        assert_eq!(known, [true, true, is_known, is_known, is_known], "{reads} reads");
    }
}

/// What was read before the recording began is not missing.
#[test]
fn a_recording_that_begins_late_misses_no_read() {
    let mut sketch = Sketch::new(&["a", "b"]);
    let writes = [(0, access(true, 1, 9)), (1, access(false, 1, 0)), (0, access(true, 2, 1)), (1, access(true, 3, 0))];
    let ids: Vec<EventId> = writes.iter().map(|(node, event)| sketch.event(*node, *event)).collect();
    let mut builder = Builder::new(sketch.header());
    for (wall, (node, item)) in sketch.items().enumerate() {
        let Item::Record(mut record) = item else { continue };
        record.number.0 += 100;
        builder.push(node, wall as u64, Item::Record(record));
    }
    let history = builder.finish(None).causality();
    let place = |id: &EventId| history.index_of(EventId { number: id.number + 100, ..*id }).unwrap();
    assert!(ids.iter().all(|id| history.events[place(id)].past.is_known()));
}

/// Of random runs one access is left out, which is not the last of its object: a write, or a read with a write after it, is missed.
#[test]
fn an_access_that_is_left_out_of_a_random_run_is_missed_and_no_order_is_invented() {
    let (mut missed, mut runner) = (0, proptest::test_runner::TestRunner::deterministic());
    let draws = prop::collection::vec((0..3_usize, 2..7_u8, 0..6_usize), 4..30);
    for _ in 0..cases() / 10 {
        // Each node begins with an event that is never left out.
        let begin = (0..3).map(|node| (node, 6, 0));
        let draws: Vec<_> = begin.chain(draws.new_tree(&mut runner).unwrap().current()).collect();
        let whole = run_of(3, &draws, &[0]);
        let accesses: Vec<usize> = (0..draws.len()).filter(|at| draws[*at].1 < 6).collect();
        for left_out in accesses {
            let Drawn { mut sketch, ids, .. } = draw(3, &draws);
            let mut builder = Builder::new(sketch.header());
            for (at, (node, item)) in sketch.items().enumerate() {
                if at != left_out {
                    builder.push(node, at as u64, item);
                }
            }
            let history = builder.finish(None).causality();
            let places: Vec<usize> =
                history.events.iter().map(|event| ids.iter().position(|id| *id == event.id).unwrap()).collect();
            for (a, one) in places.iter().enumerate() {
                for (b, other) in places.iter().enumerate() {
                    let invented = history.before(a, b) && !whole.causality[*one][*other];
                    assert!(!invented, "{one} and {other} without {left_out} of {draws:?}");
                }
            }
            let object = |at: usize| draws[at].2 % OBJECTS;
            let is_next = |at: &usize| draws[*at].1 < 6 && object(*at) == object(left_out);
            let next = (left_out + 1..draws.len()).filter(is_next);
            let witness = if draws[left_out].1 < 4 { next.min() } else { next.filter(|at| draws[*at].1 < 4).min() };
            let Some(witness) = witness else { continue };
            assert!(!knows_its_past(&history, ids[witness]), "{witness} without {left_out} of {draws:?}");
            missed += 1;
        }
    }
    assert!(missed > cases(), "{missed}");
}

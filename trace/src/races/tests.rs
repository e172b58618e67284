//! Races of drawn histories, and of random ones against an order known in another way.
use super::*;
use crate::{BoardInfo, Builder, Item, NameInfo, Sketch};
use proptest::prelude::*;
use std::collections::BTreeSet;
use stillpoint_core::{Event, EventKind};

const OBJECT: u16 = 5;

fn access_of(object: u16, writes: bool, place: u16, version: u8) -> Event {
    let kind = if writes { AccessKind::Write } else { AccessKind::Read };
    let value = AccessValue { kind, race: false, version, reads: 0, place }.to_bits();
    Event { kind: EventKind::Access, arg: object, value }
}

fn access(writes: bool, place: u16) -> Event {
    access_of(OBJECT, writes, place, 0)
}

/// Every racing pair of events, later first.
fn all_pairs(history: &History) -> BTreeSet<(usize, usize)> {
    let mut pairs = BTreeSet::new();
    for of_nodes in objects(history).values() {
        for (index, one) in of_nodes.iter().enumerate() {
            for other in &of_nodes[..index] {
                concurrent::each(history, one, other, |access, class, with, others| {
                    let others = others.iter().filter(|_| class.kind.conflicts(with.kind));
                    pairs.extend(others.map(|other| (access.max(*other), access.min(*other))));
                });
            }
        }
    }
    pairs
}

#[test]
fn a_race_is_told_with_both_lines_both_clocks_and_who_had_the_object_first() {
    let mut sketch = Sketch::new(&["a", "b"]);
    let name = |kind: &str, number, text: &str, place: &str| NameInfo {
        kind: kind.into(),
        number,
        text: text.into(),
        place: Some(place.into()),
    };
    let places =
        [name("place", 1, "", "m.rs:10"), name("place", 2, "", "m.rs:20"), name("shared", OBJECT, "x", "m.rs:1")];
    sketch.header().boards.push(BoardInfo { name: "left".into(), names: places.into(), ..BoardInfo::default() });
    sketch.message(0, 1);
    sketch.event(1, access(false, 2));
    sketch.event(0, access(true, 1));
    let races = Races::of(&sketch.history());
    let [race] = races.races.as_slice() else { panic!("{races:?}") };
    assert_eq!((race.object.as_str(), race.board.as_str(), race.pairs, race.certain), ("x", "left", 1, true));
    assert_eq!(
        (race.first.node.as_str(), race.first.writes, race.first.place.as_deref()),
        ("b", false, Some("m.rs:20"))
    );
    assert_eq!(
        (race.second.node.as_str(), race.second.writes, race.second.place.as_deref()),
        ("a", true, Some("m.rs:10"))
    );
    assert_eq!(race.first.clock, [("a".into(), 1), ("b".into(), 2)]);
    assert_eq!(race.second.clock, [("a".into(), 2)]);
    assert!(races.is_bad());
}

#[test]
fn accesses_that_a_message_orders_do_not_race_nor_do_two_reads_nor_different_objects() {
    let mut sketch = Sketch::new(&["a", "b"]);
    sketch.event(0, access(true, 1));
    sketch.message(0, 1);
    sketch.event(1, access(true, 2));
    sketch.message(1, 0);
    for node in [0, 1, 0, 1] {
        sketch.event(node, access(false, 3));
    }
    sketch.event(1, access_of(OBJECT + 1, true, 4, 0));
    let races = Races::of(&sketch.history());
    assert_eq!((races.races.len(), races.objects, races.accesses), (0, 2, 7));
}

#[test]
fn a_racing_loop_is_one_race_with_all_its_pairs_counted() {
    let mut sketch = Sketch::new(&["a", "b"]);
    for _ in 0..5_000 {
        sketch.event(0, access(true, 1));
        sketch.event(1, access(false, 2));
    }
    let races = Races::of(&sketch.history());
    let pairs: Vec<_> = races.races.iter().map(|race| race.pairs).collect();
    assert_eq!(pairs, [25_000_000]);
}

/// What was sent is lost in a gap: a message that would have ordered the two may be among it.
#[test]
fn what_a_gap_may_have_ordered_is_told_apart_and_is_no_finding() {
    let mut sketch = Sketch::new(&["a", "b"]);
    sketch.event(0, access(true, 1));
    sketch.message(0, 1);
    sketch.event(1, access(false, 2));
    let mut builder = Builder::new(sketch.header());
    for (wall, (node, item)) in sketch.items().enumerate() {
        let is_send = matches!(&item, Item::Record(record) if record.event.kind == EventKind::Send);
        builder.push(node, wall as u64, if is_send { Item::Gap(1) } else { item });
    }
    let races = Races::of(&builder.finish(None));
    assert!(races.races.iter().all(|race| !race.certain) && !races.is_bad(), "{races:?}");
    assert_eq!(races.races.len(), 1, "it may be one all the same");
}

/// A reset of a board makes its objects anew: who had one before does not race with who has it after.
#[test]
fn accesses_in_different_lives_of_a_board_do_not_race() {
    let mut sketch = Sketch::new(&["a", "b"]);
    sketch.event(0, access(true, 1));
    for node in [0, 1] {
        sketch.event(node, Event::new(EventKind::Reset, 1));
    }
    sketch.event(1, access(true, 2));
    assert_eq!(Races::of(&sketch.history()).races, []);
    sketch.event(0, access(true, 1));
    assert_eq!(Races::of(&sketch.history()).races.len(), 1, "in one life they do");
}

#[test]
fn objects_of_two_boards_are_two_objects_whatever_their_numbers() {
    let mut sketch = Sketch::new(&["a", "b"]);
    sketch.header().nodes[1].board = 1;
    sketch.event(0, access(true, 1));
    sketch.event(1, access(true, 2));
    let races = Races::of(&sketch.history());
    assert_eq!((races.races.len(), races.objects), (0, 2));
}

#[test]
fn within_a_tick_the_version_says_who_had_the_object_first() {
    for (writes, versions, first) in [(true, [4, 3], 1), (true, [0, 63], 1), (false, [4, 4], 1), (true, [3, 3], 0)] {
        let mut sketch = Sketch::new(&["a", "b"]);
        sketch.event(0, access_of(OBJECT, writes, 1, versions[0]));
        sketch.event(1, access_of(OBJECT, !writes || versions[0] != versions[1], 2, versions[1]));
        let mut history = sketch.history();
        history.events.iter_mut().for_each(|event| event.time = Some(stillpoint_core::time::Ticks(9)));
        let races = Races::of(&history);
        assert_eq!(races.races[0].first.event.node, first, "{versions:?}");
    }
}

/// A random run: at each step somebody sends, takes what was sent to it, or accesses an object.
#[derive(Clone, Copy, Debug)]
enum Step {
    Send(usize, usize),
    Take(usize, usize),
    Access(usize, u16, bool),
}

fn steps(nodes: usize) -> impl Strategy<Value = Vec<Step>> {
    let pair = move || (0..nodes, 1..nodes).prop_map(move |(one, by)| (one, (one + by) % nodes));
    let step = prop_oneof![
        1 => pair().prop_map(|(from, to)| Step::Send(from, to)),
        2 => pair().prop_map(|(from, to)| Step::Take(from, to)),
        2 => (0..nodes, 0..2_u16, any::<bool>()).prop_map(|(node, object, writes)| Step::Access(node, object, writes)),
    ];
    prop::collection::vec(step, 1..120)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    /// The reference knows each event's past as a set of events, and looks at every pair.
    #[test]
    fn the_races_of_a_random_run_are_its_unordered_conflicting_pairs(run in steps(4)) {
        let mut sketch = Sketch::new(&["a", "b", "c", "d"]);
        let mut pasts: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); 4];
        let mut in_flight: BTreeMap<(usize, usize), std::collections::VecDeque<BTreeSet<usize>>> = BTreeMap::new();
        let (mut count, mut accesses) = (0, Vec::new());
        for step in run {
            let node = match step {
                Step::Send(from, to) => {
                    sketch.send(from, to);
                    let mut past = pasts[from].clone();
                    past.insert(count);
                    in_flight.entry((from, to)).or_default().push_back(past);
                    from
                }
                Step::Take(from, to) => {
                    let Some(past) = in_flight.get_mut(&(from, to)).and_then(|queue| queue.pop_front()) else { continue };
                    sketch.receive(from, to);
                    pasts[to].extend(past);
                    to
                }
                Step::Access(node, object, writes) => {
                    let event = sketch.event(node, access_of(object, writes, node as u16 + 1, 0));
                    accesses.push((event, count, object, writes, pasts[node].clone()));
                    node
                }
            };
            pasts[node].insert(count);
            count += 1;
        }
        let history = sketch.history();
        let mut expected = BTreeSet::new();
        for (index, (event, _, object, writes, past)) in accesses.iter().enumerate() {
            for (other, at, of, also_writes, _) in &accesses[..index] {
                if object == of && (*writes || *also_writes) && !past.contains(at) {
                    let [one, two] = [event, other].map(|event| history.index_of(*event).unwrap());
                    expected.insert((one.max(two), one.min(two)));
                }
            }
        }
        prop_assert_eq!(&all_pairs(&history), &expected);
        let races = Races::of(&history);
        prop_assert_eq!(races.races.iter().map(|race| race.pairs).sum::<u64>(), expected.len() as u64);
        prop_assert!(races.races.iter().all(|race| race.certain));
        for race in &races.races {
            let [one, two] = [&race.first, &race.second].map(|side| history.index_of(side.event).unwrap());
            prop_assert!(expected.contains(&(one.max(two), one.min(two))), "{:?} is shown and is none", race);
        }
    }
}

/// a and b race on x; both then race on y, which only a wrong x makes them touch.
#[test]
fn a_race_that_comes_of_another_is_marked_and_told_after_it() {
    let mut sketch = Sketch::new(&["a", "b", "c"]);
    let [x, y, z] = [1, 2, 3];
    sketch.event(0, access_of(x, true, 1, 1));
    sketch.event(1, access_of(x, true, 2, 2));
    sketch.event(0, access_of(x, false, 3, 2));
    sketch.event(0, access_of(y, true, 4, 1));
    sketch.event(1, access_of(y, true, 5, 2));
    // c has to do with neither: its race with a stands by itself.
    sketch.event(2, access_of(z, true, 6, 1));
    sketch.event(0, access_of(z, true, 7, 2));
    for node in &mut sketch.header().nodes {
        node.board = 0;
    }
    let races = Races::of(&sketch.history()).races;
    let told: Vec<(&str, Option<usize>)> = races.iter().map(|race| (race.object.as_str(), race.affected_by)).collect();
    assert_eq!(told[0], ("1", None), "{told:?}");
    let of = |object: &str| told.iter().filter(|(of, _)| *of == object).map(|(_, by)| *by).collect::<Vec<_>>();
    assert_eq!(of("2"), [Some(1)], "{told:?}");
    assert_eq!(of("3"), [Some(1)], "a brought the wrong x along: {told:?}");
    let affected: Vec<bool> = told.iter().map(|(_, by)| by.is_some()).collect();
    assert!(affected.is_sorted(), "first races first: {told:?}");
}

#[test]
fn races_that_have_nothing_to_do_with_each_other_are_all_first() {
    let mut sketch = Sketch::new(&["a", "b", "c", "d"]);
    sketch.event(0, access_of(1, true, 1, 1));
    sketch.event(1, access_of(1, true, 2, 2));
    sketch.event(2, access_of(2, true, 3, 1));
    sketch.event(3, access_of(2, true, 4, 2));
    let races = Races::of(&sketch.history()).races;
    assert_eq!(races.iter().map(|race| race.affected_by).collect::<Vec<_>>(), [None, None]);
}

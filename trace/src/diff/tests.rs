//! Two runs, drawn by hand.
use super::*;
use crate::{BoardInfo, Builder, Item, Sketch};
use proptest::prelude::*;
use stillpoint_core::{Event as What, EventNumber};

const NODES: [&str; 3] = ["a", "b", "c"];

/// Two clients and a server that takes from both; `first` says whose message it takes first.
fn server(first: usize) -> History {
    let mut sketch = Sketch::new(&NODES);
    sketch.send(0, 2);
    sketch.send(1, 2);
    sketch.receive(first, 2);
    sketch.receive(1 - first, 2);
    sketch.local(2, 9);
    sketch.message(2, 0);
    sketch.history()
}

fn diff(one: &History, other: &History) -> Diff {
    Diff::new(one, other, DiffOptions::default()).unwrap()
}

#[test]
fn a_run_does_not_differ_from_itself() {
    let found = diff(&server(0), &server(0));
    assert_eq!((found.first, found.compared, found.alone), (vec![], 7, [0, 0]));
}

#[test]
fn two_messages_in_another_order_are_found_where_the_first_is_taken() {
    let (one, other) = (server(0), server(1));
    let found = diff(&one, &other);
    let [first] = found.first[..] else { panic!("{found:?}") };
    assert_eq!(one.describe(&one.events[first.one]), "c#1 recv(from_a)");
    assert_eq!(other.describe(&other.events[first.other]), "c#1 recv(from_b)");
    assert_eq!(first.how, How::Action);
}

/// The receive is of the same port in both, but its message was sent by another event, as after a loss.
#[test]
fn the_same_receive_of_another_message_is_a_difference() {
    let mut sketch = Sketch::new(&NODES);
    sketch.send(0, 1);
    sketch.send(0, 1);
    let received = sketch.receive(0, 1);
    let one = sketch.history();
    let at = one.index_of(received).unwrap();
    let mut other = one.clone();
    other.events[at].partner = one.events[at].partner.map(|send| crate::EventId { number: send.number + 1, ..send });
    assert_eq!(diff(&one, &other).first, [Difference { one: at, other: at, how: How::Cause }]);
    other.events[at].partner = None;
    let found = diff(&one, &other);
    assert_eq!((found.first, found.unknown), (vec![], 1), "what is not known is not held against anybody");
}

#[test]
fn what_a_difference_leads_to_is_no_difference_of_its_own() {
    let run = |tag: u16| {
        let mut sketch = Sketch::new(&NODES);
        sketch.local(0, tag);
        sketch.message(0, 1);
        sketch.local(1, tag);
        sketch.local(2, tag);
        sketch.history()
    };
    let (one, other) = (run(1), run(2));
    let found = diff(&one, &other);
    let names: Vec<String> = found.first.iter().map(|first| one.header.event_name(one.events[first.one].id)).collect();
    assert_eq!(names, ["a#1", "c#1"], "b differs because of a; c on its own");
}

#[test]
fn halts_are_not_the_programs_and_values_only_where_asked() {
    let run = |halts: bool, value: u32| {
        let mut sketch = Sketch::new(&NODES);
        sketch.local(0, 1);
        if halts {
            sketch.event(0, What::new(EventKind::Halt, 1));
        }
        sketch.event(0, What { kind: EventKind::Watch, arg: 0, value });
        sketch.history()
    };
    assert!(diff(&run(false, 3), &run(true, 4)).first.is_empty());
    let values = DiffOptions { values: true, ..DiffOptions::default() };
    let found = Diff::new(&run(false, 3), &run(true, 4), values).unwrap();
    assert_eq!(found.first.iter().map(|first| first.how).collect::<Vec<_>>(), [How::Value]);
}

/// Recordings that begin late, or in another epoch, are compared where they overlap.
#[test]
fn lives_are_compared_whatever_their_epochs_are() {
    let run = |epochs: [u32; 2], from: u32| {
        let mut builder = Builder::new(Sketch::new(&NODES).header());
        for (life, epoch) in epochs.into_iter().enumerate() {
            for count in (if life == 0 { from } else { 1 })..=4 {
                let record = stillpoint_core::log::Record {
                    event: What::local(count as u16),
                    number: EventNumber(epoch << 24 | count),
                    time: stillpoint_core::time::Ticks(0),
                    message: None,
                };
                builder.push(0, 0, Item::Record(record));
            }
        }
        builder.finish(None)
    };
    let found = diff(&run([0, 1], 1), &run([4, 7], 3));
    assert_eq!((found.first, found.compared, found.alone), (vec![], 6, [2, 0]));
}

#[test]
fn another_system_or_firmware_is_refused() {
    let (one, mut other) = (server(0), server(0));
    let board =
        |identity: &str| vec![BoardInfo { name: "A".into(), identity: identity.into(), ..BoardInfo::default() }];
    let mut one = one;
    (one.header.boards, other.header.boards) = (board("1234"), board("5678"));
    let error = Diff::new(&one, &other, DiffOptions::default()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "board A ran another firmware: 1234, then 5678; to compare them all the same, use --force"
    );
    assert!(Diff::new(&one, &other, DiffOptions { force: true, ..DiffOptions::default() }).unwrap().first.is_empty());
    let error = Diff::new(&server(0), &Sketch::new(&["x"]).history(), DiffOptions::default()).unwrap_err();
    assert!(error.to_string().contains("one has the nodes a, b, c, the other x"), "{error}");
}

proptest! {
    /// A run of which one tracepoint is changed differs there and nowhere before.
    #[test]
    fn one_changed_event_is_the_first_difference(steps in prop::collection::vec((0..3usize, 0..3usize), 1..60), place in any::<prop::sample::Index>()) {
        let changed = place.index(steps.len());
        let run = |change: bool| {
            let mut sketch = Sketch::new(&NODES);
            let mut id = None;
            for (at, (node, peer)) in steps.iter().enumerate() {
                if at == changed {
                    id = Some(sketch.local(*node, if change { 2 } else { 1 }));
                } else if node == peer {
                    sketch.local(*node, 1);
                } else {
                    sketch.message(*node, *peer);
                }
            }
            (sketch.history(), id.unwrap())
        };
        let ((one, id), (other, _)) = (run(false), run(true));
        let found = diff(&one, &other);
        prop_assert_eq!(found.first.len(), 1);
        prop_assert_eq!(one.events[found.first[0].one].id, id);
        prop_assert!(diff(&one, &one).first.is_empty());
    }
}

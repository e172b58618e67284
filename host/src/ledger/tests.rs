//! A halt whose figures can be computed by hand.
use super::*;
use stillpoint_core::HaltId;
use stillpoint_core::control::StateCode;
use stillpoint_core::time::Counts;

fn node(id: u8, clock: [u32; 4], order: &[u8], time: u64) -> Node {
    Node {
        id: NodeId(id),
        name: 0,
        nodes: 4,
        state: Some(StateCode::Parked),
        last_halt: HaltId(1),
        clock: clock.to_vec(),
        order: order.iter().copied().map(NodeId).collect(),
        undelivered: 0,
        refused: 0,
        delay: Counts(1_000 * u64::from(id)),
        fault: None,
        registers: None,
        time: Counts(time + 90_000),
        stopped: Counts(time),
        ports: Vec::new(),
        watches: Vec::new(),
        slots: Vec::new(),
        stamps: StampKind::Vector,
        recording: None,
        log: (0, 0),
        text: (0, 0),
        is_halted_by_host: false,
    }
}

const EPOCH: u32 = 1 << 24;

fn at(id: u8) -> NodeAddress {
    NodeAddress { board: usize::from(id / 2), core: usize::from(id % 2) }
}

fn of(nodes: &[Node]) -> SkewLedger {
    let pairs: Vec<_> = nodes.iter().map(|node| (at(node.id.0), node)).collect();
    ledger(&pairs, &Names::default(), |_| Some(CounterRate(20_000_000)))
}

/// Node 1 triggers at its event 10, knowing of events 5, 7 and none of the others; they stop at 6, 9 and 4.
fn example() -> [Node; 4] {
    [
        node(0, [EPOCH + 6, EPOCH + 10, 0, 0], &[1, 0], 1_040),
        node(1, [EPOCH + 5, EPOCH + 10, EPOCH + 7, 0], &[1], 1_000),
        node(2, [EPOCH + 5, EPOCH + 8, EPOCH + 9, 0], &[1, 0, 2], 777_000),
        node(3, [0, 0, EPOCH + 9, EPOCH + 4], &[1, 0, 2, 3], 777_200),
    ]
}

#[test]
fn events_after_the_trigger_are_those_its_clock_did_not_know() {
    let ledger = of(&example());
    assert_eq!(ledger.triggers, ["node 1"]);
    let events: Vec<_> = ledger.lines.iter().map(|line| line.events).collect();
    assert_eq!(events, [Some(1), Some(0), Some(2), Some(4)]);
    assert_eq!(ledger.lines[3].path, ["node 1", "node 0", "node 2", "node 3"]);
}

#[test]
fn times_are_compared_on_one_board_only() {
    let ledger = of(&example());
    let after: Vec<_> = ledger.lines.iter().map(|line| line.after.clone().unwrap()).collect();
    assert_eq!((after[0].time, after[0].unit, &*after[0].than), (2.0, "us", "node 1"));
    assert_eq!((after[1].time, &*after[1].than), (0.0, "node 1"));
    assert_eq!((after[2].time, &*after[2].than), (0.0, "node 2"));
    assert_eq!((after[3].time, &*after[3].than), (10.0, "node 2"));
}

/// Each core has gathered another delay in earlier halts, and was read at another time; see `node`.
#[test]
fn earlier_halts_and_the_time_of_reading_do_not_change_the_skew() {
    let skew = |nodes: &[Node]| of(nodes).lines.into_iter().map(|line| line.after.unwrap().time).collect::<Vec<_>>();
    let mut nodes = example();
    let first = skew(&nodes);
    for (halt, node) in nodes.iter_mut().enumerate() {
        node.delay = Counts(316_000 * halt as u64);
        node.time = Counts(50_000_000 + 77 * halt as u64);
    }
    assert_eq!(skew(&nodes), first);
}

#[test]
fn stops_on_both_sides_of_the_counters_wrap_are_not_compared() {
    let mut nodes = example();
    nodes[1].stopped = Counts((1 << 40) - 20);
    assert_eq!(of(&nodes).lines[0].after, None);
    assert!(of(&nodes).lines[1].after.is_some(), "a node is comparable with itself");
}

#[test]
fn two_triggers_are_both_named_and_each_counts_from_its_own() {
    let mut nodes = example();
    nodes[2].order = vec![NodeId(2)];
    nodes[3].order = vec![NodeId(2), NodeId(3)];
    let ledger = of(&nodes);
    assert_eq!(ledger.triggers, ["node 1", "node 2"]);
    assert_eq!(ledger.lines[2].events, Some(0));
    assert_eq!(ledger.lines[3].events, Some(4));
}

#[test]
fn a_halt_that_the_host_commands_is_measured_against_the_node_that_was_rung_first() {
    let mut nodes = example();
    for (node, order) in nodes.iter_mut().zip([&[0][..], &[1], &[2], &[2, 3]]) {
        node.order = order.iter().copied().map(NodeId).collect();
        node.is_halted_by_host = order.len() == 1;
    }
    let ledger = of(&nodes);
    assert_eq!(ledger.triggers, ["host"]);
    // Node 0 knows of all events of node 1, none of node 2 and none of node 3.
    let events: Vec<_> = ledger.lines.iter().map(|line| line.events).collect();
    assert_eq!(events, [Some(0), Some(0), Some(9), Some(4)]);
    assert_eq!(ledger.lines[1].path, ["host", "node 1"]);
    assert_eq!(ledger.lines[3].path, ["host", "node 2", "node 3"]);
}

#[test]
fn an_event_that_began_a_halt_stays_its_trigger_where_the_host_helped_along() {
    let mut nodes = example();
    (nodes[2].order, nodes[2].is_halted_by_host) = (vec![NodeId(2)], true);
    let ledger = of(&nodes);
    assert_eq!(ledger.triggers, ["node 1"]);
    assert_eq!(ledger.lines[2].events, Some(2), "counted from the event of node 1");
    assert_eq!(ledger.lines[2].path, ["host", "node 2"]);
}

#[test]
fn nothing_is_claimed_where_stamps_or_a_reset_do_not_tell() {
    let mut nodes = example();
    nodes[0].clock[0] = 2 * EPOCH + 1;
    assert_eq!(of(&nodes).lines[0].events, None);
    for node in &mut nodes {
        node.stamps = StampKind::Event;
    }
    assert_eq!(of(&nodes).lines[2].events, None);
}

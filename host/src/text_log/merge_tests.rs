//! Random systems whose nodes log, send and receive while their rings are read one after the other.
use super::*;
use proptest::prelude::*;
use std::collections::{BTreeSet, VecDeque};

const NODES: usize = 3;

/// What happens next.
#[derive(Clone, Copy, Debug)]
enum Step {
    Log(usize),
    Event(usize),
    Send(usize, usize),
    Receive(usize, usize),
    /// The next ring is read; behind the last one the round ends.
    Read,
}

fn step() -> impl Strategy<Value = Step> {
    let (node, other) = (0..NODES, 0..NODES);
    prop_oneof![
        4 => node.clone().prop_map(Step::Log),
        1 => node.clone().prop_map(Step::Event),
        3 => (node.clone(), other.clone()).prop_map(|(from, to)| Step::Send(from, to)),
        4 => (node, other).prop_map(|(from, to)| Step::Receive(from, to)),
        2 => Just(Step::Read),
    ]
}

/// The stamp of a message, and the lines that were written before it was sent.
type Message = ([u32; NODES], BTreeSet<usize>);

/// A system that knows which lines came before which, not by clocks but because every message tells all of them.
struct World {
    vector: bool,
    clocks: [[u32; NODES]; NODES],
    known: [BTreeSet<usize>; NODES],
    channels: [[VecDeque<Message>; NODES]; NODES],
    rings: [VecDeque<Pending>; NODES],
    /// The lines before each line.
    past: Vec<BTreeSet<usize>>,
    next_ring: usize,
    merge: Merge,
    out: Vec<(usize, usize)>,
}

impl World {
    fn new(vector: bool) -> Self {
        Self {
            vector,
            clocks: [[0; NODES]; NODES],
            known: Default::default(),
            channels: Default::default(),
            rings: Default::default(),
            past: Vec::new(),
            next_ring: 0,
            merge: Merge::new((0..NODES).map(|id| NodeId(id as u8))),
            out: Vec::new(),
        }
    }

    fn take(&mut self, step: Step) {
        match step {
            Step::Log(node) => {
                let line = self.past.len();
                self.past.push(self.known[node].clone());
                self.known[node].insert(line);
                let clock = self.clocks[node];
                // Times of nodes are no help: each has its own, and some run backwards against the others.
                let time = Some((line as u64).wrapping_mul([1, 7, 3][node]) % 1000);
                let clock_known = clock[node] != 0;
                self.rings[node].push_back(Pending {
                    number: clock_known.then_some(clock[node]),
                    clock: clock_known.then(|| clock.to_vec()),
                    time,
                    said: Said::Damaged(line.to_string()),
                    bound: None,
                });
            }
            Step::Event(node) => self.clocks[node][node] += 1,
            Step::Send(from, to) if from != to => {
                self.clocks[from][from] += 1;
                let message = (self.clocks[from], self.known[from].clone());
                self.channels[from][to].push_back(message);
            }
            Step::Receive(from, to) => {
                let Some((stamp, lines)) = self.channels[from][to].pop_front() else { return };
                self.clocks[to][to] += 1;
                for node in (0..NODES).filter(|node| *node != to && (self.vector || *node == from)) {
                    self.clocks[to][node] = self.clocks[to][node].max(stamp[node]);
                }
                self.known[to].extend(lines);
            }
            Step::Read => self.read_one(),
            Step::Send(..) => {}
        }
    }

    fn read_one(&mut self) {
        let place = self.next_ring;
        while let Some(pending) = self.rings[place].pop_front() {
            self.merge.push(place, pending);
        }
        self.next_ring = (place + 1) % NODES;
        if self.next_ring == 0 {
            let out = &mut self.out;
            self.merge.release(|place, pending| {
                let Said::Damaged(line) = pending.said else { return };
                out.push((place, line.parse().unwrap()));
            });
        }
    }

    /// Reads on until nothing waits any more.
    fn finish(&mut self) {
        // What is blocked by a line of the round before comes one round later, and so on along a chain of nodes.
        (0..NODES * (NODES + 2)).for_each(|_| self.read_one());
        if self.next_ring != 0 {
            (self.next_ring..NODES).for_each(|_| self.read_one());
        }
    }

    fn check(&self) {
        let place: Vec<usize> = self.out.iter().map(|(_, line)| *line).collect();
        let all: BTreeSet<usize> = place.iter().copied().collect();
        assert_eq!((place.len(), all.len()), (self.past.len(), self.past.len()), "every line once: {place:?}");
        for node in 0..NODES {
            let mine: Vec<usize> = self.out.iter().filter(|(of, _)| *of == node).map(|(_, line)| *line).collect();
            assert!(mine.is_sorted(), "node {node} keeps its order: {mine:?}");
        }
        let mut seen: BTreeSet<usize> = BTreeSet::new();
        for (_, line) in &self.out {
            if self.vector {
                let missing: Vec<_> = self.past[*line].difference(&seen).collect();
                assert!(missing.is_empty(), "{missing:?} came before {line}: {place:?}");
            }
            seen.insert(*line);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn no_line_comes_before_one_that_a_chain_of_messages_puts_before_it(
        steps in proptest::collection::vec(step(), 0..120),
    ) {
        let mut world = World::new(true);
        // Every node has started, so that every line has a clock.
        (0..NODES).for_each(|node| world.take(Step::Event(node)));
        steps.into_iter().for_each(|step| world.take(step));
        world.finish();
        world.check();
    }

    #[test]
    fn lines_without_a_clock_and_clocks_of_event_stamps_keep_nothing_back(
        steps in proptest::collection::vec(step(), 0..120),
    ) {
        let mut world = World::new(false);
        steps.into_iter().for_each(|step| world.take(step));
        world.finish();
        world.check();
    }
}

fn line(number: u32, clock: [u32; 2], time: u64) -> Pending {
    let said = Said::Damaged(time.to_string());
    Pending { number: Some(number), clock: Some(clock.to_vec()), time: Some(time), said, bound: None }
}

/// Pushes, ends two rounds, and says in which order the times came out.
fn order(lines: Vec<(usize, Pending)>) -> Vec<u64> {
    let mut merge = Merge::new([NodeId(0), NodeId(1)].into_iter());
    lines.into_iter().for_each(|(place, line)| merge.push(place, line));
    let mut out = Vec::new();
    (0..2).for_each(|_| merge.release(|_, pending| out.extend(pending.time)));
    out
}

#[test]
fn what_is_concurrent_goes_by_time_and_what_is_not_goes_by_cause() {
    assert_eq!(order(vec![(0, line(1, [1, 0], 50)), (1, line(1, [0, 1], 20))]), [20, 50]);
    // Node 1 has heard of event 2 of node 0: the line after event 1 came before, whatever the clocks on the wall say.
    assert_eq!(order(vec![(0, line(1, [1, 0], 50)), (1, line(1, [2, 1], 20))]), [50, 20]);
    // Of event 1 only: the line may have come after it.
    assert_eq!(order(vec![(0, line(1, [1, 0], 50)), (1, line(1, [1, 1], 20))]), [20, 50]);
}

#[test]
fn numbers_are_compared_across_the_wrap_of_32_bits() {
    let last = u32::MAX;
    assert_eq!(order(vec![(0, line(last, [last, 0], 50)), (1, line(1, [3, 1], 20))]), [50, 20]);
}

#[test]
fn a_node_that_was_reset_often_does_not_come_before_one_that_never_heard_of_it() {
    for epoch in [1, 127, 128, 255] {
        let number = epoch << 24 | 5;
        assert_eq!(order(vec![(0, line(number, [number, 0], 50)), (1, line(1, [0, 1], 20))]), [20, 50], "{epoch}");
        let heard = order(vec![(0, line(number, [number, 0], 50)), (1, line(1, [number + 1, 1], 20))]);
        assert_eq!(heard, [50, 20], "{epoch}");
    }
}

#[test]
fn clocks_that_contradict_each_other_keep_nothing_back() {
    let lines = vec![(0, line(1, [1, 9], 50)), (1, line(1, [9, 1], 20))];
    assert_eq!(order(lines), [20, 50]);
}

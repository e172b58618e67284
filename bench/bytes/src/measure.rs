//! Running a workload and summing up its bytes.
use crate::system::System;
use crate::workload::Workload;
use stillpoint_core::StampKind;

/// Lengths of things of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lengths {
    number: usize,
    sum: usize,
    /// The longest.
    pub most: usize,
}

impl Lengths {
    /// One more.
    pub fn add(&mut self, length: usize) {
        *self = Self { number: self.number + 1, sum: self.sum + length, most: self.most.max(length) };
    }

    /// To two decimals.
    pub fn mean(&self) -> f64 {
        rounded(self.sum, self.number)
    }
}

/// What a workload took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bytes {
    /// Records of local events.
    pub local: Lengths,
    /// Records of sends and receives.
    pub message: Lengths,
    /// Bytes of sync records.
    pub sync: usize,
    /// Stamps of messages.
    pub stamp: Lengths,
}

impl Bytes {
    /// What sync records add to each event, to two decimals.
    pub fn sync_per_event(&self) -> f64 {
        rounded(self.sync, self.local.number + self.message.number)
    }
}

fn rounded(sum: usize, number: usize) -> f64 {
    (sum as f64 * 100.0 / number.max(1) as f64).round() / 100.0
}

const WARM_UP: usize = 50;
const ROUNDS: usize = 1000;

/// Runs a workload of 2, 4, 8 or 32 nodes.
pub fn run(workload: Workload, nodes: usize, stamps: StampKind) -> Bytes {
    match nodes {
        2 => rounds(System::<2>::new(workload, stamps)),
        4 => rounds(System::<4>::new(workload, stamps)),
        8 => rounds(System::<8>::new(workload, stamps)),
        32 => rounds(System::<32>::new(workload, stamps)),
        other => unreachable!("systems of {other} nodes are not measured"),
    }
}

fn rounds<const N: usize>(mut system: System<N>) -> Bytes {
    (0..WARM_UP).for_each(|_| system.round(&mut Bytes::default()));
    let mut bytes = Bytes::default();
    (0..ROUNDS).for_each(|_| system.round(&mut bytes));
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_runs_take_the_same_bytes() {
        let run = || run(Workload::AllToAll, 4, StampKind::Vector);
        assert_eq!(run(), run());
    }

    #[test]
    fn an_event_stamp_does_not_grow_with_the_nodes_and_a_full_vector_does() {
        let event = |nodes| run(Workload::Ring, nodes, StampKind::Event).stamp.most;
        let vector = |nodes| run(Workload::Ring, nodes, StampKind::Vector).stamp.most;
        assert_eq!(event(32), event(4));
        assert!(vector(32) > vector(8) && vector(8) > vector(4));
    }
}

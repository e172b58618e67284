//! A run as its logs tell it, and as it was.
use super::{Happened, Lane, Member, System};
use stillpoint_core::StampKind;
use stillpoint_core::log::Recording;

/// A channel: sender, its port, receiver, its port.
pub type Ends = (usize, usize, usize, usize);

/// The logs of a run, and what truly happened in it.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// What was read of each node's log, in the form of `docs/WIRE.md`: pieces, and where in the ring each began.
    pub logs: Vec<Vec<(u32, Vec<u8>)>>,
    /// What happened on each node.
    pub history: Vec<Vec<Happened>>,
    /// The channels.
    pub channels: Vec<Ends>,
    /// What messages carried.
    pub stamps: StampKind,
    /// What each node recorded.
    pub recordings: Vec<Recording>,
    /// Records that found a ring full, or vanished with a reset before they were read.
    pub dropped: u32,
}

impl Recorded {
    /// What a system has written so far. Its rings must have been read.
    #[must_use]
    pub fn of<const N: usize, const S: usize>(system: &System<N, S>) -> Self {
        let port = |node: usize, edge, lane| usize::from(system.members[node].port(edge, lane).0);
        let channel = |(edge, (from, to)): (usize, &(usize, usize))| {
            (*from, port(*from, edge, Lane::Forward), *to, port(*to, edge, Lane::Reverse))
        };
        Self {
            logs: system.members.iter().map(|member| member.log.pieces.clone()).collect(),
            history: system.reference.history.clone(),
            channels: system.setup.edges.iter().enumerate().map(channel).collect(),
            stamps: system.setup.stamps,
            recordings: (0..N).map(|node| system.setup.recording(node)).collect(),
            dropped: system.members.iter().map(Member::missing).sum(),
        }
    }
}

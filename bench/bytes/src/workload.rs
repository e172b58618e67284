//! Who sends to whom.
use std::fmt;

/// A pattern of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Workload {
    /// Every node to the next, the last to the first.
    Ring,
    /// Every node to every other.
    AllToAll,
    /// Every node to the next; the last to nobody.
    Pipeline,
}

/// Half of a node's ports go out.
const MOST_SUCCESSORS: usize = stillpoint_core::MAX_PORTS / 2;

impl Workload {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Ring, Self::AllToAll, Self::Pipeline];

    /// To whom a node sends, in this order.
    pub fn successors(self, node: usize, nodes: usize) -> Vec<usize> {
        match self {
            Self::Ring => vec![(node + 1) % nodes],
            Self::AllToAll => (1..nodes).take(MOST_SUCCESSORS).map(|hop| (node + hop) % nodes).collect(),
            Self::Pipeline => (node + 1 < nodes).then_some(node + 1).into_iter().collect(),
        }
    }
}

impl fmt::Display for Workload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ring => "ring",
            Self::AllToAll => "all to all",
            Self::Pipeline => "pipeline",
        })
    }
}

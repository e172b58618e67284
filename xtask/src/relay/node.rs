//! The four cores, in the order in which messages go round.
use std::fmt;

/// One core of one board.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Node {
    /// 0 is A, 1 is B.
    pub board: usize,
    /// The core's number on its board.
    pub core: usize,
}

/// A message goes from each node to the next, and from the last to the first.
pub const NODES: [Node; 4] = [node(0, 0), node(0, 1), node(1, 0), node(1, 1)];

const fn node(board: usize, core: usize) -> Node {
    Node { board, core }
}

/// The letter of a board.
pub fn letter(board: usize) -> char {
    ['A', 'B'].get(board).copied().unwrap_or('?')
}

impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", letter(self.board), self.core)
    }
}

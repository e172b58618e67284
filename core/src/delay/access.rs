//! Which thread may enter which node.
use super::{AccessError, Ask, Delay, NodeSet, ThreadSet};
use crate::{MAX_NODES, NodeId};

/// One line of control that moves between nodes by calling and returning.
///
/// # Example
/// ```
/// use stillpoint_core::delay::ThreadId;
/// assert!(ThreadId(0) < ThreadId(1));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ThreadId(pub u8);

/// Which of `T` threads may enter which of `N` nodes, by starting there, by a call or by a return.
///
/// It must name every node a thread will ever be on, its home included: whoever is not named is not waited for, and
/// is refused at the door.
///
/// # Example: two clients of one server
/// ```
/// use stillpoint_core::{NodeId, delay::{Access, NodeSet, ThreadId}};
/// let mut access = Access::<2, 3>::NONE;
/// for client in 0..2 {
///     access.allow(ThreadId(client), NodeId(client)).unwrap(); // its home
///     access.allow(ThreadId(client), NodeId(2)).unwrap(); // the server
/// }
/// assert_eq!(access.servers(ThreadId(1)), NodeSet(0b110));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access<const T: usize, const N: usize> {
    clients: [ThreadSet; N],
}

impl<const T: usize, const N: usize> Access<T, N> {
    /// Nobody may enter anywhere yet.
    pub const NONE: Self = {
        assert!(T <= 32, "a set of threads is one word: at most 32 threads");
        assert!(N <= MAX_NODES, "a set of nodes is one word: at most 32 nodes");
        Self { clients: [ThreadSet::EMPTY; N] }
    };

    /// Lets `thread` enter `node`.
    pub fn allow(&mut self, thread: ThreadId, node: NodeId) -> Result<(), AccessError> {
        if usize::from(thread.0) >= T {
            return Err(AccessError::UnknownThread(thread));
        }
        let clients = self.clients.get_mut(usize::from(node.0)).ok_or(AccessError::UnknownNode(node))?;
        *clients = clients.with(thread);
        Ok(())
    }

    /// The threads that may enter `node`; none if there is no such node.
    #[must_use]
    pub fn clients(&self, node: NodeId) -> ThreadSet {
        self.clients.get(usize::from(node.0)).copied().unwrap_or_default()
    }

    /// The nodes that `thread` may enter: whom its suspension concerns.
    #[must_use]
    pub fn servers(&self, thread: ThreadId) -> NodeSet {
        let mut servers = NodeSet::EMPTY;
        for (number, clients) in self.clients.iter().enumerate() {
            if clients.contains(thread) {
                servers = servers.with(NodeId(number as u8));
            }
        }
        servers
    }

    /// A question for the [`Central`](super::Central) that guards `server`, checked here once so that the gate need not.
    pub fn ask(&self, thread: ThreadId, server: NodeId, delay: Delay) -> Result<Ask, AccessError> {
        if usize::from(thread.0) >= T {
            return Err(AccessError::UnknownThread(thread));
        }
        let clients = self.clients.get(usize::from(server.0)).ok_or(AccessError::UnknownNode(server))?;
        if !clients.contains(thread) {
            return Err(AccessError::MayNotEnter(thread, server));
        }
        Ok(Ask { thread, server, delay })
    }
}

#[cfg(any(test, on_target))]
mod tests {
    use super::*;
    use stillpoint_test::test;

    #[test]
    fn a_thread_or_node_out_of_range_leaves_the_table_unchanged() {
        let mut access = Access::<2, 2>::NONE;
        access.allow(ThreadId(1), NodeId(0)).unwrap();
        let before = access;
        assert_eq!(access.allow(ThreadId(2), NodeId(0)), Err(AccessError::UnknownThread(ThreadId(2))));
        assert_eq!(access.allow(ThreadId(0), NodeId(2)), Err(AccessError::UnknownNode(NodeId(2))));
        assert_eq!(access.ask(ThreadId(9), NodeId(0), Delay::default()), Err(AccessError::UnknownThread(ThreadId(9))));
        assert_eq!(access.ask(ThreadId(1), NodeId(9), Delay::default()), Err(AccessError::UnknownNode(NodeId(9))));
        assert_eq!(
            access.ask(ThreadId(1), NodeId(1), Delay::default()),
            Err(AccessError::MayNotEnter(ThreadId(1), NodeId(1)))
        );
        assert_eq!(access, before);
        assert_eq!(access.clients(NodeId(77)), ThreadSet::EMPTY);
    }
}

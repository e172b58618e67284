//! What the two roles answer: what their driver then has to do.
use super::{Central, Delay, Satellite, Tell, ThreadId, ThreadSet};
use crate::NodeId;

/// The answer to an [`Ask`](super::Ask).
///
/// # Example: nobody is delayed
/// ```
/// use stillpoint_core::{NodeId, delay::{Access, Central, Delay, NodeSet, ThreadId, Verdict}};
/// let mut access = Access::<1, 1>::NONE;
/// access.allow(ThreadId(0), NodeId(0)).unwrap();
/// let mut door = Central::new(NodeSet::first(1), access);
/// let ask = access.ask(ThreadId(0), NodeId(0), Delay::default()).unwrap();
/// assert!(matches!(door.ask(ask, 0), Ok(Verdict::Enter { .. })));
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub enum Verdict<'a, const T: usize, const N: usize> {
    /// Nobody is delayed: enter.
    Enter {
        /// How far behind the thread is, unchanged.
        delay: Delay,
    },
    /// Somebody is delayed: enter if the effects say so, now or after a later change.
    Weighed(Effects<'a, T, N>),
}

/// One thing for the driver to do.
///
/// # Example
/// ```
/// use stillpoint_core::{NodeId, delay::{Delay, Effect, ThreadId}};
/// let effect = Effect::Admit { thread: ThreadId(0), server: NodeId(1), delay: Delay { ticks: 7, turn: 2 } };
/// assert!(matches!(effect, Effect::Admit { server: NodeId(1), .. }));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Effect {
    /// Tell the satellite at `server`'s door to let the thread in.
    Admit {
        /// Who.
        thread: ThreadId,
        /// Where.
        server: NodeId,
        /// How far behind it is now.
        delay: Delay,
    },
    /// Tell the nodes concerned.
    Tell(Tell),
}

/// What the driver does after a [`Central`] decided, in this order: admissions, each after the notice that belongs to it,
/// then notices of suspension. At most two per thread.
///
/// # Example: a re-check without anybody waiting does nothing
/// ```
/// use stillpoint_core::delay::{Access, Central, NodeSet};
/// let mut door = Central::<4, 4>::new(NodeSet::first(4), Access::NONE);
/// assert_eq!(door.recheck(10).unwrap().count(), 0);
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct Effects<'a, const T: usize, const N: usize> {
    pub(super) central: &'a Central<T, N>,
    pub(super) admitted: [ThreadId; T],
    pub(super) next: usize,
    pub(super) count: usize,
    /// The admitted threads whose suspension had been told and whose resumption has not.
    pub(super) resumed: ThreadSet,
    /// The thread that was turned away.
    pub(super) resumed_only: Option<ThreadId>,
    pub(super) suspended: ThreadSet,
}

impl<const T: usize, const N: usize> Iterator for Effects<'_, T, N> {
    type Item = Effect;

    fn next(&mut self) -> Option<Effect> {
        let Central { accounts, access, .. } = self.central;
        let tell = |thread| Effect::Tell(Tell { to: access.servers(thread), notice: accounts.notice(thread) });
        if let Some(thread) = self.resumed_only.take() {
            return Some(tell(thread));
        }
        if self.next < self.count
            && let Some(&thread) = self.admitted.get(self.next)
        {
            // Before it is let in: if it is suspended again inside, that is told after this.
            if self.resumed.contains(thread) {
                self.resumed = self.resumed.without(thread);
                return Some(tell(thread));
            }
            self.next += 1;
            return Some(Effect::Admit { thread, server: self.central.door(thread), delay: accounts.base(thread) });
        }
        self.suspended.take_first().map(tell)
    }
}

/// What a [`Satellite`] tells after a change: at most one notice per thread.
///
/// # Example: one thread, one notice
/// ```
/// use stillpoint_core::{NodeId, delay::{Access, Delay, Satellite, ThreadId}};
/// let mut access = Access::<2, 1>::NONE;
/// access.allow(ThreadId(0), NodeId(0)).unwrap();
/// let mut node = Satellite::new(NodeId(0), access);
/// let _ = node.start(ThreadId(0), Delay::default(), 0).unwrap();
/// assert_eq!(node.stop(ThreadId(0), 1).unwrap().count(), 1);
/// assert_eq!(node.park(2).unwrap().count(), 0); // it was suspended already
/// ```
#[derive(Clone, Debug)]
#[must_use = "the nodes concerned must be told"]
pub struct Notices<'a, const T: usize, const N: usize> {
    pub(super) satellite: &'a Satellite<T, N>,
    pub(super) about: ThreadSet,
}

impl<const T: usize, const N: usize> Notices<'_, T, N> {
    /// These, and the last one about `thread`.
    pub(super) fn and(self, thread: ThreadId) -> Self {
        Self { about: self.about.with(thread), ..self }
    }
}

impl<const T: usize, const N: usize> Iterator for Notices<'_, T, N> {
    type Item = Tell;

    fn next(&mut self) -> Option<Tell> {
        let thread = self.about.take_first()?;
        Some(Tell { to: self.satellite.access.servers(thread), notice: self.satellite.accounts.notice(thread) })
    }
}

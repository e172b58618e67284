//! Timeouts that do not run while somebody looks.

/// A timeout that runs in the time of one thread: real time minus that thread's delay.
///
/// Made and read by [`Satellite::deadline`](super::Satellite::deadline) and [`Satellite::left`](super::Satellite::left).
/// It is for the timeout of an RPC; a timeout that waits for no other thread belongs to the node's own clock.
///
/// # Example: two seconds of thread time
/// ```
/// use stillpoint_core::{NodeId, delay::{Access, Delay, Left, Satellite, ThreadId}};
/// let mut access = Access::<1, 1>::NONE;
/// access.allow(ThreadId(0), NodeId(0)).unwrap();
/// let mut node = Satellite::new(NodeId(0), access);
/// let _ = node.start(ThreadId(0), Delay::default(), 0).unwrap();
/// let deadline = node.deadline(ThreadId(0), 2_000, 100).unwrap();
/// assert_eq!(node.left(deadline, 600), Left::Ticks(1_500));
/// let _ = node.park(700).unwrap(); // somebody looks, for an hour
/// assert_eq!(node.left(deadline, 3_600_700), Left::Frozen);
/// let _ = node.unpark(3_600_700).unwrap();
/// assert_eq!(node.left(deadline, 3_600_800), Left::Ticks(1_300));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Deadline {
    pub(super) thread: super::ThreadId,
    /// Thread time when it was set; wraps, because a board that restarts counts from zero and its threads do not.
    pub(super) set: u64,
    pub(super) ticks: u64,
}

/// How much of a [`Deadline`] is left.
///
/// # Example
/// ```
/// use stillpoint_core::delay::Left;
/// assert!(Left::Ticks(3) != Left::Frozen && Left::Frozen != Left::Elapsed);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Left {
    /// It elapses after so many ticks, unless the thread is suspended before.
    Ticks(u64),
    /// The thread is suspended: it does not run.
    Frozen,
    /// It has elapsed.
    Elapsed,
}

impl Deadline {
    /// What is left when the thread's time is `thread_time`.
    pub(super) fn left(self, thread_time: u64, frozen: bool) -> Left {
        // A notice can correct a thread's delay upwards by its latency: its time then steps back a little.
        let elapsed = u64::try_from(thread_time.wrapping_sub(self.set).cast_signed()).unwrap_or(0);
        match self.ticks.saturating_sub(elapsed) {
            0 => Left::Elapsed,
            _ if frozen => Left::Frozen,
            left => Left::Ticks(left),
        }
    }
}

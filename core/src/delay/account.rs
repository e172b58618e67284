//! How far behind each thread is, as one node knows it.
use super::{Delay, Notice, NoticeError, ThreadId, ThreadSet};

/// One thread's delay, last told or taken over at `since`, and growing from there if the thread is suspended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Account {
    delay: Delay,
    since: u64,
    waits_for: ThreadSet,
}

/// The delay of every thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Accounts<const T: usize> {
    rows: [Account; T],
    growing: ThreadSet,
    latest: u64,
}

/// `now` is before an earlier `now`.
pub(super) struct TimeRanBack {
    pub latest: u64,
    pub now: u64,
}

/// Something newer is known.
pub(super) struct Stale {
    pub known: Delay,
}

impl<const T: usize> Accounts<T> {
    pub const NEW: Self = {
        let nothing = Account { delay: Delay { ticks: 0, turn: 0 }, since: 0, waits_for: ThreadSet::EMPTY };
        Self { rows: [nothing; T], growing: ThreadSet::EMPTY, latest: 0 }
    };

    /// Whose delay grows.
    pub fn growing(&self) -> ThreadSet {
        self.growing
    }

    /// The thread's delay at `now`.
    #[inline(never)]
    pub fn at(&self, thread: ThreadId, now: u64) -> u64 {
        let Account { delay, since, .. } = self.row(thread);
        if self.growing.contains(thread) { delay.ticks.saturating_add(now.saturating_sub(since)) } else { delay.ticks }
    }

    /// The thread's delay when it was last told or taken over.
    pub fn base(&self, thread: ThreadId) -> Delay {
        self.row(thread).delay
    }

    /// When the thread's delay last began to grow.
    pub fn since(&self, thread: ThreadId) -> u64 {
        self.row(thread).since
    }

    /// Whom the thread waits for while its delay grows.
    pub fn waits_for(&self, thread: ThreadId) -> ThreadSet {
        if self.growing.contains(thread) { self.row(thread).waits_for } else { ThreadSet::EMPTY }
    }

    /// Refuses a time before the latest one; changes nothing.
    pub fn check_time(&self, now: u64) -> Result<(), TimeRanBack> {
        if now < self.latest { Err(TimeRanBack { latest: self.latest, now }) } else { Ok(()) }
    }

    /// Refuses a delay that is older or smaller than the known one; changes nothing.
    pub fn check_delay(&self, thread: ThreadId, told: Delay) -> Result<(), Stale> {
        let known = self.base(thread);
        if told.is_older_than(known) || told.ticks < known.ticks { Err(Stale { known }) } else { Ok(()) }
    }

    /// Remembers a time that [`check_time`](Self::check_time) let pass.
    pub fn advance(&mut self, now: u64) {
        self.latest = now;
    }

    /// The thread's delay is `delay`, as somebody else told, and does not grow.
    #[inline(never)]
    pub fn take(&mut self, thread: ThreadId, delay: Delay) {
        if let Some(row) = self.rows.get_mut(usize::from(thread.0)) {
            row.delay = delay;
            self.growing = self.growing.without(thread);
        }
    }

    /// The thread has come with this delay and has to wait; nobody is told yet.
    pub fn hold(&mut self, thread: ThreadId, delay: Delay, now: u64) {
        self.write(Notice::Suspended { thread, delay, waits_for: ThreadSet::EMPTY }, now);
    }

    /// From `now` on the delay grows of a thread whose notices come from here. This is its next turn.
    #[inline(never)]
    pub fn suspend(&mut self, thread: ThreadId, waits_for: ThreadSet, now: u64) {
        let delay = self.next_turn(thread, self.at(thread, now));
        self.write(Notice::Suspended { thread, delay, waits_for }, now);
    }

    /// A thread whose notices come from here goes on with this delay. This is its next turn.
    pub fn resume(&mut self, thread: ThreadId, ticks: u64) {
        let delay = self.next_turn(thread, ticks);
        self.take(thread, delay);
    }

    /// The notice of the thread's last turn.
    #[inline(never)]
    pub fn notice(&self, thread: ThreadId) -> Notice {
        let Account { delay, waits_for, .. } = self.row(thread);
        if self.growing.contains(thread) {
            Notice::Suspended { thread, delay, waits_for }
        } else {
            Notice::Resumed { thread, delay }
        }
    }

    /// Writes down a notice from elsewhere; one that is known already changes nothing.
    #[inline(never)]
    pub fn hear(&mut self, notice: Notice, now: u64) -> Result<(), NoticeError> {
        let (thread, told) = (notice.thread(), notice.delay());
        if usize::from(thread.0) >= T {
            return Err(NoticeError::UnknownThread(thread));
        }
        self.check_time(now)?;
        self.check_delay(thread, told).map_err(|Stale { known }| NoticeError::Stale { thread, known, told })?;
        if self.base(thread).is_older_than(told) {
            self.write(notice, now);
        }
        Ok(())
    }

    fn write(&mut self, notice: Notice, now: u64) {
        match notice {
            Notice::Suspended { thread, delay, waits_for } => {
                if let Some(row) = self.rows.get_mut(usize::from(thread.0)) {
                    *row = Account { delay, since: now, waits_for };
                    self.growing = self.growing.with(thread);
                }
            }
            Notice::Resumed { thread, delay } => self.take(thread, delay),
        }
    }

    fn next_turn(&self, thread: ThreadId, ticks: u64) -> Delay {
        Delay { ticks, turn: self.base(thread).turn.wrapping_add(1) }
    }

    fn row(&self, thread: ThreadId) -> Account {
        self.rows.get(usize::from(thread.0)).copied().unwrap_or_default()
    }
}

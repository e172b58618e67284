//! The role that guards doors: who may enter now, and who waits until when.
use super::account::{Accounts, Stale};
use super::{Access, Ask, AskError, Delay, NodeSet, Notice, NoticeError, Tell, ThreadId, ThreadSet};
use crate::NodeId;

/// Decides when a thread may enter a node: as soon as no other that may enter there is further behind.
///
/// It guards the doors of the nodes it is made for: its own on a board, all of them for a single central debugger. It
/// hears the notices about every thread that may enter there, and issues those about the threads it holds.
///
/// # Example: a call is held until the stopped thread has caught up
/// ```
/// use stillpoint_core::{NodeId, delay::*};
/// let mut access = Access::<2, 1>::NONE;
/// let (slow, fast, server) = (ThreadId(0), ThreadId(1), NodeId(0));
/// access.allow(slow, server).unwrap();
/// access.allow(fast, server).unwrap();
/// let mut door = Central::new(NodeSet::EMPTY.with(server), access);
///
/// // `slow` was stopped at 10 and goes on at 40.
/// let delay = Delay { ticks: 0, turn: 1 };
/// let _ = door.hear(Notice::Suspended { thread: slow, delay, waits_for: ThreadSet::EMPTY }, 10).unwrap();
/// let ask = access.ask(fast, server, Delay::default()).unwrap();
/// let Ok(Verdict::Weighed(mut effects)) = door.ask(ask, 15) else { panic!("somebody is delayed") };
/// assert!(matches!(effects.next(), Some(Effect::Tell(Tell { notice: Notice::Suspended { .. }, .. }))));
/// assert_eq!(door.next_alarm(), None); // only the user knows when `slow` goes on
/// let _ = door.hear(Notice::Resumed { thread: slow, delay: Delay { ticks: 30, turn: 2 } }, 40).unwrap();
///
/// // `fast` asked five ticks later than `slow` stopped, so it follows five ticks later.
/// assert_eq!(door.next_alarm(), Some(45));
/// let admitted = door.recheck(45).unwrap().last();
/// assert_eq!(admitted, Some(Effect::Admit { thread: fast, server, delay: Delay { ticks: 30, turn: 2 } }));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Central<const T: usize, const N: usize> {
    access: Access<T, N>,
    guarded: NodeSet,
    /// Who may enter any guarded node.
    clients: ThreadSet,
    accounts: Accounts<T>,
    /// The clients somebody might have to wait for. While there are none, every door is open.
    delayed: ThreadSet,
    held: ThreadSet,
    /// The held threads whose suspension has been told.
    announced: ThreadSet,
    /// Where a held thread wants to enter.
    doors: [NodeId; T],
}

impl<const T: usize, const N: usize> Central<T, N> {
    /// A central that guards the nodes of `guarded`.
    #[must_use]
    pub fn new(guarded: NodeSet, access: Access<T, N>) -> Self {
        let clients = guarded.iter().fold(ThreadSet::EMPTY, |all, node| all.union(access.clients(node)));
        Self {
            access,
            guarded,
            clients,
            accounts: Accounts::NEW,
            delayed: ThreadSet::EMPTY,
            held: ThreadSet::EMPTY,
            announced: ThreadSet::EMPTY,
            doors: [NodeId(0); T],
        }
    }

    /// The threads that wait at a door.
    #[must_use]
    pub const fn held(&self) -> ThreadSet {
        self.held
    }

    /// May this thread enter? While nobody is delayed the answer costs one compare.
    #[inline]
    pub fn ask(&mut self, ask: Ask, now: u64) -> Result<Verdict<'_, T, N>, AskError> {
        if self.delayed.is_empty() {
            return Ok(Verdict::Enter { delay: ask.delay });
        }
        self.weigh(ask, now).map(Verdict::Weighed)
    }

    /// A thread is suspended or goes on. Of a thread that it holds it knows better.
    pub fn hear(&mut self, notice: Notice, now: u64) -> Result<Effects<'_, T, N>, NoticeError> {
        self.accounts.check_time(now)?;
        if !self.clients.contains(notice.thread()) {
            return Err(NoticeError::UnknownThread(notice.thread()));
        }
        if !self.held.contains(notice.thread()) {
            self.accounts.hear(notice, now)?;
        }
        Ok(self.decide(now))
    }

    /// The alarm has rung: look again. May be called at any time.
    pub fn recheck(&mut self, now: u64) -> Result<Effects<'_, T, N>, NoticeError> {
        self.accounts.check_time(now)?;
        Ok(self.decide(now))
    }

    /// Says again how far behind the held threads are: for boards whose ticks differ in length.
    pub fn refresh(&mut self, now: u64) -> Result<Effects<'_, T, N>, NoticeError> {
        self.accounts.check_time(now)?;
        self.announced = ThreadSet::EMPTY;
        Ok(self.decide(now))
    }

    /// The call or return of a held thread is gone, with the node or link it came from; nobody waits for it here.
    pub fn turn_away(&mut self, thread: ThreadId, now: u64) -> Result<Effects<'_, T, N>, AskError> {
        self.accounts.check_time(now)?;
        if !self.held.contains(thread) {
            return Err(AskError::NotHeld(thread));
        }
        self.held = self.held.without(thread);
        self.accounts.resume(thread, self.accounts.at(thread, now));
        let effects = self.decide(now);
        Ok(Effects { resumed_only: Some(thread), ..effects })
    }

    /// When to [`recheck`](Self::recheck) if nothing changes before: the first time a held thread will be as far
    /// behind as those it waits for.
    #[must_use]
    pub fn next_alarm(&self) -> Option<u64> {
        self.held.iter().filter_map(|thread| self.due(thread)).min()
    }

    #[cold]
    fn weigh(&mut self, ask: Ask, now: u64) -> Result<Effects<'_, T, N>, AskError> {
        let Ask { thread, server, delay } = ask;
        self.accounts.check_time(now)?;
        if !self.guarded.contains(server) {
            return Err(AskError::NotGuarded(server));
        }
        if self.held.contains(thread) {
            return Err(AskError::AlreadyHeld(thread));
        }
        self.accounts.check_delay(thread, delay).map_err(|Stale { known }| AskError::Stale {
            thread,
            known,
            told: delay,
        })?;
        if let Some(door) = self.doors.get_mut(usize::from(thread.0)) {
            *door = server;
            self.held = self.held.with(thread);
            self.accounts.hold(thread, delay, now);
        }
        Ok(self.decide(now))
    }

    /// Lets in whom it can, works out whom the others wait for, and says what changed.
    fn decide(&mut self, now: u64) -> Effects<'_, T, N> {
        self.accounts.advance(now);
        let mut admitted = [ThreadId(0); T];
        let (mut count, mut resumed) = (0, ThreadSet::EMPTY);
        for slot in &mut admitted {
            // One at a time: letting one in settles its delay, and that can let in another.
            let Some(thread) = self.held.iter().find(|&thread| self.blockers(thread, now).is_empty()) else { break };
            let waited_for = self.others(thread).map(|other| self.accounts.at(other, now)).max().unwrap_or(0);
            let delay = self.accounts.base(thread);
            if self.announced.contains(thread) {
                self.accounts.resume(thread, waited_for.max(delay.ticks));
                resumed = resumed.with(thread);
            } else {
                self.accounts.take(thread, delay);
            }
            self.held = self.held.without(thread);
            *slot = thread;
            count += 1;
        }
        self.announced = self.announced.intersection(self.held);
        let mut suspended = ThreadSet::EMPTY;
        for (number, waits_for) in self.chains(now).into_iter().enumerate() {
            let thread = ThreadId(number as u8);
            let known = self.announced.contains(thread) && self.accounts.waits_for(thread) == waits_for;
            if self.held.contains(thread) && !known {
                self.accounts.suspend(thread, waits_for, now);
                suspended = suspended.with(thread);
            }
        }
        self.announced = self.held;
        self.delayed = self.delayed_at(now);
        Effects { central: self, admitted, next: 0, count, resumed, resumed_only: None, suspended }
    }

    /// Whom the thread must wait for: every other that may enter there and is further behind.
    fn blockers(&self, thread: ThreadId, now: u64) -> ThreadSet {
        let own = self.accounts.at(thread, now);
        self.others(thread).filter(|&other| own < self.accounts.at(other, now)).fold(ThreadSet::EMPTY, ThreadSet::with)
    }

    /// The other threads that may enter where this one wants to.
    fn others(&self, thread: ThreadId) -> impl Iterator<Item = ThreadId> {
        self.access.clients(self.door(thread)).without(thread).iter()
    }

    /// When a held thread will be as far behind as all it waits for; unknown while one of them falls back as well.
    fn due(&self, thread: ThreadId) -> Option<u64> {
        let (base, since) = (self.accounts.base(thread).ticks, self.accounts.since(thread));
        let mut due = since;
        for other in self.others(thread) {
            // While both grow, who is ahead does not change, whatever the time.
            let later = since.max(self.accounts.since(other));
            if !self.accounts.growing().contains(other) {
                due = due.max(since.saturating_add(self.accounts.base(other).ticks.saturating_sub(base)));
            } else if self.accounts.at(thread, later) < self.accounts.at(other, later) {
                return None;
            }
        }
        Some(due)
    }

    /// For each held thread everybody it waits for, directly or through others.
    fn chains(&self, now: u64) -> [ThreadSet; T] {
        let mut waits_for = [ThreadSet::EMPTY; T];
        // A chain among held threads is at most T long, so T rounds reach its end.
        for _ in 0..T {
            let before = waits_for;
            for thread in self.held.iter() {
                let blockers = self.blockers(thread, now);
                let further = |other: ThreadId| match waits_for.get(usize::from(other.0)) {
                    Some(&set) if self.held.contains(other) => set,
                    _ => self.accounts.waits_for(other),
                };
                let all = blockers.iter().map(further).fold(blockers, ThreadSet::union);
                if let Some(set) = waits_for.get_mut(usize::from(thread.0)) {
                    *set = all;
                }
            }
            if waits_for == before {
                break;
            }
        }
        waits_for
    }

    /// Whose delay grows, or exceeds that of another client.
    fn delayed_at(&self, now: u64) -> ThreadSet {
        let least = self.clients.iter().map(|thread| self.accounts.at(thread, now)).min().unwrap_or(0);
        self.clients
            .iter()
            .filter(|&thread| self.accounts.at(thread, now) > least)
            .fold(self.accounts.growing(), ThreadSet::with)
    }

    fn door(&self, thread: ThreadId) -> NodeId {
        self.doors.get(usize::from(thread.0)).copied().unwrap_or(NodeId(u8::MAX))
    }
}

/// The answer to an [`Ask`].
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
    central: &'a Central<T, N>,
    admitted: [ThreadId; T],
    next: usize,
    count: usize,
    /// The admitted threads whose suspension had been told and whose resumption has not.
    resumed: ThreadSet,
    /// The thread that was turned away.
    resumed_only: Option<ThreadId>,
    suspended: ThreadSet,
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

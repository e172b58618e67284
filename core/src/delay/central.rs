//! The role that guards doors: who may enter now, and who waits until when.
use super::account::{Accounts, Stale};
use super::{Access, Ask, AskError, Effects, NodeSet, Notice, NoticeError, ThreadId, ThreadSet, Verdict};
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
    pub(super) access: Access<T, N>,
    guarded: NodeSet,
    /// Who may enter any guarded node.
    clients: ThreadSet,
    pub(super) accounts: Accounts<T>,
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
            // Those that still wait here fall back with it and were not what kept it.
            let kept_it = self.others(thread).filter(|&other| !self.held.contains(other));
            let waited_for = kept_it.map(|other| self.accounts.at(other, now)).max().unwrap_or(0);
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

    /// Where a thread that asked wants to enter.
    pub(super) fn door(&self, thread: ThreadId) -> NodeId {
        self.doors.get(usize::from(thread.0)).copied().unwrap_or(NodeId(u8::MAX))
    }
}

#[cfg(any(test, on_target))]
mod tests {
    use super::super::{Delay, Effect, Tell};
    use super::*;
    use stillpoint_test::test;

    const DOOR: NodeId = NodeId(0);
    const OTHER_DOOR: NodeId = NodeId(1);

    /// Four threads that may enter both doors, and a gate for the first.
    fn gate() -> (Access<4, 2>, Central<4, 2>) {
        let mut access = Access::NONE;
        for thread in ThreadSet::first(4).iter() {
            access.allow(thread, DOOR).unwrap();
            access.allow(thread, OTHER_DOOR).unwrap();
        }
        (access, Central::new(NodeSet::EMPTY.with(DOOR), access))
    }

    fn behind(ticks: u64, turn: u32) -> Delay {
        Delay { ticks, turn }
    }

    fn suspended(thread: u8, ticks: u64, turn: u32) -> Notice {
        Notice::Suspended { thread: ThreadId(thread), delay: behind(ticks, turn), waits_for: ThreadSet::EMPTY }
    }

    fn resumed(thread: u8, ticks: u64, turn: u32) -> Notice {
        Notice::Resumed { thread: ThreadId(thread), delay: behind(ticks, turn) }
    }

    /// The threads let in, in order, as the digits of a number that begins with 1: `1` is nobody, `130` is 3, then 0.
    fn admitted(effects: Effects<'_, 4, 2>) -> u32 {
        effects.fold(1, |all, effect| match effect {
            Effect::Admit { thread, .. } => all * 10 + u32::from(thread.0),
            Effect::Tell(_) => all,
        })
    }

    fn ask(door: &mut Central<4, 2>, thread: u8, delay: Delay, now: u64) -> u32 {
        let question = door.access.ask(ThreadId(thread), DOOR, delay).unwrap();
        match door.ask(question, now).unwrap() {
            Verdict::Enter { .. } => 10 + u32::from(thread),
            Verdict::Weighed(effects) => admitted(effects),
        }
    }

    #[test]
    fn while_nobody_is_delayed_a_question_changes_nothing() {
        let (access, mut door) = gate();
        let before = door.clone();
        let question = access.ask(ThreadId(2), DOOR, Delay::default()).unwrap();
        assert!(matches!(door.ask(question, 7), Ok(Verdict::Enter { delay: Delay { ticks: 0, turn: 0 } })));
        assert_eq!(door, before);
    }

    #[test]
    fn the_door_is_open_again_once_everybody_is_equally_far_behind() {
        let (access, mut door) = gate();
        assert_eq!(admitted(door.hear(suspended(0, 0, 1), 10).unwrap()), 1);
        for (thread, now) in [(1, 12), (2, 14), (3, 16)] {
            assert_eq!(ask(&mut door, thread, Delay::default(), now), 1);
        }
        assert_eq!(admitted(door.hear(resumed(0, 50, 2), 60).unwrap()), 1);
        // A late alarm lets them in in the order they came, and charges nobody for its lateness.
        assert_eq!(door.next_alarm(), Some(62));
        assert_eq!(admitted(door.recheck(99).unwrap()), 1123);
        let question = access.ask(ThreadId(2), DOOR, behind(50, 2)).unwrap();
        assert!(matches!(door.ask(question, 120), Ok(Verdict::Enter { .. })));
    }

    #[test]
    fn a_thread_does_not_wait_for_one_that_is_as_far_behind() {
        let (_, mut door) = gate();
        let _ = door.hear(resumed(0, 10, 1), 5).unwrap();
        let _ = door.hear(resumed(1, 10, 1), 5).unwrap();
        assert_eq!(ask(&mut door, 1, behind(10, 1), 6), 11);
        assert_eq!(ask(&mut door, 0, behind(10, 1), 6), 10);
        // Two that ask in the same tick both get in; neither waits for the other.
        assert_eq!(ask(&mut door, 2, Delay::default(), 6), 1);
        assert_eq!(ask(&mut door, 3, Delay::default(), 6), 1);
        assert_eq!(admitted(door.recheck(16).unwrap()), 123);
    }

    #[test]
    fn an_alarm_that_rings_after_another_stop_admits_nobody() {
        let (_, mut door) = gate();
        let _ = door.hear(resumed(0, 30, 1), 0).unwrap();
        assert_eq!(ask(&mut door, 1, Delay::default(), 0), 1);
        assert_eq!(door.next_alarm(), Some(30));
        let _ = door.hear(suspended(0, 30, 2), 20).unwrap();
        assert_eq!(door.next_alarm(), None);
        assert_eq!(admitted(door.recheck(30).unwrap()), 1);
        let _ = door.hear(resumed(0, 45, 3), 35).unwrap();
        assert_eq!(door.next_alarm(), Some(45));
        assert_eq!(admitted(door.recheck(44).unwrap()), 1);
        assert_eq!(admitted(door.recheck(45).unwrap()), 11);
    }

    #[test]
    fn a_notice_that_was_overtaken_is_dropped_and_one_heard_twice_changes_nothing() {
        let (_, mut door) = gate();
        let _ = door.hear(suspended(0, 20, 3), 50).unwrap();
        let before = door.clone();
        let (known, told) = (behind(20, 3), behind(20, 2));
        let stale = NoticeError::Stale { thread: ThreadId(0), known, told };
        assert_eq!(door.hear(resumed(0, 20, 2), 50).unwrap_err(), stale);
        let _ = door.hear(suspended(0, 20, 3), 50).unwrap();
        assert_eq!(door, before);
    }

    #[test]
    fn bad_input_is_refused_and_changes_nothing() {
        let (access, mut door) = gate();
        let _ = door.hear(suspended(0, 9, 1), 50).unwrap();
        assert_eq!(ask(&mut door, 1, behind(3, 1), 60), 1);
        let before = door.clone();
        let mut refused = |thread, server, delay, now| {
            door.ask(access.ask(ThreadId(thread), server, delay).unwrap(), now).map(drop).unwrap_err()
        };
        assert_eq!(refused(2, OTHER_DOOR, Delay::default(), 60), AskError::NotGuarded(OTHER_DOOR));
        assert_eq!(refused(1, DOOR, behind(3, 1), 60), AskError::AlreadyHeld(ThreadId(1)));
        assert_eq!(refused(2, DOOR, Delay::default(), 59), AskError::TimeRanBack { latest: 60, now: 59 });
        let (known, told) = (behind(9, 1), behind(8, 1));
        assert_eq!(refused(0, DOOR, told, 60), AskError::Stale { thread: ThreadId(0), known, told });
        assert_eq!(door.hear(suspended(4, 0, 1), 60).unwrap_err(), NoticeError::UnknownThread(ThreadId(4)));
        let back = NoticeError::TimeRanBack { latest: 60, now: 0 };
        assert_eq!(door.hear(resumed(0, 9, 2), 0).unwrap_err(), back);
        assert_eq!(door.recheck(0).unwrap_err(), back);
        assert_eq!(door.refresh(0).unwrap_err(), back);
        assert_eq!(door.turn_away(ThreadId(3), 60).unwrap_err(), AskError::NotHeld(ThreadId(3)));
        assert_eq!(door, before);
    }

    #[test]
    fn whoever_waited_for_a_call_that_is_lost_goes_on() {
        let (_, mut door) = gate();
        let _ = door.hear(suspended(0, 0, 1), 0).unwrap();
        assert_eq!(ask(&mut door, 1, behind(40, 1), 5), 11);
        let _ = door.hear(resumed(0, 60, 2), 60).unwrap();
        assert_eq!(ask(&mut door, 1, behind(40, 1), 60), 1);
        assert_eq!(ask(&mut door, 2, behind(10, 1), 60), 1);
        let mut effects = door.turn_away(ThreadId(1), 70).unwrap();
        let told = Tell { to: NodeSet::first(2), notice: resumed(1, 50, 3) };
        assert_eq!(effects.next(), Some(Effect::Tell(told)));
        assert_eq!(door.next_alarm(), Some(110));
    }

    /// Two boards whose ticks differ: each believes the other's held thread to be further behind than its own.
    #[test]
    fn saying_again_how_far_behind_they_are_frees_threads_that_two_boards_hold_for_each_other() {
        let (access, mut here) = gate();
        let mut there = Central::new(NodeSet::EMPTY.with(OTHER_DOOR), access);
        // Thread 0 was held here for 1000 ticks, which the other board counts as 1010.
        let held = |thread| ThreadSet::EMPTY.with(ThreadId(thread));
        let _ = here.hear(suspended(2, 50, 1), 0).unwrap();
        let _ = there.hear(suspended(2, 50, 1), 0).unwrap();
        assert_eq!(ask(&mut here, 0, Delay::default(), 0), 1);
        let _ = there.hear(suspended(0, 0, 1), 0).unwrap();
        let _ = there.ask(access.ask(ThreadId(1), OTHER_DOOR, behind(1_005, 1)).unwrap(), 1_010).unwrap();
        let _ = here.hear(suspended(1, 1_005, 2), 1_000).unwrap();
        let _ = here.hear(resumed(2, 900, 2), 1_000).unwrap();
        let _ = there.hear(resumed(2, 900, 2), 1_010).unwrap();
        assert_eq!((here.held(), there.held()), (held(0), held(1)));
        assert_eq!((here.next_alarm(), there.next_alarm()), (None, None), "each waits for the other");
        let Some(Effect::Tell(Tell { notice, .. })) = here.refresh(1_020).unwrap().next() else {
            panic!("the held thread is told of again")
        };
        assert_eq!(admitted(there.hear(notice, 1_030).unwrap()), 11);
    }
}

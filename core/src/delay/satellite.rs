//! The role on every node: who is here, who is suspended, who waits at the door.
use super::account::{Accounts, Stale};
use super::{
    Access, Ask, Deadline, Delay, Left, MoveError, Notice, NoticeError, Notices, Passage, PauseError, Step, ThreadId,
    ThreadSet,
};
use crate::NodeId;

/// Keeps the delays of the threads that are on one node, and holds those that arrive until they are admitted.
///
/// It decides nothing about entering: that is [`Central`](super::Central). See the [module](super) for how a driver
/// joins the two.
///
/// # Example: a stop is told to the nodes that the stopped thread may enter
/// ```
/// use stillpoint_core::{NodeId, delay::{Access, Delay, NodeSet, Notice, Satellite, ThreadId, ThreadSet}};
/// let mut access = Access::<1, 3>::NONE;
/// access.allow(ThreadId(0), NodeId(0)).unwrap();
/// access.allow(ThreadId(0), NodeId(2)).unwrap();
/// let mut node = Satellite::new(NodeId(0), access);
/// let _ = node.start(ThreadId(0), Delay::default(), 0).unwrap();
///
/// let told: Vec<_> = node.park(100).unwrap().collect();
/// assert_eq!(told.len(), 1);
/// assert_eq!(told[0].to, NodeSet(0b101));
/// let delay = Delay { ticks: 0, turn: 1 };
/// assert_eq!(told[0].notice, Notice::Suspended { thread: ThreadId(0), delay, waits_for: ThreadSet::EMPTY });
///
/// let told: Vec<_> = node.unpark(130).unwrap().collect();
/// assert_eq!(told[0].notice, Notice::Resumed { thread: ThreadId(0), delay: Delay { ticks: 30, turn: 2 } });
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Satellite<const T: usize, const N: usize> {
    me: NodeId,
    pub(super) access: Access<T, N>,
    pub(super) accounts: Accounts<T>,
    places: [Place; T],
    here: ThreadSet,
    stopped: ThreadSet,
    parked: bool,
}

/// How one thread stands to this node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Place {
    /// Its calls that this node still serves.
    served: u8,
    /// Its calls from this node that have not returned.
    awaited: u8,
    /// It arrived, by this step, and is not admitted yet.
    at_door: Option<Step>,
    /// Whom it waits for while it is here.
    waits_on: Option<ThreadId>,
}

impl<const T: usize, const N: usize> Satellite<T, N> {
    /// The satellite of node `me`, with no thread on it.
    #[must_use]
    pub const fn new(me: NodeId, access: Access<T, N>) -> Self {
        let nowhere = Place { served: 0, awaited: 0, at_door: None, waits_on: None };
        Self {
            me,
            access,
            accounts: Accounts::NEW,
            places: [nowhere; T],
            here: ThreadSet::EMPTY,
            stopped: ThreadSet::EMPTY,
            parked: false,
        }
    }

    /// The threads that are on this node now.
    #[must_use]
    pub const fn here(&self) -> ThreadSet {
        self.here
    }

    /// The threads, here or elsewhere, whose delay grows as far as this node knows.
    #[must_use]
    pub fn suspended(&self) -> ThreadSet {
        self.accounts.growing()
    }

    /// How far behind the thread is at `now`, as far as this node knows; not at all if it does not know it.
    #[must_use]
    pub fn delay(&self, thread: ThreadId, now: u64) -> Delay {
        Delay { ticks: self.accounts.at(thread, now), ..self.accounts.base(thread) }
    }

    /// `thread` begins its life here: with no delay, or after a reset with the one that the other nodes know.
    pub fn start(&mut self, thread: ThreadId, delay: Delay, now: u64) -> Result<Notices<'_, T, N>, MoveError> {
        let _ = self.access.ask(thread, self.me, delay)?;
        self.accounts.check_time(now)?;
        self.check_delay(thread, delay)?;
        let place = self.place(thread);
        if self.here.contains(thread) || place.awaited > 0 || place.at_door.is_some() {
            return Err(MoveError::AlreadyHere(thread));
        }
        self.accounts.take(thread, delay);
        self.here = self.here.with(thread);
        if delay == Delay::default() {
            return Ok(self.reckon(now));
        }
        // The others may still hold it for suspended where it was before the reset.
        self.accounts.resume(thread, delay.ticks);
        Ok(self.reckon(now).and(thread))
    }

    /// `thread` goes from here to another node; the passage travels with the request or reply.
    pub fn leave(&mut self, thread: ThreadId, step: Step, now: u64) -> Result<Passage, MoveError> {
        self.accounts.check_time(now)?;
        if !self.here.contains(thread) {
            return Err(MoveError::NotHere(thread));
        }
        if self.accounts.growing().contains(thread) {
            return Err(MoveError::Suspended(thread));
        }
        let mut place = self.place(thread);
        match step {
            Step::Call => place.awaited = place.awaited.checked_add(1).ok_or(MoveError::TooDeep(thread))?,
            Step::Return => place.served = place.served.checked_sub(1).ok_or(MoveError::ReturnWithoutCall(thread))?,
        }
        place.waits_on = None;
        self.accounts.advance(now);
        self.put(thread, place);
        self.here = self.here.without(thread);
        Ok(Passage { thread, step, delay: self.accounts.base(thread) })
    }

    /// A request or reply has come; keep it at the door until the [`Central`](super::Central) that guards this node
    /// has answered.
    pub fn arrive(&mut self, passage: Passage, now: u64) -> Result<Ask, MoveError> {
        let Passage { thread, step, delay } = passage;
        let ask = self.access.ask(thread, self.me, delay)?;
        self.accounts.check_time(now)?;
        let mut place = self.place(thread);
        if self.here.contains(thread) || place.at_door.is_some() {
            return Err(MoveError::AlreadyHere(thread));
        }
        match step {
            Step::Call if place.served == u8::MAX => return Err(MoveError::TooDeep(thread)),
            Step::Return if place.awaited == 0 => return Err(MoveError::ReturnWithoutCall(thread)),
            _ => place.at_door = Some(step),
        }
        self.check_delay(thread, delay)?;
        self.accounts.advance(now);
        self.accounts.take(thread, delay);
        self.put(thread, place);
        Ok(ask)
    }

    /// The thread at the door may come in, with the delay its `Central` named. On a parked node it is suspended at once.
    pub fn admit(&mut self, thread: ThreadId, delay: Delay, now: u64) -> Result<Notices<'_, T, N>, MoveError> {
        self.accounts.check_time(now)?;
        let mut place = self.place(thread);
        match place.at_door.take().ok_or(MoveError::NotAtDoor(thread))? {
            Step::Call => place.served = place.served.saturating_add(1),
            Step::Return => place.awaited = place.awaited.saturating_sub(1),
        }
        self.check_delay(thread, delay)?;
        self.put(thread, place);
        self.accounts.take(thread, delay);
        self.here = self.here.with(thread);
        Ok(self.reckon(now))
    }

    /// The call that `thread` made from here has timed out: it goes on here, and the reply, if it ever comes, is refused
    /// by [`arrive`](Self::arrive).
    pub fn abandon(&mut self, thread: ThreadId, now: u64) -> Result<Notices<'_, T, N>, MoveError> {
        self.accounts.check_time(now)?;
        let mut place = self.place(thread);
        if self.here.contains(thread) || place.at_door.is_some() {
            return Err(MoveError::AlreadyHere(thread));
        }
        place.awaited = place.awaited.checked_sub(1).ok_or(MoveError::ReturnWithoutCall(thread))?;
        self.put(thread, place);
        self.accounts.resume(thread, self.accounts.at(thread, now));
        self.here = self.here.with(thread);
        Ok(self.reckon(now).and(thread))
    }

    /// The request or reply at the door is gone, with the node or link it came from; forget it.
    pub fn turn_away(&mut self, thread: ThreadId, now: u64) -> Result<(), MoveError> {
        self.accounts.check_time(now)?;
        let mut place = self.place(thread);
        place.at_door.take().ok_or(MoveError::NotAtDoor(thread))?;
        self.accounts.advance(now);
        self.put(thread, place);
        Ok(())
    }

    /// `thread` has ended here; its delay is remembered, because what it did came before what is still to come.
    pub fn end(&mut self, thread: ThreadId, now: u64) -> Result<Notices<'_, T, N>, MoveError> {
        self.accounts.check_time(now)?;
        if !self.here.contains(thread) {
            return Err(MoveError::NotHere(thread));
        }
        self.put(thread, Place::default());
        self.stopped = self.stopped.without(thread);
        if !self.accounts.growing().contains(thread) {
            self.here = self.here.without(thread);
            return Ok(self.reckon(now));
        }
        self.accounts.resume(thread, self.accounts.at(thread, now));
        self.here = self.here.without(thread);
        Ok(self.reckon(now).and(thread))
    }

    /// A breakpoint stops one thread that is here.
    pub fn stop(&mut self, thread: ThreadId, now: u64) -> Result<Notices<'_, T, N>, PauseError> {
        self.check_here(thread, now)?;
        self.stopped = self.stopped.with(thread);
        Ok(self.reckon(now))
    }

    /// A thread that [`stop`](Self::stop) stopped goes on.
    pub fn resume(&mut self, thread: ThreadId, now: u64) -> Result<Notices<'_, T, N>, PauseError> {
        self.check_here(thread, now)?;
        self.stopped = self.stopped.without(thread);
        Ok(self.reckon(now))
    }

    /// The whole node stops, with every thread that is here or will be admitted.
    pub fn park(&mut self, now: u64) -> Result<Notices<'_, T, N>, PauseError> {
        self.accounts.check_time(now)?;
        self.parked = true;
        Ok(self.reckon(now))
    }

    /// The whole node goes on, but for threads that [`stop`](Self::stop) stopped.
    pub fn unpark(&mut self, now: u64) -> Result<Notices<'_, T, N>, PauseError> {
        self.accounts.check_time(now)?;
        self.parked = false;
        Ok(self.reckon(now))
    }

    /// A thread that is here waits for `on`: it is queued behind it, or that one does its work. `None`: no longer.
    ///
    /// While `on` is suspended, so is it; except by a suspension that waits for it in turn.
    pub fn wait(&mut self, thread: ThreadId, on: Option<ThreadId>, now: u64) -> Result<Notices<'_, T, N>, PauseError> {
        self.check_here(thread, now)?;
        if let Some(on) = on.filter(|on| usize::from(on.0) >= T) {
            return Err(PauseError::UnknownThread(on));
        }
        let place = Place { waits_on: on, ..self.place(thread) };
        self.put(thread, place);
        Ok(self.reckon(now))
    }

    /// Another node says that a thread is suspended or goes on. Of a thread that is here it knows better.
    pub fn hear(&mut self, notice: Notice, now: u64) -> Result<Notices<'_, T, N>, NoticeError> {
        self.accounts.check_time(now)?;
        if !self.here.contains(notice.thread()) {
            self.accounts.hear(notice, now)?;
        }
        Ok(self.reckon(now))
    }

    /// Says again how far behind the suspended threads are that are here: for boards whose ticks differ in length.
    pub fn refresh(&mut self, now: u64) -> Result<Notices<'_, T, N>, PauseError> {
        self.accounts.check_time(now)?;
        self.accounts.advance(now);
        let about = self.here.intersection(self.accounts.growing());
        for thread in about.iter() {
            self.accounts.suspend(thread, self.accounts.waits_for(thread), now);
        }
        Ok(Notices { satellite: self, about })
    }

    /// A timeout of `ticks` for a call that `thread` makes from here.
    pub fn deadline(&self, thread: ThreadId, ticks: u64, now: u64) -> Result<Deadline, PauseError> {
        self.check_here(thread, now)?;
        Ok(Deadline { thread, set: self.thread_time(thread, now), ticks })
    }

    /// How much of a timeout is left; frozen while its thread is suspended, wherever that is.
    #[must_use]
    pub fn left(&self, deadline: Deadline, now: u64) -> Left {
        let frozen = self.accounts.growing().contains(deadline.thread);
        deadline.left(self.thread_time(deadline.thread, now), frozen)
    }

    fn thread_time(&self, thread: ThreadId, now: u64) -> u64 {
        now.wrapping_sub(self.accounts.at(thread, now))
    }

    /// Decides anew who of the threads here is suspended; says what changed.
    fn reckon(&mut self, now: u64) -> Notices<'_, T, N> {
        self.accounts.advance(now);
        let mut suspended = if self.parked { self.here } else { self.here.intersection(self.stopped) };
        let mut waits_for = [ThreadSet::EMPTY; T];
        // From the stops outwards, so that nothing is frozen that no stop or hold stands behind.
        loop {
            let before = suspended;
            for (number, place) in self.places.iter().enumerate() {
                let thread = ThreadId(number as u8);
                let (true, Some(on)) = (self.here.difference(suspended).contains(thread), place.waits_on) else {
                    continue;
                };
                let behind = if !self.here.contains(on) {
                    self.accounts.growing().contains(on).then(|| self.accounts.waits_for(on))
                } else if suspended.contains(on) {
                    waits_for.get(usize::from(on.0)).copied()
                } else {
                    None
                };
                if let (Some(behind), Some(own)) = (behind, waits_for.get_mut(number))
                    && !behind.with(on).contains(thread)
                {
                    *own = behind.with(on);
                    suspended = suspended.with(thread);
                }
            }
            if suspended == before {
                break;
            }
        }
        let mut changed = ThreadSet::EMPTY;
        for (number, waits_for) in waits_for.into_iter().enumerate() {
            let thread = ThreadId(number as u8);
            let (was, is) = (self.accounts.growing().contains(thread), suspended.contains(thread));
            if !self.here.contains(thread) || (!was && !is) {
                continue;
            }
            if was && is && self.accounts.waits_for(thread) == waits_for {
                continue;
            }
            if is {
                self.accounts.suspend(thread, waits_for, now);
            } else {
                self.accounts.resume(thread, self.accounts.at(thread, now));
            }
            changed = changed.with(thread);
        }
        Notices { satellite: self, about: changed }
    }

    fn check_here(&self, thread: ThreadId, now: u64) -> Result<(), PauseError> {
        self.accounts.check_time(now)?;
        if self.here.contains(thread) { Ok(()) } else { Err(PauseError::NotHere(thread)) }
    }

    fn check_delay(&self, thread: ThreadId, told: Delay) -> Result<(), MoveError> {
        self.accounts.check_delay(thread, told).map_err(|Stale { known }| MoveError::Stale { thread, known, told })
    }

    fn place(&self, thread: ThreadId) -> Place {
        self.places.get(usize::from(thread.0)).copied().unwrap_or_default()
    }

    fn put(&mut self, thread: ThreadId, place: Place) {
        if let Some(old) = self.places.get_mut(usize::from(thread.0)) {
            *old = place;
        }
    }
}

#[cfg(any(test, on_target))]
mod tests {
    use super::super::AccessError;
    use super::*;
    use stillpoint_test::test;

    const ME: NodeId = NodeId(0);
    const HOME: ThreadId = ThreadId(0);
    const GUEST: ThreadId = ThreadId(1);
    const STRANGER: ThreadId = ThreadId(2);

    fn node() -> Satellite<3, 2> {
        let mut access = Access::NONE;
        access.allow(HOME, ME).unwrap();
        access.allow(GUEST, ME).unwrap();
        let mut node = Satellite::new(ME, access);
        let _ = node.start(HOME, Delay::default(), 100).unwrap();
        node
    }

    fn passage(step: Step, ticks: u64, turn: u32) -> Passage {
        Passage { thread: GUEST, step, delay: Delay { ticks, turn } }
    }

    #[test]
    fn a_move_that_cannot_be_is_refused_and_changes_nothing() {
        let mut node = node();
        let before = node.clone();
        let zero = Delay::default();
        let may_not = MoveError::Access(AccessError::MayNotEnter(STRANGER, ME));
        assert_eq!(node.start(STRANGER, zero, 100).unwrap_err(), may_not);
        assert_eq!(node.start(HOME, zero, 100).unwrap_err(), MoveError::AlreadyHere(HOME));
        assert_eq!(node.leave(GUEST, Step::Call, 100).unwrap_err(), MoveError::NotHere(GUEST));
        assert_eq!(node.leave(HOME, Step::Return, 100).unwrap_err(), MoveError::ReturnWithoutCall(HOME));
        assert_eq!(node.arrive(passage(Step::Return, 0, 0), 100), Err(MoveError::ReturnWithoutCall(GUEST)));
        assert_eq!(node.admit(GUEST, zero, 100).unwrap_err(), MoveError::NotAtDoor(GUEST));
        assert_eq!(node.admit(ThreadId(77), zero, 100).unwrap_err(), MoveError::NotAtDoor(ThreadId(77)));
        assert_eq!(node.abandon(GUEST, 100).unwrap_err(), MoveError::ReturnWithoutCall(GUEST));
        assert_eq!(node.turn_away(GUEST, 100), Err(MoveError::NotAtDoor(GUEST)));
        assert_eq!(node.end(GUEST, 100).unwrap_err(), MoveError::NotHere(GUEST));
        let unknown = MoveError::Access(AccessError::UnknownThread(ThreadId(3)));
        let from_nowhere = Passage { thread: ThreadId(3), ..passage(Step::Call, 0, 0) };
        assert_eq!(node.arrive(from_nowhere, 100), Err(unknown));
        let back = MoveError::TimeRanBack { latest: 100, now: 99 };
        assert_eq!(node.leave(HOME, Step::Call, 99), Err(back));
        assert_eq!(node.arrive(passage(Step::Call, 0, 0), 99), Err(back));
        assert_eq!(node, before);
    }

    #[test]
    fn a_pause_that_cannot_be_is_refused_and_changes_nothing() {
        let mut node = node();
        let before = node.clone();
        assert_eq!(node.stop(GUEST, 100).unwrap_err(), PauseError::NotHere(GUEST));
        assert_eq!(node.resume(ThreadId(200), 100).unwrap_err(), PauseError::NotHere(ThreadId(200)));
        assert_eq!(node.wait(HOME, Some(ThreadId(3)), 100).unwrap_err(), PauseError::UnknownThread(ThreadId(3)));
        assert_eq!(node.deadline(GUEST, 5, 100), Err(PauseError::NotHere(GUEST)));
        assert_eq!(node.park(99).unwrap_err(), PauseError::TimeRanBack { latest: 100, now: 99 });
        let notice = Notice::Resumed { thread: ThreadId(3), delay: Delay::default() };
        assert_eq!(node.hear(notice, 100).unwrap_err(), NoticeError::UnknownThread(ThreadId(3)));
        assert_eq!(node, before);
    }

    #[test]
    fn a_stopped_thread_does_not_leave() {
        let mut node = node();
        let _ = node.stop(HOME, 100).unwrap();
        assert_eq!(node.leave(HOME, Step::Call, 110), Err(MoveError::Suspended(HOME)));
        let _ = node.resume(HOME, 110).unwrap();
        let left = node.leave(HOME, Step::Call, 110).unwrap();
        assert_eq!(left, Passage { thread: HOME, step: Step::Call, delay: Delay { ticks: 10, turn: 2 } });
    }

    #[test]
    fn the_reply_to_an_abandoned_call_is_refused() {
        let mut node = node();
        let _ = node.leave(HOME, Step::Call, 100).unwrap();
        let _ = node.abandon(HOME, 200).unwrap();
        let reply = Passage { thread: HOME, step: Step::Return, delay: Delay::default() };
        assert_eq!(node.arrive(reply, 210), Err(MoveError::AlreadyHere(HOME)));
        let _ = node.leave(HOME, Step::Call, 220).unwrap();
        let stale = MoveError::Stale { thread: HOME, known: Delay { ticks: 0, turn: 1 }, told: Delay::default() };
        assert_eq!(node.arrive(reply, 230), Err(stale));
    }

    #[test]
    fn a_delay_never_shrinks_at_the_door() {
        let mut node = node();
        let _ = node.arrive(passage(Step::Call, 20, 4), 110).unwrap();
        let before = node.clone();
        let told = Delay { ticks: 19, turn: 5 };
        let stale = MoveError::Stale { thread: GUEST, known: Delay { ticks: 20, turn: 4 }, told };
        assert_eq!(node.admit(GUEST, told, 120).unwrap_err(), stale);
        assert_eq!(node, before);
        let _ = node.admit(GUEST, Delay { ticks: 25, turn: 6 }, 120).unwrap();
        assert_eq!(node.leave(GUEST, Step::Return, 130).unwrap(), passage(Step::Return, 25, 6));
    }

    #[test]
    fn a_thread_stopped_on_a_node_that_parks_stays_stopped_when_the_node_goes_on() {
        let mut node = node();
        assert_eq!(node.stop(HOME, 100).unwrap().count(), 1);
        assert_eq!(node.park(110).unwrap().count(), 0);
        assert_eq!(node.unpark(120).unwrap().count(), 0);
        assert_eq!(node.resume(HOME, 130).unwrap().count(), 1);
        assert_eq!(node.delay(HOME, 140), Delay { ticks: 30, turn: 2 });
    }

    #[test]
    fn a_thread_that_ends_while_stopped_is_no_longer_suspended_anywhere() {
        let mut node = node();
        let _ = node.park(100).unwrap();
        let told = node.end(HOME, 150).unwrap().last().map(|tell| tell.notice);
        assert_eq!(told, Some(Notice::Resumed { thread: HOME, delay: Delay { ticks: 50, turn: 2 } }));
        assert!(node.suspended().is_empty() && node.here().is_empty());
    }
}

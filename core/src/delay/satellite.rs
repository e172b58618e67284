//! The role on every node: who is here, who is suspended, who waits at the door.
use super::account::{Accounts, Stale};
use super::{
    Access, Ask, Deadline, Delay, Left, MoveError, Notice, NoticeError, Passage, PauseError, Step, Tell, ThreadId,
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
    access: Access<T, N>,
    accounts: Accounts<T>,
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
    satellite: &'a Satellite<T, N>,
    about: ThreadSet,
}

impl<const T: usize, const N: usize> Notices<'_, T, N> {
    /// These, and the last one about `thread`.
    fn and(self, thread: ThreadId) -> Self {
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

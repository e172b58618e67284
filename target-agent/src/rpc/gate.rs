//! The gate of one core: both roles of `stillpoint_core::delay`, joined as their module asks of a driver.
//!
//! Nothing here does I/O or reads a clock: it is told the time, looks into inboxes, and keeps the notices that are owed.
use super::door::{Door, DoorId, Entry, Kind, Standing};
use stillpoint_core::NodeId;
use stillpoint_core::delay::{
    Access, Central, Deadline, Delay, Effect, Effects, Left, MoveError, NodeSet, Notice, Notices, Passage, Satellite,
    Step, ThreadId, ThreadSet, Verdict,
};

/// Both roles of one node, its doors, and what it owes to others.
pub(super) struct Gate<const T: usize, const N: usize, const DOORS: usize> {
    satellite: Satellite<T, N>,
    central: Central<T, N>,
    post: Post<T, N>,
    doors: [Option<Door>; DOORS],
    /// The thread whose request a server is busy with, by the number of the server.
    serving: [Option<ThreadId>; DOORS],
    parked: bool,
    order: u32,
    /// When those who wait were last told of again.
    refreshed: u64,
    /// Calls that went on without the gate, because it could not follow their thread.
    pub refused: u32,
    /// Something changed that a task may wait for.
    pub changed: bool,
}

/// The newest notice about every thread, and who has not heard it.
struct Post<const T: usize, const N: usize> {
    me: NodeId,
    access: Access<T, N>,
    newest: [Option<Notice>; T],
    /// Threads whose newest notice the two roles here have not heard.
    unheard: ThreadSet,
    /// Threads that the central lets in, and with which delay.
    admitted: [Option<Delay>; T],
    /// By node: the threads whose newest notice it has not been told.
    owed: [ThreadSet; N],
}

impl<const T: usize, const N: usize> Post<T, N> {
    /// A notice that is new here, told by `from`.
    fn note(&mut self, notice: Notice, from: NodeId) {
        let thread = notice.thread();
        if let Some(newest) = self.newest.get_mut(usize::from(thread.0)) {
            *newest = Some(notice);
            self.unheard = self.unheard.with(thread);
        }
        for node in self.access.servers(thread).without(self.me).without(from).iter() {
            if let Some(owed) = self.owed.get_mut(usize::from(node.0)) {
                *owed = owed.with(thread);
            }
        }
    }

    fn note_all(&mut self, notices: Notices<'_, T, N>) {
        notices.for_each(|tell| self.note(tell.notice, self.me));
    }

    fn follow(&mut self, effects: Effects<'_, T, N>) {
        for effect in effects {
            match effect {
                Effect::Tell(tell) => self.note(tell.notice, self.me),
                Effect::Admit { thread, delay, .. } => {
                    if let Some(admitted) = self.admitted.get_mut(usize::from(thread.0)) {
                        *admitted = Some(delay);
                    }
                }
            }
        }
    }

    fn newest(&self, thread: ThreadId) -> Option<Notice> {
        self.newest.get(usize::from(thread.0)).copied().flatten()
    }

    fn take_admitted(&mut self) -> Option<(ThreadId, Delay)> {
        let (thread, delay) = (0..).map(ThreadId).zip(&mut self.admitted).find(|(_, delay)| delay.is_some())?;
        Some((thread, delay.take()?))
    }
}

impl<const T: usize, const N: usize, const DOORS: usize> Gate<T, N, DOORS> {
    pub fn new(me: NodeId, access: Access<T, N>) -> Self {
        Self {
            satellite: Satellite::new(me, access),
            central: Central::new(NodeSet::EMPTY.with(me), access),
            post: Post {
                me,
                access,
                newest: [None; T],
                unheard: ThreadSet::EMPTY,
                admitted: [None; T],
                owed: [ThreadSet::EMPTY; N],
            },
            doors: [const { None }; DOORS],
            serving: [None; DOORS],
            parked: false,
            order: 0,
            refreshed: 0,
            refused: 0,
            changed: false,
        }
    }

    /// A thread begins its life here. False if the table does not let it, or it is here already.
    pub fn start(&mut self, thread: ThreadId, now: u64) -> bool {
        let started = self.satellite.start(thread, Delay::default(), now).map(|notices| self.post.note_all(notices));
        self.rest(now);
        started.is_ok()
    }

    /// Puts a door in. `None` if all places are taken.
    pub fn add_door(&mut self, door: Door) -> Option<DoorId> {
        let place = self.doors.iter().position(Option::is_none)?;
        *self.doors.get_mut(place)? = Some(door);
        Some(place as DoorId)
    }

    pub fn door(&mut self, door: DoorId) -> Option<&mut Door> {
        self.doors.get_mut(usize::from(door)).and_then(Option::as_mut)
    }

    pub fn doors(&mut self) -> impl Iterator<Item = &mut Door> {
        self.doors.iter_mut().flatten()
    }

    /// How many servers there are on this core; one more makes this its number.
    pub fn servers(&self) -> u8 {
        let numbers = self.doors.iter().flatten().filter_map(|door| match door.kind {
            Kind::Requests(server) => Some(server + 1),
            Kind::Replies(_) => None,
        });
        numbers.max().unwrap_or(0)
    }

    /// The node is stopped alone from now on, or no longer. What has come by now has come before.
    pub fn park(&mut self, parked: bool, now: u64) {
        if parked == self.parked {
            return;
        }
        self.look(now);
        self.parked = parked;
        let changed = if parked { self.satellite.park(now) } else { self.satellite.unpark(now) };
        if let Ok(notices) = changed {
            self.post.note_all(notices);
        }
        self.rest(now);
        self.changed = true;
    }

    /// Another node tells something about a thread. False if there is no such thread.
    pub fn hear(&mut self, from: NodeId, notice: Notice, now: u64) -> bool {
        if usize::from(notice.thread().0) >= T {
            return false;
        }
        // What is in the inboxes came before this notice.
        self.look(now);
        let known = self.post.newest(notice.thread());
        if known.is_none_or(|known| known.delay().is_older_than(notice.delay())) {
            self.post.note(notice, from);
            self.rest(now);
        }
        true
    }

    /// Looks at what has come to the doors, and lets in whoever's time has come.
    pub fn look(&mut self, now: u64) {
        for place in 0..DOORS {
            self.look_at(place, now);
        }
        if self.central.next_alarm().is_some_and(|at| at <= now)
            && let Ok(effects) = self.central.recheck(now)
        {
            self.post.follow(effects);
            self.rest(now);
        }
    }

    fn look_at(&mut self, place: usize, now: u64) {
        let Some(door) = self.doors.get_mut(place).and_then(Option::as_mut) else { return };
        let Some(header) = door.unseen::<N>() else { return };
        if let Kind::Replies(expected) = door.kind
            && expected != Some(header.number)
        {
            door.refuse();
            self.changed = true;
            return;
        }
        let step = if matches!(door.kind, Kind::Requests(_)) { Step::Call } else { Step::Return };
        let passage = header.passage.filter(|passage| passage.step == step);
        match passage.map(|passage| (passage.thread, self.satellite.arrive(passage, now))) {
            None => self.let_in(place, None, now),
            Some((thread, Ok(ask))) => {
                door.keep(thread);
                match self.central.ask(ask, now) {
                    Ok(Verdict::Enter { delay }) => self.admit(thread, delay, now),
                    Ok(Verdict::Weighed(effects)) => self.post.follow(effects),
                    Err(_) => {
                        let _gone = self.satellite.turn_away(thread, now);
                        self.let_in_unfollowed(place, now);
                    }
                }
                self.rest(now);
            }
            // The call before this one, given up by its caller, is still served here.
            Some((_, Err(MoveError::AlreadyHere(_)))) if step == Step::Call => {}
            Some((_, Err(_))) => self.let_in_unfollowed(place, now),
        }
    }

    fn let_in_unfollowed(&mut self, place: usize, now: u64) {
        self.refused = self.refused.wrapping_add(1);
        self.let_in(place, None, now);
    }

    /// Opens a door for its oldest message.
    fn let_in(&mut self, place: usize, thread: Option<ThreadId>, now: u64) {
        let Some(door) = self.doors.get_mut(place).and_then(Option::as_mut) else { return };
        door.open(Entry { thread, order: self.order });
        self.order = self.order.wrapping_add(1);
        self.changed = true;
        // In a queue behind the one that the server is busy with.
        let busy_with = match door.kind {
            Kind::Requests(server) => self.serving.get(usize::from(server)).copied().flatten(),
            Kind::Replies(_) => None,
        };
        if let (Some(thread), Some(on)) = (thread, busy_with) {
            self.wait(thread, Some(on), now);
        }
    }

    fn wait(&mut self, thread: ThreadId, on: Option<ThreadId>, now: u64) {
        if let Ok(notices) = self.satellite.wait(thread, on, now) {
            self.post.note_all(notices);
        }
    }

    /// A thread at the door may come in.
    fn admit(&mut self, thread: ThreadId, delay: Delay, now: u64) {
        let place = self.doors.iter().position(|door| door.as_ref().and_then(Door::waits) == Some(thread));
        let followed = match self.satellite.admit(thread, delay, now) {
            Ok(notices) => {
                self.post.note_all(notices);
                Some(thread)
            }
            Err(_) => {
                self.refused = self.refused.wrapping_add(1);
                None
            }
        };
        if let Some(place) = place {
            self.let_in(place, followed, now);
        }
    }

    /// Gives the roles every notice they have not heard, and lets in whom they admit, until nothing is left to do.
    fn rest(&mut self, now: u64) {
        // A notice changes others only along chains of threads that wait for each other, each of which it reaches once.
        for _ in 0..8 * T.max(1) {
            if let Some(thread) = self.post.unheard.iter().next() {
                self.post.unheard = self.post.unheard.without(thread);
                self.changed = true;
                let Some(notice) = self.post.newest(thread) else { continue };
                // A notice that was overtaken, or about a thread that never comes here, is refused and changes nothing.
                if let Ok(notices) = self.satellite.hear(notice, now) {
                    self.post.note_all(notices);
                }
                if let Ok(effects) = self.central.hear(notice, now) {
                    self.post.follow(effects);
                }
            } else if let Some((thread, delay)) = self.post.take_admitted() {
                self.admit(thread, delay, now);
            } else {
                return;
            }
        }
    }

    /// A server begins with the request of `thread`, or ends with the one it had. The others there wait behind it.
    pub fn serve(&mut self, server: u8, thread: Option<ThreadId>, now: u64) {
        if let Some(serving) = self.serving.get_mut(usize::from(server)) {
            *serving = thread;
        }
        if let Some(thread) = thread {
            self.wait(thread, None, now);
        }
        for place in 0..DOORS {
            let door =
                self.doors.get(place).and_then(Option::as_ref).filter(|door| door.kind == Kind::Requests(server));
            if let Some(queued) = door.and_then(Door::inside).filter(|queued| Some(*queued) != thread) {
                self.wait(queued, thread, now);
            }
        }
        self.rest(now);
    }

    /// A thread leaves with a request or reply. `None` if the gate cannot follow it.
    pub fn leave(&mut self, thread: ThreadId, step: Step, now: u64) -> Option<Passage> {
        let left = self.satellite.leave(thread, step, now).ok();
        if left.is_none() {
            self.refused = self.refused.wrapping_add(1);
        }
        left
    }

    /// A thread goes on here without the reply it waited for. False if the reply is at the door.
    pub fn abandon(&mut self, thread: ThreadId, now: u64) -> bool {
        let gone = self.satellite.abandon(thread, now).map(|notices| self.post.note_all(notices));
        self.rest(now);
        !matches!(gone, Err(MoveError::AlreadyHere(_)))
    }

    pub fn standing(&mut self, door: DoorId) -> Standing {
        self.door(door).map_or(Standing::Shut, |door| door.standing())
    }

    pub fn deadline(&self, thread: ThreadId, ticks: u64, now: u64) -> Option<Deadline> {
        self.satellite.deadline(thread, ticks, now).ok()
    }

    pub fn left(&self, deadline: Deadline, now: u64) -> Left {
        self.satellite.left(deadline, now)
    }

    /// After how many counts somebody at a door has waited long enough, if nothing changes before.
    pub fn alarm(&self, now: u64) -> Option<u64> {
        self.central.next_alarm().map(|at| at.saturating_sub(now))
    }

    /// Says again how far behind those are who are suspended or held here, every `period` counts: the counters of two
    /// boards never run at quite the same rate. Says after how many counts to do so again, if anybody waits.
    pub fn refresh(&mut self, period: u64, now: u64) -> Option<u64> {
        let waiting = self.central.held().union(self.satellite.here().intersection(self.satellite.suspended()));
        if waiting.is_empty() {
            self.refreshed = now;
            return None;
        }
        let due = self.refreshed.saturating_add(period);
        if now < due {
            return Some(due - now);
        }
        self.refreshed = now;
        if let Ok(notices) = self.satellite.refresh(now) {
            self.post.note_all(notices);
        }
        if let Ok(effects) = self.central.refresh(now) {
            self.post.follow(effects);
        }
        self.rest(now);
        Some(period)
    }

    /// Whether anybody has not been told everything.
    pub fn owes(&self) -> bool {
        self.post.owed.iter().any(|owed| !owed.is_empty())
    }

    /// A notice that a node has not been told.
    pub fn owed(&self, node: NodeId) -> Option<Notice> {
        let threads = self.post.owed.get(usize::from(node.0)).copied().unwrap_or_default();
        threads.iter().find_map(|thread| self.post.newest(thread))
    }

    /// The node has been told this.
    pub fn told(&mut self, node: NodeId, notice: Notice) {
        let thread = notice.thread();
        if self.post.newest(thread) == Some(notice)
            && let Some(owed) = self.post.owed.get_mut(usize::from(node.0))
        {
            *owed = owed.without(thread);
        }
    }

    /// The link to a node came up: it may have missed everything.
    pub fn owe_all(&mut self, node: NodeId) {
        let known = (0..T as u8).map(ThreadId).filter(|thread| self.post.newest(*thread).is_some());
        let concerned = known.filter(|thread| self.post.access.servers(*thread).contains(node));
        let all = concerned.fold(ThreadSet::EMPTY, ThreadSet::with);
        if let Some(owed) = self.post.owed.get_mut(usize::from(node.0)) {
            *owed = all;
        }
    }
}

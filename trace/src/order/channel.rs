//! Messages of a channel that were sent and, as far as the logs are read, not yet received.
use super::clock::{LANES, merge_rows, newer};
use super::sends::Sends;
use super::taint::Taint;
use std::collections::VecDeque;
use std::num::NonZeroU32;

/// Messages that were sent and not recorded.
#[derive(Clone, Copy, Debug)]
struct Hole {
    first: u32,
    last: u32,
    /// The sender's event by which all that led to them had happened.
    until: u32,
    before_recording: bool,
}

/// A channel between one life of its sender and one of its receiver: both count messages from the beginning.
#[derive(Clone, Debug)]
pub(super) struct Session {
    /// The sender's first event that can be in it, and in which of its lives.
    pub opened: u32,
    pub ordinal: u32,
    /// How many messages were sent.
    pub count: u32,
    /// The last message that was received.
    pub consumed: u32,
    /// The life of the receiver that the messages are for, once it is known.
    pub receiver: Option<u32>,
    /// The sender's event after it last did not record all: the count may have begun anew unseen.
    pub seam: Option<u32>,
    waiting: Sends,
    holes: VecDeque<Hole>,
}

/// A receiver, as it asks for a message.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asks {
    /// Which of its lives.
    pub ordinal: u32,
    /// Which message it knows the sender's event of, and that event or a later one.
    pub knows: Option<Known>,
    /// The sender's log is read up to that event.
    pub caught_up: bool,
}

/// What a receiver knew of the sender when it took a message.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known {
    pub message: u32,
    /// An event of the sender: the send, or one after it.
    pub number: u32,
    /// It is the send itself.
    pub exactly: bool,
}

impl Known {
    /// Whether a message can not have been sent before an event of the sender.
    fn rules_out(&self, message: u32, before: u32) -> bool {
        self.exactly && newer(message, self.message) && !newer(before, self.number)
    }

    /// Whether an event of the sender can have sent a message.
    #[inline]
    fn allows(&self, message: u32, number: u32) -> bool {
        match (self.exactly, message == self.message) {
            (false, _) => true,
            (true, true) => number == self.number,
            (true, false) => newer(number, self.number) == newer(message, self.message),
        }
    }
}

/// What is known of a message that a receive asks for.
#[derive(Debug)]
pub(super) enum Answer {
    /// Its send, which the receiver knows of now: its number, and what of its past is not known.
    Sent { number: u32, taint: Option<Box<Taint>> },
    /// It was sent and not recorded; all that led to it is known with this event of the sender, if there is one.
    Hole { until: Option<u32>, before_recording: bool },
    /// The sender's log has not come to it.
    NotYet,
    /// It was received before.
    Twice,
}

/// A receiver has asked all there is to ask about a channel, while it had so many sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Settled(NonZeroU32);

/// How many holes a session remembers exactly.
const HOLES: usize = 64;

/// How many messages a channel keeps for a receiver that does not say that it takes any.
const MOST_WAITING: usize = 1 << 16;

impl Session {
    pub fn new(opened: u32, ordinal: u32) -> Self {
        let (waiting, holes) = (Sends::default(), VecDeque::new());
        Self { opened, ordinal, count: 0, consumed: 0, receiver: None, seam: None, waiting, holes }
    }

    /// Messages up to `count` were sent and not recorded; `until` is the sender's next event that is.
    pub fn skip_to(&mut self, count: u32, until: u32, before_recording: bool) {
        if !newer(count, self.count) {
            return;
        }
        if self.holes.len() == HOLES
            && let (Some(old), Some(next)) = (self.holes.pop_front(), self.holes.front_mut())
        {
            // The later event knows all that the earlier one does.
            next.first = old.first;
        }
        self.holes.push_back(Hole { first: self.count.wrapping_add(1), last: count, until, before_recording });
        self.count = count;
    }

    /// A message was sent of whose past nothing is in doubt.
    #[inline(always)]
    pub fn send_clear<const P: usize>(&mut self, message: u32, number: u32, clock: &[[u32; LANES]; P]) {
        if message.wrapping_sub(1) != self.count || self.waiting.is_full() {
            return self.send(message, number, clock, None);
        }
        self.count = message;
        self.waiting.push_clear(message, number, clock);
    }

    /// A message was sent.
    #[inline(never)]
    pub fn send(&mut self, message: u32, number: u32, clock: &[[u32; LANES]], taint: Option<&Taint>) {
        if message.wrapping_sub(1) != self.count {
            self.skip_to(message.wrapping_sub(1), number, false);
        }
        self.count = message;
        if self.waiting.is_full() {
            self.make_room(clock.len());
        }
        self.waiting.push(message, number, clock, taint);
    }

    fn make_room(&mut self, pieces: usize) {
        if self.waiting.len() < MOST_WAITING {
            self.waiting.grow(pieces);
        } else {
            self.waiting.pop();
        }
    }

    /// Whether no other session can be meant, where there is only this.
    fn is_certain(&self, asks: &Asks) -> bool {
        self.receiver == Some(asks.ordinal)
            && if asks.knows.is_some() { asks.caught_up } else { self.ordinal == asks.ordinal }
    }

    /// What was sent before the gap was to the receiver's former life.
    fn forget_before_seam(&mut self) {
        let Some(seam) = self.seam else { return };
        while self.waiting.front().is_some_and(|sent| newer(seam, sent.number)) {
            self.waiting.pop();
        }
    }

    fn ask(&mut self, asks: &Asks, message: u32, clock: &mut [[u32; LANES]]) -> Answer {
        if self.receiver.is_some_and(|receiver| receiver != asks.ordinal) {
            // The receiver was reset, so the count began anew: in a gap, or before it had begun, or it is still to come.
            if self.seam.is_none() && !asks.caught_up {
                return Answer::NotYet;
            }
            self.forget_before_seam();
            self.holes.clear();
        }
        self.receiver = Some(asks.ordinal);
        if !newer(message, self.consumed) {
            // Where something is missing the count may have begun anew unseen.
            let unknown = Answer::Hole { until: None, before_recording: false };
            return if self.seam.is_none() { Answer::Twice } else { unknown };
        }
        while let Some(front) = self.waiting.front() {
            if newer(front.message, message) {
                break;
            }
            let found = front.message == message && asks.knows.is_none_or(|known| known.allows(message, front.number));
            let number = front.number;
            if found {
                merge_rows(clock, front.clock);
            }
            let taint = self.waiting.pop();
            if found {
                self.consumed = message;
                return Answer::Sent { number, taint };
            }
            // Otherwise it was received when the receiver did not record, or is of a count that ended unseen.
        }
        if newer(message, self.count) {
            return Answer::NotYet;
        }
        self.consumed = message;
        // One that ended before what the receiver knew with an earlier message is of a count that is over.
        let is_over = |hole: &Hole| asks.knows.is_some_and(|known| known.rules_out(message, hole.until));
        let within = |hole: &&Hole| !newer(hole.first, message) && !newer(message, hole.last) && !is_over(hole);
        let hole = self.holes.iter().find(within);
        let before_recording = hole.is_some_and(|hole| hole.before_recording);
        Answer::Hole { until: hole.map(|hole| hole.until), before_recording }
    }
}

/// The sender's side of a channel.
#[derive(Clone, Debug)]
pub(super) struct Channel {
    pub from: u8,
    /// Who waits for nothing but the next message: the bit of a node, or none.
    pub waiter: u32,
    /// One more than there ever were sessions; before the first the newest is none.
    opened: u32,
    /// The session in which the sender is.
    pub newest: Session,
    /// Those before it, the latest first; there are some only while the receiver has not caught up with a reset.
    older: Vec<Session>,
}

impl Channel {
    pub fn new(from: u8) -> Self {
        Self { from, waiter: 0, opened: 1, newest: Session::new(0, 0), older: Vec::new() }
    }

    /// Looks for a message that a receive asks for, and merges what is known of it into the receiver's clock.
    pub fn ask(&mut self, asks: &Asks, message: u32, clock: &mut [[u32; LANES]]) -> Answer {
        let Some(at) = self.find(asks) else { return Answer::NotYet };
        // A receiver that has come to a session never asks for an older one.
        self.older.truncate(at);
        self.older.last_mut().unwrap_or(&mut self.newest).ask(asks, message, clock)
    }

    /// With which number of sessions there is nothing to ask about the next message, as things are; none if there is.
    pub fn settled(&self, asks: &Asks) -> Option<Settled> {
        let certain = self.opened != 1 && self.older.is_empty() && self.newest.is_certain(asks);
        NonZeroU32::new(self.opened).filter(|_| certain).map(Settled)
    }

    /// Begins a session. What was settled is no longer.
    pub fn open(&mut self, session: Session) {
        let before = std::mem::replace(&mut self.newest, session);
        if self.opened != 1 {
            self.older.insert(0, before);
        }
        self.opened += 1;
    }

    /// The next message of a receiver, unless there is something to ask about it: says which event sent it.
    #[inline(always)]
    pub fn next<const P: usize>(
        &mut self,
        settled: Option<Settled>,
        knows: Option<&Known>,
        message: u32,
        clock: &mut [[u32; LANES]; P],
    ) -> Option<u32> {
        if !self.is_settled(settled) {
            return None;
        }
        let session = &mut self.newest;
        let (number, sent) = session.waiting.clear_front::<P>(message)?;
        // A session's first message says in which life the sender is; a plain record does not.
        let doubts = |known: &Known| message == 1 || !known.allows(message, number);
        if !newer(message, session.consumed) || knows.is_some_and(doubts) {
            return None;
        }
        merge_rows(clock, sent);
        session.waiting.drop_clear();
        session.consumed = message;
        Some(number)
    }

    #[inline(always)]
    fn is_settled(&self, settled: Option<Settled>) -> bool {
        settled.map_or(0, |settled| settled.0.get()) == self.opened
    }

    /// How many messages a receiver has that lacks nothing but the next; none if there is more to it.
    pub fn lacks(&self, settled: Option<Settled>, message: u32) -> Option<u32> {
        let count = self.newest.count;
        let is_next = message.wrapping_sub(1) == count && self.newest.waiting.front().is_none();
        (self.is_settled(settled) && is_next).then_some(count)
    }

    /// The place of the session that a receiver asks about, the newest being the first.
    fn find(&self, asks: &Asks) -> Option<usize> {
        let oldest = self.older.len();
        let mut sessions = std::iter::once(&self.newest).chain(&self.older);
        match asks.knows {
            _ if self.opened == 1 => None,
            // What was sent before the recording is in the first.
            Some(known) => Some(sessions.position(|session| !newer(session.opened, known.number)).unwrap_or(oldest)),
            None => sessions.next_back().filter(|session| session.ordinal == asks.ordinal).map(|_| oldest),
        }
    }

    /// Whether nothing came since its only session counted so many.
    pub fn stands_at(&self, count: u32) -> bool {
        self.opened != 1 && self.older.is_empty() && self.newest.count == count
    }

    /// The newest session, in which the sender is; none before its first life.
    pub fn current(&mut self) -> Option<&mut Session> {
        (self.opened != 1).then_some(&mut self.newest)
    }

    /// How many messages wait for their receives.
    pub fn waiting(&self) -> usize {
        std::iter::once(&self.newest).chain(&self.older).map(|session| session.waiting.len()).sum()
    }
}

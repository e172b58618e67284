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
    /// The sender's last event before it.
    pub opened: u32,
    /// In which of the sender's lives.
    pub ordinal: u32,
    /// How many messages were sent.
    pub count: u32,
    /// The last message that was received.
    pub consumed: u32,
    /// Where it ended; none while the sender is in it.
    ended: Option<Ended>,
    waiting: Sends,
    holes: VecDeque<Hole>,
}

/// Where a session ended.
#[derive(Clone, Copy, Debug)]
struct Ended {
    /// The last recorded event of the sender before the next session.
    last: u32,
    /// An event of the sender by which the session was over.
    until: u32,
}

/// A receiver, as it asks for a message.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asks {
    /// Which of its lives.
    pub ordinal: u32,
    /// A message that it took in the present session; none if its log does not say.
    pub anchor: Option<Anchor>,
    /// The sender's log is read up to that event.
    pub caught_up: bool,
}

/// A message that a receiver took, and the sender's event that sent it: it tells in which session the receiver is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Anchor {
    pub message: u32,
    pub number: u32,
}

impl Anchor {
    /// Whether an event of the sender can have sent a message.
    fn allows(&self, message: u32, number: u32) -> bool {
        message != self.message || number == self.number
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
    /// A session that begins after the sender's event `opened`.
    pub fn new(opened: u32, ordinal: u32) -> Self {
        let (waiting, holes) = (Sends::default(), VecDeque::new());
        Self { opened, ordinal, count: 0, consumed: 0, ended: None, waiting, holes }
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

    /// Whether the receiver is in this session, where there is only this.
    fn is_certain(&self, asks: &Asks) -> bool {
        match asks.anchor {
            Some(anchor) => asks.caught_up && newer(anchor.number, self.opened),
            None => self.ordinal == asks.ordinal,
        }
    }

    fn ask(&mut self, asks: &Asks, message: u32, clock: &mut [[u32; LANES]]) -> Answer {
        if let (Some(ended), Some(anchor)) = (self.ended, asks.anchor)
            && newer(anchor.number, ended.last)
        {
            // Its send is not recorded, and it may be of a session of which nothing is.
            return Answer::Hole { until: Some(ended.until), before_recording: false };
        }
        if !newer(message, self.consumed) {
            return Answer::Twice;
        }
        while let Some(front) = self.waiting.front() {
            if newer(front.message, message) {
                break;
            }
            let found =
                front.message == message && asks.anchor.is_none_or(|anchor| anchor.allows(message, front.number));
            let number = front.number;
            if found {
                merge_rows(clock, front.clock);
            }
            let taint = self.waiting.pop();
            if found {
                self.consumed = message;
                return Answer::Sent { number, taint };
            }
            // Otherwise it was received when the receiver did not record.
        }
        if newer(message, self.count) {
            return match self.ended {
                Some(ended) => Answer::Hole { until: Some(ended.until), before_recording: false },
                None => Answer::NotYet,
            };
        }
        self.consumed = message;
        let within = |hole: &&Hole| !newer(hole.first, message) && !newer(message, hole.last);
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
        if self.opened == 1 || asks.anchor.is_some() && !asks.caught_up {
            return Answer::NotYet;
        }
        let oldest = self.older.len();
        let mut sessions = std::iter::once(&self.newest).chain(&self.older);
        // The place of the session that the receiver is in, the newest being the first.
        let at = match asks.anchor {
            Some(anchor) => sessions.position(|session| newer(anchor.number, session.opened)),
            None => match sessions.next_back() {
                Some(session) if session.ordinal == asks.ordinal => Some(oldest),
                _ => return Answer::NotYet,
            },
        };
        let Some(at) = at else {
            let first = self.older.last().unwrap_or(&self.newest);
            return Answer::Hole { until: Some(first.opened.wrapping_add(1)), before_recording: true };
        };
        // A receiver that has come to a session never asks for an older one.
        self.older.truncate(at);
        self.older.last_mut().unwrap_or(&mut self.newest).ask(asks, message, clock)
    }

    /// With which number of sessions there is nothing to ask about the next message, as things are; none if there is.
    pub fn settled(&self, asks: &Asks) -> Option<Settled> {
        let certain = self.opened != 1 && self.older.is_empty() && self.newest.is_certain(asks);
        NonZeroU32::new(self.opened).filter(|_| certain).map(Settled)
    }

    /// Begins a session, after the sender's recorded event `last`. What was settled is no longer.
    pub fn open(&mut self, session: Session, last: u32) {
        let until = session.opened.wrapping_add(1);
        let mut before = std::mem::replace(&mut self.newest, session);
        if self.opened != 1 {
            before.ended = Some(Ended { last, until });
            self.older.insert(0, before);
        }
        self.opened += 1;
    }

    /// The next message of a receiver, unless there is something to ask about it: says which event sent it.
    #[inline(always)]
    pub fn next<const P: usize>(
        &mut self,
        settled: Option<Settled>,
        message: u32,
        clock: &mut [[u32; LANES]; P],
    ) -> Option<u32> {
        if !self.is_settled(settled) {
            return None;
        }
        let session = &mut self.newest;
        let (number, sent) = session.waiting.clear_front::<P>(message)?;
        if !newer(message, session.consumed) {
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

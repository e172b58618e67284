//! Messages of a channel that were sent and, as far as the logs are read, not yet received.
use super::clock::newer;
use super::taint::Taint;
use std::collections::VecDeque;
use stillpoint_core::EventNumber;

/// A send that its receive may still ask for.
#[derive(Clone, Debug)]
pub(super) struct Sent {
    /// Which message of its session.
    pub message: u32,
    /// The sender's event.
    pub number: u32,
    /// The clock of the send.
    pub row: u32,
    /// What of its past is not known.
    pub taint: Option<Box<Taint>>,
}

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
    /// The sender's first event in its life, and which of its lives that is.
    pub life: u32,
    pub ordinal: u32,
    /// The latest event of the sender's life.
    pub latest: u32,
    /// What the receiver said of itself when the link came up.
    pub peer: Option<u32>,
    /// How many messages were sent.
    pub count: u32,
    /// The last message that was received.
    pub consumed: u32,
    waiting: VecDeque<Sent>,
    holes: VecDeque<Hole>,
}

/// A life of a receiver, as it asks for a message.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asks {
    /// The receiver's first event in its life, and which of its lives that is.
    pub life: u32,
    pub ordinal: u32,
    /// The receive.
    pub number: u32,
    /// What the sender said of itself when the link came up.
    pub peer: Option<u32>,
}

/// What is known of a message that a receive asks for.
#[derive(Debug)]
pub(super) enum Answer {
    /// Its send.
    Sent(Sent),
    /// It was sent and not recorded; all that led to it is known with this event of the sender.
    Hole { until: u32, before_recording: bool },
    /// The sender's log has not come to it.
    NotYet,
    /// It was received before.
    Twice,
}

/// How many holes a session remembers exactly.
const HOLES: usize = 64;

/// How many messages a channel keeps for a receiver that does not say that it takes any.
const MOST_WAITING: usize = 1 << 16;

impl Session {
    pub fn new(life: u32, ordinal: u32, latest: u32) -> Self {
        let (waiting, holes) = (VecDeque::new(), VecDeque::new());
        Self { life, ordinal, latest, peer: None, count: 0, consumed: 0, waiting, holes }
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

    /// A message was sent. Gives back what is not kept any longer.
    #[inline]
    pub fn send(&mut self, sent: Sent) -> Option<Sent> {
        self.count = sent.message;
        self.latest = sent.number;
        self.waiting.push_back(sent);
        if self.waiting.len() > MOST_WAITING { self.waiting.pop_front() } else { None }
    }

    /// Whether this can be the session of a receiver's life.
    fn is_of(&self, asks: &Asks) -> bool {
        let epoch = |number| EventNumber(number).epoch();
        let within =
            |number, first, last| epoch(number).wrapping_sub(epoch(first)) <= epoch(last).wrapping_sub(epoch(first));
        match (self.peer, asks.peer) {
            (None, None) => self.ordinal == asks.ordinal,
            (mine, theirs) => {
                mine.is_none_or(|mine| within(mine, asks.life, asks.number))
                    // Only when the sender's log is read up to where it said so: until then it may name us itself.
                    && theirs.is_none_or(|theirs| !newer(theirs, self.latest) && within(theirs, self.life, self.latest))
            }
        }
    }

    #[inline]
    fn ask(&mut self, message: u32, drop: &mut impl FnMut(Sent)) -> Answer {
        if !newer(message, self.consumed) {
            return Answer::Twice;
        }
        while let Some(front) = self.waiting.front() {
            if newer(front.message, message) {
                break;
            }
            let found = front.message == message;
            let Some(sent) = self.waiting.pop_front() else { break };
            if found {
                self.consumed = message;
                return Answer::Sent(sent);
            }
            // It was received when the receiver did not record.
            drop(sent);
        }
        if newer(message, self.count) {
            return Answer::NotYet;
        }
        self.consumed = message;
        let within = |hole: &&Hole| !newer(hole.first, message) && !newer(message, hole.last);
        let hole = self.holes.iter().find(within);
        let (until, before_recording) = hole.map_or((self.latest, false), |hole| (hole.until, hole.before_recording));
        Answer::Hole { until, before_recording }
    }
}

/// The sender's side of a channel.
#[derive(Clone, Debug, Default)]
pub(super) struct Channel {
    pub from: u8,
    /// Oldest first; there are several only while the receiver has not caught up with a reset.
    pub sessions: VecDeque<Session>,
}

impl Channel {
    /// Looks for a message that a receive asks for.
    #[inline]
    pub fn ask(&mut self, asks: &Asks, message: u32, mut drop: impl FnMut(Sent)) -> Answer {
        let Some(at) = self.find(asks) else { return Answer::NotYet };
        // A receiver that has come to a session never asks for an older one.
        for mut old in self.sessions.drain(..at) {
            old.waiting.drain(..).for_each(&mut drop);
        }
        self.sessions.front_mut().map_or(Answer::NotYet, |session| session.ask(message, &mut drop))
    }

    #[inline]
    fn find(&self, asks: &Asks) -> Option<usize> {
        // One that both ends name goes before one that none names.
        let fits = |session: &Session| session.is_of(asks);
        let named = self.sessions.iter().position(|session| session.peer.is_some() && fits(session));
        named.or_else(|| self.sessions.iter().position(fits))
    }

    /// The newest session, in which the sender is.
    pub fn current(&mut self) -> Option<&mut Session> {
        self.sessions.back_mut()
    }
}

//! Messages of a channel that were sent and, as far as the logs are read, not yet received.
use super::clock::newer;
use super::taint::Taint;
use std::collections::VecDeque;

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
    waiting: VecDeque<Sent>,
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
    /// Its send.
    Sent(Sent),
    /// It was sent and not recorded; all that led to it is known with this event of the sender, if there is one.
    Hole { until: Option<u32>, before_recording: bool },
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
    pub fn new(opened: u32, ordinal: u32) -> Self {
        let (waiting, holes) = (VecDeque::new(), VecDeque::new());
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

    /// A message was sent. Gives back what is not kept any longer.
    #[inline]
    pub fn send(&mut self, sent: Sent) -> Option<Sent> {
        self.count = sent.message;
        self.waiting.push_back(sent);
        if self.waiting.len() > MOST_WAITING { self.waiting.pop_front() } else { None }
    }

    /// What was sent before the gap was to the receiver's former life.
    fn forget_before_seam(&mut self, drop: &mut impl FnMut(Sent)) {
        let Some(seam) = self.seam else { return };
        while let Some(sent) = self.waiting.pop_front_if(|sent| newer(seam, sent.number)) {
            drop(sent);
        }
    }

    #[inline]
    fn ask(&mut self, asks: &Asks, message: u32, drop: &mut impl FnMut(Sent)) -> Answer {
        if self.receiver.is_some_and(|receiver| receiver != asks.ordinal) {
            // The receiver was reset, so the count began anew: in a gap, or before it had begun, or it is still to come.
            if self.seam.is_none() && !asks.caught_up {
                return Answer::NotYet;
            }
            self.forget_before_seam(drop);
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
            let Some(sent) = self.waiting.pop_front() else { break };
            if found {
                self.consumed = message;
                return Answer::Sent(sent);
            }
            // It was received when the receiver did not record, or is of a count that ended unseen.
            drop(sent);
        }
        if newer(message, self.count) {
            return Answer::NotYet;
        }
        self.consumed = message;
        let within = |hole: &&Hole| !newer(hole.first, message) && !newer(message, hole.last);
        let hole = self.holes.iter().find(within);
        let before_recording = hole.is_some_and(|hole| hole.before_recording);
        Answer::Hole { until: hole.map(|hole| hole.until), before_recording }
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
        self.sessions.front_mut().map_or(Answer::NotYet, |session| session.ask(asks, message, &mut drop))
    }

    #[inline]
    fn find(&self, asks: &Asks) -> Option<usize> {
        match asks.knows {
            // What was sent before the recording is in the first.
            Some(known) => {
                Some(self.sessions.iter().rposition(|session| !newer(session.opened, known.number)).unwrap_or(0))
            }
            None => self.sessions.front().filter(|session| session.ordinal == asks.ordinal).map(|_| 0),
        }
    }

    /// The newest session, in which the sender is.
    pub fn current(&mut self) -> Option<&mut Session> {
        self.sessions.back_mut()
    }
}

//! A door: the inbox of a server or client, and how far its oldest message has come in.
use crate::channel::Ring;
use core::task::Waker;
use stillpoint_core::delay::{CallHeader, ThreadId};
use stillpoint_core::message_stamp_len;

/// Which door of its core.
pub(super) type DoorId = u8;

/// An inbox that the gate looks into. A message that has to wait stays there, untaken: it is channel state.
pub(super) struct Door {
    ring: Ring,
    pub kind: Kind,
    state: State,
    pub waker: Option<Waker>,
}

/// What comes in at a door.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Requests for the server with this number.
    Requests(u8),
    /// The reply to the call of this number, if one is awaited.
    Replies(Option<u16>),
}

/// How far the oldest message has come; it is the one with this number in its channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Unseen,
    Waits { message: u32, thread: ThreadId },
    Open { message: u32, entry: Entry },
    Late { message: u32 },
}

/// A message that may be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    /// Whose call or return it is; `None` if the gate does not follow it.
    pub thread: Option<ThreadId>,
    /// How many were let in before it on this core.
    pub order: u32,
}

/// How a door stands for the task behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// Nothing may be taken.
    Shut,
    /// The oldest message may be taken.
    Open(Entry),
    /// The oldest message is the reply to a call that was given up: take it and drop it.
    Late,
}

impl Door {
    pub const fn new(ring: Ring, kind: Kind) -> Self {
        Self { ring, kind, state: State::Unseen, waker: None }
    }

    /// The oldest message if nothing was decided about it yet.
    pub fn unseen<const N: usize>(&self) -> Option<CallHeader> {
        let message = self.ring.front()?;
        if self.state.message() == Some(self.ring.taken()) {
            return None;
        }
        let length = message_stamp_len::<N>(message).ok()?;
        // One that is too short has no header; whoever takes it finds that out.
        let header: [u8; CallHeader::BYTES] =
            message.get(length..).and_then(<[u8]>::first_chunk).copied().unwrap_or(CallHeader::BLANK);
        Some(CallHeader::from_bytes(header))
    }

    pub fn standing(&self) -> Standing {
        match self.state {
            State::Open { message, entry } if message == self.ring.taken() => Standing::Open(entry),
            State::Late { message } if message == self.ring.taken() => Standing::Late,
            _ => Standing::Shut,
        }
    }

    /// Who was let in and has not been taken yet.
    pub fn inside(&self) -> Option<ThreadId> {
        match self.standing() {
            Standing::Open(entry) => entry.thread,
            Standing::Shut | Standing::Late => None,
        }
    }

    /// Who waits to be let in.
    pub fn waits(&self) -> Option<ThreadId> {
        match self.state {
            State::Waits { message, thread } if message == self.ring.taken() => Some(thread),
            _ => None,
        }
    }

    /// From now on the reply to this call is awaited. One that stands open answers a call that was given up: the gate could
    /// not follow its thread, or giving up would have been too late.
    pub fn expect(&mut self, number: Option<u16>) {
        self.kind = Kind::Replies(number);
        if matches!(self.standing(), Standing::Open(_)) {
            self.refuse();
        }
    }

    pub fn keep(&mut self, thread: ThreadId) {
        self.state = State::Waits { message: self.ring.taken(), thread };
    }

    pub fn open(&mut self, entry: Entry) {
        self.state = State::Open { message: self.ring.taken(), entry };
    }

    pub fn refuse(&mut self) {
        self.state = State::Late { message: self.ring.taken() };
    }
}

impl State {
    fn message(self) -> Option<u32> {
        match self {
            Self::Unseen => None,
            Self::Waits { message, .. } | Self::Open { message, .. } | Self::Late { message } => Some(message),
        }
    }
}

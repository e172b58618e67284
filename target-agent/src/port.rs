//! Typed, instrumented channels for async code: what goes through them is an event.
//!
//! A message is serialised with postcard before its event and deserialised before its event; the event itself only
//! stamps it and moves an index. A future commits in the poll that returns `Ready`; dropped before that it did nothing.
use crate::channel::{End, Ring};
use crate::doorbell::Waiter;
use crate::platform::{CoreId, Platform};
use crate::sabotage::{self, Sabotage};
use core::future::poll_fn;
use core::marker::PhantomData;
use core::task::{Context, Poll};
use serde::Serialize;
use serde::de::DeserializeOwned;
use stillpoint_core::PortId;

/// What ports need of the agent of their core, whatever its sizes.
pub(crate) trait Sections: Sync {
    /// How many bytes a stamp can have.
    fn stamp_room(&self) -> usize;
    /// Sends: the stamp goes to the front of `stamp`, and `commit` is called with it and its length inside the event.
    /// False if nothing can be sent now.
    fn send(&self, port: PortId, stamp: &mut [u8], commit: &mut dyn FnMut(&mut [u8], usize)) -> bool;
    /// How long the stamp is with which `message` begins.
    fn stamp_len(&self, message: &[u8]) -> Option<usize>;
    /// Receives `message`, and `commit` is called inside the event. False if it cannot be received.
    fn receive(&self, port: PortId, message: &[u8], commit: &mut dyn FnMut()) -> bool;
}

/// Why a message was not sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendError {
    /// The channel has no free slot; the message can be sent when the peer has read one.
    Full,
    /// The message does not fit into a slot: give the channel larger ones.
    TooLong,
    /// The node has not started yet.
    NotStarted,
}

/// Why a message was not received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReceiveError {
    /// There is none.
    Empty,
    /// The bytes are not of this type. The message was taken out.
    Malformed,
    /// The message's stamp is wrong, or the node has not started. The message stays where it is.
    Refused,
}

/// The end of a channel into which a node puts messages.
pub struct Outbox<P: 'static, T> {
    agent: &'static dyn Sections,
    port: PortId,
    ring: Ring,
    room: Waiter<P>,
    peer: CoreId,
    carries: PhantomData<fn(T)>,
}

impl<P: Platform, T> Outbox<P, T> {
    pub(crate) fn open(
        agent: &'static dyn Sections,
        port: PortId,
        ring: Ring,
        me: CoreId,
        peer: CoreId,
    ) -> Option<Self> {
        let room = P::doorbells().claim(me).ok()?;
        ring.head.set_waiter(End::Sender, &room);
        Some(Self { agent, port, ring, room, peer, carries: PhantomData })
    }

    /// The port of this end.
    #[must_use]
    pub fn port(&self) -> PortId {
        self.port
    }

    /// Has the agent do something wrong at this end, for messages once `after` more were sent. For tests.
    #[cfg(feature = "sabotage")]
    pub fn sabotage(&self, sabotage: Sabotage, after: u32) {
        sabotage::choose(sabotage, P::core(), self.port, after, self.ring.share());
    }
}

impl<P: Platform, T: Serialize> Outbox<P, T> {
    /// Sends a message if there is room.
    ///
    /// # Errors
    /// There is no room now, or there never will be.
    pub fn try_send(&mut self, message: &T) -> Result<(), SendError> {
        let stamp_room = self.agent.stamp_room();
        let slot = self.ring.free_slot().ok_or(SendError::Full)?;
        let (stamp, payload) = slot.split_at_mut_checked(stamp_room).ok_or(SendError::TooLong)?;
        let length = postcard::to_slice(message, payload).map_err(|_| SendError::TooLong)?.len();
        let end = stamp_room + length;
        let stamp: *mut [u8] = stamp;
        // SAFETY: the slot stays ours until it is published, which happens inside, last.
        let stamp = unsafe { &mut *stamp };
        let (ring, port) = (&self.ring, self.port);
        let sent = self.agent.send(self.port, stamp, &mut |stamp, used| {
            // Stamp and payload side by side, so that a message is one piece.
            let begin = stamp.len() - used;
            stamp.copy_within(..used, begin);
            if !sabotage::once(Sabotage::LostMessage, P::core(), port) {
                ring.publish(begin, end);
            }
            sabotage::duplicate(P::core(), port);
        });
        if !sent {
            return Err(SendError::NotStarted);
        }
        self.ring.head.wake::<P>(End::Receiver, self.peer);
        Ok(())
    }

    /// Sends a message as soon as there is room.
    ///
    /// # Errors
    /// The message is longer than a slot, or the node has not started.
    pub async fn send(&mut self, message: &T) -> Result<(), SendError> {
        poll_fn(|context| self.poll_send(message, context)).await
    }

    fn poll_send(&mut self, message: &T, context: &Context<'_>) -> Poll<Result<(), SendError>> {
        match self.try_send(message) {
            Err(SendError::Full) => {}
            done => return Poll::Ready(done),
        }
        self.room.wait(context.waker());
        match self.try_send(message) {
            Err(SendError::Full) => Poll::Pending,
            done => {
                self.room.stop_waiting();
                Poll::Ready(done)
            }
        }
    }
}

/// The end of a channel from which a node takes messages.
pub struct Inbox<P: 'static, T> {
    agent: &'static dyn Sections,
    port: PortId,
    ring: Ring,
    mail: Waiter<P>,
    peer: CoreId,
    carries: PhantomData<fn() -> T>,
}

impl<P: Platform, T> Inbox<P, T> {
    pub(crate) fn open(
        agent: &'static dyn Sections,
        port: PortId,
        ring: Ring,
        peer: CoreId,
        me: CoreId,
    ) -> Option<Self> {
        let mail = P::doorbells().claim(me).ok()?;
        ring.head.set_waiter(End::Receiver, &mail);
        Some(Self { agent, port, ring, mail, peer, carries: PhantomData })
    }

    /// The port of this end.
    #[must_use]
    pub fn port(&self) -> PortId {
        self.port
    }
}

impl<P: Platform, T: DeserializeOwned> Inbox<P, T> {
    /// Takes the oldest message, if there is one.
    ///
    /// # Errors
    /// There is none, or it cannot be received.
    pub fn try_recv(&mut self) -> Result<T, ReceiveError> {
        let message = self.ring.front().ok_or(ReceiveError::Empty)?;
        let length = self.agent.stamp_len(message).ok_or(ReceiveError::Refused)?;
        // Before the event, while the slot is still ours.
        let decoded = message.get(length..).and_then(|payload| postcard::from_bytes(payload).ok());
        let ring = &self.ring;
        if !self.agent.receive(self.port, message, &mut || ring.free()) {
            return Err(ReceiveError::Refused);
        }
        self.ring.head.wake::<P>(End::Sender, self.peer);
        decoded.ok_or(ReceiveError::Malformed)
    }

    /// Takes the oldest message as soon as there is one.
    ///
    /// # Errors
    /// The message cannot be received.
    pub async fn recv(&mut self) -> Result<T, ReceiveError> {
        poll_fn(|context| self.poll_recv(context)).await
    }

    fn poll_recv(&mut self, context: &Context<'_>) -> Poll<Result<T, ReceiveError>> {
        match self.try_recv() {
            Err(ReceiveError::Empty) => {}
            done => return Poll::Ready(done),
        }
        self.mail.wait(context.waker());
        match self.try_recv() {
            Err(ReceiveError::Empty) => Poll::Pending,
            done => {
                self.mail.stop_waiting();
                Poll::Ready(done)
            }
        }
    }
}

//! Typed, instrumented channels for async code: what goes through them is an event.
//!
//! A message is serialised with postcard before its event and deserialised before its event; the event itself only
//! stamps it and moves an index. A future commits in the poll that returns `Ready`; dropped before that it did nothing.
use crate::channel::{End, Ring};
use crate::doorbell::Waiter;
use crate::per_core::StaysHere;
use crate::platform::{CoreId, Platform};
#[cfg(feature = "sabotage")]
use crate::sabotage::Sabotage;
use crate::tap::{Outgoing, Tap};
use core::future::poll_fn;
use core::marker::PhantomData;
use core::task::{Context, Poll, Waker};
use serde::Serialize;
use serde::de::DeserializeOwned;

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
///
/// It stays on the core of its agent, whose node counts what is sent: it is not `Send`.
/// ```compile_fail,E0277
/// fn moves_to_another_core<T: Send>() {}
/// moves_to_another_core::<stillpoint_agent::port::Outbox<(), u32>>();
/// ```
pub struct Outbox<P: 'static, T> {
    tap: Tap,
    ring: Ring,
    room: Waiter<P>,
    peer: CoreId,
    carries: PhantomData<fn(T)>,
    _stays_here: StaysHere,
}

impl<P: Platform, T> Outbox<P, T> {
    pub(crate) fn open(tap: Tap, ring: Ring, me: CoreId, peer: CoreId) -> Option<Self> {
        let room = P::doorbells().claim(me).ok()?;
        ring.head.set_waiter(End::Sender, &room);
        Some(Self { tap, ring, room, peer, carries: PhantomData, _stays_here: StaysHere::new() })
    }

    /// Has the agent do something wrong at this end, for messages once `after` more were sent. For tests.
    #[cfg(feature = "sabotage")]
    pub fn sabotage(&self, sabotage: Sabotage, after: u32) {
        self.tap.sabotage::<P>(sabotage, after, self.ring.share());
    }
}

impl<P: Platform, T: Serialize> Outbox<P, T> {
    /// Sends a message if there is room.
    ///
    /// # Errors
    /// There is no room now, or there never will be.
    pub fn try_send(&mut self, message: &T) -> Result<(), SendError> {
        let sent = self.send_now(message, NO_PATCH);
        if sent == Err(SendError::Full) {
            self.tap.found_full();
        }
        sent
    }
}

impl<P: Platform, T> Outbox<P, T> {
    /// The next poll that finds no room is repeated when there is some.
    pub(crate) fn wait(&self, waker: &Waker) {
        self.room.wait(waker);
    }

    /// Where this end meets the kit.
    #[cfg(feature = "calls")]
    pub(crate) fn tap(&self) -> &Tap {
        &self.tap
    }

    /// Sends a message that has the bytes of a `T`; `patch` may change them inside the event.
    #[inline]
    pub(crate) fn try_send_with<M: Serialize>(
        &mut self,
        message: &M,
        patch: impl FnMut(&mut [u8]),
    ) -> Result<(), SendError> {
        let sent = self.send_now(message, Some(patch));
        if sent == Err(SendError::Full) {
            self.tap.found_full();
        }
        sent
    }

    fn send_now<M: Serialize>(&mut self, message: &M, patch: Option<impl FnMut(&mut [u8])>) -> Result<(), SendError> {
        let stamp_room = self.tap.stamp_room();
        let slot = self.ring.free_slot().ok_or(SendError::Full)?;
        let (stamp, payload) = slot.split_at_mut_checked(stamp_room).ok_or(SendError::TooLong)?;
        let length = postcard::to_slice(message, payload).map_err(|_| SendError::TooLong)?.len();
        let end = stamp_room + length;
        let (stamp, payload): (*mut [u8], *mut [u8]) = (stamp, payload);
        // SAFETY: the slot stays ours until it is published, which happens inside, last. The two do not overlap.
        let (stamp, payload) = unsafe { (&mut *stamp, &mut *payload) };
        let mut patch = patch.map(|mut patch| move || patch(&mut *payload));
        let patch = patch.as_mut().map(|patch| patch as &mut dyn FnMut());
        if !self.tap.send(&mut Outgoing { stamp, end, patch, ring: &self.ring }) {
            return Err(SendError::NotStarted);
        }
        self.ring.head.wake::<P>(End::Receiver, self.peer);
        Ok(())
    }
}

/// What is sent as it is.
const NO_PATCH: Option<fn(&mut [u8])> = None;

impl<P: Platform, T: Serialize> Outbox<P, T> {
    /// Sends a message as soon as there is room.
    ///
    /// # Errors
    /// The message is longer than a slot, or the node has not started.
    pub async fn send(&mut self, message: &T) -> Result<(), SendError> {
        poll_fn(|context| self.poll_send(message, context)).await
    }

    fn poll_send(&mut self, message: &T, context: &Context<'_>) -> Poll<Result<(), SendError>> {
        match self.send_now(message, NO_PATCH) {
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
///
/// It stays on the core of its agent, whose node counts what is received: it is not `Send`.
/// ```compile_fail,E0277
/// fn moves_to_another_core<T: Send>() {}
/// moves_to_another_core::<stillpoint_agent::port::Inbox<(), u32>>();
/// ```
pub struct Inbox<P: 'static, T> {
    tap: Tap,
    ring: Ring,
    mail: Waiter<P>,
    peer: CoreId,
    carries: PhantomData<fn() -> T>,
    _stays_here: StaysHere,
}

impl<P: Platform, T> Inbox<P, T> {
    pub(crate) fn open(tap: Tap, ring: Ring, peer: CoreId, me: CoreId) -> Option<Self> {
        let mail = P::doorbells().claim(me).ok()?;
        ring.head.set_waiter(End::Receiver, &mail);
        Some(Self { tap, ring, mail, peer, carries: PhantomData, _stays_here: StaysHere::new() })
    }

    /// The next message wakes `waker`.
    pub(crate) fn wait(&self, waker: &Waker) {
        self.mail.wait(waker);
    }

    /// Where this end meets the kit.
    #[cfg(feature = "calls")]
    pub(crate) fn tap(&self) -> &Tap {
        &self.tap
    }

    /// Where messages lie until they are taken.
    #[cfg(feature = "calls")]
    pub(crate) fn ring(&self) -> &Ring {
        &self.ring
    }
}

impl<P: Platform, T: DeserializeOwned> Inbox<P, T> {
    /// Takes the oldest message, if there is one.
    ///
    /// # Errors
    /// There is none, or it cannot be received.
    pub fn try_recv(&mut self) -> Result<T, ReceiveError> {
        let received = self.receive_now();
        if matches!(received, Err(ReceiveError::Empty)) {
            self.tap.found_empty();
        }
        received
    }

    fn receive_now(&mut self) -> Result<T, ReceiveError> {
        let before = self.ring.head.count(false);
        let message = self.ring.front().ok_or(ReceiveError::Empty)?;
        let stamp = self.tap.read_stamp(message);
        let Some(stamp) = &stamp else { return Err(ReceiveError::Refused) };
        // Before the event, while the slot is still ours.
        let decoded = message.get(stamp.len()..).and_then(|payload| postcard::from_bytes(payload).ok());
        if !self.tap.receive(stamp, &self.ring, before) {
            let is_gone = self.ring.head.count(false) != before;
            return Err(if is_gone { ReceiveError::Empty } else { ReceiveError::Refused });
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
        match self.receive_now() {
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

//! The calling side.
use super::CallError;
use super::door::{DoorId, Standing};
use super::doors::Doors;
use super::envelope::Envelope;
use super::server::Caller;
use crate::agent::Calling;
use crate::name::Name;
use crate::platform::Platform;
use crate::port::{Inbox, Outbox, ReceiveError, SendError};
use core::pin::Pin;
use core::task::{Context, Poll};
use core::time::Duration;
use serde::Serialize;
use serde::de::DeserializeOwned;
use stillpoint_core::delay::{CallHeader, Deadline, Left, Step, ThreadId};
use stillpoint_core::{Event, EventKind};

/// Calls a server, one call at a time. Made by [`Rpc::client`](super::Rpc::client).
pub struct Client<P: 'static, Req, Rep> {
    agent: &'static dyn Calling,
    gate: &'static dyn Doors,
    name: Name,
    thread: Option<ThreadId>,
    door: DoorId,
    number: u16,
    late: u32,
    requests: Outbox<P, Envelope<Req>>,
    replies: Inbox<P, Envelope<Rep>>,
}

impl<P: Platform, Req, Rep> Client<P, Req, Rep> {
    pub(super) fn new(
        agent: &'static dyn Calling,
        gate: &'static dyn Doors,
        name: Name,
        door: DoorId,
        requests: Outbox<P, Envelope<Req>>,
        replies: Inbox<P, Envelope<Rep>>,
    ) -> Self {
        Self { agent, gate, name, thread: None, door, number: 0, late: 0, requests, replies }
    }

    pub(super) fn of(self, thread: ThreadId) -> Self {
        Self { thread: Some(thread), ..self }
    }

    /// From now on calls are made on behalf of whoever made the request that a server of this node is busy with: its
    /// thread moves on with them, and if the callee is stopped its timeout stands still, too.
    pub fn on_behalf_of(&mut self, caller: Caller) -> &mut Self {
        self.thread = caller.0;
        self
    }

    /// Replies that came after their call had timed out.
    #[must_use]
    pub fn late(&self) -> u32 {
        self.late
    }
}

impl<P: Platform, Req: Serialize, Rep: DeserializeOwned> Client<P, Req, Rep> {
    /// Calls, and waits for the reply as long as it takes. Dropped before that it gives the call up.
    ///
    /// # Errors
    /// The request cannot be sent or the reply not be read.
    pub async fn call(&mut self, request: &Req) -> Result<Rep, CallError> {
        Call { client: self, request, limit: Limit::None, stage: Stage::New }.await
    }

    /// Calls, and waits for the reply for at most so long, in the time of the calling thread: it stands still while the
    /// callee is stopped, held or itself frozen.
    ///
    /// # Errors
    /// There is no reply in time, or the request cannot be sent or the reply not be read.
    pub async fn call_with_timeout(&mut self, request: &Req, limit: Duration) -> Result<Rep, CallError> {
        let counts = limit.as_nanos().saturating_mul(P::COUNTER_RATE.0.into()) / 1_000_000_000;
        let limit = Limit::Counts(u64::try_from(counts).unwrap_or(u64::MAX));
        Call { client: self, request, limit, stage: Stage::New }.await
    }

    fn try_request(&mut self, request: &Req) -> Result<(), SendError> {
        let Self { gate, thread, number, requests, .. } = self;
        let message = Envelope { header: CallHeader::BLANK, body: request };
        requests.try_send_with(&message, |payload| {
            let header = CallHeader { passage: gate.leave(*thread, Step::Call), number: *number };
            if let Some(place) = payload.first_chunk_mut() {
                *place = header.to_bytes();
            }
        })
    }

    /// The reply, if it has come in. Late ones before it are dropped.
    fn try_reply(&mut self) -> Option<Result<Rep, CallError>> {
        loop {
            self.gate.look();
            match self.gate.standing(self.door) {
                Standing::Shut => return None,
                Standing::Late => {
                    if let Err(ReceiveError::Refused) = self.replies.try_recv() {
                        return Some(Err(CallError::Receive(ReceiveError::Refused)));
                    }
                    self.late = self.late.wrapping_add(1);
                }
                Standing::Open(entry) => {
                    let reply = self.replies.try_recv();
                    if let (None, Some(thread)) = (entry.thread, self.thread) {
                        // The reply came without its thread, which goes on here all the same.
                        self.gate.abandon(thread);
                    }
                    return Some(reply.map(|envelope| envelope.body).map_err(CallError::Receive));
                }
            }
        }
    }

    fn begin(&mut self, limit: Limit) -> Limit {
        self.agent.event(Event::new(EventKind::Call, self.name.0));
        self.number = self.number.wrapping_add(1);
        self.gate.expect(self.door, Some(self.number));
        let Limit::Counts(counts) = limit else { return limit };
        let deadline = self.thread.and_then(|thread| self.gate.deadline(thread, counts));
        let of_the_node = || Limit::OfNode(embassy_time_driver::now().saturating_add(counts));
        deadline.map_or_else(of_the_node, Limit::OfThread)
    }

    /// How much is left; `None` if it does not run.
    fn left(&self, limit: Limit) -> Option<u64> {
        match limit {
            Limit::None => None,
            Limit::Counts(counts) => Some(counts),
            Limit::OfNode(until) => Some(until.saturating_sub(embassy_time_driver::now())),
            Limit::OfThread(deadline) => match self.gate.left(deadline) {
                Left::Ticks(left) => Some(left),
                Left::Frozen => None,
                Left::Elapsed => Some(0),
            },
        }
    }
}

/// One call on its way.
struct Call<'a, P: Platform, Req, Rep> {
    client: &'a mut Client<P, Req, Rep>,
    request: &'a Req,
    limit: Limit,
    stage: Stage,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    New,
    /// The request waits for room.
    Sending,
    /// The request has left.
    Away,
    Over,
}

#[derive(Clone, Copy)]
enum Limit {
    None,
    /// Not running yet.
    Counts(u64),
    /// In the time of the thread.
    OfThread(Deadline),
    /// In the time of the node, for a call that no thread makes.
    OfNode(u64),
}

impl<P: Platform, Req, Rep> Call<'_, P, Req, Rep> {
    /// The thread goes on here. False if its reply is here already.
    fn give_up(&mut self) -> bool {
        let client = &mut *self.client;
        let gone = self.stage != Stage::Away || client.thread.is_none_or(|thread| client.gate.abandon(thread));
        if gone {
            client.gate.expect(client.door, None);
            self.stage = Stage::Over;
        }
        gone
    }
}

impl<P: Platform, Req: Serialize, Rep: DeserializeOwned> Call<'_, P, Req, Rep> {
    fn advance(&mut self, context: &Context<'_>) -> Poll<Result<Rep, CallError>> {
        let client = &mut *self.client;
        if self.stage == Stage::New {
            self.limit = client.begin(self.limit);
            self.stage = Stage::Sending;
        }
        if self.stage == Stage::Sending {
            let mut sent = client.try_request(self.request);
            if sent == Err(SendError::Full) {
                client.requests.wait(context.waker());
                sent = client.try_request(self.request);
            }
            match sent {
                Ok(()) => self.stage = Stage::Away,
                Err(SendError::Full) => {}
                Err(error) => {
                    self.give_up();
                    return Poll::Ready(Err(CallError::Send(error)));
                }
            }
        }
        if self.stage == Stage::Away {
            let mut reply = client.try_reply();
            if reply.is_none() {
                client.replies.wait(context.waker());
                client.gate.register(client.door, context.waker());
                reply = client.try_reply();
            }
            if let Some(reply) = reply {
                client.gate.expect(client.door, None);
                client.agent.event(Event::new(EventKind::Return, client.name.0));
                self.stage = Stage::Over;
                return Poll::Ready(reply);
            }
        }
        let left = client.left(self.limit);
        if left == Some(0) && self.give_up() {
            self.client.agent.event(Event::new(EventKind::Timer, self.client.name.0));
            return Poll::Ready(Err(CallError::TimedOut));
        }
        let alarm = self.client.gate.alarm();
        if let Some(counts) = left.into_iter().chain(alarm).min() {
            let at = embassy_time_driver::now().saturating_add(counts.max(1));
            embassy_time_driver::schedule_wake(at, context.waker());
        }
        Poll::Pending
    }
}

impl<P: Platform, Req: Serialize, Rep: DeserializeOwned> Future for Call<'_, P, Req, Rep> {
    type Output = Result<Rep, CallError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let result = self.advance(context);
        self.client.agent.tell();
        result
    }
}

impl<P: Platform, Req, Rep> Drop for Call<'_, P, Req, Rep> {
    fn drop(&mut self) {
        if matches!(self.stage, Stage::Sending | Stage::Away) {
            self.give_up();
            self.client.agent.tell();
        }
    }
}

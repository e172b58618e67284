//! The called side.
use super::door::{DoorId, Entry, Standing};
use super::doors::Doors;
use super::envelope::Envelope;
use crate::agent::Calling;
use crate::name::Name;
use crate::platform::Platform;
use crate::port::{Inbox, Outbox, ReceiveError, SendError};
use core::future::poll_fn;
use core::task::{Context, Poll};
use serde::Serialize;
use serde::de::DeserializeOwned;
use stillpoint_core::delay::{CallHeader, Step, ThreadId};
use stillpoint_core::{Event, EventKind};

/// Answers the calls of `CLIENTS` clients, one at a time. Made by [`Rpc::server`](super::Rpc::server).
pub struct Server<P: 'static, Req, Rep, const CLIENTS: usize> {
    agent: &'static dyn Calling,
    gate: &'static dyn Doors,
    name: Name,
    number: u8,
    doors: [DoorId; CLIENTS],
    clients: [ClientPorts<P, Req, Rep>; CLIENTS],
}

/// A server's two ends for one of its clients: where requests come in, where replies go out.
pub type ClientPorts<P, Req, Rep> = (Inbox<P, Envelope<Req>>, Outbox<P, Envelope<Rep>>);

/// On whose behalf a server works, for the calls it makes in turn.
#[derive(Clone, Copy, Debug)]
pub struct Caller(pub(super) Option<ThreadId>);

/// A request that waits for its reply. Dropped without one, its caller waits until its timeout.
pub struct Request<'a, P: Platform, Req, Rep, const CLIENTS: usize> {
    /// What is asked.
    pub body: Req,
    server: &'a mut Server<P, Req, Rep, CLIENTS>,
    client: usize,
    thread: Option<ThreadId>,
    number: u16,
    answered: bool,
}

impl<P: Platform, Req, Rep, const CLIENTS: usize> Server<P, Req, Rep, CLIENTS> {
    pub(super) fn new(
        agent: &'static dyn Calling,
        gate: &'static dyn Doors,
        name: Name,
        number: u8,
        doors: [DoorId; CLIENTS],
        clients: [ClientPorts<P, Req, Rep>; CLIENTS],
    ) -> Self {
        Self { agent, gate, name, number, doors, clients }
    }

    /// The client whose request was let in first of those that may be taken.
    fn first_in(&self) -> Option<(usize, Entry)> {
        let open = self.doors.iter().enumerate().filter_map(|(client, door)| match self.gate.standing(*door) {
            Standing::Open(entry) => Some((client, entry)),
            Standing::Shut | Standing::Late => None,
        });
        // The counter wraps; those that wait at the same time are close together.
        open.reduce(|first, next| if (next.1.order.wrapping_sub(first.1.order) as i32) < 0 { next } else { first })
    }
}

/// What was taken from an inbox.
struct Taken<Req> {
    client: usize,
    entry: Entry,
    envelope: Envelope<Req>,
}

impl<P: Platform, Req: DeserializeOwned, Rep, const CLIENTS: usize> Server<P, Req, Rep, CLIENTS> {
    /// The next request, in the order in which the gate lets them in.
    ///
    /// # Errors
    /// A request cannot be read.
    pub async fn next(&mut self) -> Result<Request<'_, P, Req, Rep, CLIENTS>, ReceiveError> {
        let Taken { client, entry, envelope } = poll_fn(|context| {
            let taken = self.poll_next(context);
            self.agent.tell();
            taken
        })
        .await?;
        self.agent.event(Event::new(EventKind::Call, self.name.0));
        let number = CallHeader::from_bytes(envelope.header).number;
        Ok(Request { body: envelope.body, server: self, client, thread: entry.thread, number, answered: false })
    }

    fn poll_next(&mut self, context: &Context<'_>) -> Poll<Result<Taken<Req>, ReceiveError>> {
        if let Some(taken) = self.try_next() {
            return Poll::Ready(taken);
        }
        for ((inbox, _), door) in self.clients.iter().zip(&self.doors) {
            inbox.wait(context.waker());
            self.gate.register(*door, context.waker());
        }
        if let Some(taken) = self.try_next() {
            return Poll::Ready(taken);
        }
        if let Some(counts) = self.gate.alarm() {
            let at = embassy_time_driver::now().saturating_add(counts.max(1));
            embassy_time_driver::schedule_wake(at, context.waker());
        }
        Poll::Pending
    }

    fn try_next(&mut self) -> Option<Result<Taken<Req>, ReceiveError>> {
        self.gate.look();
        let (client, entry) = self.first_in()?;
        let (inbox, _) = self.clients.get_mut(client)?;
        match inbox.try_recv() {
            Ok(envelope) => {
                self.gate.serve(self.number, entry.thread);
                Some(Ok(Taken { client, entry, envelope }))
            }
            Err(error) => {
                if error == ReceiveError::Malformed {
                    // It was taken out, and nobody can answer it: its caller waits until its timeout.
                    self.gate.leave(entry.thread, Step::Return);
                }
                Some(Err(error))
            }
        }
    }
}

impl<P: Platform, Req, Rep, const CLIENTS: usize> Request<'_, P, Req, Rep, CLIENTS> {
    /// On whose behalf the server works until it has replied.
    #[must_use]
    pub fn caller(&self) -> Caller {
        Caller(self.thread)
    }

    fn end(&mut self) {
        self.answered = true;
        self.server.gate.serve(self.server.number, None);
        self.server.agent.tell();
    }
}

impl<P: Platform, Req, Rep: Serialize, const CLIENTS: usize> Request<'_, P, Req, Rep, CLIENTS> {
    /// Answers, as soon as there is room.
    ///
    /// # Errors
    /// The reply cannot be sent.
    pub async fn reply(mut self, reply: &Rep) -> Result<(), SendError> {
        self.server.agent.event(Event::new(EventKind::Return, self.server.name.0));
        poll_fn(|context| {
            let mut sent = self.try_reply(reply);
            if sent == Err(SendError::Full) {
                if let Some((_, outbox)) = self.server.clients.get(self.client) {
                    outbox.wait(context.waker());
                }
                sent = self.try_reply(reply);
            }
            if sent == Err(SendError::Full) { Poll::Pending } else { Poll::Ready(sent) }
        })
        .await?;
        self.end();
        Ok(())
    }

    fn try_reply(&mut self, reply: &Rep) -> Result<(), SendError> {
        let (gate, thread, number) = (self.server.gate, self.thread, self.number);
        let Some((_, outbox)) = self.server.clients.get_mut(self.client) else { return Ok(()) };
        let message = Envelope { header: CallHeader::BLANK, body: reply };
        outbox.try_send_with(&message, |payload| {
            let header = CallHeader { passage: gate.leave(thread, Step::Return), number };
            if let Some(place) = payload.first_chunk_mut() {
                *place = header.to_bytes();
            }
        })
    }
}

impl<P: Platform, Req, Rep, const CLIENTS: usize> Drop for Request<'_, P, Req, Rep, CLIENTS> {
    fn drop(&mut self) {
        if !self.answered {
            // Its thread leaves with no reply, or stays here for ever.
            self.server.gate.leave(self.thread, Step::Return);
            self.end();
        }
    }
}

//! Calls without the kit: the same clients and servers, with nothing in front of a message but the number of its call.
//!
//! Whom a call belongs to and who may enter where is taken and forgotten; a timeout runs in the time of its core.
pub use crate::rpc_error::{CallError, RpcError};
pub use stillpoint_core::time::Counts;

use crate::agent::Agent;
use crate::name::Name;
use crate::platform::Platform;
use crate::port::{Inbox, Outbox, ReceiveError, SendError};
use core::future::poll_fn;
use core::marker::PhantomData;
use core::task::{Context, Poll};
use core::time::Duration;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use stillpoint_core::NodeId;
use stillpoint_core::delay::{AccessError, ThreadId};

/// Who may enter where: nobody asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access<const T: usize, const N: usize>;

impl<const T: usize, const N: usize> Access<T, N> {
    /// Nothing.
    pub const NONE: Self = Self;

    /// Nothing.
    ///
    /// # Errors
    /// None here; with the kit a thread or node that does not exist.
    #[inline]
    pub fn allow(&mut self, _thread: ThreadId, _node: NodeId) -> Result<(), AccessError> {
        Ok(())
    }
}

/// A request or reply: the type that the channels of a call carry.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Envelope<T> {
    number: u16,
    body: T,
}

/// The gates of this chip's cores: none, in no memory.
pub struct Rpc<P: 'static, const T: usize, const N: usize, const DOORS: usize = 4>(PhantomData<fn() -> P>);

impl<P: Platform, const T: usize, const N: usize, const DOORS: usize> Rpc<P, T, N, DOORS> {
    /// Nothing.
    #[must_use]
    #[expect(clippy::new_without_default, reason = "as with the kit")]
    pub const fn new() -> Self {
        Self(PhantomData)
    }

    /// Nothing.
    ///
    /// # Errors
    /// None here; with the kit a core that begins twice.
    pub fn begin<const PORTS: usize, const LOG: usize>(
        &'static self,
        _agent: &Agent<P, N, PORTS, LOG>,
        _access: Access<T, N>,
    ) -> Result<(), RpcError> {
        Ok(())
    }

    /// A client.
    ///
    /// # Errors
    /// None here; with the kit a core that has not begun or has no door left.
    pub fn client<Req, Rep, const PORTS: usize, const LOG: usize>(
        &'static self,
        agent: &Agent<P, N, PORTS, LOG>,
        name: Name,
        _thread: ThreadId,
        requests: Outbox<P, Envelope<Req>>,
        replies: Inbox<P, Envelope<Rep>>,
    ) -> Result<Client<P, Req, Rep>, RpcError> {
        self.relay(agent, name, requests, replies)
    }

    /// A client with which a server calls.
    ///
    /// # Errors
    /// None here; with the kit a core that has not begun or has no door left.
    pub fn relay<Req, Rep, const PORTS: usize, const LOG: usize>(
        &'static self,
        _agent: &Agent<P, N, PORTS, LOG>,
        _name: Name,
        requests: Outbox<P, Envelope<Req>>,
        replies: Inbox<P, Envelope<Rep>>,
    ) -> Result<Client<P, Req, Rep>, RpcError> {
        Ok(Client { number: 0, late: 0, requests, replies })
    }

    /// A server with an inbox and an outbox for each of its clients.
    ///
    /// # Errors
    /// None here; with the kit a core that has not begun or has no door left.
    pub fn server<Req, Rep, const CLIENTS: usize, const PORTS: usize, const LOG: usize>(
        &'static self,
        _agent: &Agent<P, N, PORTS, LOG>,
        _name: Name,
        clients: [ClientPorts<P, Req, Rep>; CLIENTS],
    ) -> Result<Server<P, Req, Rep, CLIENTS>, RpcError> {
        Ok(Server { clients, first: 0 })
    }

    /// Nothing.
    pub fn leave_unprotected(&self) {}

    /// None: nobody follows calls here.
    pub fn unfollowed(&self) -> u32 {
        0
    }
}

/// Calls a server, one call at a time.
pub struct Client<P: 'static, Req, Rep> {
    number: u16,
    late: u32,
    requests: Outbox<P, Envelope<Req>>,
    replies: Inbox<P, Envelope<Rep>>,
}

impl<P: Platform, Req, Rep> Client<P, Req, Rep> {
    /// Nothing.
    pub fn on_behalf_of(&mut self, _caller: Caller) -> &mut Self {
        self
    }

    /// Replies that came after their call had timed out.
    #[must_use]
    pub fn late(&self) -> u32 {
        self.late
    }
}

impl<P: Platform, Req: Serialize, Rep: DeserializeOwned> Client<P, Req, Rep> {
    /// Calls, and waits for the reply as long as it takes.
    ///
    /// # Errors
    /// The request cannot be sent or the reply not be read.
    pub async fn call(&mut self, request: &Req) -> Result<Rep, CallError> {
        self.number = self.number.wrapping_add(1);
        let message = Envelope { number: self.number, body: request };
        poll_fn(|context| {
            let sent = self.requests.try_send_with(&message, |_| ());
            if sent != Err(SendError::Full) {
                return Poll::Ready(sent);
            }
            self.requests.wait(context.waker());
            full_is_pending(self.requests.try_send_with(&message, |_| ()))
        })
        .await
        .map_err(CallError::Send)?;
        loop {
            let reply = self.replies.recv().await.map_err(CallError::Receive)?;
            if reply.number == self.number {
                return Ok(reply.body);
            }
            self.late = self.late.wrapping_add(1);
        }
    }

    /// Calls, and waits for the reply for at most so long.
    ///
    /// # Errors
    /// There is no reply in time, or the request cannot be sent or the reply not be read.
    pub async fn call_with_timeout(&mut self, request: &Req, limit: Duration) -> Result<Rep, CallError> {
        use embassy_futures::select::{Either, select};
        let counts = limit.as_nanos().saturating_mul(P::COUNTER_RATE.0.into()) / 1_000_000_000;
        let timeout = crate::time::sleep(Counts(u64::try_from(counts).unwrap_or(u64::MAX)));
        match select(self.call(request), timeout).await {
            Either::First(result) => result,
            Either::Second(()) => Err(CallError::TimedOut),
        }
    }
}

/// Answers the calls of `CLIENTS` clients, one at a time.
pub struct Server<P: 'static, Req, Rep, const CLIENTS: usize> {
    clients: [ClientPorts<P, Req, Rep>; CLIENTS],
    /// Whom it looks at first: the one after the last that was served.
    first: usize,
}

/// A server's two ends for one of its clients: where requests come in, where replies go out.
pub type ClientPorts<P, Req, Rep> = (Inbox<P, Envelope<Req>>, Outbox<P, Envelope<Rep>>);

/// On whose behalf a server works.
#[derive(Clone, Copy, Debug)]
pub struct Caller(());

/// A request that waits for its reply.
pub struct Request<'a, P: Platform, Req, Rep, const CLIENTS: usize> {
    /// What is asked.
    pub body: Req,
    server: &'a mut Server<P, Req, Rep, CLIENTS>,
    client: usize,
    number: u16,
}

impl<P: Platform, Req: DeserializeOwned, Rep, const CLIENTS: usize> Server<P, Req, Rep, CLIENTS> {
    /// The next request.
    ///
    /// # Errors
    /// A request cannot be read.
    pub async fn next(&mut self) -> Result<Request<'_, P, Req, Rep, CLIENTS>, ReceiveError> {
        let (client, Envelope { number, body }) = poll_fn(|context| self.poll_next(context)).await?;
        self.first = client + 1;
        Ok(Request { body, server: self, client, number })
    }

    fn poll_next(&mut self, context: &Context<'_>) -> Poll<Result<(usize, Envelope<Req>), ReceiveError>> {
        self.clients.iter().for_each(|(inbox, _)| inbox.wait(context.waker()));
        for place in self.first..self.first + CLIENTS {
            let client = place % CLIENTS;
            match self.clients[client].0.try_recv() {
                Err(ReceiveError::Empty) => {}
                done => return Poll::Ready(done.map(|envelope| (client, envelope))),
            }
        }
        Poll::Pending
    }
}

impl<P: Platform, Req, Rep: Serialize, const CLIENTS: usize> Request<'_, P, Req, Rep, CLIENTS> {
    /// On whose behalf the server works until it has replied.
    #[must_use]
    pub fn caller(&self) -> Caller {
        Caller(())
    }

    /// Answers, as soon as there is room.
    ///
    /// # Errors
    /// The reply cannot be sent.
    pub async fn reply(self, reply: &Rep) -> Result<(), SendError> {
        let (_, outbox) = &mut self.server.clients[self.client];
        let message = Envelope { number: self.number, body: reply };
        poll_fn(|context| {
            let sent = outbox.try_send_with(&message, |_| ());
            if sent != Err(SendError::Full) {
                return Poll::Ready(sent);
            }
            outbox.wait(context.waker());
            full_is_pending(outbox.try_send_with(&message, |_| ()))
        })
        .await
    }
}

fn full_is_pending(sent: Result<(), SendError>) -> Poll<Result<(), SendError>> {
    if sent == Err(SendError::Full) { Poll::Pending } else { Poll::Ready(sent) }
}

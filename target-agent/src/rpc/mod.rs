//! Remote procedure calls on ports, whose timeouts do not fire because somebody looks.
//!
//! A [`Client`] sends requests through an [`Outbox`] and gets replies from an
//! [`Inbox`]; a [`Server`] has such a pair for each of its clients. What moves between nodes with a
//! call is a *thread*, and a timeout of a call runs in the time of its thread: it stands still while the callee is stopped,
//! held, or itself frozen (Kawabe et al., "Paradise"; the algorithm is [`stillpoint_core::delay`]).
//!
//! So one node can be stopped alone (a *delayed halt*): the others run on until they would interact with it. A call
//! or return that comes too early for somebody who was stopped is held at the door: it stays in its inbox, as a message in
//! flight, until those who would have come before it have come. Plain ports and timeouts that are not those of a call
//! are protected by consistent halts only.
//!
//! The state of the gate is the user's `static` [`Rpc`]; firmware that has none contains nothing of this.
//!
//! # Example: one client on core 0, its server on core 1
//! ```
//! use stillpoint_agent::{agent::Agent, name, platform::Platform, port::{Inbox, Outbox}};
//! use stillpoint_agent::rpc::{CallError, Client, Envelope, Rpc, RpcError, Server};
//! use stillpoint_core::{NodeId, delay::{Access, ThreadId}};
//! use core::time::Duration;
//!
//! // Who may enter where: the client's thread its own node, which is its home, and the server's.
//! fn access() -> Access<1, 2> {
//!     let mut access = Access::NONE;
//!     access.allow(ThreadId(0), NodeId(0)).unwrap();
//!     access.allow(ThreadId(0), NodeId(1)).unwrap();
//!     access
//! }
//! async fn ask<P: Platform>(client: &mut Client<P, u16, i32>) -> Result<i32, CallError> {
//!     client.call_with_timeout(&7, Duration::from_millis(100)).await
//! }
//! async fn answer<P: Platform>(server: &mut Server<P, u16, i32, 1>) {
//!     let Ok(request) = server.next().await else { return };
//!     let reply = i32::from(request.body) * 2;
//!     let _ = request.reply(&reply).await;
//! }
//! ```
mod client;
mod clock;
mod door;
mod doors;
mod envelope;
mod gate;
mod server;
pub(crate) mod slot;
#[cfg(test)]
mod tests;

pub use crate::rpc_error::{CallError, RpcError};
pub use client::Client;
pub use envelope::Envelope;
pub use server::{Caller, ClientPorts, Request, Server};

use crate::agent::{Agent, Guarded};
use crate::name::Name;
use crate::per_core::PerCore;
use crate::platform::{MAX_CORES, Platform};
use crate::port::{Inbox, Outbox};
use crate::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use clock::GateClock;
use door::{Door, DoorId, Kind};
use gate::Gate;
use slot::NoticeSlot;
use stillpoint_core::delay::{Access, ThreadId};

/// The gates of this chip's cores, in a system of `N` nodes among which `T` threads move.
///
/// `DOORS` is how many inboxes of calls a core has at most: one per client, and one per client of a server.
pub struct Rpc<P: 'static, const T: usize, const N: usize, const DOORS: usize = 4> {
    cores: PerCore<P, Guarded<Core<T, N, DOORS>>>,
    /// What each core has told the others, by thread.
    slots: [[NoticeSlot; T]; MAX_CORES],
    /// Which node a core is, counted from 1, if it has begun; otherwise [`NOBODY`].
    nodes: [AtomicU8; MAX_CORES],
    /// Whether delayed halts are unprotected, see [`Rpc::leave_unprotected`].
    unprotected: AtomicBool,
}

/// What one core has.
struct Core<const T: usize, const N: usize, const DOORS: usize> {
    gate: Gate<T, N, DOORS>,
    clock: GateClock,
    /// What of the other cores' slots was taken.
    taken: [[u32; T]; MAX_CORES],
}

const NOBODY: u8 = 0;

impl<P: Platform, const T: usize, const N: usize, const DOORS: usize> Rpc<P, T, N, DOORS> {
    /// Gates that have not begun.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            cores: PerCore::new([const { Guarded::empty() }; MAX_CORES]),
            slots: [const { [const { NoticeSlot::new() }; T] }; MAX_CORES],
            nodes: [const { AtomicU8::new(NOBODY) }; MAX_CORES],
            unprotected: AtomicBool::new(false),
        }
    }

    /// Begins the gate of the calling core, which is the node of `agent`. Every node must have the same `access`.
    ///
    /// # Errors
    /// It has begun already.
    pub fn begin<const PORTS: usize, const LOG: usize>(
        &'static self,
        agent: &Agent<P, N, PORTS, LOG>,
        access: Access<T, N>,
    ) -> Result<(), RpcError> {
        let node = agent.node();
        self.cores.with(|core| {
            if core.is_filled() {
                return Err(RpcError::AlreadyBegun);
            }
            let (clock, taken) = (GateClock::default(), [[0; T]; MAX_CORES]);
            core.fill(|| Core { gate: Gate::new(node, access), clock, taken });
            Ok(())
        })?;
        self.nodes[P::core().index()].store(node.0 + 1, Ordering::Release);
        agent.set_gate(self);
        Ok(())
    }

    /// A client: what `thread`, whose home is this node, calls by `name`.
    ///
    /// # Errors
    /// The gate has not begun, has no door left, or the thread may not begin here.
    pub fn client<Req, Rep, const PORTS: usize, const LOG: usize>(
        &'static self,
        agent: &Agent<P, N, PORTS, LOG>,
        name: Name,
        thread: ThreadId,
        requests: Outbox<P, Envelope<Req>>,
        replies: Inbox<P, Envelope<Rep>>,
    ) -> Result<Client<P, Req, Rep>, RpcError> {
        if !self.run(|core, now| core.gate.start(thread, now)).ok_or(RpcError::NotBegun)? {
            return Err(RpcError::MayNotStart(thread));
        }
        let client = self.relay(agent, name, requests, replies)?;
        Ok(client.of(thread))
    }

    /// A client without a thread of its own: a server calls with it on behalf of its callers.
    ///
    /// # Errors
    /// The gate has not begun or has no door left.
    pub fn relay<Req, Rep, const PORTS: usize, const LOG: usize>(
        &'static self,
        agent: &Agent<P, N, PORTS, LOG>,
        name: Name,
        requests: Outbox<P, Envelope<Req>>,
        replies: Inbox<P, Envelope<Rep>>,
    ) -> Result<Client<P, Req, Rep>, RpcError> {
        let door = self.add_door(Door::new(replies.ring().share(), Kind::Replies(None)))?;
        agent.mark_calls(requests.tap());
        agent.mark_calls(replies.tap());
        Ok(Client::new(agent.calling(), self, name, door, requests, replies))
    }

    /// A server: what is called by `name` here, with an inbox and an outbox for each of its clients.
    ///
    /// Name it with `name!(serve "square")` and its clients with `name!(call "square")`: then breakpoints and recordings tell
    /// the two ends of a call apart.
    ///
    /// # Errors
    /// The gate has not begun or has no door left.
    pub fn server<Req, Rep, const CLIENTS: usize, const PORTS: usize, const LOG: usize>(
        &'static self,
        agent: &Agent<P, N, PORTS, LOG>,
        name: Name,
        clients: [ClientPorts<P, Req, Rep>; CLIENTS],
    ) -> Result<Server<P, Req, Rep, CLIENTS>, RpcError> {
        let number = self.run(|core, _| core.gate.servers()).ok_or(RpcError::NotBegun)?;
        let mut doors: [DoorId; CLIENTS] = [0; CLIENTS];
        for ((inbox, outbox), door) in clients.iter().zip(&mut doors) {
            *door = self.add_door(Door::new(inbox.ring().share(), Kind::Requests(number)))?;
            agent.mark_calls(inbox.tap());
            agent.mark_calls(outbox.tap());
        }
        Ok(Server::new(agent.calling(), self, name, number, doors, clients))
    }

    /// Leaves delayed halts unprotected from now on: who is stopped alone tells nobody, as under a debugger that knows
    /// nothing of calls. For comparison.
    pub fn leave_unprotected(&self) {
        self.unprotected.store(true, Ordering::Relaxed);
    }

    /// Calls that went on without the gate, because it could not follow their thread: the node was reset, or two nodes
    /// have different access tables.
    pub fn unfollowed(&self) -> u32 {
        self.run(|core, _| core.gate.refused).unwrap_or(0)
    }

    fn add_door(&self, door: Door) -> Result<DoorId, RpcError> {
        let added = self.run(|core, _| core.gate.add_door(door)).ok_or(RpcError::NotBegun)?;
        added.ok_or(RpcError::NoDoorLeft)
    }
}

impl<P: Platform, const T: usize, const N: usize, const DOORS: usize> Default for Rpc<P, T, N, DOORS> {
    fn default() -> Self {
        Self::new()
    }
}

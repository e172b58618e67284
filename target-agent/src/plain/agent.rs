//! The agent of a firmware without the kit: the calls of [`agent`](crate::agent) with nothing behind them but channels.
//!
//! What only the kit needs (who is node 2, what a port is called, when a node starts) is taken and forgotten. A program
//! that runs with the kit runs without it; what the kit alone refuses, such as a second `begin`, is not noticed here.
pub use crate::open_error::OpenError;

use crate::channel::{Channel, End, Ring};
use crate::name::Name;
use crate::platform::{CoreId, Platform};
use crate::port::{Inbox, Outbox};
use crate::serial::{CancelSafe, Line, Serial, Stage};
use crate::shared::{Shared, SharedHandle};
use crate::tap::Tap;
use core::marker::PhantomData;
use embedded_io_async::{Read, Write};
use stillpoint_core::link::Config;
use stillpoint_core::{Event, NodeId, StampKind};

/// The agents of this chip's cores: none, in no memory.
pub struct Agents<P, const N: usize, const PORTS: usize, const LOG: usize>(PhantomData<fn() -> P>);

impl<P: Platform, const N: usize, const PORTS: usize, const LOG: usize> Agents<P, N, PORTS, LOG> {
    /// Nothing.
    #[must_use]
    #[expect(clippy::new_without_default, reason = "made by `system!` only, as with the kit")]
    pub const fn new() -> Self {
        Self(PhantomData)
    }

    /// The agent of the calling core.
    ///
    /// # Errors
    /// None here; with the kit a core that begins twice.
    pub fn begin(
        &'static self,
        _name: Name,
        _node: NodeId,
        _stamps: StampKind,
    ) -> Result<Agent<P, N, PORTS, LOG>, OpenError> {
        Ok(Agent(PhantomData))
    }
}

/// Defines what stands for the agents of a firmware, and their type:
/// `system!(AGENTS of Agent: nodes = 4, ports = 6, log = 8192)`.
#[macro_export]
macro_rules! system {
    ($name:ident of $agent:ident: nodes = $nodes:expr, ports = $ports:expr, log = $log:expr) => {
        $crate::system!($name: nodes = $nodes, ports = $ports, log = $log);
        type $agent = $crate::agent::Agent<$crate::platform::Chip, { $nodes }, { $ports }, { $log }>;
    };
    ($name:ident: nodes = $nodes:expr, ports = $ports:expr, log = $log:expr) => {
        static $name: $crate::agent::Agents<$crate::platform::Chip, { $nodes }, { $ports }, { $log }> =
            $crate::agent::Agents::new();
    };
}

/// The ends of a serial link at one node: out, in.
pub type BothEnds<P, A, B> = (Outbox<P, A>, Inbox<P, B>);

/// What opens the ports of one core.
pub struct Agent<P, const N: usize, const PORTS: usize, const LOG: usize>(PhantomData<*mut P>);

impl<P, const N: usize, const PORTS: usize, const LOG: usize> Clone for Agent<P, N, PORTS, LOG> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<P, const N: usize, const PORTS: usize, const LOG: usize> Copy for Agent<P, N, PORTS, LOG> {}

impl<P: Platform, const N: usize, const PORTS: usize, const LOG: usize> Agent<P, N, PORTS, LOG> {
    /// The sending end of a channel to what runs on `core` of this chip.
    ///
    /// # Errors
    /// The end is taken, or there is no place left to wait at.
    pub fn outbox<T, const SLOTS: usize, const BYTES: usize>(
        &self,
        _name: Name,
        channel: &'static Channel<T, SLOTS, BYTES>,
        _to: NodeId,
        core: CoreId,
    ) -> Result<Outbox<P, T>, OpenError> {
        let ring = channel.claim(End::Sender).ok_or(OpenError::EndTaken)?;
        Outbox::open(Tap, ring, P::core(), core).ok_or(OpenError::NoneLeft)
    }

    /// The receiving end of a channel from what runs on `core` of this chip.
    ///
    /// # Errors
    /// The end is taken, or there is no place left to wait at.
    pub fn inbox<T, const SLOTS: usize, const BYTES: usize>(
        &self,
        _name: Name,
        channel: &'static Channel<T, SLOTS, BYTES>,
        _from: NodeId,
        core: CoreId,
    ) -> Result<Inbox<P, T>, OpenError> {
        let ring = channel.claim(End::Receiver).ok_or(OpenError::EndTaken)?;
        Inbox::open(Tap, ring, core, P::core()).ok_or(OpenError::NoneLeft)
    }

    /// The two ends at this core of a serial link: messages out through `out`, in through `into`.
    ///
    /// The link works as long as [`Agent::pump`] runs as a task of this core.
    ///
    /// # Errors
    /// The link or an end of a ring is taken, or there is no place left to wait at.
    pub fn serial<R, T, const W: usize, const F: usize, A, B, const S: usize, const BYTES: usize>(
        &self,
        link: &'static Serial<P, R, T, W, F>,
        line: Line<R, T>,
        config: Config,
        _peer: NodeId,
        (_, out): (Name, &'static Channel<A, S, BYTES>),
        (_, into): (Name, &'static Channel<B, S, BYTES>),
    ) -> Result<BothEnds<P, A, B>, OpenError>
    where
        R: Read + CancelSafe,
        T: Write + CancelSafe,
    {
        let here = P::core();
        let claim = |ring: Option<Ring>| ring.ok_or(OpenError::EndTaken);
        let (app_out, link_out) = (claim(out.claim(End::Sender))?, claim(out.claim(End::Receiver))?);
        let (link_in, app_in) = (claim(into.claim(End::Sender))?, claim(into.claim(End::Receiver))?);
        let waiter = || P::doorbells().claim(here).map_err(|_| OpenError::NoneLeft);
        let stage_out = Stage { ring: link_out, waiter: waiter()? };
        let stage_in = Stage { ring: link_in, waiter: waiter()? };
        link.open(line, config, 1, stage_out, stage_in).ok_or(OpenError::EndTaken)?;
        let outbox = Outbox::open(Tap, app_out, here, here).ok_or(OpenError::NoneLeft)?;
        let inbox = Inbox::open(Tap, app_in, here, here).ok_or(OpenError::NoneLeft)?;
        Ok((outbox, inbox))
    }

    /// Keeps a serial link going, for ever.
    pub async fn pump<R: Read + CancelSafe, T: Write + CancelSafe, const W: usize, const F: usize>(
        &self,
        link: &'static Serial<P, R, T, W, F>,
    ) -> ! {
        link.keep_going(|waker| link.pump(waker)).await
    }

    /// A watch that nobody reads.
    ///
    /// # Errors
    /// None here; with the kit a node whose watches are all taken.
    pub fn watch(&self, _name: Name) -> Result<Watch, OpenError> {
        Ok(Watch)
    }

    /// Makes an object accessible that cores of this board share.
    pub fn share<T: Send>(&self, _name: Name, shared: &'static Shared<T>) -> SharedHandle<T> {
        SharedHandle::open(shared)
    }

    /// Nothing: nobody looks for races.
    ///
    /// # Errors
    /// None here; with the kit a node whose watches are all taken.
    pub fn watch_races(&self, _name: Name) -> Result<(), OpenError> {
        Ok(())
    }

    /// Nothing: there is no node to start.
    ///
    /// # Errors
    /// None here; with the kit a node that has started already.
    pub fn start(&self) -> Result<(), OpenError> {
        Ok(())
    }

    /// Nothing.
    #[inline]
    pub fn halt(&self) {}

    /// Nothing.
    #[inline]
    pub fn trace(&self, _name: Name) {}

    /// A span that nobody sees.
    #[inline]
    pub fn span(&self, _name: Name) -> Span {
        Span
    }

    /// The value.
    #[inline]
    pub fn input(&self, _name: Name, value: u32) -> u32 {
        value
    }

    /// Nothing.
    #[inline]
    pub fn event(&self, _event: Event) {}
}

/// A span that nobody sees.
#[must_use = "a span lasts until its guard is dropped: give it a name, as in `let _span = span!(..)`"]
pub struct Span;

/// A variable that nobody reads.
pub struct Watch;

impl Watch {
    /// Nothing.
    #[inline]
    pub fn set(&self, _value: i32) {}
}

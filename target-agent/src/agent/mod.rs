//! The agent: exactly one per node, it owns the node's ports, does what the node's steps ask for, and serves the host.
mod command;
#[cfg_attr(not(feature = "calls"), allow(dead_code, reason = "calls are plain messages then"))]
mod delay;
mod events;
mod fault;
mod guarded;
mod links;
mod local;
mod park;
mod record;
mod report;
mod service;
mod shared;
mod span;
mod text;

pub use crate::open_error::OpenError;
#[cfg(feature = "calls")]
pub(crate) use delay::Calling;
pub(crate) use delay::Gated;
pub use park::{ParkedAgent, stillpoint_park};
pub use span::Span;

use crate::channel::{Channel, End};
use crate::fault::Fault;
use crate::lane::Lane;
use crate::name::Name;
use crate::per_core::{PerCore, StaysHere};
use crate::platform::{CoreId, MAX_CORES, Platform};
use crate::port::{Inbox, Outbox};
use crate::serial::{CancelSafe, Line, Serial, Stage};
use crate::tap::Tap;
use core::sync::atomic::{AtomicU32, Ordering};
use embedded_io_async::{Read, Write};
pub(crate) use guarded::Guarded;
#[cfg(feature = "calls")]
pub(crate) use guarded::Locked;
use local::{Local, Wire};
use stillpoint_core::control::{ControlBlock, FaultBlock, PortBlock, VERSION};
use stillpoint_core::link::Config;
use stillpoint_core::log::LogRing;
use stillpoint_core::predicate::WATCHES;
use stillpoint_core::{Direction, Event, Input, Node, NodeId, PortId, StampKind, Then};

/// A host refuses an image that does not have this symbol before it reads a byte of its memory.
#[unsafe(no_mangle)]
#[used]
static STILLPOINT_WIRE_VERSION_5: u8 = {
    assert!(VERSION == 5, "a new version is a new symbol, whose name is `control::VERSION_SYMBOL`");
    VERSION as u8
};

/// What the host reads while the firmware runs: control blocks and log rings, core 0's first.
///
/// [`system!`](crate::system) puts it where the host can reach it.
#[repr(C)]
pub struct Shared<const N: usize, const PORTS: usize, const LOG: usize> {
    control: [ControlBlock<N, PORTS>; MAX_CORES],
    logs: [LogRing<LOG>; MAX_CORES],
}

impl<const N: usize, const PORTS: usize, const LOG: usize> Shared<N, PORTS, LOG> {
    /// Memory for the blocks of every core.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            control: [const { ControlBlock::new(NodeId(0), StampKind::Vector) }; MAX_CORES],
            logs: [const { LogRing::new() }; MAX_CORES],
        }
    }
}

impl<const N: usize, const PORTS: usize, const LOG: usize> Default for Shared<N, PORTS, LOG> {
    fn default() -> Self {
        Self::new()
    }
}

/// What the agents of this chip's cores know. A static of its own, because it is all zeros until they begin.
pub struct Locals<P, const N: usize, const PORTS: usize>(PerCore<P, Guarded<Local<N, PORTS>>>);

impl<P: Platform, const N: usize, const PORTS: usize> Locals<P, N, PORTS> {
    /// Memory for the agent of every core.
    #[must_use]
    pub const fn new() -> Self {
        Self(PerCore::new([const { Guarded::empty() }; MAX_CORES]))
    }
}

impl<P: Platform, const N: usize, const PORTS: usize> Default for Locals<P, N, PORTS> {
    fn default() -> Self {
        Self::new()
    }
}

/// The agents of this chip's cores, in a system of `N` nodes.
pub struct Agents<P: 'static, const N: usize, const PORTS: usize, const LOG: usize> {
    shared: &'static Shared<N, PORTS, LOG>,
    local: &'static PerCore<P, Guarded<Local<N, PORTS>>>,
}

/// Defines the agents of a firmware, and their types: `system!(AGENTS of Agent: nodes = 4, ports = 6, log = 8192)`.
///
/// `AGENTS` is a static, one agent for each core of this chip, each with as many ports and bytes of log; `Agent` is the
/// type of what [`Agents::begin`] returns.
#[macro_export]
macro_rules! system {
    ($name:ident of $agent:ident: nodes = $nodes:expr, ports = $ports:expr, log = $log:expr) => {
        $crate::system!($name: nodes = $nodes, ports = $ports, log = $log);
        type $agent = $crate::agent::Agent<$crate::platform::Chip, { $nodes }, { $ports }, { $log }>;
    };
    ($name:ident: nodes = $nodes:expr, ports = $ports:expr, log = $log:expr) => {
        #[unsafe(no_mangle)]
        #[unsafe(link_section = ".shared.stillpoint")]
        static STILLPOINT_SHARED: $crate::agent::Shared<{ $nodes }, { $ports }, { $log }> =
            $crate::agent::Shared::new();
        static $name: $crate::agent::Agents<$crate::platform::Chip, { $nodes }, { $ports }, { $log }> = {
            static LOCALS: $crate::agent::Locals<$crate::platform::Chip, { $nodes }, { $ports }> =
                $crate::agent::Locals::new();
            $crate::agent::Agents::new(&STILLPOINT_SHARED, &LOCALS)
        };
    };
}

impl<P: Platform, const N: usize, const PORTS: usize, const LOG: usize> Agents<P, N, PORTS, LOG> {
    /// Agents that have not begun.
    #[must_use]
    pub const fn new(shared: &'static Shared<N, PORTS, LOG>, locals: &'static Locals<P, N, PORTS>) -> Self {
        Self { shared, local: &locals.0 }
    }

    /// Begins the agent of the calling core, which is `node` of the system and called `name`: `name!(node "left0")`.
    ///
    /// # Errors
    /// The core has begun already, or the system has no such node.
    pub fn begin(
        &'static self,
        name: Name,
        node: NodeId,
        stamps: StampKind,
    ) -> Result<Agent<P, N, PORTS, LOG>, OpenError> {
        let core = P::core();
        let control = &self.shared.control[core.index()];
        let ring = &self.shared.logs[core.index()];
        self.local.with(|local| {
            if local.is_filled() {
                return Err(OpenError::AlreadyBegun);
            }
            let node_of_it = Node::new(node, stamps)?;
            local.fill(|| Local::new(node_of_it, &control.slots));
            local.borrow_mut().begin::<P>();
            clear(control);
            control.begin(node, stamps);
            ring.init();
            control.name.store(name.0.into(), Ordering::Relaxed);
            self.describe(control, ring);
            Ok(())
        })?;
        P::doorbells().on_urgent(self);
        #[cfg(feature = "replay")]
        P::observe_with(self);
        P::fault_handlers().set(self);
        P::place_text_with(self);
        Ok(Agent { agents: self, core, stays_here: StaysHere::new() })
    }
}

/// Makes a block all zeros, its first word, by which the host knows it, first.
fn clear<const N: usize, const PORTS: usize>(control: &ControlBlock<N, PORTS>) {
    let words = core::ptr::from_ref(control).cast::<AtomicU32>();
    for index in 0..size_of::<ControlBlock<N, PORTS>>() / size_of::<AtomicU32>() {
        // SAFETY: the block is `repr(C)` and consists of `AtomicU32` only, and the index is inside it.
        unsafe { &*words.add(index) }.store(0, Ordering::SeqCst);
    }
}

/// The ends of a serial link at one node: out, in.
pub type BothEnds<P, A, B> = (Outbox<P, A>, Inbox<P, B>);

/// The agent of one core: opens ports and watches, then starts the node.
///
/// It stays on the core that began it: it is not `Send`.
/// ```compile_fail,E0277
/// fn moves_to_another_core<T: Send>() {}
/// moves_to_another_core::<stillpoint_agent::agent::Agent<(), 2, 2, 1024>>();
/// ```
pub struct Agent<P: 'static, const N: usize, const PORTS: usize, const LOG: usize> {
    agents: &'static Agents<P, N, PORTS, LOG>,
    core: CoreId,
    stays_here: StaysHere,
}

impl<P, const N: usize, const PORTS: usize, const LOG: usize> Clone for Agent<P, N, PORTS, LOG> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<P, const N: usize, const PORTS: usize, const LOG: usize> Copy for Agent<P, N, PORTS, LOG> {}

impl<P: Platform, const N: usize, const PORTS: usize, const LOG: usize> Agent<P, N, PORTS, LOG> {
    /// The sending end of a channel to node `to`, which runs on `core` of this chip.
    ///
    /// # Errors
    /// The end is taken, or there is no port left.
    pub fn outbox<T, const SLOTS: usize, const BYTES: usize>(
        &self,
        name: Name,
        channel: &'static Channel<T, SLOTS, BYTES>,
        to: NodeId,
        core: CoreId,
    ) -> Result<Outbox<P, T>, OpenError> {
        let ring = channel.claim(End::Sender).ok_or(OpenError::EndTaken)?;
        let head = ring.head;
        let port = self.connect(name, Direction::Out, to, core, &head.forward, &head.reverse, head)?;
        Outbox::open(Tap::new(self.agents, port), ring, self.core, core).ok_or(OpenError::NoneLeft)
    }

    /// The receiving end of a channel from node `from`, which runs on `core` of this chip.
    ///
    /// # Errors
    /// The end is taken, or there is no port left.
    pub fn inbox<T, const SLOTS: usize, const BYTES: usize>(
        &self,
        name: Name,
        channel: &'static Channel<T, SLOTS, BYTES>,
        from: NodeId,
        core: CoreId,
    ) -> Result<Inbox<P, T>, OpenError> {
        let ring = channel.claim(End::Receiver).ok_or(OpenError::EndTaken)?;
        let head = ring.head;
        let port = self.connect(name, Direction::In, from, core, &head.reverse, &head.forward, head)?;
        Inbox::open(Tap::new(self.agents, port), ring, core, self.core).ok_or(OpenError::NoneLeft)
    }

    /// The two ends at this node of a serial link to node `peer`: messages out through `out`, in through `into`.
    ///
    /// The link works as long as [`Agent::pump`] runs as a task of this core.
    ///
    /// # Errors
    /// The link or an end of a ring is taken, or there is no port left.
    pub fn serial<R, T, const W: usize, const F: usize, A, B, const S: usize, const BYTES: usize>(
        &self,
        link: &'static Serial<P, R, T, W, F>,
        line: Line<R, T>,
        config: Config,
        peer: NodeId,
        (out_name, out): (Name, &'static Channel<A, S, BYTES>),
        (in_name, into): (Name, &'static Channel<B, S, BYTES>),
    ) -> Result<BothEnds<P, A, B>, OpenError>
    where
        R: Read + CancelSafe,
        T: Write + CancelSafe,
    {
        let here = self.core;
        let claim = |channel: Option<crate::channel::Ring>| channel.ok_or(OpenError::EndTaken);
        let (app_out, link_out) = (claim(out.claim(End::Sender))?, claim(out.claim(End::Receiver))?);
        let (link_in, app_in) = (claim(into.claim(End::Sender))?, claim(into.claim(End::Receiver))?);
        let out_port = self.attach(out_name, Direction::Out, peer, Wire::Link(link), app_out.head)?;
        let in_port = self.attach(in_name, Direction::In, peer, Wire::Link(link), app_in.head)?;
        let waiter = || P::doorbells().claim(here).map_err(|_| OpenError::NoneLeft);
        let stage_out = Stage { ring: link_out, waiter: waiter()? };
        let stage_in = Stage { ring: link_in, waiter: waiter()? };
        let incarnation = self.agents.local.rarely(|local| local.memory.boots);
        link.open(line, config, incarnation, stage_out, stage_in).ok_or(OpenError::EndTaken)?;
        // Until the peer has said hello nothing can be delivered there.
        self.agents.section(|local| {
            for port in [out_port, in_port] {
                local.step::<P, LOG>(self.agents.ring(), Input::LinkDown { port });
            }
            ((), Then::Continue)
        });
        let outbox = Outbox::open(Tap::new(self.agents, out_port), app_out, here, here).ok_or(OpenError::NoneLeft)?;
        let inbox = Inbox::open(Tap::new(self.agents, in_port), app_in, here, here).ok_or(OpenError::NoneLeft)?;
        Ok((outbox, inbox))
    }

    /// Keeps a serial link going, for ever.
    pub async fn pump<R: Read + CancelSafe, T: Write + CancelSafe, const W: usize, const F: usize>(
        &self,
        link: &'static Serial<P, R, T, W, F>,
    ) -> ! {
        link.keep_going(|waker| {
            let began = P::mask();
            P::unmask(began);
            let moved = self.agents.serve_link(link, waker).moved;
            // A halt that came in meanwhile left interrupts masked.
            let _masked = P::mask();
            self.agents.end_pump();
            P::unmask(began);
            moved
        })
        .await
    }

    #[expect(clippy::too_many_arguments, reason = "one call per kind of port, and everything is known only here")]
    fn connect(
        &self,
        name: Name,
        direction: Direction,
        peer: NodeId,
        core: CoreId,
        to: &'static Lane,
        from: &'static Lane,
        head: &'static crate::channel::Head,
    ) -> Result<PortId, OpenError> {
        self.attach(name, direction, peer, Wire::Lanes { to, from, core, taken: Default::default() }, head)
    }

    fn attach(
        &self,
        name: Name,
        direction: Direction,
        peer: NodeId,
        wire: Wire,
        head: &'static crate::channel::Head,
    ) -> Result<PortId, OpenError> {
        let port = self.agents.local.rarely(|local| {
            let port = local.next_port().ok_or(OpenError::NoneLeft)?;
            local.node.connect(port, direction, peer)?;
            local.wires[usize::from(port.0)] = wire;
            local.heads[usize::from(port.0)] = Some(head);
            local.ports += 1;
            Ok::<_, OpenError>(port)
        })?;
        let block = &self.agents.shared.control[self.core.index()].ports[usize::from(port.0)];
        block.name.store(name.0.into(), Ordering::Relaxed);
        block.queue.store(core::ptr::from_ref(head).addr() as u32, Ordering::Relaxed);
        block.shape.store(PortBlock::shape_of(direction, peer), Ordering::Release);
        Ok(port)
    }

    /// A watch: a variable that predicates and the host can read by name.
    ///
    /// # Errors
    /// All watches of the node are taken.
    pub fn watch(&self, name: Name) -> Result<Watch<P, N, PORTS, LOG>, OpenError> {
        let number = self.agents.local.rarely(|local| {
            let number = local.watches;
            local.watches = number.checked_add(1).filter(|count| usize::from(*count) <= WATCHES)?;
            Some(number)
        });
        let number = number.ok_or(OpenError::NoneLeft)?;
        let block = &self.agents.shared.control[self.core.index()].watches[usize::from(number)];
        block.name.store(name.0.into(), Ordering::Relaxed);
        Ok(Watch { agents: self.agents, number, _stays_here: self.stays_here })
    }

    /// Starts the node: from here on what it does are events.
    ///
    /// # Errors
    /// It has started already.
    pub fn start(&self) -> Result<(), OpenError> {
        let agents = self.agents;
        agents.section(|local| {
            let then = local.start::<P, LOG>(agents.ring());
            (then.map(drop).ok_or(OpenError::AlreadyStarted), then.unwrap_or(Then::Continue))
        })?;
        agents.publish();
        Ok(())
    }

    /// Halts the whole system here and now, as a breakpoint that the firmware itself sets. Returns when it is resumed.
    pub fn halt(&self) {
        let agents = self.agents;
        agents.section(|local| {
            let then = local.step::<P, LOG>(agents.ring(), Input::Halt);
            ((), then.unwrap_or(Then::Continue))
        });
    }

    /// Declares the node crashed, as a panic would: the whole system halts, and this core does not go on.
    ///
    /// `code` is for whoever reads it.
    pub fn crash(&self, code: u32) -> ! {
        let _stays_masked = P::mask();
        P::abandon_lock();
        let fault = Fault { cause: FaultBlock::DECLARED, status: [code, 0], ..Fault::default() };
        P::fault_handlers().handle(&fault);
        unreachable!("an agent that began handles the crashes of its core")
    }

    /// A tracepoint; [`trace!`](crate::trace) gives it a name.
    #[inline]
    pub fn trace(&self, name: Name) {
        self.agents.event(Event::local(name.0));
    }

    /// Begins a span, which ends when what is returned is dropped; [`span!`](crate::span) gives it a name.
    #[inline]
    pub fn span(&self, name: Name) -> Span<P, N, PORTS, LOG> {
        Span::begin(*self, name)
    }

    /// A value from outside the system, which replay would have to give again; [`input!`](crate::input) gives it a name.
    ///
    /// An event only while the node records for replay, and only in firmware built with the feature `replay`.
    #[inline]
    pub fn input(&self, name: Name, value: u32) -> u32 {
        #[cfg(feature = "replay")]
        crate::replay::Observer::observe(
            self.agents,
            Event { kind: stillpoint_core::EventKind::Input, arg: name.0, value },
        );
        #[cfg(not(feature = "replay"))]
        let _ = name;
        value
    }

    /// Any other event without a message.
    #[inline]
    pub fn event(&self, event: Event) {
        self.agents.event(event);
    }
}

/// A variable that predicates and the host can read.
///
/// It stays on the core of its agent: it is not `Send`.
/// ```compile_fail,E0277
/// fn moves_to_another_core<T: Send>() {}
/// moves_to_another_core::<stillpoint_agent::agent::Watch<(), 2, 2, 1024>>();
/// ```
pub struct Watch<P: 'static, const N: usize, const PORTS: usize, const LOG: usize> {
    agents: &'static Agents<P, N, PORTS, LOG>,
    number: u8,
    _stays_here: StaysHere,
}

impl<P: Platform, const N: usize, const PORTS: usize, const LOG: usize> Watch<P, N, PORTS, LOG> {
    /// Gives it a new value, which is an event.
    pub fn set(&self, value: i32) {
        let agents = self.agents;
        agents.quick_section(|local, ring| local.watch::<P, LOG>(ring, self.number, value));
    }
}

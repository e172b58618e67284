//! Serial links as wires of the node: control items out of what is owed, and inputs out of what is heard.
use super::Agents;
use super::delay::pay_notices;
use super::local::{Local, Owed, Wire};
use crate::platform::Platform;
use crate::serial::{Flow, Heard, Wired, link_time};
use crate::sync::{Mutant, mutated};
use core::sync::atomic::Ordering;
use core::task::Waker;
use stillpoint_core::control::PortBlock;
use stillpoint_core::predicate::{Reached, SlotSet};
use stillpoint_core::time::Counts;
use stillpoint_core::{Direction, HaltId, HaltMarker, Input, LinkHello, NodeId, Phase, PortId, PortSet};

/// The first byte of a control item: what it is. A marker of a halt travels with the messages or against them.
const MARKER_FORWARD: u8 = 1;
const MARKER_REVERSE: u8 = 2;
const RELEASE: u8 = 3;
const PREDICATE: u8 = 4;
const NOTICE: u8 = 5;

impl<P: Platform, const N: usize, const PORTS: usize, const LOG: usize> Agents<P, N, PORTS, LOG> {
    /// Pumps every serial link of this core once. True if the host should hear of it: the node learned anything, or bytes
    /// moved and with them the ledger of a link.
    pub(super) fn serve_links(&self, waker: &Waker) -> bool {
        self.links().fold(false, |news, link| {
            let served = self.serve_link(link, waker);
            news | served.news | served.moved
        })
    }

    /// How long the serial links of this core need not be served if nothing comes in, at most `limit`.
    pub(super) fn links_rest(&self, limit: Counts<u32>) -> Counts<u32> {
        if mutated(Mutant::SleepPastTimers) {
            return limit;
        }
        let now = link_time::<P>();
        let dues = self.links().filter_map(|link| link.due_in(now)).map(|left| left.counts().0);
        Counts(dues.fold(limit.0.into(), u64::min) as u32)
    }

    /// Has the task of every serial link of this core run soon.
    pub(super) fn wake_links(&self) {
        self.links().for_each(Wired::wake);
    }

    /// Takes the links over from a context of this core that crashed.
    pub(super) fn take_over_links(&self) {
        for link in self.links() {
            // SAFETY: only the crash handler calls this; the context that it interrupted never runs again.
            unsafe { link.take_over() };
        }
    }

    /// The serial links of this core, each once.
    fn links(&self) -> impl Iterator<Item = &'static dyn Wired> {
        self.links_with_peers().map(|(link, _)| link)
    }

    /// The serial links of this core, each once, and the nodes behind them.
    pub(super) fn links_with_peers(&self) -> impl Iterator<Item = (&'static dyn Wired, NodeId)> {
        (0..PORTS as u8).filter_map(|port| self.link_of(PortId(port)))
    }

    /// The link that is served for a port, and the node behind it. A link has two ports; it is served for its outgoing one.
    #[inline(never)]
    fn link_of(&self, port: PortId) -> Option<(&'static dyn Wired, NodeId)> {
        self.local.rarely(|local| match local.wires.get(usize::from(port.0))? {
            Wire::Link(link) if local.node.is_outgoing(port) => Some((*link, local.node.peer(port)?)),
            Wire::None | Wire::Lanes { .. } | Wire::Link(_) => None,
        })
    }

    /// Moves what a link owes and holds. A halt that it brings takes effect when the caller looks at the phase.
    pub(super) fn serve_link(&self, link: &'static dyn Wired, waker: &Waker) -> Served {
        if link.is_busy() {
            return Served { moved: false, news: false };
        }
        let flow = self.local.rarely(|local| {
            if let Some((out, into)) = ports_of(local, link)
                && let Some(hello) = local.node.hello(out)
            {
                link.introduce(LinkHello { hello, ports: Some([out, into]) });
            }
            pay(local, link);
            match local.node.phase() {
                // What an application sent before it crashed still goes its way.
                Phase::Running | Phase::Starting | Phase::Faulted => Flow::Running,
                Phase::Suspended => Flow::Suspended,
                Phase::Draining { .. } | Phase::Parked { .. } => Flow::Halted,
            }
        });
        let mut news = false;
        let moved = link.pump(flow, waker, &mut |item| {
            news = true;
            let before = P::mask();
            let runs = self.local.rarely(|local| {
                self.hear(local, link, item);
                local.runs()
            });
            // After a halt no handler may run any more on this core; the pump stands still at its end.
            if runs || mutated(Mutant::HaltInsidePump) {
                P::unmask(before);
            }
        });
        news |= self.local.rarely(|local| self.note_delivered(local, link));
        Served { moved, news }
    }

    fn hear(&self, local: &mut Local<N, PORTS>, link: &'static dyn Wired, heard: Heard<'_>) {
        let Some((out, into)) = ports_of(local, link) else { return };
        let ring = self.ring();
        match heard {
            Heard::Up { hello: LinkHello { hello, ports }, resumed, empty } => {
                if let Some([peer_out, peer_into]) = ports {
                    // What leaves at one end comes in at the other.
                    self.note_peer_port(out, peer_into);
                    self.note_peer_port(into, peer_out);
                }
                if !resumed {
                    local.begin_session([out, into], empty());
                }
                for port in [out, into] {
                    // Message counts may start anew, so the log says where they stand, beginning with the link's event.
                    local.resynchronise::<P>();
                    local.step::<P, LOG>(ring, Input::Hello { port, hello, resumed });
                }
                local.retain::<P>();
                if let (Some(gate), Some(peer)) = (local.gate, local.node.peer(out)) {
                    gate.owe_all(peer);
                }
            }
            Heard::Down => {
                for port in [out, into] {
                    local.step::<P, LOG>(ring, Input::LinkDown { port });
                }
            }
            Heard::PeerReset { lost } => {
                if let Some(count) = local.lost.get_mut(usize::from(out.0)) {
                    *count = count.wrapping_add(lost.into());
                }
            }
            Heard::Control([kind @ (MARKER_FORWARD | MARKER_REVERSE), bytes @ ..]) => {
                if let Ok(marker) = HaltMarker::read(bytes) {
                    // What the peer sent along its outgoing channel comes in at our incoming end.
                    let port = if *kind == MARKER_FORWARD { into } else { out };
                    local.step::<P, LOG>(ring, Input::Marker { port, marker: &marker });
                }
            }
            Heard::Control([RELEASE, low, high]) => {
                let id = HaltId(u16::from_le_bytes([*low, *high]));
                local.step::<P, LOG>(ring, Input::Release { port: into, id });
            }
            Heard::Control([PREDICATE, first, second]) => {
                if let Ok(reached) = Reached::from_bytes([*first, *second]) {
                    local.step::<P, LOG>(ring, Input::PredicateMarker { port: into, reached });
                }
            }
            Heard::Control([NOTICE, bytes @ ..]) => {
                let heard = local.gate.zip(local.node.peer(out)).is_some_and(|(gate, peer)| gate.hear(peer, bytes));
                local.refused = local.refused.wrapping_add(u32::from(!heard));
            }
            // The link's checksum held, so the peer speaks another version: count it.
            Heard::Control(_) => local.refused = local.refused.wrapping_add(1),
        }
    }

    /// Tells the host which port is the other end of this one.
    fn note_peer_port(&self, port: PortId, peer: PortId) {
        if let Some(block) = self.shared.control[P::core().index()].ports.get(usize::from(port.0)) {
            let shape = block.shape.load(Ordering::Relaxed);
            block.shape.store(PortBlock::with_peer_port(shape, peer), Ordering::Release);
        }
    }

    /// Tells the node which markers have arrived. True if any.
    fn note_delivered(&self, local: &mut Local<N, PORTS>, link: &'static dyn Wired) -> bool {
        let mut delivered = PortSet::EMPTY;
        for index in 0..PORTS {
            let waits = local.owed[index].on_its_way && !local.owed[index].marker;
            if waits && is_link(&local.wires[index], link) && link.is_quiet() {
                local.owed[index].on_its_way = false;
                delivered = delivered.with(PortId(index as u8));
            }
        }
        if !delivered.is_empty() {
            let id = local.node.last_halt();
            local.step::<P, LOG>(self.ring(), Input::Delivered { ports: delivered, id });
        }
        !delivered.is_empty()
    }
}

impl<const N: usize, const PORTS: usize> Local<N, PORTS> {
    /// Both ends of a link count from the beginning; what was left in its rings is lost.
    fn begin_session(&mut self, ports: [PortId; 2], lost: [u32; 2]) {
        for (port, lost) in ports.into_iter().zip(lost) {
            let index = usize::from(port.0);
            let Some(head) = self.heads.get(index).copied().flatten() else { continue };
            self.base[index] = head.count(self.node.is_outgoing(port));
            self.lost[index] = self.lost[index].wrapping_add(lost);
        }
    }
}

/// What serving a link came to.
pub(super) struct Served {
    /// Bytes or messages moved.
    pub moved: bool,
    /// The node learned something.
    pub news: bool,
}

fn is_link(wire: &Wire, link: &'static dyn Wired) -> bool {
    matches!(wire, Wire::Link(other) if core::ptr::addr_eq(*other, link))
}

/// The ports of a link: out, in.
fn ports_of<const N: usize, const PORTS: usize>(
    local: &Local<N, PORTS>,
    link: &'static dyn Wired,
) -> Option<(PortId, PortId)> {
    let mut ports = (0..PORTS).filter(|index| is_link(&local.wires[*index], link)).map(|index| PortId(index as u8));
    let (first, second) = (ports.next()?, ports.next()?);
    Some(if local.node.is_outgoing(first) { (first, second) } else { (second, first) })
}

/// Gives the link what its ports owe, markers before releases, as far as its control lane has room.
fn pay<const N: usize, const PORTS: usize>(local: &mut Local<N, PORTS>, link: &'static dyn Wired) {
    for index in 0..PORTS {
        if !is_link(&local.wires[index], link) {
            continue;
        }
        let port = PortId(index as u8);
        if local.owed[index].marker {
            let marker = local.node.halt_marker(port);
            let direction = if local.node.is_outgoing(port) { Direction::Out } else { Direction::In };
            if marker.is_none_or(|marker| send_marker(link, direction, &marker)) {
                local.owed[index] = Owed { marker: false, on_its_way: marker.is_some(), ..local.owed[index] };
            }
        }
        if let Some(id) = local.owed[index].release
            && !local.owed[index].marker
        {
            let [low, high] = id.0.to_le_bytes();
            if link.send_control(&[RELEASE, low, high], false) {
                local.owed[index].release = None;
            }
        }
        for slot in local.owed[index].predicates.iter() {
            let Some(reached) = local.node.predicate_marker(slot) else { continue };
            let [first, second] = reached.to_bytes();
            if link.send_control(&[PREDICATE, first, second], false) {
                let left: SlotSet = local.owed[index].predicates.without(slot);
                local.owed[index].predicates = left;
            }
        }
        if let (Some(gate), Some(peer)) = (local.gate, local.node.peer(port))
            && local.node.is_outgoing(port)
        {
            pay_notices(gate, NOTICE, link, peer);
        }
    }
}

fn send_marker<const N: usize>(link: &'static dyn Wired, direction: Direction, marker: &HaltMarker<N>) -> bool {
    let mut item = [0; 1 + 7 + stillpoint_core::MAX_NODES];
    let [kind, body @ ..] = &mut item;
    *kind = match direction {
        Direction::Out => MARKER_FORWARD,
        Direction::In => MARKER_REVERSE,
    };
    let Ok(length) = marker.write(body) else { return false };
    item.get(..=length).is_some_and(|item| link.send_control(item, true))
}

// A pump needs a time driver, which the tests have with calls.
#[cfg(all(test, feature = "calls"))]
mod tests {
    extern crate std;
    use crate::agent::{Agent, Agents, Locals, Shared};
    use crate::channel::Channel;
    use crate::fake::{Fake, begin, on};
    use crate::name::Name;
    use crate::platform::CoreId;
    use crate::port::{Inbox, Outbox};
    use crate::serial::{Line, Serial};
    use core::convert::Infallible;
    use core::pin::pin;
    use core::sync::atomic::Ordering;
    use core::task::{Context, Poll, Waker};
    use embedded_io_async::{ErrorType, Read, Write};
    use std::boxed::Box;
    use std::collections::VecDeque;
    use std::sync::{Arc, Mutex};
    use stillpoint_core::control::PortBlock;
    use stillpoint_core::link::Config;
    use stillpoint_core::{NodeId, PortId, StampKind};

    /// One direction of a line.
    #[derive(Clone, Default)]
    struct Pipe(Arc<Mutex<VecDeque<u8>>>);

    impl ErrorType for Pipe {
        type Error = Infallible;
    }
    impl crate::serial::CancelSafe for Pipe {}
    impl Read for Pipe {
        async fn read(&mut self, into: &mut [u8]) -> Result<usize, Infallible> {
            core::future::poll_fn(|_| {
                let mut bytes = self.0.lock().unwrap();
                let count = into.len().min(bytes.len());
                into.iter_mut().zip(bytes.drain(..count)).for_each(|(place, byte)| *place = byte);
                if count == 0 { Poll::Pending } else { Poll::Ready(Ok(count)) }
            })
            .await
        }
    }
    impl Write for Pipe {
        async fn write(&mut self, from: &[u8]) -> Result<usize, Infallible> {
            self.0.lock().unwrap().extend(from);
            Ok(from.len())
        }
        async fn flush(&mut self) -> Result<(), Infallible> {
            Ok(())
        }
    }

    type Node = Agent<Fake, 2, 4, 1024>;
    type Link = Serial<Fake, Pipe, Pipe>;
    type Ends = (Outbox<Fake, u32>, Inbox<Fake, u32>);

    fn leak<T>(value: T) -> &'static T {
        Box::leak(Box::new(value))
    }

    fn open(agent: &Node, line: Line<Pipe, Pipe>) -> (&'static Link, Ends) {
        let link = leak(Link::new());
        let rings: [&'static Channel<u32, 2, 64>; 2] = [leak(Channel::new()), leak(Channel::new())];
        let peer = NodeId(1 - CoreId::index(agent.core) as u8);
        let ends = agent.serial(link, line, Config::BAUD_1M, peer, (Name(2), rings[0]), (Name(3), rings[1])).unwrap();
        (link, ends)
    }

    /// Runs the pump of a link until nothing moves.
    fn pump(agent: &Node, link: &'static Link) {
        let mut pump = pin!(agent.pump(link));
        assert!(pump.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    }

    #[test]
    fn each_end_of_parallel_links_tells_the_host_which_port_is_the_other_end() {
        let _clean = begin();
        let agents = leak(Agents::<Fake, 2, 4, 1024>::new(leak(Shared::new()), leak(Locals::new())));
        let cores = [CoreId::ZERO, CoreId::ONE];
        let node =
            |core: CoreId| on(core, || agents.begin(Name(1), NodeId(core.index() as u8), StampKind::Vector).unwrap());
        let nodes = cores.map(node);
        let lines: [[Pipe; 2]; 2] = Default::default();
        let line = |link: usize, side: usize| Line {
            receiver: lines[link][side].clone(),
            sender: lines[link][1 - side].clone(),
        };
        // The second node opens the second link first.
        let at_zero = on(cores[0], || [0, 1].map(|link| open(&nodes[0], line(link, 0))));
        let at_one = on(cores[1], || [1, 0].map(|link| open(&nodes[1], line(link, 1))));
        let peer_port = |core: usize, port: usize| {
            PortBlock::peer_port(agents.block(core).ports[port].shape.load(Ordering::Relaxed))
        };
        assert_eq!(peer_port(0, 0), None, "before the link is up");
        cores.into_iter().zip(&nodes).for_each(|(core, node)| on(core, || node.start().unwrap()));
        for _ in 0..4 {
            on(cores[0], || at_zero.iter().for_each(|(link, _)| pump(&nodes[0], link)));
            on(cores[1], || at_one.iter().for_each(|(link, _)| pump(&nodes[1], link)));
        }
        // Ports 0 and 1 of one node are those of the link whose ports at the other are 2 and 3.
        for core in 0..2 {
            let found: [_; 4] = core::array::from_fn(|port| peer_port(core, port));
            assert_eq!(found, [3, 2, 1, 0].map(|port| Some(PortId(port))), "node {core}");
        }
    }
}

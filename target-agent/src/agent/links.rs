//! Serial links as wires of the node: control items out of what is owed, and inputs out of what is heard.
use super::Agents;
use super::delay::pay_notices;
use super::local::{Local, Owed, Wire};
use crate::platform::Platform;
use crate::serial::{Flow, Heard, Wired};
use crate::sync::{Mutant, mutated};
use core::task::Waker;
use stillpoint_core::predicate::{Reached, SlotSet};
use stillpoint_core::{Direction, HaltId, HaltMarker, Input, NodeId, Phase, PortId, PortSet};

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
            if let Some((out, _)) = ports_of(local, link)
                && let Some(hello) = local.node.hello(out)
            {
                link.introduce(hello);
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
            Heard::Up { hello, resumed, empty } => {
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
            if link.send_control(&[RELEASE, low, high]) {
                local.owed[index].release = None;
            }
        }
        for slot in local.owed[index].predicates.iter() {
            let Some(reached) = local.node.predicate_marker(slot) else { continue };
            let [first, second] = reached.to_bytes();
            if link.send_control(&[PREDICATE, first, second]) {
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
    item.get(..=length).is_some_and(|item| link.send_control(item))
}

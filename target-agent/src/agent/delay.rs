//! Delayed halts: how an agent drives the gate of its core, if the firmware has one.
//!
//! The gate itself is in [`crate::rpc`]; here it is known by one reference, so firmware without calls links none of it.
use super::{Agent, Agents};
use crate::platform::Platform;
use crate::serial::Wired;
use crate::tap::Tap;
use core::sync::atomic::Ordering;
use stillpoint_core::control::PortBlock;
use stillpoint_core::delay::Notice;
use stillpoint_core::{Event, NodeId, Phase};

/// The gate of the calling core, as its agent sees it.
pub(crate) trait Gated: Sync {
    /// The node is in this phase: looks at doors, alarms and the other cores. Called over and over while it stands still.
    fn serve(&self, phase: Phase);
    /// A notice came over the link from a node. False if it is none.
    fn hear(&self, from: NodeId, item: &[u8]) -> bool;
    /// A notice that a node has not been told.
    fn owed(&self, node: NodeId) -> Option<Notice>;
    /// The node's link has taken this notice over.
    fn told(&self, node: NodeId, notice: Notice);
    /// The link to a node came up: it may have missed everything.
    fn owe_all(&self, node: NodeId);
    /// Takes the gate over from a context of this core that crashed.
    ///
    /// # Safety
    /// That context must never run again.
    unsafe fn take_over(&self);
}

/// What clients and servers need of the agent of their core.
pub(crate) trait Calling: Sync {
    /// An event without a message.
    fn event(&self, event: Event);
    /// Has the links take over what the gate owes.
    fn tell(&self);
}

impl<P: Platform, const N: usize, const PORTS: usize, const LOG: usize> Agents<P, N, PORTS, LOG> {
    /// Lets the gate see the phase and do what there is to do.
    pub(super) fn serve_gate(&self) {
        let (gate, phase) = self.local.rarely(|local| (local.gate, local.node.phase()));
        if let Some(gate) = gate {
            gate.serve(phase);
            self.wake_links_for(gate);
        }
    }

    fn wake_links_for(&self, gate: &'static dyn Gated) {
        for (link, peer) in self.links_with_peers() {
            if gate.owed(peer).is_some() {
                link.wake();
            }
        }
    }
}

impl<P: Platform, const N: usize, const PORTS: usize, const LOG: usize> Calling for Agents<P, N, PORTS, LOG> {
    fn event(&self, event: Event) {
        Agents::event(self, event);
    }

    fn tell(&self) {
        if let Some(gate) = self.local.rarely(|local| local.gate) {
            self.wake_links_for(gate);
        }
    }
}

/// Gives a link the notices that its peer has not been told, as far as its control lane has room.
pub(super) fn pay_notices(gate: &'static dyn Gated, kind: u8, link: &'static dyn Wired, peer: NodeId) {
    while let Some(notice) = gate.owed(peer) {
        let (bytes, length) = notice.to_bytes();
        let mut item = [kind; 1 + Notice::MAX_BYTES];
        let [_, body @ ..] = &mut item;
        *body = bytes;
        if !item.get(..=length).is_some_and(|item| link.send_control(item, false)) {
            return;
        }
        gate.told(peer, notice);
    }
}

impl<P: Platform, const N: usize, const PORTS: usize, const LOG: usize> Agent<P, N, PORTS, LOG> {
    /// Which node this is.
    #[must_use]
    pub fn node(&self) -> NodeId {
        self.agents.local.rarely(|local| local.node.id())
    }

    pub(crate) fn set_gate(&self, gate: &'static dyn Gated) {
        self.agents.local.rarely(|local| local.gate = Some(gate));
    }

    pub(crate) fn calling(&self) -> &'static dyn Calling {
        self.agents
    }

    /// Tells the host that a delayed halt protects what goes through this port.
    pub(crate) fn mark_calls(&self, tap: &Tap) {
        let shape = &self.agents.shared.control[self.core.index()].ports[usize::from(tap.port().0)].shape;
        shape.store(shape.load(Ordering::Relaxed) | PortBlock::CALLS, Ordering::Release);
    }
}

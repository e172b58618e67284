//! What the host reads: where the node stands, written when it stops and when the host asks.
use super::Agents;
use super::local::Wire;
use crate::platform::Platform;
use crate::sabotage::{self, Sabotage};
use crate::sync::{Mutant, mutated};
use core::sync::atomic::{AtomicU32, Ordering};
use stillpoint_core::control::{BY_DEBUGGER, ControlBlock, StateCode};
use stillpoint_core::link::Ledger;
use stillpoint_core::log::LogRing;
use stillpoint_core::predicate::{SlotId, WATCHES};
use stillpoint_core::time::Counts;
use stillpoint_core::{Phase, PortId, PortSet};

fn set(word: &AtomicU32, value: u32) {
    crate::sync::publish(word, value, Ordering::Relaxed);
}

fn set_long([low, high]: &[AtomicU32; 2], Counts(value): Counts) {
    set(low, value as u32);
    set(high, (value >> 32) as u32);
}

impl<P: Platform, const N: usize, const PORTS: usize, const LOG: usize> Agents<P, N, PORTS, LOG> {
    /// Writes what does not change.
    pub(super) fn describe(&self, control: &ControlBlock<N, PORTS>, ring: &LogRing<LOG>) {
        set(&control.image, P::image_id());
        set(&control.log.address, core::ptr::from_ref(ring).addr() as u32);
        set(&control.log.size, size_of::<LogRing<LOG>>() as u32);
        if let Some((address, size)) = P::text_ring(P::core()) {
            set(&control.text.address, address);
            set(&control.text.size, size);
        }
        if let Some((address, value)) = P::host_bell(P::core()) {
            set(&control.bell[0], address);
            set(&control.bell[1], value);
        }
    }

    /// Writes where the node stands. The revision is odd meanwhile.
    ///
    /// Interrupts are masked: a bell in the middle would publish, too, and end at a revision that this call uses again.
    pub(super) fn publish(&self) {
        if mutated(Mutant::UnmaskedPublish) { self.write_block() } else { P::masked(|| self.write_block()) }
    }

    fn write_block(&self) {
        let control = &self.shared.control[P::core().index()];
        // Odd if a crash interrupted the last time.
        let revision = control.revision.load(Ordering::Relaxed) & !1;
        set(&control.revision, revision.wrapping_add(1));
        core::sync::atomic::fence(Ordering::Release);
        self.local.rarely(|local| {
            local.retain::<P>();
            if !local.is_recording_told {
                for (word, part) in control.recording.iter().zip(local.node.recording().to_words()) {
                    set(word, part);
                }
                local.is_recording_told = true;
            }
            let local = &*local;
            let node = &local.node;
            let undelivered = match node.phase() {
                Phase::Draining { undelivered, .. } | Phase::Parked { undelivered, .. } => undelivered,
                Phase::Starting | Phase::Running | Phase::Suspended | Phase::Faulted => PortSet::EMPTY,
            };
            set(&control.phase, StateCode::of(node.phase()) as u32);
            set(&control.last_halt, node.last_halt().0.into());
            set(&control.undelivered, undelivered.0);
            set(&control.up, node.up().0);
            set(&control.refused, local.refused);
            // One reading for both, so that their difference is logical time to the tick.
            let time = P::long_counter();
            set_long(&control.time, time);
            set_long(&control.delay, P::delay(time));
            set_long(&control.stopped, local.stopped);
            let order = node.order().nodes();
            let by_debugger = if node.is_halted_by_debugger() { BY_DEBUGGER } else { 0 };
            set(&control.order[0], order.len() as u32 | by_debugger);
            for (word, four) in control.order[1..].iter().zip(order.chunks(4)) {
                set(word, four.iter().rev().fold(0, |word, name| word << 8 | u32::from(name.0)));
            }
            for (word, entry) in control.clock.iter().zip(node.clock().entries()) {
                set(word, *entry);
            }
            let mut seen = PortSet::EMPTY;
            for (index, block) in control.ports.iter().enumerate() {
                let port = PortId(index as u8);
                let lie = u32::from(sabotage::always(Sabotage::WrongCount, P::core(), port));
                set(&block.count, node.count(port).unwrap_or(0).wrapping_add(lie));
                set(&block.lost, local.lost[index]);
                set(&block.base, local.base[index]);
                set(&block.number, node.last_number(port).map_or(0, |number| number.0));
                if let Wire::Link(link) = &local.wires[index]
                    && let Some(ledger) = link.ledger()
                {
                    let Ledger { mine, peer, sent_first, sent_end, accepted_next, waiting, .. } = ledger;
                    set(&block.ledger[0], u32::from_le_bytes([mine, peer, sent_first, sent_end]));
                    set(&block.ledger[1], u32::from_le_bytes([accepted_next, waiting, ledger.waiting_before_reset, 1]));
                }
                if let Some(position) = node.marker_position(port) {
                    seen = seen.with(port);
                    set(&block.marker, position);
                }
            }
            set(&control.markers_seen, seen.0);
            for (index, block) in control.watches.iter().enumerate().take(WATCHES) {
                set(&block.value, node.predicates().watch(index as u8).unwrap_or(0) as u32);
            }
            for (slot, block) in SlotId::ALL.into_iter().zip(&control.slots) {
                let program = node.predicates().installed(slot).map_or(0, |(_, _, program)| program.checksum());
                block.publish(node.predicates().state(slot), program);
            }
        });
        crate::sync::publish(&control.revision, revision.wrapping_add(2), Ordering::Release);
        #[cfg(all(feature = "calls", test))]
        crate::sync::published(control);
    }
}

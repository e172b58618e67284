//! A crash is an event: the node records it, halts the system, and stays where it is, serving host and links.
use super::Agents;
use super::local::{Local, Wire};
use super::park::{ParkedAgent, stillpoint_park};
use crate::fault::{Fault, FaultHandler};
use crate::platform::Platform;
use crate::sync::{Mutant, mutated};
use core::sync::atomic::{AtomicU32, Ordering};
use stillpoint_core::control::FaultBlock;
use stillpoint_core::{Input, Phase, PortId};

impl<P: Platform, const N: usize, const PORTS: usize, const LOG: usize> FaultHandler for Agents<P, N, PORTS, LOG> {
    fn on_fault(&self, fault: &Fault<'_>) -> ! {
        let control = &self.shared.control[P::core().index()];
        P::save_registers(&control.registers);
        let block = &control.fault;
        let is_first = block.cause.load(Ordering::Relaxed) == 0;
        if is_first {
            write(block, fault);
        }
        // SAFETY: this never returns, and interrupts stay masked: no other context of this core runs again.
        let inside = self.local.with(|local| unsafe { local.take_over() });
        self.take_over_links();
        if let Some(gate) = self.local.rarely(|local| local.gate)
            && !mutated(Mutant::GateNotTakenOver)
        {
            // SAFETY: as above.
            unsafe { gate.take_over() };
        }
        P::freeze_time();
        self.local.rarely(|local| self.crash(local, fault.cause, inside));
        loop {
            self.publish();
            if self.drain() {
                self.publish();
            }
            stillpoint_park(self);
            self.publish();
            // Released: the others go on. This node's application does not, but it can be asked, and halted with the rest.
            while matches!(self.phase(), Phase::Faulted) {
                if !self.serve() {
                    self.sleep();
                }
            }
        }
    }
}

impl<P: Platform, const N: usize, const PORTS: usize, const LOG: usize> Agents<P, N, PORTS, LOG> {
    /// The event of the crash, and the halt that follows. `inside`: it happened in the middle of a step.
    fn crash(&self, local: &mut Local<N, PORTS>, cause: u32, inside: bool) {
        let ring = self.ring();
        if matches!(local.node.phase(), Phase::Starting) {
            local.start::<P, LOG>(ring);
        }
        if !inside {
            local.step::<P, LOG>(ring, Input::Fault { cause });
            return;
        }
        // The step may have counted a message that never came into its ring, or out of it.
        let counts: [Option<u32>; PORTS] = core::array::from_fn(|port| local.count_in_ring(port));
        let effects = local.node.crash(cause, |port: PortId| counts.get(usize::from(port.0)).copied().flatten());
        for wire in &mut local.wires {
            if let Wire::Lanes { taken, .. } = wire {
                taken.forget_marker();
            }
        }
        // The log may have been interrupted, too: what it says next does not rely on what it said before.
        local.resynchronise::<P>();
        if let Some(event) = effects.log.filter(|event| local.node.recording().records(event)) {
            local.record::<P, LOG>(ring, event);
        }
        local.settle::<P, LOG>(ring, &effects);
    }
}

/// Fills the block, its cause last.
fn write(block: &FaultBlock, fault: &Fault<'_>) {
    let fill = |words: &[AtomicU32], values: &[u32]| {
        words.iter().zip(values).for_each(|(word, value)| word.store(*value, Ordering::Relaxed));
    };
    let (file, line) = fault.place.unwrap_or(("", 0));
    fill(&block.registers, &fault.registers);
    fill(&block.status, &fault.status);
    fill(&block.place, &[file.as_ptr().addr() as u32, file.len() as u32, line]);
    fill(&block.message, &[fault.message.as_ptr().addr() as u32, fault.message.len() as u32]);
    block.cause.store(fault.cause, Ordering::Release);
}

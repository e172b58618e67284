//! The memory of a running machine, without stopping it.

use super::irq::IrqLines;
use super::{Machine, MachineError, MachineKind, SharedRam};
use std::sync::Arc;

/// Memory of a machine, read and written while its cores run, as through a memory access port of a real chip.
///
/// Shared RAM is read and written in place. Everything else is read through QEMU's test socket, which takes a fraction of a
/// millisecond. Of the devices only doorbells can be written: their interrupt is pulsed. A core that a debugger has halted stays
/// halted. No access stops a core, and none needs a debugger: [`QemuProbe`](crate::QemuProbe) is for those that do.
///
/// ```no_run
/// use qemu_probe::Machine;
/// let memory = Machine::attach("run/board-a")?.live_memory();
/// let mut vectors = [0; 8];
/// memory.read(0x1000_0000, &mut vectors)?;
/// # Ok::<(), qemu_probe::MachineError>(())
/// ```
#[derive(Clone, Debug)]
pub struct LiveMemory {
    kind: MachineKind,
    shared_ram: Option<SharedRam>,
    irqs: Arc<IrqLines>,
}

impl Machine {
    /// The memory of the machine, without stopping it.
    #[must_use]
    pub fn live_memory(&self) -> LiveMemory {
        LiveMemory { kind: self.kind(), shared_ram: self.shared_ram().cloned(), irqs: self.irqs.clone() }
    }
}

impl LiveMemory {
    /// Reads bytes. Longer reads than a word are not atomic.
    ///
    /// # Errors
    /// There is no memory at this address, or QEMU does not answer.
    pub fn read(&self, address: u32, into: &mut [u8]) -> Result<(), MachineError> {
        if let Some(ram) = self.shared_ram.as_ref().filter(|ram| ram.contains(address, into.len())) {
            return ram.read(address, into).map_err(MachineError::io("reading the shared RAM"));
        }
        let len = u32::try_from(into.len()).unwrap_or(u32::MAX);
        if !self.kind.memory().iter().any(|region| region.contains(address, len)) {
            return Err(refused("read", format!("{len} bytes at {address:#010x} are not memory of {}", self.kind)));
        }
        self.irqs.read(address, into)
    }

    /// Whether a write of so many bytes is possible.
    #[cfg(feature = "probe")]
    pub(crate) fn can_write(&self, address: u32, len: usize) -> bool {
        let is_ram = self.shared_ram.as_ref().is_some_and(|ram| ram.contains(address, len));
        is_ram || len == 4 && self.kind.doorbell(address).is_some()
    }

    /// Writes bytes to the shared RAM, or rings a doorbell.
    ///
    /// # Errors
    /// The address is neither, or QEMU does not answer.
    pub fn write(&self, address: u32, from: &[u8]) -> Result<(), MachineError> {
        if let Some(ram) = self.shared_ram.as_ref().filter(|ram| ram.contains(address, from.len())) {
            return ram.write(address, from).map_err(MachineError::io("writing the shared RAM"));
        }
        match self.kind.doorbell(address) {
            Some((core, irq)) => self.irqs.pulse(self.kind, core, irq),
            None => Err(refused("write", format!("{address:#010x} can be written only by a debugger"))),
        }
    }
}

fn refused(what: &str, reason: String) -> MachineError {
    MachineError::Refused { what: what.into(), reason }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_neither_memory_nor_a_doorbell_is_refused() {
        let memory = LiveMemory { kind: MachineKind::Mps2An521, shared_ram: None, irqs: Arc::new(IrqLines::None) };
        assert!(matches!(memory.read(0x4000_0000, &mut [0; 4]), Err(MachineError::Refused { .. })));
        assert!(matches!(memory.read(0x103F_FFFE, &mut [0; 4]), Err(MachineError::Refused { .. })));
        assert!(matches!(memory.write(0x1000_0000, &[0; 4]), Err(MachineError::Refused { .. })));
        // A doorbell is tried, and there is no socket.
        assert!(matches!(memory.write(0x5000_4014, &[1, 0, 0, 0]), Err(MachineError::NoDebugPort)));
    }
}

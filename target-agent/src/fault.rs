//! A crash, from the platform that notices it to the agent that reports it and stops the system.
use crate::per_core::PerCore;
use crate::platform::{MAX_CORES, Platform};
use core::cell::Cell;

/// Why a core crashed, and where.
#[derive(Clone, Copy, Debug, Default)]
pub struct Fault<'a> {
    /// [`FaultBlock::PANIC`](stillpoint_core::control::FaultBlock::PANIC), `DECLARED`, or the number of the exception.
    pub cause: u32,
    /// Program counter, link register, stack pointer and status register; 0 if not known.
    pub registers: [u32; 4],
    /// What the hardware says of it, or the firmware's own code.
    pub status: [u32; 2],
    /// File and line of a panic.
    pub place: Option<(&'a str, u32)>,
    /// What the panic says. It stays where it is: the host reads it there.
    pub message: &'a str,
}

/// What stops the system when a core crashes.
pub trait FaultHandler: Sync {
    /// Takes the core over for good. Its interrupts are masked, and what it was doing never goes on.
    fn on_fault(&self, fault: &Fault<'_>) -> !;
}

/// Every core's handler. A platform has exactly one of these.
pub struct FaultHandlers<P>(PerCore<P, Entry>);

struct Entry {
    handler: Cell<Option<&'static dyn FaultHandler>>,
    crashes: Cell<u8>,
}

/// How often a handler may crash itself and start over.
const SECOND_CHANCES: u8 = 2;

impl<P: Platform> FaultHandlers<P> {
    /// Nobody handles anything.
    #[must_use]
    pub const fn new() -> Self {
        Self(PerCore::new([const { Entry { handler: Cell::new(None), crashes: Cell::new(0) } }; MAX_CORES]))
    }

    /// Gives a crash of the calling core to whoever handles it. Returns if nobody does.
    pub fn handle(&self, fault: &Fault<'_>) {
        let Some(handler) = self.0.with(|entry| entry.handler.get()) else { return };
        let crashes = self.0.with(|entry| entry.crashes.replace(entry.crashes.get().saturating_add(1)));
        if crashes <= SECOND_CHANCES {
            handler.on_fault(fault)
        }
        // The handler itself crashes again and again; what it wrote the first time can still be read.
        loop {
            crate::sync::spin_loop();
        }
    }

    /// Has `handler` handle crashes of the calling core.
    pub fn set(&self, handler: &'static dyn FaultHandler) {
        self.0.with(|entry| entry.handler.set(Some(handler)));
    }
}

impl<P: Platform> Default for FaultHandlers<P> {
    fn default() -> Self {
        Self::new()
    }
}

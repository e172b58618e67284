//! What a node that crashed says of it.
use super::block::zero;
use core::sync::atomic::AtomicU32;

/// Why a node crashed.
///
/// # Example: a node that did not crash
/// ```
/// use core::sync::atomic::Ordering;
/// use stillpoint_core::{NodeId, StampKind, control::ControlBlock};
/// let block = ControlBlock::<2, 2>::new(NodeId(0), StampKind::Event);
/// assert_eq!(block.fault.cause.load(Ordering::Relaxed), 0);
/// ```
#[repr(C)]
#[derive(Debug)]
pub struct FaultBlock {
    /// 0: it did not. Otherwise 1 for a panic, 2 for a crash that the firmware declared, or the number of the exception.
    pub cause: AtomicU32,
    /// Program counter, link register, stack pointer and status register at the crash; 0 if not known.
    pub registers: [AtomicU32; 4],
    /// What the hardware says of a fault (on Cortex-M: CFSR, and the address that was refused), or the firmware's own code.
    pub status: [AtomicU32; 2],
    /// Address and length of the file name of a panic, and its line.
    pub place: [AtomicU32; 3],
    /// Address and length of the message of a panic.
    pub message: [AtomicU32; 2],
}

impl FaultBlock {
    /// The cause that means a panic.
    pub const PANIC: u32 = 1;
    /// The cause that means that the firmware declared itself crashed.
    pub const DECLARED: u32 = 2;

    pub(super) const fn new() -> Self {
        Self {
            cause: zero(),
            registers: [const { zero() }; 4],
            status: [const { zero() }; 2],
            place: [const { zero() }; 3],
            message: [const { zero() }; 2],
        }
    }

    pub(super) fn words(&self) -> impl Iterator<Item = &AtomicU32> {
        let registers = [&self.cause].into_iter().chain(&self.registers);
        registers.chain(&self.status).chain(&self.place).chain(&self.message)
    }
}

//! Where the hardware is (secure aliases), and the only two functions that touch it.
use crate::platform::{Bell, CoreId};

/// System control: where core 1 finds its vector table, and which cores are held at reset.
pub const INITSVTOR1: usize = 0x5002_1114;
pub const CPUWAIT: usize = 0x5002_1118;
/// Reads 0 or 1, by core.
pub const CPU_IDENTITY: usize = 0x5001_F000;
/// First half: the counter. Second half: the same clock divided by 256.
pub const DUAL_TIMER: usize = 0x5000_2000;
pub const DUAL_TIMER_2: usize = DUAL_TIMER + 0x20;
/// The secure watchdog.
pub const WATCHDOG: usize = 0x5008_1000;
/// Configuration and control of this core; bit 10 lets fault handlers run past the stack limit.
pub const CCR: usize = 0xE000_ED14;
/// Vector table of this core.
pub const VTOR: usize = 0xE000_ED08;
/// Why this core faulted, and the addresses that belong to it.
pub const CFSR: usize = 0xE000_ED28;
pub const MMFAR: usize = 0xE000_ED34;
pub const BFAR: usize = 0xE000_ED38;
/// One byte of priority per interrupt, of this core.
pub const NVIC_PRIORITY: usize = 0xE000_E400;
/// One bit per interrupt, of this core.
pub const NVIC_ENABLE: usize = 0xE000_E100;
pub const NVIC_DISABLE: usize = 0xE000_E180;
#[cfg(feature = "enabled")]
pub const NVIC_PEND: usize = 0xE000_E200;
#[cfg(feature = "enabled")]
pub const NVIC_UNPEND: usize = 0xE000_E280;
/// Which exception this core handles, in the low 9 bits.
#[cfg(feature = "enabled")]
pub const ICSR: usize = 0xE000_ED04;

/// Base address of a core's alarm timer.
pub const fn alarm(core: CoreId) -> usize {
    0x5000_0000 + 0x1000 * core.index()
}

/// Base address of a UART.
pub const fn uart(number: usize) -> usize {
    0x5020_0000 + 0x1000 * number
}

/// Which message handling unit carries a bell, and as which of its four bits.
pub const fn doorbell(bell: Bell) -> (usize, u32) {
    match bell {
        Bell::Executor => (0, 1 << 0),
        Bell::Mailbox => (0, 1 << 1),
        Bell::Urgent => (1, 1 << 0),
    }
}

const fn mhu(number: usize, core: CoreId) -> usize {
    0x5000_3000 + 0x1000 * number + 0x10 * core.index()
}
/// Bells of a core that are rung.
pub const fn mhu_status(number: usize, core: CoreId) -> usize {
    mhu(number, core)
}
/// Rings bells of a core.
pub const fn mhu_set(number: usize, core: CoreId) -> usize {
    mhu(number, core) + 4
}
/// Silences bells of a core.
pub const fn mhu_clear(number: usize, core: CoreId) -> usize {
    mhu(number, core) + 8
}

/// Reads a register.
#[inline]
pub fn read(address: usize) -> u32 {
    // SAFETY: this folder calls it only with the addresses above, which are registers of this board, aligned and
    // always readable.
    unsafe { core::ptr::with_exposed_provenance::<u32>(address).read_volatile() }
}

/// Writes a register.
#[inline]
pub fn write(address: usize, value: u32) {
    // SAFETY: as for `read`; none of these registers makes the hardware touch memory of the program.
    unsafe { core::ptr::with_exposed_provenance_mut::<u32>(address).write_volatile(value) }
}

//! Faults in its first instruction and in its fault handler: a lock-up, on which QEMU aborts.
#![no_std]
#![no_main]

use qemu_probe_test_firmware as _;

#[cortex_m_rt::entry]
fn main() -> ! {
    // SAFETY: an undefined instruction, on purpose.
    unsafe { core::arch::asm!("udf #0", options(noreturn)) }
}

#[cortex_m_rt::exception]
unsafe fn HardFault(_: &cortex_m_rt::ExceptionFrame) -> ! {
    // SAFETY: as above.
    unsafe { core::arch::asm!("udf #1", options(noreturn)) }
}

//! Opens a file of the host for writing, by semihosting. Tells at the begin of shared RAM what came of it.
#![no_std]
#![no_main]

use qemu_probe_test_firmware::{SHARED, semihost, spin, words, write};

/// The call was answered.
const ANSWERED: u32 = 1;
/// The call was a fault.
const FAULTED: u32 = 2;

#[cortex_m_rt::entry]
fn main() -> ! {
    let mut path = [0u8; 200];
    let len = words(&mut path).saturating_sub(1);
    path[len] = 0;
    // SYS_OPEN with mode "w".
    let block = [path.as_ptr() as usize, 4, len];
    semihost(0x01, block.as_ptr() as usize);
    write(SHARED, ANSWERED);
    loop {
        spin();
    }
}

#[cortex_m_rt::exception]
unsafe fn HardFault(_: &cortex_m_rt::ExceptionFrame) -> ! {
    write(SHARED, FAULTED);
    loop {
        spin();
    }
}

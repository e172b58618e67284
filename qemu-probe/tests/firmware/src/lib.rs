//! What the test programs share: the registers of the two machines, the second core's start, semihosting.
#![no_std]

use core::arch::{asm, global_asm};

#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    loop {
        spin();
    }
}

const SYSCTL: usize = 0x5002_1000;
const INITSVTOR1: usize = SYSCTL + 0x114;
const CPUWAIT: usize = SYSCTL + 0x118;
const CPU_IDENTITY: usize = 0x5001_F000;

#[cfg(not(feature = "an524"))]
const UART: [usize; 2] = [0x5020_0000, 0x5020_1000];
#[cfg(feature = "an524")]
const UART: [usize; 2] = [0x5130_3000, 0x5130_4000];

/// Reads a register.
pub fn read(address: usize) -> u32 {
    // SAFETY: called with register addresses of this machine only.
    unsafe { (address as *const u32).read_volatile() }
}

/// Writes a register.
pub fn write(address: usize, value: u32) {
    // SAFETY: called with register addresses of this machine only.
    unsafe { (address as *mut u32).write_volatile(value) }
}

/// Which core runs this.
pub fn core_id() -> usize {
    read(CPU_IDENTITY) as usize
}

/// A pause in a spin loop.
pub fn spin() {
    core::hint::spin_loop();
}

global_asm!(
    ".section .core1_vectors, \"a\"",
    ".balign 1024",
    ".global _core1_vectors",
    "_core1_vectors:",
    ".word _core1_stack_top",
    ".word core1_reset",
    ".word core1_default", // NMI
    ".word core1_hard_fault",
    ".rept 12",
    ".word core1_default",
    ".endr",
    ".text",
    ".thumb_func",
    ".type core1_default, %function",
    "core1_default:",
    "b core1_default",
    ".size core1_default, . - core1_default",
);

unsafe extern "C" {
    static _core1_vectors: u32;
}

/// Releases the second core into `core1_reset`.
pub fn start_core1() {
    write(INITSVTOR1, &raw const _core1_vectors as u32);
    // SAFETY: a barrier.
    unsafe { asm!("dsb sy", options(nostack)) };
    write(CPUWAIT, read(CPUWAIT) & !2);
}

/// Switches a UART on.
pub fn uart_init(uart: usize) {
    write(UART[uart] + 0x10, 16);
    write(UART[uart] + 8, 3);
}

/// Sends one byte.
pub fn uart_send(uart: usize, byte: u8) {
    while read(UART[uart] + 4) & 1 != 0 {
        spin();
    }
    write(UART[uart], byte.into());
}

/// Waits for one byte.
pub fn uart_receive(uart: usize) -> u8 {
    while read(UART[uart] + 4) & 2 == 0 {
        spin();
    }
    read(UART[uart]) as u8
}

/// First address of the RAM shared with the host.
#[cfg(not(feature = "an524"))]
pub const SHARED: usize = 0x8000_0000;
/// First address of the RAM shared with the host.
#[cfg(feature = "an524")]
pub const SHARED: usize = 0x6000_0000;

#[cfg(not(feature = "an524"))]
const WORDS: usize = 0x80FF_FF00;
#[cfg(feature = "an524")]
const WORDS: usize = 0xDFFF_FF00;

/// The words that the host has for this machine, separated by spaces, copied to `text`; their length.
pub fn words(text: &mut [u8]) -> usize {
    if read(WORDS) != 0x5D0F_C0DE {
        return 0;
    }
    let len = (read(WORDS + 8) as usize).min(text.len());
    for (index, byte) in text[..len].iter_mut().enumerate() {
        *byte = (read(WORDS + 12 + (index & !3)) >> (8 * (index & 3))) as u8;
    }
    len
}

/// A semihosting call.
pub fn semihost(operation: u32, argument: usize) -> u32 {
    let result;
    // SAFETY: the arguments are those of the operation; QEMU answers it.
    unsafe { asm!("bkpt 0xab", inout("r0") operation => result, in("r1") argument) };
    result
}

/// Prints a zero-terminated text.
pub fn print(text: &core::ffi::CStr) {
    semihost(0x04, text.as_ptr() as usize);
}

/// Ends the machine with a code.
pub fn exit(code: u32) -> ! {
    let block = [0x20026, code];
    semihost(0x20, block.as_ptr() as usize);
    loop {
        spin();
    }
}

//! Semihosting: lines and an exit code for the host. Without a host that answers, a line is dropped and the exit is an idle
//! loop: see [`words::semihosting`].
use super::words;
use core::fmt::{Arguments, Write};
use core::sync::atomic::{AtomicUsize, Ordering};
use cortex_m_semihosting::{debug, nr, syscall};
use heapless::Vec;

/// Ends the emulated machine: exit code 0 for success, 1 for failure.
pub fn exit(success: bool) -> ! {
    if words::semihosting() {
        debug::exit(if success { debug::EXIT_SUCCESS } else { debug::EXIT_FAILURE });
    }
    loop {
        cortex_m::asm::wfi();
    }
}

/// Writes one line to the standard output, whole; what is beyond 250 bytes is cut off.
#[inline(never)]
pub fn line(text: Arguments<'_>) {
    if !words::semihosting() {
        return;
    }
    const LENGTH: usize = 250;
    let mut line = Vec::<u8, { LENGTH + 1 }>::new();
    // An error means the line is full: what fits is printed.
    let _ = line.write_fmt(text);
    line.truncate(LENGTH);
    line.iter_mut().filter(|byte| **byte == b'\n').for_each(|byte| *byte = b' ');
    line.extend([b'\n']);
    let stdout = stdout();
    // SAFETY: the host reads `len` bytes of a buffer that lives until it has done so.
    unsafe { syscall!(WRITE, stdout, line.as_ptr(), line.len()) };
}

fn stdout() -> usize {
    static HANDLE: AtomicUsize = AtomicUsize::new(usize::MAX);
    let known = HANDLE.load(Ordering::Relaxed);
    if known != usize::MAX {
        return known;
    }
    let name = c":tt";
    // SAFETY: the host reads the name, which lives for ever.
    let handle = unsafe { syscall!(OPEN, name.as_ptr(), nr::open::W_TRUNC, name.count_bytes()) };
    // Both cores may open it at once; either handle is good.
    HANDLE.store(handle, Ordering::Relaxed);
    handle
}

//! Hash maps of the standard library, seeded the same on every run.
//!
//! `vclock` keeps its clocks in such maps and lets nobody choose the seed; with another one each time, what a look-up
//! costs would differ from run to run.

/// In place of the C library's: all zeros, for this program alone.
///
/// # Safety
/// `buffer` has room for `length` bytes, as for the function it stands for.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn getrandom(buffer: *mut u8, length: usize, _flags: u32) -> isize {
    // SAFETY: the caller gives room for so many bytes.
    unsafe { buffer.write_bytes(0, length) };
    length as isize
}

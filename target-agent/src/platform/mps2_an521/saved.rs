//! What a debugger that does not halt a core is told of it: its registers, and its image.
use core::sync::atomic::AtomicU32;
use stillpoint_core::control::SavedRegisters;

/// Saves the registers of the frame of its caller, into which it is inlined. It runs on every Cortex-M.
#[inline(always)]
pub fn save(into: &[AtomicU32; SavedRegisters::WORDS]) {
    // SAFETY: writes the twelve words behind the reference, which are atomic, and reads registers only.
    unsafe {
        core::arch::asm!(
            "stmia r0!, {{r4-r7}}",
            "mov r1, r8",
            "mov r2, r9",
            "mov r3, r10",
            "stmia r0!, {{r1-r3}}",
            "mov r1, r11",
            "mov r2, sp",
            "mov r3, pc",
            "stmia r0!, {{r1-r3}}",
            "mrs r1, XPSR",
            "mrs r2, PSP",
            "stmia r0!, {{r1-r2}}",
            inout("r0") into.as_ptr() => _,
            out("r1") _,
            out("r2") _,
            out("r3") _,
            options(nostack, preserves_flags),
        );
    }
}

/// What tells this image from others.
pub fn image_id() -> u32 {
    // The linker script of cortex-m-rt has them.
    unsafe extern "C" {
        static __vector_table: u32;
        static __etext: u32;
    }
    let (start, end) = (&raw const __vector_table, &raw const __etext);
    let words = (end.addr() - start.addr()) / size_of::<u32>();
    // SAFETY: all of it is vectors and code of this program, which nothing writes, and it begins at a word.
    stillpoint_core::control::image_id(words, |word| unsafe { start.add(word).read() })
}

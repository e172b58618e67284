//! Faults fail the test that runs, a stack overflow among them.
use core::cell::UnsafeCell;
use core::mem::MaybeUninit;

const STACK: usize = 4096;
/// Configuration and control register; bit 10 lets fault handlers run past the stack limit.
const CCR: *mut u32 = core::ptr::without_provenance_mut(0xE000_ED14);
const STKOFHFNMIGN: u32 = 1 << 10;
/// Why the core faulted.
const CFSR: *const u32 = core::ptr::without_provenance(0xE000_ED28);
const STACK_OVERFLOW: u32 = 1 << 20;

/// Where the fault handler runs: the stack of the tests may be what broke.
#[repr(C, align(8))]
struct FaultStack(UnsafeCell<MaybeUninit<[u8; STACK]>>);
// SAFETY: the fault handler alone uses it, once, and never returns.
unsafe impl Sync for FaultStack {}

#[unsafe(link_section = ".uninit.fault_stack")]
static FAULT_STACK: FaultStack = FaultStack(UnsafeCell::new(MaybeUninit::uninit()));

/// Lets the fault handler run even when the stack is full.
pub fn prepare() {
    // SAFETY: a register of the core, used by nothing else, whose other bits are kept.
    unsafe { CCR.write_volatile(CCR.read_volatile() | STKOFHFNMIGN) };
}

#[unsafe(no_mangle)]
#[unsafe(naked)]
unsafe extern "C" fn HardFault() -> ! {
    core::arch::naked_asm!(
        "mrs r0, MSP",
        "movs r1, #0",
        "msr MSPLIM, r1",
        "ldr r1, ={stack} + {size}",
        "msr MSP, r1",
        "isb",
        "bl {report}",
        "udf #0",
        stack = sym FAULT_STACK,
        size = const STACK,
        report = sym report,
    )
}

extern "C" fn report(frame: *const u32) -> ! {
    // SAFETY: reads a register of the core.
    let cause = unsafe { CFSR.read_volatile() };
    if cause & STACK_OVERFLOW != 0 {
        // The hardware had no room to say where.
        crate::runner::fail(format_args!("an unknown place: stack overflow"));
    }
    // SAFETY: `HardFault` passes the stack pointer, from which on the hardware pushed eight words, the seventh of them
    // where the core was.
    let at = unsafe { frame.add(6).read() };
    crate::runner::fail(format_args!("pc {at:#010x}: fault (cfsr {cause:#010x})"))
}

//! The end of a core: one line that says why, then exit code 1. The other core does not hang meanwhile.
use super::registers::{CCR, CFSR, read, write};
use super::{Mps2An521, lock, semihosting};
use crate::platform::{MAX_CORES, Platform};
use core::cell::UnsafeCell;
use core::mem::MaybeUninit;
use core::panic::PanicInfo;
use core::sync::atomic::{AtomicBool, Ordering};

const STACK: usize = 2048;

/// Where each core's fault handler runs: the stack it had may be what broke.
#[repr(C, align(8))]
struct Stacks(UnsafeCell<MaybeUninit<[[u8; STACK]; MAX_CORES]>>);
// SAFETY: the n-th is used by core n only, as the stack of a handler that never returns.
unsafe impl Sync for Stacks {}

#[unsafe(link_section = ".uninit.fault_stacks")]
static FAULT_STACKS: Stacks = Stacks(UnsafeCell::new(MaybeUninit::uninit()));

/// Lets the fault handler of the calling core run even when the stack is full.
pub fn prepare() {
    const STKOFHFNMIGN: u32 = 1 << 10;
    write(CCR, read(CCR) | STKOFHFNMIGN);
}

/// Only the first line matters: it names the cause, what follows is consequence.
fn die(line: core::fmt::Arguments<'_>) -> ! {
    static DYING: AtomicBool = AtomicBool::new(false);
    cortex_m::interrupt::disable();
    lock::abandon();
    if !DYING.swap(true, Ordering::Relaxed) {
        semihosting::line(line);
        semihosting::exit(false);
    }
    loop {
        core::hint::spin_loop();
    }
}

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    let core = Mps2An521::core().index();
    match info.location() {
        Some(at) => die(format_args!("PANIC core {core} at {}:{}: {}", at.file(), at.line(), info.message())),
        None => die(format_args!("PANIC core {core}: {}", info.message())),
    }
}

/// Takes a stack that works, then reports. Faults of every kind arrive here: the specific handlers are not enabled.
#[unsafe(no_mangle)]
#[unsafe(naked)]
unsafe extern "C" fn HardFault() -> ! {
    core::arch::naked_asm!(
        "mrs r0, MSP",
        "movs r1, #0",
        "msr MSPLIM, r1",
        "ldr r1, ={identity}",
        "ldr r1, [r1]",
        "adds r1, #1",
        "ldr r2, ={size}",
        "mul r1, r2",
        "ldr r2, ={stacks}",
        "add r1, r2",
        "msr MSP, r1",
        "isb",
        "bl {report}",
        "udf #0",
        identity = const super::registers::CPU_IDENTITY,
        size = const STACK,
        stacks = sym FAULT_STACKS,
        report = sym report,
    )
}

/// Where the core was, from the frame the hardware pushed, if it could.
extern "C" fn report(frame: *const u32) -> ! {
    const STACK_OVERFLOW: u32 = 1 << 20;
    let (core, cause) = (Mps2An521::core().index(), read(CFSR));
    if cause & STACK_OVERFLOW != 0 {
        // The hardware had no room to say where.
        die(format_args!("FAULT core {core}: stack overflow (cfsr {cause:#010x})"));
    }
    let kind = match cause {
        _ if cause & 0xFFFF_0000 != 0 => "usage fault",
        _ if cause & 0x0000_FF00 != 0 => "bus fault",
        _ if cause & 0x0000_00FF != 0 => "memory fault",
        _ => "hard fault",
    };
    // SAFETY: `HardFault` passes the stack pointer, from which on the hardware pushed eight words, the sixth and seventh
    // of them link register and where the core was.
    let (lr, pc) = unsafe { (frame.add(5).read(), frame.add(6).read()) };
    die(format_args!("FAULT core {core} at pc {pc:#010x}, lr {lr:#010x}: {kind} (cfsr {cause:#010x})"))
}

/// An interrupt or exception that nothing here enables.
#[unsafe(no_mangle)]
extern "C" fn DefaultHandler() {
    let number: u32;
    // SAFETY: reads the number of the exception that is being handled.
    unsafe { core::arch::asm!("mrs {}, IPSR", out(reg) number, options(nomem, nostack, preserves_flags)) };
    panic!("exception {number} has no handler")
}

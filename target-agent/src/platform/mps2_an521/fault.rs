//! The end of a core: its agent halts the system and stays; without one, a line that says why and exit code 1, where the
//! host answers semihosting.
//!
//! Either way the cross-core lock is given up, so the other core does not hang.
use super::registers::{BFAR, CCR, CFSR, MMFAR, read, write};
use super::{Mps2An521, lock, semihosting};
use crate::fault::Fault;
use crate::platform::Platform;
use core::cell::UnsafeCell;
#[cfg(feature = "enabled")]
use core::fmt::Write as _;
use core::mem::MaybeUninit;
use core::panic::PanicInfo;
use core::sync::atomic::{AtomicBool, Ordering};
#[cfg(feature = "enabled")]
use heapless::String;
use stillpoint_core::control::FaultBlock;

/// Bytes of stack that the end of a core takes, with the handling of it by an agent, if there is one; a third of it is
/// margin (`host/tests/halts/faults.rs` measures it).
const STACK: usize = if cfg!(feature = "enabled") { 2432 } else { 896 };
/// Bytes of a panic's message that are kept.
#[cfg(feature = "enabled")]
const MESSAGE: usize = 200;

/// A stack for the core whose own one is what broke.
///
/// There is one for both cores: a core whose own stack still has room reports on that, and only the second of two cores
/// that both ran out of theirs goes without; see [`HardFault`].
#[repr(C, align(8))]
struct Reserve(UnsafeCell<MaybeUninit<[u8; STACK]>>);
// SAFETY: used by the one core that claimed it, as its stack, for ever.
unsafe impl Sync for Reserve {}

#[unsafe(no_mangle)]
#[unsafe(link_section = ".uninit.crash_stack")]
static STILLPOINT_CRASH_STACK: Reserve = Reserve(UnsafeCell::new(MaybeUninit::uninit()));

/// Whether a core has the reserve.
static CLAIMED: AtomicBool = AtomicBool::new(false);

/// Fault handlers ignore the stack limit.
const STKOFHFNMIGN: u32 = 1 << 10;

/// Lets the fault handler of the calling core run even when the stack is full.
pub fn prepare() {
    write(CCR, read(CCR) | STKOFHFNMIGN);
}

/// Gives the crash to the agent, if the core has one. Otherwise only the first line matters: it names the cause.
fn die(fault: &Fault<'_>, line: core::fmt::Arguments<'_>) -> ! {
    static DYING: AtomicBool = AtomicBool::new(false);
    cortex_m::interrupt::disable();
    lock::abandon();
    #[cfg(feature = "enabled")]
    super::FAULT_HANDLERS.handle(fault);
    #[cfg(not(feature = "enabled"))]
    let _nobody_asks = fault;
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
    cortex_m::interrupt::disable();
    let core = Mps2An521::core().index();
    let message = info.message();
    #[cfg(feature = "enabled")]
    // It stays on this stack, which nothing takes down any more.
    let mut kept = String::<MESSAGE>::new();
    #[cfg(feature = "enabled")]
    let text = message.as_str().unwrap_or_else(|| {
        // An error means that it is full: what fits is kept.
        let _ = kept.write_fmt(format_args!("{message}"));
        &kept
    });
    #[cfg(not(feature = "enabled"))]
    let text = "";
    let place = info.location().map(|at| (at.file(), at.line()));
    let registers = [0, 0, cortex_m::register::msp::read(), 0];
    let fault = Fault { cause: FaultBlock::PANIC, registers, place, message: text, ..Fault::default() };
    match place {
        Some((file, line)) => die(&fault, format_args!("PANIC core {core} at {file}:{line}: {message}")),
        None => die(&fault, format_args!("PANIC core {core}: {message}")),
    }
}

/// What the hardware says when it could not use the stack: no room left, or nothing that can be written there.
const BROKEN_STACK: u32 = 1 << 20 | 1 << 12 | 1 << 11 | 1 << 4 | 1 << 3;

/// Takes a stack that works, then reports. Faults of every kind arrive here: the specific handlers are not enabled.
///
/// That is the core's own one where it stands, if it has room; else the reserve, for the first core that asks; else the
/// core's own one from its top, over what `main` had there, for none of it goes on. From here on the limit of that stack
/// counts: a core that needs more locks up rather than write over what others use.
#[unsafe(no_mangle)]
#[unsafe(naked)]
unsafe extern "C" fn HardFault() -> ! {
    core::arch::naked_asm!(
        "mrs r0, MSP",
        "ldr r1, ={cfsr}",
        "ldr r1, [r1]",
        "ldr r2, ={broken}",
        "tst r1, r2",
        "bne 2f",
        "mrs r1, MSPLIM",
        "sub r1, r0, r1",
        "ldr r2, ={size}",
        "cmp r1, r2",
        "bge 5f",
        "2:",
        "ldr r1, ={claimed}",
        "movs r3, #1",
        "3:",
        "ldrexb r2, [r1]",
        "cbnz r2, 4f",
        "strexb r2, r3, [r1]",
        "cmp r2, #0",
        "bne 3b",
        "ldr r1, ={reserve}",
        "msr MSPLIM, r1",
        "ldr r2, ={size}",
        "add r1, r2",
        "msr MSP, r1",
        "b 5f",
        "4:",
        "clrex",
        "ldr r1, =_stack_start",
        "ldr r2, ={identity}",
        "ldr r2, [r2]",
        "cmp r2, #0",
        "beq 6f",
        "ldr r1, ={core1_top}",
        "ldr r1, [r1]",
        "6:",
        "msr MSP, r1",
        "5:",
        "ldr r1, ={ccr}",
        "ldr r2, [r1]",
        "bic r2, #{ignore}",
        "str r2, [r1]",
        "dsb",
        "isb",
        "bl {report}",
        "udf #0",
        cfsr = const CFSR,
        broken = const BROKEN_STACK,
        size = const STACK,
        claimed = sym CLAIMED,
        reserve = sym STILLPOINT_CRASH_STACK,
        identity = const super::registers::CPU_IDENTITY,
        core1_top = sym super::core1::BOOT_TABLE,
        ccr = const CCR,
        ignore = const STKOFHFNMIGN,
        report = sym report,
    )
}

/// Where the core was, from the frame the hardware pushed, if it could.
extern "C" fn report(frame: *const u32) -> ! {
    const HARD_FAULT: u32 = 3;
    const STACK_OVERFLOW: u32 = 1 << 20;
    const BUS_ADDRESS_VALID: u32 = 1 << 15;
    const MEMORY_ADDRESS_VALID: u32 = 1 << 7;
    const FRAME: u32 = 8 * 4;
    let (core, cause) = (Mps2An521::core().index(), read(CFSR));
    let refused = match cause {
        _ if !cfg!(feature = "enabled") => 0,
        _ if cause & BUS_ADDRESS_VALID != 0 => read(BFAR),
        _ if cause & MEMORY_ADDRESS_VALID != 0 => read(MMFAR),
        _ => 0,
    };
    let mut fault = Fault { cause: HARD_FAULT, status: [cause, refused], ..Fault::default() };
    if cause & BROKEN_STACK != 0 {
        // The hardware had no room to say where.
        fault.registers[2] = frame.addr() as u32;
        let kind = if cause & STACK_OVERFLOW != 0 { "stack overflow" } else { "stack fault" };
        die(&fault, format_args!("FAULT core {core}: {kind} (cfsr {cause:#010x})"));
    }
    let kind = match cause {
        _ if cause & 0xFFFF_0000 != 0 => "usage fault",
        _ if cause & 0x0000_FF00 != 0 => "bus fault",
        _ if cause & 0x0000_00FF != 0 => "memory fault",
        _ => "hard fault",
    };
    // SAFETY: `HardFault` passes the stack pointer, from which on the hardware pushed eight words, the last three of them
    // link register, where the core was, and its status.
    let [lr, pc, status] = unsafe { [frame.add(5).read(), frame.add(6).read(), frame.add(7).read()] };
    fault.registers = [pc, lr, (frame.addr() as u32).wrapping_add(FRAME), status];
    die(&fault, format_args!("FAULT core {core} at pc {pc:#010x}, lr {lr:#010x}: {kind} (cfsr {cause:#010x})"))
}

/// An interrupt or exception that nothing here enables.
#[unsafe(no_mangle)]
extern "C" fn DefaultHandler() {
    let number: u32;
    // SAFETY: reads the number of the exception that is being handled.
    unsafe { core::arch::asm!("mrs {}, IPSR", out(reg) number, options(nomem, nostack, preserves_flags)) };
    panic!("exception {number} has no handler")
}

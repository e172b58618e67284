//! The end of a core: its agent halts the system and stays; without one, a line that says why, and exit code 1.
//!
//! Either way the cross-core lock is given up, so the other core does not hang.
use super::registers::{BFAR, CCR, CFSR, MMFAR, read, write};
use super::{Mps2An521, lock, semihosting};
use crate::fault::Fault;
use crate::platform::{MAX_CORES, Platform};
use core::cell::UnsafeCell;
#[cfg(feature = "enabled")]
use core::fmt::Write as _;
use core::mem::MaybeUninit;
use core::panic::PanicInfo;
use core::sync::atomic::{AtomicBool, Ordering};
#[cfg(feature = "enabled")]
use heapless::String;
use stillpoint_core::control::FaultBlock;

/// An agent that takes a crash over does so on this stack.
const STACK: usize = if cfg!(feature = "enabled") { 4096 } else { 2048 };
/// Bytes of a panic's message that are kept.
#[cfg(feature = "enabled")]
const MESSAGE: usize = 200;
#[cfg(feature = "enabled")]
type Message = String<MESSAGE>;

/// What each core's fault handler needs: a stack, for the one the core had may be what broke, and room for a message.
#[repr(C, align(8))]
struct Reserve {
    #[cfg(feature = "enabled")]
    message: Message,
    stack: [u8; STACK],
}

#[repr(C, align(8))]
struct Reserves(UnsafeCell<MaybeUninit<[Reserve; MAX_CORES]>>);
// SAFETY: the n-th is used by core n only, by handlers that never return.
unsafe impl Sync for Reserves {}

#[unsafe(link_section = ".uninit.fault_stacks")]
static RESERVES: Reserves = Reserves(UnsafeCell::new(MaybeUninit::uninit()));

/// Lets the fault handler of the calling core run even when the stack is full.
pub fn prepare() {
    const STKOFHFNMIGN: u32 = 1 << 10;
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

/// Writes a message where it stays.
#[cfg(feature = "enabled")]
fn keep(message: core::fmt::Arguments<'_>) -> &'static str {
    let reserves = RESERVES.0.get().cast::<Reserve>();
    // SAFETY: this core's own, used here alone; a second panic of a core writes over what the first one said.
    let place =
        unsafe { &mut *(&raw mut (*reserves.add(Mps2An521::core().index())).message).cast::<MaybeUninit<Message>>() };
    let text = place.write(Message::new());
    // An error means that it is full: what fits is kept.
    let _ = text.write_fmt(message);
    text
}

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    cortex_m::interrupt::disable();
    let core = Mps2An521::core().index();
    let message = info.message();
    #[cfg(feature = "enabled")]
    let text = message.as_str().unwrap_or_else(|| keep(format_args!("{message}")));
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
        "ldr r2, ={reserves}",
        "add r1, r2",
        "msr MSP, r1",
        "isb",
        "bl {report}",
        "udf #0",
        identity = const super::registers::CPU_IDENTITY,
        size = const size_of::<Reserve>(),
        reserves = sym RESERVES,
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
    if cause & STACK_OVERFLOW != 0 {
        // The hardware had no room to say where.
        fault.registers[2] = frame.addr() as u32;
        die(&fault, format_args!("FAULT core {core}: stack overflow (cfsr {cause:#010x})"));
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

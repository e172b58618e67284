//! Starting core 1: a vector table to boot from, a stack with a limit, and a closure to run.
use super::registers::{CPUWAIT, INITSVTOR1, VTOR, read, write};
use crate::platform::StartError;
use core::cell::UnsafeCell;
use core::convert::Infallible;
use core::mem::{ManuallyDrop, MaybeUninit};
use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

/// Bytes of core 1's stack.
const STACK: usize = 32 * 1024;

#[repr(C, align(8))]
struct Stack(UnsafeCell<MaybeUninit<[u8; STACK]>>);
// SAFETY: only core 1 uses it, as its stack; core 0 takes nothing but its address.
unsafe impl Sync for Stack {}

#[unsafe(link_section = ".uninit.core1_stack")]
static CORE1_STACK: Stack = Stack(UnsafeCell::new(MaybeUninit::uninit()));

/// What core 1 reads at reset. From `reset` on it uses core 0's table; until then only a hard fault can happen.
#[repr(C, align(128))]
pub struct BootTable {
    stack_top: *const u8,
    reset: unsafe extern "C" fn() -> !,
    non_maskable: unsafe extern "C" fn(),
    hard_fault: unsafe extern "C" fn(),
}
// SAFETY: constants, read by the hardware.
unsafe impl Sync for BootTable {}

unsafe extern "C" {
    fn HardFault();
    fn DefaultHandler();
}

/// Begins with the top of core 1's stack.
pub static BOOT_TABLE: BootTable = BootTable {
    // SAFETY: one past the end of the stack's own memory.
    stack_top: unsafe { (&raw const CORE1_STACK).cast::<u8>().add(STACK) },
    reset: core1_reset,
    non_maskable: DefaultHandler,
    hard_fault: HardFault,
};

/// How core 1 finds its closure: where it lies on core 0's stack, and the function that knows its type.
struct Handover {
    closure: AtomicPtr<()>,
    /// A `fn(*mut ()) -> Infallible`, or null.
    run: AtomicPtr<()>,
    claimed: AtomicBool,
    taken: AtomicBool,
}
static HANDOVER: Handover = Handover {
    closure: AtomicPtr::new(ptr::null_mut()),
    run: AtomicPtr::new(ptr::null_mut()),
    claimed: AtomicBool::new(false),
    taken: AtomicBool::new(false),
};

/// Takes the closure off core 0's stack, tells core 0 so, and runs it.
fn run<F: FnOnce() -> Infallible>(closure: *mut ()) -> Infallible {
    // SAFETY: `start` put a value of this type there, for us alone, and waits until `taken`.
    let main = unsafe { closure.cast::<F>().read() };
    HANDOVER.taken.store(true, Ordering::Release);
    main()
}

unsafe extern "C" fn core1_reset() -> ! {
    // Core 0 has long since initialised .data and .bss.
    let limit = (&raw const CORE1_STACK).addr();
    // SAFETY: the stack pointer is at the top of this very stack, whose lowest address the limit is.
    unsafe { core::arch::asm!("msr MSPLIM, {}", in(reg) limit, options(nomem, nostack, preserves_flags)) };
    unsafe extern "C" {
        static __vector_table: u32;
    }
    write(VTOR, (&raw const __vector_table).addr() as u32);
    cortex_m::asm::dsb();
    cortex_m::asm::isb();
    super::init_core();
    // SAFETY: `start` stored a function of this type before it released this core.
    let run: fn(*mut ()) -> Infallible = unsafe { core::mem::transmute(HANDOVER.run.load(Ordering::Acquire)) };
    let closure = HANDOVER.closure.load(Ordering::Acquire);
    match run(closure) {}
}

/// Releases core 1 with `main`, and waits until it has taken it.
pub fn start<F: FnOnce() -> Infallible + Send + 'static>(main: F) -> Result<(), StartError> {
    if HANDOVER.claimed.swap(true, Ordering::AcqRel) {
        return Err(StartError::AlreadyRunning);
    }
    let mut main = ManuallyDrop::new(main);
    HANDOVER.closure.store((&raw mut main).cast(), Ordering::Release);
    HANDOVER.run.store(run::<F> as fn(*mut ()) -> Infallible as *mut (), Ordering::Release);
    write(INITSVTOR1, (&raw const BOOT_TABLE).addr() as u32);
    cortex_m::asm::dsb();
    write(CPUWAIT, read(CPUWAIT) & !0b10);
    while !HANDOVER.taken.load(Ordering::Acquire) {
        core::hint::spin_loop();
    }
    Ok(())
}

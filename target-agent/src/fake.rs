//! A platform for the host's tests: the test says which core it is, and when interrupts are taken.
extern crate std;
use crate::doorbell::Doorbells;
#[cfg(feature = "enabled")]
use crate::fault::FaultHandlers;
use crate::platform::{Bell, BoardId, CoreId, Mask, Platform, StartError};
#[cfg(feature = "enabled")]
use crate::retained::Retained;
use core::cell::{Cell, RefCell};
use core::sync::atomic::{AtomicBool, Ordering};
use core::task::Waker;
use std::boxed::Box;
use std::sync::Arc;
use std::task::Wake;
use std::vec::Vec;
use stillpoint_core::time::{CounterRate, Counts};

std::thread_local! {
    static CORE: Cell<CoreId> = const { Cell::new(CoreId::ZERO) };
    #[cfg(feature = "enabled")]
    static FROZEN: Cell<bool> = const { Cell::new(false) };
    static MASKED: Cell<bool> = const { Cell::new(false) };
    static COUNTER: Cell<u64> = const { Cell::new(0) };
    static RUNG: RefCell<Vec<(CoreId, Bell)>> = const { RefCell::new(Vec::new()) };
    #[cfg(feature = "enabled")]
    static FAULT_HANDLERS: &'static FaultHandlers<Fake> = Box::leak(Box::new(FaultHandlers::new()));
    #[cfg(feature = "enabled")]
    static RETAINED: &'static [Retained; 2] = Box::leak(Box::new([const { Retained::new() }; 2]));
    static DOORBELLS: &'static Doorbells<Fake> = Box::leak(Box::new(Doorbells::new()));
}

/// The platform itself. Everything it knows belongs to the test's thread.
pub struct Fake;

/// Starts a test from a clean slate; a guard, so that what it left behind is found out.
#[must_use]
pub fn begin() -> impl Drop {
    struct Clean;
    impl Drop for Clean {
        fn drop(&mut self) {
            assert!(std::thread::panicking() || !is_masked(), "the test leaves interrupts masked");
        }
    }
    Clean
}

/// Runs `f` as if on `core`.
pub fn on<R>(core: CoreId, f: impl FnOnce() -> R) -> R {
    let before = CORE.replace(core);
    let result = f();
    CORE.set(before);
    result
}

/// Whether interrupts are masked.
pub fn is_masked() -> bool {
    MASKED.get()
}

/// How many bells were rung and not yet delivered.
pub fn bells_rung() -> usize {
    RUNG.with_borrow(Vec::len)
}

/// Takes the interrupts of all bells that were rung, each on its core.
pub fn deliver_bells() {
    for (core, bell) in RUNG.take() {
        on(core, || match bell {
            Bell::Executor => (),
            Bell::Mailbox => Fake::doorbells().answer(),
            #[cfg(feature = "enabled")]
            Bell::Urgent => Fake::doorbells().answer_urgent(),
            #[cfg(not(feature = "enabled"))]
            Bell::Urgent => (),
        });
    }
}

/// Lets time pass. The alarm comes at least once in a quarter of the counter's range, as that of a time driver does.
#[cfg(feature = "enabled")]
pub fn pass(Counts(mut counts): Counts) {
    while counts > 0 {
        let step = counts.min(1 << 30);
        COUNTER.set(COUNTER.get().wrapping_add(step) & ((1 << Fake::LONG_COUNTER_BITS) - 1));
        counts -= step;
        Fake::doorbells().keep_time();
    }
}

/// Lets time pass while the core is stopped by a debugger: its alarm comes once, at the end.
#[cfg(feature = "enabled")]
pub fn pass_in_debug_state(Counts(counts): Counts) {
    COUNTER.set(COUNTER.get().wrapping_add(counts) & ((1 << Fake::LONG_COUNTER_BITS) - 1));
    Fake::doorbells().keep_time();
}

/// Something to wake.
pub struct Flag(Arc<Inner>);
struct Inner(AtomicBool);
impl Wake for Inner {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}
impl Flag {
    /// Not woken yet.
    pub fn new() -> Self {
        Self(Arc::new(Inner(AtomicBool::new(false))))
    }
    /// A waker that sets the flag.
    pub fn waker(&self) -> Waker {
        Arc::clone(&self.0).into()
    }
    /// Whether it was woken since the last `take`.
    pub fn is_set(&self) -> bool {
        self.0.0.load(Ordering::Relaxed)
    }
}

// SAFETY: every static of a test is used by that test's one thread only, so one context at a time uses any entry.
unsafe impl Platform for Fake {
    const COUNTER_RATE: CounterRate = CounterRate(1_000_000);
    const LONG_COUNTER_BITS: u32 = 40;

    fn core() -> CoreId {
        CORE.get()
    }
    fn board() -> Option<BoardId> {
        None
    }
    fn mask() -> Mask {
        Mask { was_open: !MASKED.replace(true) }
    }
    fn unmask(before: Mask) {
        MASKED.set(!before.was_open);
    }
    fn wait_for_interrupt() {}
    #[cfg(feature = "enabled")]
    fn sleep(_at_most: Counts<u32>) {}
    fn ring(core: CoreId, bell: Bell) {
        RUNG.with_borrow_mut(|rung| rung.push((core, bell)));
    }
    fn counter() -> Counts<u32> {
        Self::long_counter().low()
    }
    fn long_counter() -> Counts {
        Counts(COUNTER.get())
    }
    fn set_alarm(_after: Option<Counts<u32>>) {}
    fn doorbells() -> &'static Doorbells<Self> {
        DOORBELLS.with(|bells| *bells)
    }
    #[cfg(feature = "enabled")]
    fn fault_handlers() -> &'static FaultHandlers<Self> {
        FAULT_HANDLERS.with(|handlers| *handlers)
    }
    #[cfg(feature = "enabled")]
    fn retained() -> &'static Retained {
        RETAINED.with(|cores| &cores[Self::core().index()])
    }
    fn abandon_lock() {}
    #[cfg(feature = "enabled")]
    fn freeze_time() {
        FROZEN.set(true);
    }
    #[cfg(feature = "enabled")]
    fn thaw_time() {
        FROZEN.set(false);
    }
    #[cfg(feature = "enabled")]
    fn delay(_at: Counts) -> Counts {
        Counts(0)
    }
    #[cfg(feature = "enabled")]
    fn poll_lines() {}
    #[cfg(feature = "enabled")]
    fn host_bell(_core: CoreId) -> Option<(u32, u32)> {
        None
    }
    fn start_core1<F: FnOnce() -> core::convert::Infallible + Send + 'static>(_main: F) -> Result<(), StartError> {
        Err(StartError::AlreadyRunning)
    }
}

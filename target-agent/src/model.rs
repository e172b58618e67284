//! What two cores share, under every interleaving and every value that the memory model allows: loom runs the shipped code.
//!
//! Run: `RUSTFLAGS="--cfg loom_agent" cargo test -p stillpoint-agent --release --lib model::`
//!
//! Each core is a thread of a model. The bytes of a message are not atomic, so loom does not see them: a cell of loom's
//! stands beside each, is used whenever the bytes are, and loom reports two uses that nothing puts in order. Each
//! scenario is also run with the orderings weakened, and must then fail.
mod scenarios;

extern crate std;
use crate::doorbell::Doorbells;
use crate::fault::FaultHandlers;
use crate::platform::{Bell, BoardId, CoreId, Mask, Platform, StartError};
use crate::retained::Retained;
use crate::sync::Mutant;
use core::cell::Cell;
use stillpoint_core::time::{CounterRate, Counts};

std::thread_local! {
    // Loom runs all threads of a model on one thread of the test.
    static WORLD: Cell<Option<&'static World>> = const { Cell::new(None) };
    static WEAKENED: Cell<bool> = const { Cell::new(false) };
}

loom::thread_local! {
    static CORE: Cell<CoreId> = Cell::new(CoreId::ZERO);
}

/// What the cores of one run of a model share besides what is tested.
struct World {
    doorbells: Doorbells<Model>,
    /// The interrupts of the bells, pending at each core.
    rung: [atomic::AtomicU32; 2],
}

/// A core of a model.
pub(crate) struct Model;

fn world() -> &'static World {
    WORLD.get().expect("a thread of a model")
}

// SAFETY: each core is one thread of a model, none of which has interrupt handlers.
unsafe impl Platform for Model {
    const COUNTER_RATE: CounterRate = CounterRate(1_000_000);
    const LONG_COUNTER_BITS: u32 = 40;

    fn core() -> CoreId {
        CORE.with(Cell::get)
    }
    fn board() -> Option<BoardId> {
        None
    }
    fn mask() -> Mask {
        Mask { was_open: true }
    }
    fn unmask(_before: Mask) {}
    fn wait_for_interrupt() {}
    fn sleep(_at_most: Counts<u32>) {}
    fn ring(core: CoreId, _bell: Bell) {
        // The hardware: what was written before is visible to the handler.
        world().rung[core.index()].store(1, atomic::Ordering::Release);
    }
    fn counter() -> Counts<u32> {
        Counts(0)
    }
    fn long_counter() -> Counts {
        Counts(0)
    }
    fn set_alarm(_after: Option<Counts<u32>>) {}
    fn doorbells() -> &'static Doorbells<Self> {
        &world().doorbells
    }
    fn fault_handlers() -> &'static FaultHandlers<Self> {
        unreachable!("no core of a model crashes")
    }
    fn retained() -> &'static Retained {
        unreachable!("no core of a model is reset")
    }
    fn abandon_lock() {}
    fn freeze_time() {}
    fn thaw_time() {}
    fn delay(_at: Counts) -> Counts {
        Counts(0)
    }
    fn poll_lines() {}
    fn host_bell(_core: CoreId) -> Option<(u32, u32)> {
        None
    }
    fn start_core1<F: FnOnce() -> core::convert::Infallible + Send + 'static>(_main: F) -> Result<(), StartError> {
        Err(StartError::AlreadyRunning)
    }
}

struct Time;
embassy_time_driver::time_driver_impl!(static TIME: Time = Time);

impl embassy_time_driver::Driver for Time {
    fn now(&self) -> u64 {
        0
    }
    fn schedule_wake(&self, _at: u64, _waker: &core::task::Waker) {}
}

/// Lets the other core go on.
pub(crate) fn spin_loop() {
    if WORLD.get().is_some() { loom::thread::yield_now() } else { core::hint::spin_loop() }
}

pub(crate) fn point() {}

pub(crate) const fn mutated(_: Mutant) -> bool {
    false
}

pub(crate) fn published<const N: usize, const P: usize>(_: &stillpoint_core::control::ControlBlock<N, P>) {}

/// Only the set-up of a model takes the lock this way, before there is a second thread.
pub(crate) mod critical_section {
    pub(crate) use ::critical_section::with;
}

/// Atomics that become loom's when a model touches them first: loom's own cannot be made in a constant.
pub(crate) mod atomic {
    extern crate std;
    use super::{WEAKENED, WORLD};
    use core::sync::atomic as real;
    use loom::sync::atomic as modelled;
    pub(crate) use real::{Ordering, compiler_fence};
    use std::sync::OnceLock;

    /// Nothing in a weakened model.
    pub(crate) fn fence(ordering: Ordering) {
        match (WORLD.get().is_some(), WEAKENED.get()) {
            (true, false) => modelled::fence(ordering),
            (true, true) => {}
            (false, _) => real::fence(ordering),
        }
    }

    fn weakened(ordering: Ordering) -> Ordering {
        if WEAKENED.get() { Ordering::Relaxed } else { ordering }
    }

    macro_rules! lazy {
        ($($name:ident of $value:ty),*) => {$(
            #[derive(Debug)]
            pub(crate) struct $name {
                start: $value,
                cell: OnceLock<Result<modelled::$name, real::$name>>,
            }
            #[allow(dead_code, reason = "not every width needs every access")]
            impl $name {
                pub(crate) const fn new(start: $value) -> Self {
                    Self { start, cell: OnceLock::new() }
                }
                fn cell(&self) -> &Result<modelled::$name, real::$name> {
                    self.cell.get_or_init(|| match WORLD.get() {
                        Some(_) => Ok(modelled::$name::new(self.start)),
                        None => Err(real::$name::new(self.start)),
                    })
                }
                pub(crate) fn load(&self, ordering: Ordering) -> $value {
                    match self.cell() {
                        Ok(cell) => cell.load(weakened(ordering)),
                        Err(cell) => cell.load(ordering),
                    }
                }
                pub(crate) fn store(&self, value: $value, ordering: Ordering) {
                    match self.cell() {
                        Ok(cell) => cell.store(value, weakened(ordering)),
                        Err(cell) => cell.store(value, ordering),
                    }
                }
                pub(crate) fn compare_exchange(
                    &self,
                    from: $value,
                    to: $value,
                    success: Ordering,
                    failure: Ordering,
                ) -> Result<$value, $value> {
                    match self.cell() {
                        Ok(cell) => cell.compare_exchange(from, to, weakened(success), weakened(failure)),
                        Err(cell) => cell.compare_exchange(from, to, success, failure),
                    }
                }
                pub(crate) fn peek(&self) -> $value {
                    self.load(Ordering::Relaxed)
                }
            }
        )*};
    }
    lazy!(AtomicBool of bool, AtomicU8 of u8, AtomicU32 of u32, AtomicUsize of usize);
}

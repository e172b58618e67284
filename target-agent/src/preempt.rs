//! A platform that preempts: the shipped agent on the host, where anything can come in between at every step.
//!
//! A [`World`](world::World) is three cores of two boards and a host. Each is a coroutine, so exactly one of them runs at
//! a time. Every access to an atomic, every register of a UART and every call of the platform is a *point*. A plan says at
//! which point which interrupt is raised, which core crashes, or which core goes on instead. So a run is determined by its
//! plan: all plans with one entry are tried one after another, longer ones at random.
//!
//! At every halt the halted state is compared with the snapshot of the same schedule (`reference`), and every channel has one
//! marker with nothing behind it. At the end no event is missing in the logs, and every task was woken.
mod app;
mod explore;
mod host;
mod line;
mod platform;
mod random;
mod reference;
mod system;
mod world;

extern crate std;
use crate::sync::Mutant;
use core::cell::Cell;
pub(crate) use platform::Preempt;
pub(crate) use system::published;
use world::Seat;

std::thread_local! {
    static SEAT: Cell<Option<Seat>> = const { Cell::new(None) };
}

/// A point: something else can come in between here. Does nothing in threads that belong to no world.
#[inline]
pub(crate) fn point() {
    if let Some(seat) = SEAT.get() {
        seat.point();
    }
}

/// Waits for another core.
pub(crate) fn spin_loop() {
    match SEAT.get() {
        Some(seat) => seat.give_way(),
        None => core::hint::spin_loop(),
    }
}

/// Whether the world of this thread has this fault.
pub(crate) fn mutated(mutant: Mutant) -> bool {
    SEAT.get().is_some_and(|seat| seat.world().mutant == Some(mutant))
}

/// The cross-core lock of a board of the world.
pub(crate) mod critical_section {
    use super::{Preempt, SEAT};
    pub(crate) use ::critical_section::CriticalSection;

    pub(crate) fn with<R>(act: impl FnOnce(CriticalSection<'_>) -> R) -> R {
        let Some(seat) = SEAT.get() else { return ::critical_section::with(act) };
        let lock = &seat.board().lock;
        let state = lock.acquire(super::spin_loop);
        // SAFETY: the lock excludes every other context of the board.
        let result = act(unsafe { CriticalSection::new() });
        lock.release(state);
        let _: &crate::lock::CoreLock<Preempt> = lock;
        result
    }
}

/// Atomics each access of which is a point.
pub(crate) mod atomic {
    use super::point;
    use core::sync::atomic as real;
    pub(crate) use real::{Ordering, compiler_fence};

    pub(crate) fn fence(ordering: Ordering) {
        point();
        real::fence(ordering);
    }

    macro_rules! hooked {
        ($($name:ident of $value:ty),*) => {$(
            #[derive(Debug)]
            #[repr(transparent)]
            pub(crate) struct $name(real::$name);
            #[allow(dead_code, reason = "not every width needs every access")]
            impl $name {
                pub(crate) const fn new(value: $value) -> Self {
                    Self(real::$name::new(value))
                }
                pub(crate) fn load(&self, ordering: Ordering) -> $value {
                    point();
                    self.0.load(ordering)
                }
                pub(crate) fn store(&self, value: $value, ordering: Ordering) {
                    point();
                    self.0.store(value, ordering);
                }
                pub(crate) fn compare_exchange(
                    &self,
                    from: $value,
                    to: $value,
                    success: Ordering,
                    failure: Ordering,
                ) -> Result<$value, $value> {
                    point();
                    self.0.compare_exchange(from, to, success, failure)
                }
                /// Without a point, for oracles.
                pub(crate) fn peek(&self) -> $value {
                    self.0.load(Ordering::Relaxed)
                }
            }
        )*};
    }
    hooked!(AtomicBool of bool, AtomicU8 of u8, AtomicU32 of u32, AtomicUsize of usize);
}

//! One embassy executor per core, asleep in the platform's wait-for-interrupt when there is nothing to do.
//!
//! Embassy's stock executor waits for an *event*, which some machines do not send between cores (QEMU among them).
//! This one keeps a flag per core and rings [`Bell::Executor`] when a task of the other core is woken.
use crate::platform::{Bell, CoreId, MAX_CORES, Platform};
use core::marker::PhantomData;
use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicPtr, Ordering};
use core::task::Waker;
use embassy_executor::{Spawner, raw};

static PENDED: [AtomicBool; MAX_CORES] = [const { AtomicBool::new(false) }; MAX_CORES];
static RUNNING: [AtomicPtr<raw::Executor>; MAX_CORES] = [const { AtomicPtr::new(ptr::null_mut()) }; MAX_CORES];

/// The executor of the core that makes it.
pub struct Executor<P> {
    inner: raw::Executor,
    core: CoreId,
    platform: PhantomData<P>,
}

impl<P: Platform> Executor<P> {
    /// The executor of the calling core. It stays there, being neither `Send` nor `Sync`.
    #[must_use]
    pub fn new() -> Self {
        let core = P::core();
        Self { inner: raw::Executor::new(ptr::without_provenance_mut(core.index())), core, platform: PhantomData }
    }

    /// Runs the tasks that `init` spawns, and those they spawn, for ever.
    pub fn run(&'static mut self, init: impl FnOnce(Spawner)) -> ! {
        RUNNING[self.core.index()].store(ptr::from_ref(&self.inner).cast_mut(), Ordering::Release);
        init(self.inner.spawner());
        let pended = &PENDED[self.core.index()];
        loop {
            pended.store(false, Ordering::SeqCst);
            // SAFETY: this loop is the only caller, on the core that made the executor; `&'static mut` keeps it so.
            unsafe { self.inner.poll() };
            P::masked(|| {
                if !pended.load(Ordering::SeqCst) {
                    P::wait_for_interrupt();
                }
            });
        }
    }
}

impl<P: Platform> Default for Executor<P> {
    fn default() -> Self {
        Self::new()
    }
}

/// What the platform's `__pender` does with the context embassy gives it.
pub fn pend<P: Platform>(context: *mut ()) {
    let Some(core) = CoreId::new(context.addr()) else { return };
    PENDED[core.index()].store(true, Ordering::SeqCst);
    if P::core() != core {
        P::ring(core, Bell::Executor);
    }
}

/// Refuses a task of another core.
///
/// # Panics
/// When the task of `waker` does not run on the calling core.
pub(crate) fn assert_runs_here<P: Platform>(waker: &Waker) {
    let core = P::core().index();
    // SAFETY: the reference is compared, not used; embassy keeps the executor of a spawned task alive.
    let executor = unsafe { raw::task_from_waker(waker).executor() };
    let here = RUNNING[core].load(Ordering::Relaxed);
    let runs_here = executor.is_some_and(|executor| ptr::eq(executor, here) || adopt(core, executor));
    assert!(runs_here, "a timer was polled on another core than its task runs on");
}

/// Takes an executor for that of a core on which [`Executor::run`] was not called: with `stock-executor` only the first timer
/// tells where an executor runs. Returns whether the core had none and no other core has this one.
#[cfg(feature = "stock-executor")]
fn adopt(core: usize, executor: &raw::Executor) -> bool {
    let executor = ptr::from_ref(executor).cast_mut();
    critical_section::with(|_| {
        let is_free = RUNNING[core].load(Ordering::Relaxed).is_null()
            && !RUNNING.iter().any(|running| running.load(Ordering::Relaxed) == executor);
        if is_free {
            RUNNING[core].store(executor, Ordering::Relaxed);
        }
        is_free
    })
}

#[cfg(not(feature = "stock-executor"))]
fn adopt(_: usize, _: &raw::Executor) -> bool {
    false
}

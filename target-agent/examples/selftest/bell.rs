//! Doorbells.
use crate::lock::busy_wait;
use crate::{Side, Verdict, check};
use core::ptr;
use core::sync::atomic::{AtomicBool, Ordering};
use core::task::{RawWaker, RawWakerVTable, Waker};
use stillpoint_agent::platform::{Bell, Chip, Platform};

/// Each core rings both of its own bells: the ordinary one's handler waits for the urgent one's.
pub fn urgent_interrupts_ordinary(side: &Side) -> Verdict {
    static URGENT: [AtomicBool; 2] = [AtomicBool::new(false), AtomicBool::new(false)];
    static INTERRUPTED: [AtomicBool; 2] = [AtomicBool::new(false), AtomicBool::new(false)];
    static ENDED: [AtomicBool; 2] = [AtomicBool::new(false), AtomicBool::new(false)];

    /// Runs in the ordinary bell's handler, which wakes who waits.
    fn in_ordinary_handler(_: *const ()) {
        let core = Chip::core();
        Chip::ring(core, Bell::Urgent);
        INTERRUPTED[core.index()].store(busy_wait(&URGENT[core.index()]), Ordering::Release);
        ENDED[core.index()].store(true, Ordering::Release);
    }
    static VTABLE: RawWakerVTable =
        RawWakerVTable::new(|_| RawWaker::new(ptr::null(), &VTABLE), in_ordinary_handler, in_ordinary_handler, |_| ());

    Chip::doorbells().on_urgent(&|| URGENT[Chip::core().index()].store(true, Ordering::Release));
    let waiter = Chip::doorbells().claim(side.core).map_err(|_| "no place left to wait at")?;
    // SAFETY: the functions of the table use no data.
    let waker = unsafe { Waker::from_raw(RawWaker::new(ptr::null(), &VTABLE)) };
    waiter.wait(&waker);
    waiter.ring();
    check(busy_wait(&ENDED[side.core.index()]), "the ordinary doorbell was not heard")?;
    check(INTERRUPTED[side.core.index()].load(Ordering::Acquire), "it had to wait for the ordinary handler to end")
}

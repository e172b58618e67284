//! The cross-core lock.
use crate::{Side, Verdict, check};
use core::cell::Cell;
use core::sync::atomic::{AtomicBool, Ordering};
use critical_section::Mutex;
use stillpoint_agent::platform::{Bell, Chip, CoreId, Mask, Platform};
use stillpoint_core::time::Counts;

/// Waits, busy, until `flag` is set or five seconds have passed; whether it is set.
pub fn busy_wait(flag: &AtomicBool) -> bool {
    let start = Chip::counter();
    while !flag.load(Ordering::Acquire) {
        if Chip::counter().wrapping_since(start) > Counts(5 * Chip::COUNTER_RATE.0) {
            return false;
        }
        core::hint::spin_loop();
    }
    true
}

fn pause(microseconds: u32) {
    let start = Chip::counter();
    while Chip::counter().wrapping_since(start) < Counts(microseconds * (Chip::COUNTER_RATE.0 / 1_000_000)) {
        core::hint::spin_loop();
    }
}

pub async fn excludes(side: &mut Side) -> Verdict {
    const TIMES: u32 = 100_000;
    static COUNT: Mutex<Cell<u32>> = Mutex::new(Cell::new(0));
    static OCCUPIED: AtomicBool = AtomicBool::new(false);
    static READY: [AtomicBool; 2] = [AtomicBool::new(false), AtomicBool::new(false)];
    // Start together, to the instruction: the sections of both must really meet.
    READY[side.core.index()].store(true, Ordering::Release);
    check(READY.iter().all(busy_wait), "the other core did not come")?;
    let mut alone = true;
    for _ in 0..TIMES {
        critical_section::with(|token| {
            alone &= !OCCUPIED.swap(true, Ordering::AcqRel);
            let count = COUNT.borrow(token);
            count.set(count.get() + 1);
            OCCUPIED.store(false, Ordering::Release);
        });
    }
    side.meet().await;
    let count = critical_section::with(|token| COUNT.borrow(token).get());
    check(alone, "both cores were in the section at once")?;
    check(count == 2 * TIMES, "the count is short")
}

pub async fn is_reentrant(side: &mut Side) -> Verdict {
    static INSIDE: AtomicBool = AtomicBool::new(false);
    static ENTERED_TOO: AtomicBool = AtomicBool::new(false);
    if side.is_first() {
        let entered_too = critical_section::with(|_| {
            critical_section::with(|_| ());
            // Core 1 tries from now on; the inner release must not have let it in.
            INSIDE.store(true, Ordering::Release);
            pause(2_000);
            ENTERED_TOO.load(Ordering::Acquire)
        });
        let masked = critical_section::with(|_| {
            critical_section::with(|_| ());
            !is_open()
        });
        check(!entered_too, "the inner release freed the lock")?;
        check(masked, "the inner release opened interrupts")?;
        check(is_open(), "the outer release left interrupts masked")
    } else {
        let began = busy_wait(&INSIDE);
        critical_section::with(|_| ENTERED_TOO.store(true, Ordering::Release));
        check(began, "core 0 never held the lock")
    }
}

fn is_open() -> bool {
    let before = Chip::mask();
    Chip::unmask(before);
    before.was_open
}

pub async fn waiter_takes_doorbell(side: &mut Side) -> Verdict {
    static HELD: AtomicBool = AtomicBool::new(false);
    static TRYING: AtomicBool = AtomicBool::new(false);
    static HEARD: AtomicBool = AtomicBool::new(false);
    if side.is_first() {
        Chip::doorbells().on_urgent(&|| HEARD.store(true, Ordering::Release));
        check(busy_wait(&HELD), "core 1 never held the lock")?;
        TRYING.store(true, Ordering::Release);
        critical_section::with(|_| ());
        Ok(())
    } else {
        critical_section::with(|_| {
            HELD.store(true, Ordering::Release);
            check(busy_wait(&TRYING), "core 0 never tried")?;
            // Long enough to be in the middle of its wait.
            pause(2_000);
            Chip::ring(CoreId::ZERO, Bell::Urgent);
            check(busy_wait(&HEARD), "core 0 was deaf while it waited")
        })
    }
}

pub async fn dying_owner_lets_go(side: &mut Side) -> Verdict {
    static HELD: AtomicBool = AtomicBool::new(false);
    static FREED: AtomicBool = AtomicBool::new(false);
    static ENTERED: AtomicBool = AtomicBool::new(false);
    if side.is_first() {
        check(busy_wait(&HELD), "core 1 never held the lock")?;
        critical_section::with(|_| ENTERED.store(true, Ordering::Release));
        check(FREED.load(Ordering::Acquire), "two cores were in the section at once")
    } else {
        let open = is_open();
        // SAFETY: released below, in the one case in which it was not given up: this core plays dead.
        let state = unsafe { critical_section::acquire() };
        HELD.store(true, Ordering::Release);
        pause(2_000);
        FREED.store(true, Ordering::Release);
        Chip::abandon_lock();
        let entered = busy_wait(&ENTERED);
        if !entered {
            // SAFETY: it was not given up after all, so this is the release that belongs to the acquire above.
            unsafe { critical_section::release(state) };
        }
        Chip::unmask(Mask { was_open: open });
        check(entered, "core 0 hangs")
    }
}

//! The world as a [`Platform`].
extern crate std;
use super::world::{CORES, Seat};
use super::{SEAT, mutated, point, spin_loop};
use crate::doorbell::Doorbells;
use crate::fault::FaultHandlers;
use crate::platform::{Bell, BoardId, CoreId, Mask, Platform, StartError};
use crate::retained::Retained;
use crate::sync::Mutant;
use core::task::Waker;
use std::vec::Vec;
use stillpoint_core::time::{CounterRate, Counts};

/// A core of a board of the world of the calling thread.
pub(crate) struct Preempt;

fn seat() -> Seat {
    SEAT.get().expect("only threads of a world use this platform")
}

// SAFETY: one thread of a world runs at a time, and a core's handlers run only while its interrupts are open.
unsafe impl Platform for Preempt {
    const COUNTER_RATE: CounterRate = CounterRate(20_000_000);
    const LONG_COUNTER_BITS: u32 = 40;

    fn core() -> CoreId {
        point();
        seat().core()
    }
    fn board() -> Option<BoardId> {
        None
    }
    fn mask() -> Mask {
        point();
        let was_masked = core::mem::replace(&mut seat().world().lock().cores[seat().actor].masked, true);
        Mask { was_open: !was_masked }
    }
    fn unmask(before: Mask) {
        if before.was_open {
            seat().world().lock().cores[seat().actor].masked = false;
        }
        point();
    }
    fn wait_for_interrupt() {
        seat().sleep();
    }
    fn sleep(at_most: Counts<u32>) {
        if mutated(Mutant::BellsSilencedBeforeSleep) {
            seat().silence_bells();
        }
        super::host::assert_nothing_is_left(seat());
        seat().sleep_parked(at_most);
        if !mutated(Mutant::BellsSilencedBeforeSleep) {
            seat().silence_bells();
        }
    }
    fn ring(core: CoreId, bell: Bell) {
        point();
        seat().ring(core, bell);
    }
    fn counter() -> Counts<u32> {
        Counts(Self::long_counter().0 as u32)
    }
    fn long_counter() -> Counts {
        point();
        let mut state = seat().world().lock();
        state.time += 1;
        Counts(state.time)
    }
    fn set_alarm(_after: Option<Counts<u32>>) {}
    fn doorbells() -> &'static Doorbells<Self> {
        &seat().board().doorbells
    }
    fn fault_handlers() -> &'static FaultHandlers<Self> {
        &seat().board().handlers
    }
    fn retained() -> &'static Retained {
        &seat().board().retained[seat().core().index()]
    }
    fn abandon_lock() {
        seat().board().lock.abandon();
    }
    fn feed_watchdog() {
        // Only a core that stands still calls this, over and over.
        spin_loop();
    }
    fn freeze_time() {
        point();
        let mut state = seat().world().lock();
        let time = state.time as u32;
        state.cores[seat().actor].line.freeze(Counts(time));
    }
    fn thaw_time() {
        point();
        let mut state = seat().world().lock();
        let time = state.time;
        state.cores[seat().actor].line.thaw(Counts(time), Self::LONG_COUNTER_BITS);
    }
    fn delay(at: Counts) -> Counts {
        seat().world().lock().cores[seat().actor].line.delay_at(at, Self::LONG_COUNTER_BITS)
    }
    fn poll_lines() {
        super::line::poll(seat());
    }
    fn host_bell(_core: CoreId) -> Option<(u32, u32)> {
        None
    }
    fn start_core1<F: FnOnce() -> core::convert::Infallible + Send + 'static>(_main: F) -> Result<(), StartError> {
        Err(StartError::AlreadyRunning)
    }
}

/// Wakes the tasks whose timers have ended.
pub(super) fn on_alarm(seat: Seat) {
    seat.board().doorbells.keep_time();
    point();
    let mut state = seat.world().lock();
    let time = state.time as u32;
    let core = &mut state.cores[seat.actor];
    if core.line.is_frozen() {
        return;
    }
    let now = core.line.now(Counts(time)).0;
    let (due, later): (Vec<_>, Vec<_>) = core::mem::take(&mut core.timers).into_iter().partition(|(at, _)| *at <= now);
    core.timers = later;
    drop(state);
    due.into_iter().for_each(|(_, waker)| waker.wake());
}

struct Time;
embassy_time_driver::time_driver_impl!(static TIME: Time = Time);

impl embassy_time_driver::Driver for Time {
    fn now(&self) -> u64 {
        let Some(seat) = SEAT.get().filter(|seat| seat.actor < CORES) else { return 0 };
        point();
        let mut state = seat.world().lock();
        let time = state.time as u32;
        state.cores[seat.actor].line.now(Counts(time)).0
    }

    fn schedule_wake(&self, at: u64, waker: &Waker) {
        let Some(seat) = SEAT.get().filter(|seat| seat.actor < CORES) else { return };
        point();
        let timers = &mut seat.world().lock().cores[seat.actor].timers;
        timers.retain(|(_, known)| !known.will_wake(waker));
        timers.push((at, waker.clone()));
    }
}

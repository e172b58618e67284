//! Embassy's time, one line, one queue and one alarm per core.
use super::TimeLine;
use crate::executor;
use crate::per_core::PerCore;
use crate::platform::{MAX_CORES, Platform};
use core::cell::{Cell, RefCell};
use core::sync::atomic::{AtomicBool, Ordering};
use core::task::Waker;
use embassy_time_driver::Driver;
use embassy_time_queue_utils::queue_integrated::Queue;
use stillpoint_core::time::Counts;
#[cfg(feature = "replay")]
use stillpoint_core::{Event, EventKind};

/// The time driver of a platform; a timer belongs to the core whose executor polls it.
///
/// Reading the time and setting timers mask local interrupts and never take the cross-core lock.
/// The platform makes one `static` of it with `embassy_time_driver::time_driver_impl!`, calls [`start`](Self::start)
/// on each core and [`on_alarm`](Self::on_alarm) from each core's alarm interrupt.
pub struct TimeDriver<P>(PerCore<P, CoreTime>);

/// Time does not stand still on any core. A firmware has one driver.
static FOLLOWS_REAL_TIME: AtomicBool = AtomicBool::new(false);

struct CoreTime {
    line: Cell<TimeLine>,
    queue: RefCell<Queue>,
    /// When the first timer ends.
    #[cfg(feature = "replay")]
    next: Cell<u64>,
}

impl CoreTime {
    const fn new() -> Self {
        Self {
            line: Cell::new(TimeLine::new()),
            queue: RefCell::new(Queue::new()),
            #[cfg(feature = "replay")]
            next: Cell::new(u64::MAX),
        }
    }

    fn now<P: Platform>(&self) -> Counts {
        let mut line = self.line.get();
        let now = line.now(P::counter());
        self.line.set(line);
        now
    }

    /// Whether a timer has come to its end at `now`, so that firing wakes somebody.
    #[cfg(feature = "replay")]
    fn is_due(&self, now: Counts) -> bool {
        !self.line.get().is_frozen() && self.next.get() <= now.0
    }

    /// Sets the alarm for the timer that ends first. Wakes nobody: a timer that has ended already has its alarm at once, so
    /// that every firing is an event of the alarm's interrupt.
    fn arm<P: Platform>(&self) {
        self.wake::<P>(Counts(0));
    }

    /// Wakes what has ended at `now` and sets the alarm for what is next.
    fn wake<P: Platform>(&self, now: Counts) {
        #[cfg(feature = "enabled")]
        if self.line.get().is_frozen() {
            P::set_alarm(None);
            return;
        }
        let next = self.queue.borrow_mut().next_expiration(now.0);
        #[cfg(feature = "replay")]
        self.next.set(next);
        // Never longer than a quarter of the counter's range, so that every wrap is seen.
        let after = next.saturating_sub(self.now::<P>().0).clamp(1, 1 << 30) as u32;
        P::set_alarm(Some(Counts(after)));
    }
}

impl<P: Platform> TimeDriver<P> {
    /// All lines at 0, no timers.
    #[must_use]
    pub const fn new() -> Self {
        Self(PerCore::new([const { CoreTime::new() }; MAX_CORES]))
    }

    /// Starts the calling core's line at the present reading of the counter.
    pub fn start(&self) {
        self.0.with(CoreTime::arm::<P>);
    }

    /// Serves the calling core's alarm interrupt.
    pub fn on_alarm(&self) {
        // Before anything that is an event.
        #[cfg(feature = "enabled")]
        P::doorbells().keep_time();
        let now = self.0.with(CoreTime::now::<P>);
        #[cfg(feature = "replay")]
        if self.0.with(|time| time.is_due(now)) {
            P::observe(Event::new(EventKind::Timer, 0));
        }
        self.0.with(|time| time.wake::<P>(now));
    }

    /// Stops the calling core's time: its clock stands, its timers do not fire. The other core's run on.
    ///
    /// Does nothing after [`follow_real_time`](Self::follow_real_time).
    #[cfg(feature = "enabled")]
    pub fn freeze(&self) {
        if !self.is_logical() {
            return;
        }
        self.0.with(|time| {
            let mut line = time.line.get();
            line.freeze(P::counter());
            time.line.set(line);
            time.arm::<P>();
        });
    }

    /// Lets the calling core's time run on where it stopped, its alarm set anew. Returns the time for which it stood.
    #[cfg(feature = "enabled")]
    pub fn thaw(&self) -> Counts {
        self.0.with(|time| {
            let mut line = time.line.get();
            if !line.is_frozen() {
                return Counts(0);
            }
            let stood = line.thaw(P::long_counter(), P::LONG_COUNTER_BITS);
            time.line.set(line);
            time.arm::<P>();
            stood
        })
    }

    /// How many counts the calling core's line has stood still in all at this reading of the long counter.
    #[must_use]
    #[cfg(feature = "enabled")]
    pub fn delay_at(&self, at: Counts) -> Counts {
        self.0.with(|time| time.line.get().delay_at(at, P::LONG_COUNTER_BITS))
    }

    /// From now on time does not stand still on any core, whatever stops: to see what logical time is good for.
    pub fn follow_real_time(&self) {
        FOLLOWS_REAL_TIME.store(true, Ordering::Relaxed);
    }

    /// Whether time stands still while a core is stopped.
    #[must_use]
    pub fn is_logical(&self) -> bool {
        !FOLLOWS_REAL_TIME.load(Ordering::Relaxed)
    }

    /// How many counts the calling core's line has stood still in all, without a stop that goes on.
    #[must_use]
    #[cfg(feature = "enabled")]
    pub fn delay(&self) -> Counts {
        self.0.with(|time| time.line.get().delay())
    }
}

impl<P: Platform> Default for TimeDriver<P> {
    fn default() -> Self {
        Self::new()
    }
}

impl<P: Platform> Driver for TimeDriver<P> {
    fn now(&self) -> u64 {
        let now = self.0.with(CoreTime::now::<P>);
        #[cfg(feature = "replay")]
        P::observe(Event { kind: EventKind::Now, arg: 0, value: now.low().0 });
        now.0
    }

    fn schedule_wake(&self, at: u64, waker: &Waker) {
        // A task is linked into at most one queue, which the queue asks of a driver that has several.
        executor::assert_runs_here::<P>(waker);
        self.0.with(|time| {
            // Nothing ends before 1, which is what lets `arm` wake nobody.
            if time.queue.borrow_mut().schedule_wake(at.max(1), waker) {
                time.arm::<P>();
            }
        });
    }
}

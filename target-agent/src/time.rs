//! Logical time: each core's own time line, which stands still while the core is stopped and the others' run on.
//!
//! Kawabe et al., "Paradise": logical time of a node = real time minus its accumulated delay. A [`TimeLine`] is that
//! equation and nothing more; `TimeDriver` gives each core one of them, with its own queue and its own alarm, as
//! embassy's time. Instants of two cores can be compared only while their delays are equal.

use stillpoint_core::time::{Counts, TickRate};

#[cfg(feature = "enabled")]
mod line;
#[cfg(not(feature = "enabled"))]
#[path = "plain/time_line.rs"]
mod line;
pub use line::TimeLine;

/// The rate of the ticks of logs and links.
pub(crate) const fn tick_rate<P: crate::platform::Platform>() -> TickRate {
    const {
        match P::COUNTER_RATE.ticks() {
            Some(rate) => rate,
            None => panic!("the rate of the platform's counter must be a multiple of 16 Hz"),
        }
    }
}

/// Joins a fine 32-bit counter with a coarse estimate of the same time that lies less than 2^31 counts off.
///
/// # Example: the estimate says which wrap, the counter says where in it
/// ```
/// use stillpoint_agent::time::join_counters;
/// use stillpoint_core::time::{Counts, TickRate};
/// assert_eq!(join_counters(Counts(0x0000_0005), Counts(0x1_FFFF_FF00)), Counts(0x2_0000_0005));
/// assert_eq!(join_counters(Counts(0xFFFF_FFF0), Counts(0x2_0000_0100)), Counts(0x1_FFFF_FFF0));
/// ```
#[must_use]
pub const fn join_counters(fine: Counts<u32>, coarse: Counts) -> Counts {
    let off = fine.wrapping_since(coarse.low()).0 as i32;
    Counts(coarse.0.wrapping_add_signed(off as i64))
}

/// Sleeps for so long on the calling core's time line.
pub(crate) async fn sleep(time: Counts) {
    let until = embassy_time_driver::now().wrapping_add(time.0);
    core::future::poll_fn(|context| {
        if embassy_time_driver::now() >= until {
            return core::task::Poll::Ready(());
        }
        embassy_time_driver::schedule_wake(until, context.waker());
        core::task::Poll::Pending
    })
    .await;
}

#[cfg(target_os = "none")]
mod driver;
#[cfg(target_os = "none")]
pub use driver::TimeDriver;

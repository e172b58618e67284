//! Logical time: each core's own time line, which stands still while the core is stopped and the others' run on.
//!
//! Kawabe et al., "Paradise": logical time of a node = real time minus its accumulated delay. A [`TimeLine`] is that
//! equation and nothing more; `TimeDriver` gives each core one of them, with its own queue and its own alarm, as
//! embassy's time. Instants of two cores can be compared only while their delays are equal.

/// One tick of logs and links is this many counts of the platform's counter, as a shift.
pub(crate) const TICK_SHIFT: u32 = 4;

#[cfg(feature = "enabled")]
mod line;
#[cfg(not(feature = "enabled"))]
#[path = "plain/time_line.rs"]
mod line;
pub use line::TimeLine;

/// Joins a fine 32-bit counter with a coarse estimate of the same time that lies less than 2^31 counts off.
///
/// # Example: the estimate says which wrap, the counter says where in it
/// ```
/// use stillpoint_agent::time::join_counters;
/// assert_eq!(join_counters(0x0000_0005, 0x1_FFFF_FF00), 0x2_0000_0005);
/// assert_eq!(join_counters(0xFFFF_FFF0, 0x2_0000_0100), 0x1_FFFF_FFF0);
/// ```
#[must_use]
pub const fn join_counters(fine: u32, coarse: u64) -> u64 {
    let off = fine.wrapping_sub(coarse as u32) as i32;
    coarse.wrapping_add_signed(off as i64)
}

/// Sleeps for so many counts of the calling core's time line.
pub(crate) async fn sleep(counts: u64) {
    let until = embassy_time_driver::now().wrapping_add(counts);
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

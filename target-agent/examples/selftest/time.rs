//! Time lines and timers.
use crate::{Side, Verdict, check};
use core::future::{Future, poll_fn};
use core::pin::Pin;
use core::task::Poll;
use embassy_futures::join::join3;
use embassy_time::{Instant, Timer};
use stillpoint_agent::platform::{self, Chip, Platform};
use stillpoint_core::time::Counts;

/// Whether the timer has not fired yet; it wakes this task when it does.
async fn is_pending(timer: &mut Timer) -> bool {
    poll_fn(|context| Poll::Ready(Pin::new(&mut *timer).poll(context).is_pending())).await
}

pub fn long_counter_agrees() -> Verdict {
    for _ in 0..1_000 {
        let (before, long, after) = (Chip::counter(), Chip::long_counter(), Chip::counter());
        let between = long.low().wrapping_since(before) <= after.wrapping_since(before);
        check(between && long < Counts(1 << 36), "they differ")?;
    }
    Ok(())
}

pub async fn one_line_stands(side: &mut Side) -> Verdict {
    if !side.is_first() {
        side.told().await;
        let start = Instant::now();
        for _ in 0..20 {
            Timer::after_millis(1).await;
        }
        side.tell(start.elapsed().as_ticks()).await;
        return check(platform::time().delay() == Counts(0), "core 1's time stood as well");
    }
    let due = Instant::now() + embassy_time::Duration::from_millis(5);
    let mut timer = Timer::at(due);
    check(is_pending(&mut timer).await, "the timer fired at once")?;
    let (delay, outer) = (platform::time().delay(), Chip::counter());
    platform::time().freeze();
    let (inner, stopped) = (Chip::counter(), Instant::now());
    side.tell(0).await;
    let on_core1 = side.told().await;
    let still = Instant::now() == stopped;
    let pending = stopped >= due || is_pending(&mut timer).await;
    let inner = Chip::counter().wrapping_since(inner);
    let stood = platform::time().thaw();
    let outer = Chip::counter().wrapping_since(outer);

    check(still, "core 0's clock went on")?;
    check(pending, "core 0's timer fired")?;
    check(on_core1 >= 20 * u64::from(Chip::COUNTER_RATE.0 / 1_000), "core 1's timers fired early")?;
    check(
        (inner.widen()..=outer.widen()).contains(&stood) && stood >= Counts(on_core1),
        "the stop was measured wrong",
    )?;
    check(platform::time().delay() == delay.wrapping_after(stood), "the delay does not add up")?;

    let (resumed, remaining) = (Chip::counter(), due.saturating_duration_since(Instant::now()));
    timer.await;
    let waited = Chip::counter().wrapping_since(resumed).widen();
    check(Instant::now() >= due && waited >= Counts(remaining.as_ticks()), "the timer did not run on where it stopped")
}

pub async fn timers_fire_in_order() -> Verdict {
    let early = |due: Instant| async move {
        Timer::at(due).await;
        Instant::now() < due
    };
    for _ in 0..20 {
        let start = Instant::now();
        let at = |microseconds| start + embassy_time::Duration::from_micros(microseconds);
        let (first, last, middle) = join3(early(at(50)), early(at(2_000)), early(at(700))).await;
        check(!first && !last && !middle, "a timer fired early")?;
    }
    let (sooner, later) = (Timer::after_micros(300), Timer::after_millis(300));
    let first = embassy_futures::select::select(later, sooner).await;
    check(matches!(first, embassy_futures::select::Either::Second(())), "the later timer fired first")
}

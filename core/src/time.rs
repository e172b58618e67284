//! Units of time: counts of a chip's counter, ticks of recordings and links, and microseconds.
//!
//! Each unit is a type, and so is the rate of each, so that the compiler refuses a value in the wrong unit. The width
//! is a parameter: `u32` is a value that wraps, as a register or a time difference does, `u64` one that does not.
//!
//! | unit | where it comes from | rate |
//! |---|---|---|
//! | [`Counts`] | the counter of a platform | [`CounterRate`], exported by the firmware |
//! | [`Ticks`] | counts divided by [`COUNTS_PER_TICK`] | [`TickRate`], exported by the firmware and in the header of a recording |
//! | [`Micros`] | configuration and output | 1 MHz |
//!
//! The `fugit` crate has such types, too, but its rates are constants of the type. A host learns the rate of a board
//! from the board's firmware, and a platform's rate is an associated constant, which cannot be a const argument yet.

/// How many counts make one tick.
pub const COUNTS_PER_TICK: u32 = 1 << TICK_SHIFT;
const TICK_SHIFT: u32 = 4;

macro_rules! unit {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[cfg_attr(feature = "defmt", derive(defmt::Format))]
        #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(transparent))]
        #[repr(transparent)]
        pub struct $name<T = u64>(pub T);

        impl $name<u64> {
            /// The low 32 bits.
            #[must_use]
            #[inline]
            pub const fn low(self) -> $name<u32> {
                $name(self.0 as u32)
            }
        }

        impl $name<u32> {
            /// The same value in 64 bits.
            #[must_use]
            #[inline]
            pub const fn widen(self) -> $name<u64> {
                $name(self.0 as u64)
            }
        }

        unit!(@arithmetic $name<u32>, $name<u64>);
    };
    (@arithmetic $($time:ty),*) => {
        $(impl $time {
            /// The time from `earlier` to this one, modulo the range of its width.
            #[must_use]
            #[inline]
            pub const fn wrapping_since(self, earlier: Self) -> Self {
                Self(self.0.wrapping_sub(earlier.0))
            }

            /// The time `later` than this one, modulo the range of its width.
            #[must_use]
            #[inline]
            pub const fn wrapping_after(self, later: Self) -> Self {
                Self(self.0.wrapping_add(later.0))
            }
        })*
    };
}

unit! {
    /// A reading of a platform's counter, or a time between two readings.
    ///
    /// # Example: a count is not a tick
    /// ```compile_fail
    /// use stillpoint_core::time::{Counts, TickRate};
    /// TickRate(1_250_000).micros(Counts(20));
    /// ```
    Counts
}

unit! {
    /// The time of records and links: counts of the platform's counter, divided by [`COUNTS_PER_TICK`].
    ///
    /// # Example: a tick is not a microsecond
    /// ```compile_fail
    /// use stillpoint_core::time::{Micros, Ticks};
    /// let timeout: Ticks<u32> = Micros(33_900);
    /// ```
    Ticks
}

unit! {
    /// Microseconds.
    Micros
}

impl Counts<u64> {
    /// The same time in whole ticks.
    #[must_use]
    #[inline]
    pub const fn ticks(self) -> Ticks {
        Ticks(self.0 >> TICK_SHIFT)
    }
}

impl Counts<u32> {
    /// The same time in whole ticks, which wraps after [`Ticks::COUNTER_RANGE`].
    #[must_use]
    #[inline]
    pub const fn ticks(self) -> Ticks<u32> {
        Ticks(self.0 >> TICK_SHIFT)
    }
}

impl Ticks<u32> {
    /// The largest time of a counter of 32 bits, in ticks.
    pub const COUNTER_RANGE: Self = Counts(u32::MAX).ticks();

    /// The same time in counts.
    #[must_use]
    #[inline]
    pub const fn counts(self) -> Counts {
        Counts((self.0 as u64) << TICK_SHIFT)
    }
}

/// Counts per second of a platform's counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(transparent))]
#[repr(transparent)]
pub struct CounterRate(pub u32);

impl CounterRate {
    /// The rate of the ticks made of these counts; `None` if it is not a whole number.
    ///
    /// # Example: a counter of 20 MHz
    /// ```
    /// use stillpoint_core::time::{CounterRate, TickRate};
    /// assert_eq!(CounterRate(20_000_000).ticks(), Some(TickRate(1_250_000)));
    /// ```
    #[must_use]
    pub const fn ticks(self) -> Option<TickRate> {
        if self.0.is_multiple_of(COUNTS_PER_TICK) { Some(TickRate(self.0 >> TICK_SHIFT)) } else { None }
    }

    /// A signed difference of two readings in microseconds; `None` for a rate of 0.
    ///
    /// # Example: 5 counts of 20 MHz, backwards
    /// ```
    /// use stillpoint_core::time::{Counts, CounterRate};
    /// let (earlier, later) = (Counts(100), Counts(105));
    /// assert_eq!(CounterRate(20_000_000).micros_between(later, earlier), Some(-0.25));
    /// ```
    #[must_use]
    pub fn micros_between(self, from: Counts, to: Counts) -> Option<f64> {
        let counts = to.wrapping_since(from).0 as i64;
        (self.0 > 0).then(|| counts as f64 * 1e6 / f64::from(self.0))
    }
}

/// Ticks per second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(transparent))]
#[repr(transparent)]
pub struct TickRate(pub u32);

impl TickRate {
    /// A tick of one microsecond.
    pub const MEGAHERTZ: Self = Self(1_000_000);

    /// The time in microseconds; `None` for a rate of 0.
    ///
    /// # Example: 125,000 ticks of 1.25 MHz are 100 ms
    /// ```
    /// use stillpoint_core::time::{TickRate, Ticks};
    /// assert_eq!(TickRate(1_250_000).micros(Ticks(125_000)), Some(100_000.0));
    /// ```
    #[must_use]
    pub fn micros(self, time: Ticks) -> Option<f64> {
        (self.0 > 0).then(|| time.0 as f64 * 1e6 / f64::from(self.0))
    }

    /// The time in whole nanoseconds, rounded down; `None` for a rate of 0.
    #[must_use]
    pub const fn nanos(self, time: Ticks) -> Option<u128> {
        (time.0 as u128 * 1_000_000_000).checked_div(self.0 as u128)
    }

    /// The fewest ticks that are not shorter than so many microseconds; the largest value where there are more.
    ///
    /// # Example: the timeout of a link at 1.25 MHz
    /// ```
    /// use stillpoint_core::time::{Micros, TickRate, Ticks};
    /// assert_eq!(TickRate(1_250_000).at_least(Micros(33_900)), Ticks(42_375));
    /// assert_eq!(TickRate(32_768).at_least(Micros(1)), Ticks(1));
    /// ```
    #[must_use]
    pub const fn at_least(self, time: Micros<u32>) -> Ticks<u32> {
        let ticks = (time.0 as u64 * self.0 as u64).div_ceil(1_000_000);
        Ticks(if ticks > u32::MAX as u64 { u32::MAX } else { ticks as u32 })
    }
}

#[cfg(any(test, on_target))]
mod tests {
    use super::*;
    use stillpoint_test::test;

    #[test]
    fn a_time_is_the_same_in_counts_in_ticks_and_in_microseconds() {
        for hz in [1_000_000, 12_000_000, 20_000_000, 150_000_000] {
            let rate = CounterRate(hz);
            let tick_rate = rate.ticks().unwrap();
            // A tenth of a second.
            let counts = Counts(u64::from(hz) / 10);
            assert_eq!(rate.micros_between(Counts(0), counts), Some(100_000.0));
            assert_eq!(tick_rate.micros(counts.ticks()), Some(100_000.0));
            assert_eq!(tick_rate.nanos(counts.ticks()), Some(100_000_000));
            assert_eq!(tick_rate.at_least(Micros(100_000)).widen(), counts.ticks());
        }
    }

    #[test]
    fn no_rate_and_no_time_overflows_or_divides_by_zero() {
        for rate in [0, 1, 1_000_000, u32::MAX] {
            let rate = TickRate(rate);
            for time in [0, 1, u32::MAX] {
                assert!(rate.at_least(Micros(time)) <= Ticks(u32::MAX));
            }
            assert_eq!(rate.nanos(Ticks(u64::MAX)).is_some(), rate.0 > 0);
            assert_eq!(rate.micros(Ticks(u64::MAX)).is_some(), rate.0 > 0);
        }
        assert_eq!(CounterRate(0).micros_between(Counts(0), Counts(1)), None);
    }
}

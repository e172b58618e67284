//! The time in which delays are counted.

use stillpoint_core::time::Counts;

/// Real time of one core without its consistent halts, which stop everybody alike; in counts of the platform's counter.
///
/// Against [`TimeLine`](crate::time::TimeLine) it runs on while the core is stopped alone: that is what delays measure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct GateClock {
    /// The last reading, continued to 64 bits.
    real: u64,
    stood: u64,
    stands: bool,
}

impl GateClock {
    /// The time at this reading of a counter of so many bits; right if it is asked once in every wrap.
    pub fn now(&mut self, long_counter: Counts, bits: u32) -> u64 {
        let step = long_counter.0.wrapping_sub(self.real) & (u64::MAX >> (64 - bits));
        self.real = self.real.wrapping_add(step);
        if self.stands {
            self.stood = self.stood.wrapping_add(step);
        }
        self.real.wrapping_sub(self.stood)
    }

    /// From this reading on it stands, or runs.
    pub fn stand(&mut self, stands: bool, long_counter: Counts, bits: u32) {
        self.now(long_counter, bits);
        self.stands = stands;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_stands_in_consistent_halts_only_and_never_runs_back() {
        let mut clock = GateClock::default();
        assert_eq!(clock.now(Counts(1_000), 40), 1_000);
        clock.stand(true, Counts(1_500), 40);
        assert_eq!(clock.now(Counts(9_000), 40), 1_500);
        clock.stand(false, Counts(10_000), 40);
        assert_eq!(clock.now(Counts(10_001), 40), 1_501);
        // Across the wrap of the counter.
        assert_eq!(clock.now(Counts((1 << 40) - 1), 40), (1 << 40) - 1 - 8_500);
        assert_eq!(clock.now(Counts(4), 40), (1 << 40) + 4 - 8_500);
    }
}

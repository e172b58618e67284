//! The equation of logical time: real time minus the time for which the core was stopped.

/// One core's time, in counts of the platform's counter.
///
/// # Example: a stop takes no time
/// ```
/// use stillpoint_agent::time::TimeLine;
/// let mut line = TimeLine::new();
/// assert_eq!(line.now(1_000), 1_000);
/// line.freeze(1_500);
/// assert_eq!(line.now(9_000), 1_500);
/// assert_eq!(line.thaw(10_000, 40), 8_500);
/// assert_eq!(line.now(10_001), 1_501);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimeLine {
    /// The last real time seen, in 64 bits.
    real: u64,
    delay: u64,
    frozen: bool,
}

impl TimeLine {
    /// At 0, running.
    #[must_use]
    pub const fn new() -> Self {
        Self { real: 0, delay: 0, frozen: false }
    }

    /// Logical time at this reading of the 32-bit counter.
    ///
    /// Right as long as a line that is not frozen is asked once in 2^32 counts; `TimeDriver` sees to that.
    #[inline]
    pub fn now(&mut self, counter: u32) -> u64 {
        if !self.frozen {
            self.real = self.real.wrapping_add(u64::from(counter.wrapping_sub(self.real as u32)));
        }
        self.real.wrapping_sub(self.delay)
    }

    /// How long this line has stood still since the start. Grows when it thaws.
    #[must_use]
    pub const fn delay(&self) -> u64 {
        self.delay
    }

    /// How long this line has stood still until this reading of a counter that wraps after `bits` bits.
    #[must_use]
    pub const fn delay_at(&self, long_counter: u64, bits: u32) -> u64 {
        let stands = if self.frozen { long_counter.wrapping_sub(self.real) & (u64::MAX >> (64 - bits)) } else { 0 };
        self.delay.wrapping_add(stands)
    }

    /// Whether it stands still now.
    #[must_use]
    pub const fn is_frozen(&self) -> bool {
        self.frozen
    }

    /// Stops the line. Stopping a stopped line changes nothing.
    pub fn freeze(&mut self, counter: u32) {
        self.now(counter);
        self.frozen = true;
    }

    /// Lets the line run on where it stopped, and says how long it stood. Thawing a running line changes nothing.
    ///
    /// `long_counter` wraps after `bits` bits; only a stop longer than that is counted short.
    pub fn thaw(&mut self, long_counter: u64, bits: u32) -> u64 {
        if !self.frozen {
            return 0;
        }
        let stood = long_counter.wrapping_sub(self.real) & (u64::MAX >> (64 - bits));
        self.real = self.real.wrapping_add(stood);
        self.delay = self.delay.wrapping_add(stood);
        self.frozen = false;
        stood
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_counter_may_wrap_as_often_as_it_likes() {
        let mut line = TimeLine::new();
        let step = 0xF000_0000_u64;
        for n in 0..100 {
            assert_eq!(line.now((n * step) as u32), n * step);
        }
    }

    #[test]
    fn a_stop_across_many_wraps_adds_its_whole_length_to_the_delay_and_nothing_to_time() {
        let mut line = TimeLine::new();
        line.now(77);
        line.freeze(100);
        let long = 100 + 3 * (1 << 32) + 5;
        assert_eq!((line.delay(), line.delay_at(long - 1, 40)), (0, long - 101));
        assert_eq!(line.thaw(long, 40), long - 100);
        assert_eq!(line.delay(), long - 100);
        assert_eq!(line.now(long as u32), 100);
        assert_eq!(line.now(long as u32 + 1), 101);
    }

    #[test]
    fn a_stop_across_the_wrap_of_the_long_counter_is_measured_right() {
        let mut line = TimeLine::new();
        let mut at = 0_u64;
        while at < (1 << 40) - 1_000 {
            at = (at + 0xFFFF_0000).min((1 << 40) - 1_000);
            line.now(at as u32);
        }
        line.freeze(at as u32);
        assert_eq!(line.thaw(500, 40), 1_500);
        assert_eq!(line.now(500), at);
    }

    #[test]
    fn freezing_twice_or_thawing_twice_changes_nothing() {
        let mut line = TimeLine::new();
        line.freeze(10);
        line.freeze(20);
        assert_eq!(line.thaw(30, 40), 20);
        let after = line;
        assert_eq!(line.thaw(90, 40), 0);
        assert_eq!(line, after);
    }
}

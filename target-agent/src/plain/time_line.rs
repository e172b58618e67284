//! Time that never stops: the 32-bit counter, counted on in 64 bits.

/// One core's time, in counts of the platform's counter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimeLine {
    real: u64,
}

impl TimeLine {
    /// At 0.
    #[must_use]
    pub const fn new() -> Self {
        Self { real: 0 }
    }

    /// The time at this reading of the 32-bit counter, which must be asked for once in 2^32 counts.
    #[inline]
    pub fn now(&mut self, counter: u32) -> u64 {
        self.real = self.real.wrapping_add(u64::from(counter.wrapping_sub(self.real as u32)));
        self.real
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_counter_may_wrap_as_often_as_it_likes() {
        let mut line = TimeLine::new();
        for n in 0..100 {
            let at = n * 0xF000_0000_u64;
            assert_eq!(line.now(at as u32), at);
        }
    }
}

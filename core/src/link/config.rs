//! What can be set, and what is counted.

use super::{MAX_WINDOW, frame::wire_bytes};
use crate::time::{Micros, TickRate, Ticks};

/// How patient a link is. A [`Link`](super::Link) is told how long its caller's ticks are, and waits in those.
///
/// | | [`BAUD_115200`](Self::BAUD_115200) | [`BAUD_1M`](Self::BAUD_1M) |
/// |---|---|---|
/// | window | 8 data frames, or the size of the link if that is less | the same |
/// | frame | 64 bytes of payload | the same |
/// | timeout | 33.9 ms | 10 ms |
/// | retry limit | 20 questions: about 0.7 s of silence | about 0.2 s |
/// | hello interval | 100 ms | 100 ms |
///
/// # Example: another line, another frame size
/// ```
/// use stillpoint_core::{link::Config, time::Micros};
/// let config = Config { retry_limit: Some(5), ..Config::for_baud(460_800, 128) };
/// assert_eq!(config.timeout, Micros(15_500));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Config {
    /// How many data frames may be on the way unacknowledged: at least 1, at most the `W` of the link.
    pub window: u8,
    /// How long to wait for an acknowledgement before the peer is asked for it.
    pub timeout: Micros<u32>,
    /// How often to ask, in vain, before the link is down; `None` never gives up.
    pub retry_limit: Option<u8>,
    /// How long to wait between two hellos while the peer does not answer.
    pub hello_interval: Micros<u32>,
}

impl Config {
    /// For 115200 baud and frames of 64 bytes.
    pub const BAUD_115200: Self = Self::for_baud(115_200, 64);

    /// For one megabaud and frames of 64 bytes.
    pub const BAUD_1M: Self = Self::for_baud(1_000_000, 64);

    /// For a line of `baud` bits per second with ten bits per byte, and frames of `payload` bytes.
    ///
    /// An acknowledgement waits for the frame it acknowledges, for the one its peer has just begun, and rides on the
    /// next; the processors may take the time of two more. Never less than 10 ms, so that a fast line does not
    /// give up while its peer is merely busy.
    #[must_use]
    pub const fn for_baud(baud: u32, payload: u8) -> Self {
        let baud = if baud < 1200 { 1200 } else { baud };
        let frame = wire_bytes(payload as usize) as u32 * 10_000_000 / baud;
        let five = (frame * 5).div_ceil(100) * 100;
        let timeout = Micros(if five < 10_000 { 10_000 } else { five });
        Self { window: MAX_WINDOW as u8, timeout, retry_limit: Some(20), hello_interval: Micros(100_000) }
    }
}

/// The times of a [`Config`], in the ticks of a link's caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Waits {
    pub(super) timeout: Ticks<u32>,
    pub(super) hello_interval: Ticks<u32>,
}

impl Waits {
    pub(super) const fn new(config: &Config, rate: TickRate) -> Self {
        Self { timeout: rate.at_least(config.timeout), hello_interval: rate.at_least(config.hello_interval) }
    }
}

/// What a link has seen and done since it started. Every count stops at its largest value.
///
/// # Example
/// ```
/// use stillpoint_core::link::{Config, Counters, Link};
/// use stillpoint_core::time::{TickRate, Ticks};
/// let mut link = Link::<4, 64>::new(Config::BAUD_115200, TickRate::MEGAHERTZ, 1);
/// assert_eq!(*link.counters(), Counters::default());
/// for &byte in b"noise\0" {
///     assert_eq!(link.on_byte(byte, Ticks(0)), None);
/// }
/// assert_eq!(link.counters().malformed, 1);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Counters {
    /// Frames handed out to be sent, of every kind.
    pub sent: u32,
    /// Of these, data and control frames sent again.
    pub retransmits: u32,
    /// Whole frames with a right checksum, of every kind.
    pub received: u32,
    /// Frames whose checksum was wrong.
    pub checksum_errors: u32,
    /// Bytes between two zeros that are no frame.
    pub malformed: u32,
    /// Frames longer than this link can hold.
    pub oversized: u32,
    /// Data and control frames that had been accepted before.
    pub duplicates: u32,
    /// Data and control frames that came too early: one before them is missing.
    pub out_of_order: u32,
    /// Data and control frames refused for want of room; the peer sends them again.
    pub overruns: u32,
    /// Frames of an earlier incarnation, or before the hello that starts a session.
    pub stale: u32,
    /// How often the link went down.
    pub downs: u32,
    /// Items not acknowledged when the peer was reset.
    pub lost_by_reset: u32,
}

/// Counts one more.
#[inline]
pub(super) fn count(counter: &mut u32) {
    *counter = counter.saturating_add(1);
}

#[cfg(any(test, on_target))]
mod tests {
    use super::*;
    use stillpoint_test::test;

    #[test]
    fn the_stated_defaults_are_the_ones_of_the_table() {
        assert_eq!((Config::BAUD_115200.timeout, Config::BAUD_1M.timeout), (Micros(33_900), Micros(10_000)));
        assert_eq!(Config::BAUD_115200.retry_limit, Some(20));
    }

    #[test]
    fn no_baud_rate_and_frame_size_overflows() {
        for baud in [0, 1, 1200, 115_200, u32::MAX] {
            for payload in [0, 48, 255] {
                assert!(Config::for_baud(baud, payload).timeout >= Micros(10_000));
            }
        }
    }
}

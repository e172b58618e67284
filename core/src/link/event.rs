//! What a link tells its driver.

/// Where a link stands.
///
/// # Example: a new end greets
/// ```
/// use stillpoint_core::{link::{Config, Link, LinkPhase}, time::TickRate};
/// assert_eq!(Link::<4, 64>::new(Config::BAUD_115200, TickRate::MEGAHERTZ, 1).phase(), LinkPhase::Greeting);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum LinkPhase {
    /// No session: saying hello until the peer answers.
    Greeting,
    /// Both ends know each other.
    Up,
    /// The peer does not answer. The session is kept: if it answers again, nothing is lost.
    Down,
}

/// What the driver must be told.
///
/// # Example: noise is no event
/// ```
/// use stillpoint_core::{link::{Config, Link}, time::{TickRate, Ticks}};
/// let mut link = Link::<4, 64>::new(Config::BAUD_115200, TickRate::MEGAHERTZ, 1);
/// assert!([0x55, 0, 0xFF, 0].into_iter().all(|byte| link.on_byte(byte, Ticks(0)).is_none()));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum LinkEvent {
    /// The link is up. [`Link::peer_hello`](super::Link::peer_hello) is what the peer says of itself.
    Up {
        /// The same session as before a [`Down`](LinkEvent::Down): nothing was lost.
        resumed: bool,
    },
    /// The peer did not answer within the retry limit. What was sent is kept.
    Down,
    /// The peer was reset: the session is over, and an [`Up`](LinkEvent::Up) follows when the next begins.
    PeerReset {
        /// Data items that were not acknowledged. They are gone; the old peer may have accepted some of them.
        lost_data: u8,
        /// Control items that were not acknowledged.
        lost_control: u8,
    },
    /// A peer with another version of the wire form says hello; there will be no session with it.
    Incompatible {
        /// Its version.
        version: u8,
    },
}

//! One end of a link, as its driver sees it.

use core::hash::{Hash, Hasher};

use super::{
    CONTROL_BYTES, CONTROL_WINDOW, Config, Counters, FrameDecoder, FrameError, HELLO_BYTES, MAX_FRAME, MAX_WINDOW,
    TooShort, config::count, machine::Machine,
};

/// Which of the two ways through a link an item takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Lane {
    /// Messages of the application: first in, first out, held back while the peer has no room.
    Data,
    /// Markers, releases and what else must not wait behind messages: first in, first out among themselves.
    Control,
}

/// Where a link stands.
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum LinkEvent {
    /// The link is up. [`Link::peer_hello`] is what the peer says of itself.
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

/// Why an item was not taken over for sending; nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum SendError {
    /// As many items as the lane holds are not acknowledged yet; try again when one is.
    Full {
        /// How many that is.
        unacknowledged: u8,
    },
    /// The item is longer than the lane carries; split it.
    TooLong {
        /// How long it may be.
        limit: usize,
    },
}

impl core::fmt::Display for SendError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Full { unacknowledged } => {
                write!(f, "the lane is full: {unacknowledged} items are not acknowledged; try again when one is")
            }
            Self::TooLong { limit } => write!(f, "the item is too long: send at most {limit} bytes at once"),
        }
    }
}

impl core::error::Error for SendError {}

/// An item that was accepted and not yet taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received<'a> {
    /// What the peer sent.
    pub bytes: &'a [u8],
    /// The peer has been reset since: this is from the incarnation before.
    pub before_reset: bool,
}

/// What one end reports of a lane, to count what is in flight between two ends.
///
/// # Example: a frame accepted but not acknowledged counts once
/// ```
/// use stillpoint_core::link::Ledger;
/// let sender = Ledger { mine: 1, peer: 9, sent_first: 250, sent_end: 253, ..Ledger::default() };
/// let receiver = Ledger { mine: 9, peer: 1, accepted_next: 251, waiting: 2, ..Ledger::default() };
/// // 250 is among the two that wait at the receiver; 251 and 252 are above what it accepted.
/// assert_eq!(sender.in_flight_to(&receiver), Some(4));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Ledger {
    /// The incarnation of this end.
    pub mine: u8,
    /// The incarnation of the peer, 0 if none is known.
    pub peer: u8,
    /// The number of the oldest item sent and not acknowledged.
    pub sent_first: u8,
    /// The number the next item to be sent will get.
    pub sent_end: u8,
    /// The number of the item to be accepted next.
    pub accepted_next: u8,
    /// How many items of this session are accepted and not yet taken.
    pub waiting: u8,
    /// How many items of sessions before the peer's last reset are accepted and not yet taken.
    pub waiting_before_reset: u8,
}

impl Ledger {
    /// How many items are in flight from this end to `receiver`: what that accepted and still holds, plus what
    /// this end sent above it; nothing counts as both. `None` if the two are not in the same session.
    #[must_use]
    pub fn in_flight_to(&self, receiver: &Self) -> Option<u8> {
        if (self.mine, self.peer) != (receiver.peer, receiver.mine) {
            return None;
        }
        let above = self.sent_end.wrapping_sub(receiver.accepted_next);
        let unacknowledged = self.sent_end.wrapping_sub(self.sent_first);
        (above <= unacknowledged).then_some(above.saturating_add(receiver.waiting))
    }
}

/// One end of a serial line made first-in-first-out and reliable: `W` data frames of at most `F` bytes each way.
///
/// A pure state machine: bytes and the time go in, frames and [`LinkEvent`]s come out. Two links are equal if they will
/// behave alike; counters do not count. See the [module](super) for the driver's duties and the wire form.
///
/// # Example: two ends and a wire that loses the first message
/// ```
/// use stillpoint_core::link::{Config, LinkEvent, Lane, Link, wire_bytes};
///
/// fn carry(from: &mut Link<4, 64>, to: &mut Link<4, 64>, now: u32) -> Option<LinkEvent> {
///     let mut wire = [0; wire_bytes(64)];
///     let mut event = from.on_tick(now);
///     while let Ok(Some(length)) = from.poll_transmit(now, &mut wire) {
///         event = wire[..length].iter().filter_map(|&byte| to.on_byte(byte, now)).last().or(event);
///     }
///     event
/// }
/// let config = Config::BAUD_115200;
/// let (mut a, mut b) = (Link::new(config, 1), Link::new(config, 1));
/// assert_eq!(carry(&mut a, &mut b, 0), None);
/// assert_eq!(carry(&mut b, &mut a, 0), Some(LinkEvent::Up { resumed: false }));
/// assert_eq!(carry(&mut a, &mut b, 0), Some(LinkEvent::Up { resumed: false }));
///
/// a.send(Lane::Data, b"ping")?;
/// a.poll_transmit(0, &mut [0; wire_bytes(64)]).unwrap(); // and nobody hears it
/// assert_eq!(carry(&mut a, &mut b, 100), None);
/// assert!(b.front(Lane::Data).is_none());
/// assert_eq!(a.next_deadline(100), Some(config.timeout));
/// carry(&mut a, &mut b, config.timeout);
/// assert_eq!(b.front(Lane::Data).unwrap().bytes, b"ping");
/// assert!(b.take(Lane::Data));
/// # Ok::<(), stillpoint_core::link::SendError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Link<const W: usize, const F: usize> {
    machine: Machine<W, F>,
    decoder: FrameDecoder<F>,
    counters: Counters,
}

impl<const W: usize, const F: usize> Link<W, F> {
    /// An end that knows no peer yet and will say hello.
    ///
    /// `incarnation` should differ from the one used before the last reset (an epoch, a counter in retained RAM, a
    /// random number): frames that were on the wire then are told by it. If it does not, the peer's hello corrects it,
    /// as long as no frame outlives the reset. 0 means 1.
    #[must_use]
    pub fn new(config: Config, incarnation: u8) -> Self {
        const {
            assert!(W >= 1 && W <= MAX_WINDOW, "a link has a window of 1 to 8 frames");
            assert!(F >= CONTROL_BYTES && F <= MAX_FRAME, "a frame carries 48 to 240 bytes");
        }
        let (decoder, counters) = (FrameDecoder::new(), Counters::default());
        Self { machine: Machine::new(config, incarnation), decoder, counters }
    }

    /// Takes one byte from the wire.
    #[must_use = "the driver reports events"]
    pub fn on_byte(&mut self, byte: u8, now: u32) -> Option<LinkEvent> {
        let frame = self.decoder.push(byte)?;
        let counter = match frame {
            Ok((header, payload)) => {
                count(&mut self.counters.received);
                return self.machine.on_frame(&header, payload, now, &mut self.counters);
            }
            Err(FrameError::Checksum) => &mut self.counters.checksum_errors,
            Err(FrameError::Malformed) => &mut self.counters.malformed,
            Err(FrameError::Oversized) => &mut self.counters.oversized,
        };
        count(counter);
        None
    }

    /// Lets time pass: notices what has to be sent again, and when to give up.
    #[must_use = "the driver reports events"]
    pub fn on_tick(&mut self, now: u32) -> Option<LinkEvent> {
        self.machine.on_tick(now, &mut self.counters)
    }

    /// Writes the next frame for the wire into `out` and says its length, or `None` if there is nothing to send now.
    ///
    /// # Errors
    /// [`TooShort`] if `out` cannot hold the frame; a buffer of [`wire_bytes(F)`](super::wire_bytes) always can.
    pub fn poll_transmit(&mut self, now: u32, out: &mut [u8]) -> Result<Option<usize>, TooShort> {
        self.machine.poll_transmit(now, out, &mut self.counters)
    }

    /// The time by which to call [`on_tick`](Self::on_tick) and [`poll_transmit`](Self::poll_transmit) again; `now` if
    /// there is something to do at once, `None` if only a byte or the caller can change anything.
    #[must_use]
    pub fn next_deadline(&self, now: u32) -> Option<u32> {
        self.machine.ticks_left(now).map(|left| now.wrapping_add(left))
    }

    /// Takes over a copy of `item` for sending and says its number in the lane's session.
    ///
    /// Before the first session and while the link is down items are kept until they can be sent.
    ///
    /// # Errors
    /// [`SendError`] if the item is too long or the lane is full; then nothing has changed.
    pub fn send(&mut self, lane: Lane, item: &[u8]) -> Result<u8, SendError> {
        let limit = Self::limit(lane);
        if item.len() > limit {
            return Err(SendError::TooLong { limit });
        }
        let number = match lane {
            Lane::Data => self.machine.data_out.push(item),
            Lane::Control => self.machine.control_out.push(item),
        };
        number.ok_or(SendError::Full { unacknowledged: self.unacknowledged(lane) })
    }

    /// How long an item of `lane` may be.
    #[must_use]
    pub const fn limit(lane: Lane) -> usize {
        match lane {
            Lane::Data => F,
            Lane::Control => CONTROL_BYTES,
        }
    }

    /// How many items `lane` holds in each direction.
    #[must_use]
    pub const fn capacity(lane: Lane) -> usize {
        match lane {
            Lane::Data => W,
            Lane::Control => CONTROL_WINDOW,
        }
    }

    /// How many items given to [`send`](Self::send) the peer has not acknowledged. Draining ends when this is 0.
    #[must_use]
    pub fn unacknowledged(&self, lane: Lane) -> u8 {
        match lane {
            Lane::Data => self.machine.data_out.len(),
            Lane::Control => self.machine.control_out.len(),
        }
    }

    /// The oldest item that was accepted and not yet taken.
    #[must_use]
    pub fn front(&self, lane: Lane) -> Option<Received<'_>> {
        let front = match lane {
            Lane::Data => self.machine.data_in.front(),
            Lane::Control => self.machine.control_in.front(),
        };
        front.map(|(bytes, before_reset)| Received { bytes, before_reset })
    }

    /// Takes the item [`front`](Self::front) shows away, which makes room for another; whether there was one.
    pub fn take(&mut self, lane: Lane) -> bool {
        match lane {
            Lane::Data => {
                let was = self.machine.data_in.take();
                if was {
                    self.machine.has_room_again();
                }
                was
            }
            Lane::Control => self.machine.control_in.take(),
        }
    }

    /// What this end has to say of `lane` for the count of what is in flight.
    #[must_use]
    pub fn ledger(&self, lane: Lane) -> Ledger {
        let Machine { mine, peer, data_out, data_in, control_out, control_in, .. } = &self.machine;
        let (sent_first, sent_end, accepted_next, (waiting, waiting_before_reset)) = match lane {
            Lane::Data => (data_out.first(), data_out.end(), data_in.next(), data_in.waiting()),
            Lane::Control => (control_out.first(), control_out.end(), control_in.next(), control_in.waiting()),
        };
        Ledger { mine: *mine, peer: *peer, sent_first, sent_end, accepted_next, waiting, waiting_before_reset }
    }

    /// What the next hello says of this end, for the peer's driver to read. The link does not look into it.
    ///
    /// # Errors
    /// [`SendError::TooLong`] if it is longer than [`HELLO_BYTES`]; then nothing has changed.
    pub fn set_hello(&mut self, hello: &[u8]) -> Result<(), SendError> {
        if self.machine.hello.set(hello) { Ok(()) } else { Err(SendError::TooLong { limit: HELLO_BYTES }) }
    }

    /// What the peer's last hello said of the peer.
    #[must_use]
    pub fn peer_hello(&self) -> &[u8] {
        self.machine.peer_hello.bytes()
    }

    /// Says in every frame from now on whether this end is stopped, so that the peer does not take silence for a
    /// broken line. Call it before sending the control item whose acknowledgement ends the draining.
    pub fn set_stopped(&mut self, stopped: bool) {
        self.machine.due.ack |= self.machine.stopped != stopped;
        self.machine.stopped = stopped;
    }

    /// Whether the peer said that it is stopped: the retry limit is suspended.
    #[must_use]
    pub fn is_peer_stopped(&self) -> bool {
        self.machine.peer_stopped
    }

    /// Where the link stands.
    #[must_use]
    pub fn phase(&self) -> LinkPhase {
        self.machine.phase
    }

    /// What was counted since the start.
    #[must_use]
    pub fn counters(&self) -> &Counters {
        &self.counters
    }
}

impl<const W: usize, const F: usize> PartialEq for Link<W, F> {
    fn eq(&self, other: &Self) -> bool {
        self.machine == other.machine && self.decoder == other.decoder
    }
}

impl<const W: usize, const F: usize> Eq for Link<W, F> {}

impl<const W: usize, const F: usize> Hash for Link<W, F> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.machine.hash(state);
        self.decoder.hash(state);
    }
}

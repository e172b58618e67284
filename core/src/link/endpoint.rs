//! One end of a link, as its driver sees it.

use crate::time::{TickRate, Ticks};
use core::hash::{Hash, Hasher};

use super::{
    CONTROL_BYTES, CONTROL_WINDOW, Config, Counters, FrameDecoder, FrameError, HELLO_BYTES, Kind, Ledger, LinkEvent,
    LinkPhase, MAX_FRAME, MAX_WINDOW, TooShort,
    arrival::{Consequence, Keep},
    config::count,
    protocol::{Due, Protocol},
    queue::{ByteString, Queue},
};

/// Which of the two ways through a link an item takes.
///
/// # Example: each lane has a length of its own
/// ```
/// use stillpoint_core::link::{CONTROL_BYTES, Lane, Link};
/// assert_eq!(Link::<4, 96>::limit(Lane::Data), 96);
/// assert_eq!(Link::<4, 96>::limit(Lane::Control), CONTROL_BYTES);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Lane {
    /// Messages of the application: first in, first out, held back while the peer has no room.
    Data,
    /// Markers, releases and what else must not wait behind messages: first in, first out among themselves.
    Control,
}

/// Why an item was not taken over for sending; nothing has changed.
///
/// # Example: too long for the lane
/// ```
/// use stillpoint_core::{link::{Config, Lane, Link, SendError}, time::TickRate};
/// let mut link = Link::<4, 64>::new(Config::BAUD_115200, TickRate::MEGAHERTZ, 1);
/// assert_eq!(link.send(Lane::Data, &[0; 65]), Err(SendError::TooLong { limit: 64 }));
/// ```
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
///
/// # Example: nothing has arrived
/// ```
/// use stillpoint_core::{link::{Config, Lane, Link}, time::TickRate};
/// let link = Link::<4, 64>::new(Config::BAUD_115200, TickRate::MEGAHERTZ, 1);
/// assert!(link.front(Lane::Data).is_none());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received<'a> {
    /// What the peer sent.
    pub bytes: &'a [u8],
    /// The peer has been reset since: this is from the incarnation before.
    pub before_reset: bool,
}

/// One end of a serial line made first-in-first-out and reliable: `W` data frames of at most `F` bytes each way.
///
/// A pure state machine: bytes and the time go in, frames and [`LinkEvent`]s come out. Two links are equal if they will
/// behave alike; counters do not count. See the [module](super) for the driver's duties and the wire form.
///
/// # Example: two ends and a wire that loses the first message
/// ```
/// use stillpoint_core::link::{Config, LinkEvent, Lane, Link, wire_bytes};
/// use stillpoint_core::time::{TickRate, Ticks};
///
/// fn carry(from: &mut Link<4, 64>, to: &mut Link<4, 64>, now: u32) -> Option<LinkEvent> {
///     let (now, mut wire) = (Ticks(now), [0; wire_bytes(64)]);
///     let mut event = from.on_tick(now);
///     while let Ok(Some(length)) = from.poll_transmit(now, &mut wire) {
///         event = wire[..length].iter().filter_map(|&byte| to.on_byte(byte, now)).last().or(event);
///     }
///     event
/// }
/// let config = Config::BAUD_115200;
/// let rate = TickRate(2_000_000);
/// let (mut a, mut b) = (Link::new(config, rate, 1), Link::new(config, rate, 1));
/// assert_eq!(carry(&mut a, &mut b, 0), None);
/// assert_eq!(carry(&mut b, &mut a, 0), Some(LinkEvent::Up { resumed: false }));
/// assert_eq!(carry(&mut a, &mut b, 0), Some(LinkEvent::Up { resumed: false }));
///
/// a.send(Lane::Data, b"ping")?;
/// a.poll_transmit(Ticks(0), &mut [0; wire_bytes(64)]).unwrap(); // and nobody hears it
/// assert_eq!(carry(&mut a, &mut b, 100), None);
/// assert!(b.front(Lane::Data).is_none());
/// // 33.9 ms, by a clock of 2 MHz.
/// assert_eq!(a.next_deadline(Ticks(100)), Some(Ticks(67_800)));
/// // It asks what the peer has, and sends again what is missing.
/// carry(&mut a, &mut b, 67_800);
/// carry(&mut b, &mut a, 67_900);
/// carry(&mut a, &mut b, 67_900);
/// assert_eq!(b.front(Lane::Data).unwrap().bytes, b"ping");
/// assert!(b.take(Lane::Data));
/// # Ok::<(), stillpoint_core::link::SendError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Link<const W: usize, const F: usize> {
    protocol: Protocol,
    items: Items<W, F>,
    decoder: FrameDecoder<F>,
    counters: Counters,
}

/// What the protocol speaks of by number.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Items<const W: usize, const F: usize> {
    data_out: Queue<W, F>,
    data_in: Queue<W, F>,
    control_out: Queue<CONTROL_WINDOW, CONTROL_BYTES>,
    control_in: Queue<CONTROL_WINDOW, CONTROL_BYTES>,
    hello: ByteString<HELLO_BYTES>,
    peer_hello: ByteString<HELLO_BYTES>,
}

impl<const W: usize, const F: usize> Link<W, F> {
    /// An end that knows no peer yet and will say hello. `rate` is that of the times it will be given.
    ///
    /// `incarnation` should differ from the one used before the last reset (an epoch, a counter in retained RAM, a
    /// random number): frames that were on the wire then are told by it. If it does not, the peer's hello corrects it,
    /// as long as no frame outlives the reset. 0 means 1.
    #[must_use]
    pub fn new(config: Config, rate: TickRate, incarnation: u8) -> Self {
        const {
            assert!(W >= 1 && W <= MAX_WINDOW, "a link has a window of 1 to 8 frames");
            assert!(F >= CONTROL_BYTES && F <= MAX_FRAME, "a frame carries 48 to 240 bytes");
        }
        Self {
            protocol: Protocol::new(config, rate, incarnation, W as u8),
            items: Items {
                data_out: Queue::new(),
                data_in: Queue::new(),
                control_out: Queue::new(),
                control_in: Queue::new(),
                hello: ByteString::EMPTY,
                peer_hello: ByteString::EMPTY,
            },
            decoder: FrameDecoder::new(),
            counters: Counters::default(),
        }
    }

    /// Takes one byte from the wire.
    #[must_use = "the driver reports events"]
    pub fn on_byte(&mut self, byte: u8, now: Ticks<u32>) -> Option<LinkEvent> {
        let counter = match self.decoder.push(byte)? {
            Ok((header, payload)) if payload.len() <= limit_of(header.kind, F) => {
                count(&mut self.counters.received);
                let consequence = self.protocol.on_frame(&header, now, &mut self.counters);
                self.items.apply(&consequence, payload);
                return consequence.event;
            }
            Ok(_) | Err(FrameError::Oversized) => &mut self.counters.oversized,
            Err(FrameError::Checksum) => &mut self.counters.checksum_errors,
            Err(FrameError::Malformed) => &mut self.counters.malformed,
        };
        count(counter);
        None
    }

    /// Lets time pass: notices when to ask for a missing acknowledgement, and when to give up.
    #[must_use = "the driver reports events"]
    pub fn on_tick(&mut self, now: Ticks<u32>) -> Option<LinkEvent> {
        self.protocol.on_tick(now, &mut self.counters)
    }

    /// Writes the next frame for the wire into `out` and says its length, or `None` if there is nothing to send now.
    ///
    /// # Errors
    /// [`TooShort`] if `out` cannot hold the frame; a buffer of [`wire_bytes(F)`](super::wire_bytes) always can.
    pub fn poll_transmit(&mut self, now: Ticks<u32>, out: &mut [u8]) -> Result<Option<usize>, TooShort> {
        let Some(frame) = self.protocol.next_frame() else { return Ok(None) };
        let payload = match frame.item {
            Some((Lane::Data, next)) => self.items.data_out.get(next.index).unwrap_or(&[]),
            Some((Lane::Control, next)) => self.items.control_out.get(next.index).unwrap_or(&[]),
            None if frame.header.kind == Kind::Hello => self.items.hello.bytes(),
            None => &[],
        };
        let length = frame.header.encode(payload, out)?;
        self.protocol.has_sent(&frame, now, &mut self.counters);
        Ok(Some(length))
    }

    /// The time by which to call [`on_tick`](Self::on_tick) and [`poll_transmit`](Self::poll_transmit) again; `now` if
    /// there is something to do at once, `None` if only a byte or the caller can change anything.
    #[must_use]
    pub fn next_deadline(&self, now: Ticks<u32>) -> Option<Ticks<u32>> {
        self.protocol.ticks_left(now).map(|left| now.wrapping_after(left))
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
        let is_taken = match lane {
            Lane::Data => self.items.data_out.push(item),
            Lane::Control => self.items.control_out.push(item),
        };
        if !is_taken {
            return Err(SendError::Full { unacknowledged: self.unacknowledged(lane) });
        }
        Ok(self.protocol.sending.of_mut(lane).push())
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
        self.protocol.sending.of(lane).len()
    }

    /// The oldest item that was accepted and not yet taken.
    #[must_use]
    pub fn front(&self, lane: Lane) -> Option<Received<'_>> {
        let front = match lane {
            Lane::Data => self.items.data_in.get(0),
            Lane::Control => self.items.control_in.get(0),
        };
        let before_reset = self.protocol.receiving.of(lane).earlier() > 0;
        front.map(|bytes| Received { bytes, before_reset })
    }

    /// Takes the item [`front`](Self::front) shows away, which makes room for another; whether there was one.
    pub fn take(&mut self, lane: Lane) -> bool {
        match lane {
            Lane::Data => self.items.data_in.drop_front(1),
            Lane::Control => self.items.control_in.drop_front(1),
        }
        self.protocol.take(lane)
    }

    /// What this end has to say of `lane` for the count of what is in flight.
    #[must_use]
    pub fn ledger(&self, lane: Lane) -> Ledger {
        let Protocol { mine, peer, sending, receiving, .. } = &self.protocol;
        let (sending, receiving) = (sending.of(lane), receiving.of(lane));
        Ledger {
            mine: *mine,
            peer: *peer,
            sent_first: sending.first(),
            sent_end: sending.end(),
            accepted_next: receiving.next(),
            waiting: receiving.waiting(),
            waiting_before_reset: receiving.earlier(),
        }
    }

    /// What the next hello says of this end, for the peer's driver to read. The link does not look into it.
    ///
    /// # Errors
    /// [`SendError::TooLong`] if it is longer than [`HELLO_BYTES`]; then nothing has changed.
    pub fn set_hello(&mut self, hello: &[u8]) -> Result<(), SendError> {
        if self.items.hello.set(hello) { Ok(()) } else { Err(SendError::TooLong { limit: HELLO_BYTES }) }
    }

    /// What the peer's last hello said of the peer.
    #[must_use]
    pub fn peer_hello(&self) -> &[u8] {
        self.items.peer_hello.bytes()
    }

    /// Says in every frame from now on whether this end is stopped, so that the peer does not take silence for a
    /// broken line. Call it before sending the control item whose acknowledgement ends the draining.
    pub fn set_stopped(&mut self, stopped: bool) {
        let is_news = self.protocol.stopped != stopped;
        self.protocol.due.add(Due::ACK, is_news);
        self.protocol.stopped = stopped;
    }

    /// Whether the peer said that it is stopped: the retry limit is suspended, and it is asked less and less often.
    #[must_use]
    pub fn is_peer_stopped(&self) -> bool {
        self.protocol.peer_stopped
    }

    /// Where the link stands.
    #[must_use]
    pub fn phase(&self) -> LinkPhase {
        self.protocol.phase
    }

    /// What was counted since the start.
    #[must_use]
    pub fn counters(&self) -> &Counters {
        &self.counters
    }
}

/// How long the payload of a frame may be.
const fn limit_of(kind: Kind, data: usize) -> usize {
    match kind {
        Kind::Data => data,
        Kind::Control => CONTROL_BYTES,
        Kind::Hello => HELLO_BYTES,
        Kind::Ack => 0,
    }
}

impl<const W: usize, const F: usize> Items<W, F> {
    fn apply(&mut self, consequence: &Consequence, payload: &[u8]) {
        self.data_out.drop_front(consequence.drop.data);
        self.control_out.drop_front(consequence.drop.control);
        // The protocol accepts only what there is room for, and the length was checked before it was asked.
        let _is_kept = match consequence.keep {
            Keep::Nowhere => true,
            Keep::Item(Lane::Data) => self.data_in.push(payload),
            Keep::Item(Lane::Control) => self.control_in.push(payload),
            Keep::Hello => self.peer_hello.set(payload),
        };
    }
}

impl<const W: usize, const F: usize> PartialEq for Link<W, F> {
    fn eq(&self, other: &Self) -> bool {
        self.protocol == other.protocol && self.items == other.items && self.decoder == other.decoder
    }
}

impl<const W: usize, const F: usize> Eq for Link<W, F> {}

impl<const W: usize, const F: usize> Hash for Link<W, F> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.protocol.hash(state);
        self.items.hash(state);
        self.decoder.hash(state);
    }
}

//! A serial line made first-in-first-out and reliable, as every algorithm here assumes its channels to be.
//!
//! [`Link`] is one end of the line: bytes, items and the time go in; frames, items and [`LinkEvent`]s come out. It has two
//! [`Lane`]s. **Data** is held back while the peer has no room; **control** never waits behind data. Each delivers every
//! item once and in order, or the link says [`Down`](LinkEvent::Down) (and keeps what it has), or the peer was
//! reset and the link says how much was [lost by that](LinkEvent::PeerReset). No item disappears in silence.
//!
//! # What the driver does
//! 1. Give every byte from the wire to [`on_byte`](Link::on_byte).
//! 2. Whenever the wire is free, and at [`next_deadline`](Link::next_deadline): call [`on_tick`](Link::on_tick), then
//!    put what [`poll_transmit`](Link::poll_transmit) yields on the wire, until it yields nothing.
//! 3. Report every [`LinkEvent`] that these return, at once and in order.
//! 4. Take items with [`front`](Link::front) and [`take`](Link::take); taking is what makes room. Take control items at once.
//! 5. Before the start say with [`set_hello`](Link::set_hello) what the peer must know (epoch, last halt, halted or not,
//!    number of nodes, which epoch of the peer is known here); read [`peer_hello`](Link::peer_hello) at every
//!    [`Up`](LinkEvent::Up). What changes later is told by a control item, which is reliable; a hello is not.
//! 6. To stop: [`set_stopped`](Link::set_stopped), then send the last control item, then go on with 1 and 2 until
//!    [`unacknowledged`](Link::unacknowledged) is 0. From then on the peer waits without limit.
//!
//! # Wire form, version 2
//! A frame is a header of seven bytes, a payload, and the CRC-32/ISO-HDLC of both in little-endian order; stuffed with
//! COBS and ended by a zero. A hello has a zero in front, too, so that noise before it cannot spoil it. All
//! numbers count modulo 256.
//!
//! | byte | content |
//! |---|---|
//! | 0 | bits 0-1: kind (0 hello, 1 data, 2 control, 3 acknowledgement only); bits 2-7: flags |
//! | 1 | *from*: incarnation of the sender, 1 to 255 |
//! | 2 | *to*: incarnation of the receiver as the sender knows it, 0 if it knows none |
//! | 3 | data, control: number of the item in its lane, from 0 in every session; hello: version of the wire form; else 0 |
//! | 4 | *data_next*: number of the data item the sender accepts next; it has all before |
//! | 5 | *control_next*: the same for the control lane |
//! | 6 | *edge*: number of the first data item the sender would have no room for |
//! | 7.. | payload: the item (data up to the agreed frame size, control up to 48 bytes), or the driver's hello (up to 32) |
//!
//! | flag | meaning |
//! |---|---|
//! | 0x04 stopped | the sender is stopped: its silence does not count, and it is asked less and less often |
//! | 0x08 ask | the sender waits: send any frame with *answer*; after a timeout, when it waits for room, and on every repetition |
//! | 0x10 answer | an *ask* was heard since the last frame: the line works both ways, and what was sent before the *ask* and is not acknowledged is lost |
//! | 0x20 in session | of a hello: the sender is in a session with *from*/*to* |
//! | 0x20 odd | of any other frame: the number of the question that it asks or answers is odd; no frame does both |
//! | 0x40 data gap, 0x80 control gap | a frame after *data_next* (*control_next*) arrived: go back to that at once |
//!
//! **Sessions.** Each end has an incarnation number and says hello with it, asking, until both know each other. An end
//! enters the session when it hears a hello whose *to* is its own number; from then on frames count only if
//! *from* and *to* are those of the session. A hello with a newer *from* (less than 128 ahead) means that the peer was
//! reset: the session is over, its unacknowledged items are lost and reported, items already accepted stay. A hello with
//! an older *from* is answered, and an end that hears it is known under a number newer than its own, or in a session
//! it never began, takes the next number after that.
//!
//! **Lanes.** Only the item with the next number is accepted; everything else is dropped and answered with where the
//! receiver stands. A sender keeps items until acknowledged, and sends no data at or beyond *edge*. After a timeout it asks:
//! a silent peer may be slow and have everything. It repeats from the oldest item after a gap, or when the *answer* shows
//! that items are missing. A question is repeated with the same number, after each timeout, until the answer has that number;
//! the answer tells of what was sent before it was first asked. If an item was sent again and a timeout passes after that, too, the
//! line is bad, and the item is repeated alone and carries the question: a loss at regular intervals cannot always meet the item and
//! spare the question before it. Questions that bring no acknowledgement, *answer* or gap count up to the retry limit; then the
//! link is down and says hello, asking, until a hello with *answer* or an acknowledgement arrives: the same session goes on.
//!
//! **A new version** is needed for any change to the first four bytes' meaning, the flags, the checksum, or what must be
//! answered. The place of the version in a hello, the framing and the checksum stay, so that two versions can tell.
//!
//! # Example: frames as they go over the wire
//! ```
//! use stillpoint_core::link::{Flags, FrameDecoder, Header, Kind};
//! let base = Header { kind: Kind::Hello, flags: Flags::NONE, from: 5, to: 0, number: 2, data_next: 0, control_next: 0, edge: 4 };
//! let examples: [(&str, Header, &[u8]); 6] = [
//!     // Incarnation 5 has room for four data items, knows nobody and asks: "A".
//!     ("00 03 08 05 02 02 01 07 04 41 19 0c 88 fb 00", Header { flags: Flags::ASK, ..base }, b"A"),
//!     // Incarnation 9 answers, and asks too: "B".
//!     ("00 05 18 09 05 02 01 07 04 42 4f 97 57 89 00", Header { flags: Flags(0x18), from: 9, to: 5, ..base }, b"B"),
//!     // 5 is in session with 9 from here, and answers.
//!     ("00 05 30 05 09 02 01 07 04 41 19 15 af 8a 00", Header { flags: Flags(0x30), to: 9, ..base }, b"A"),
//!     // The first data item, "hi".
//!     ("04 01 05 09 01 01 08 04 68 69 d5 db 49 b2 00", Header { kind: Kind::Data, to: 9, number: 0, ..base }, b"hi"),
//!     // It is accepted but not yet taken, so the edge stays at 4.
//!     ("04 03 09 05 02 01 06 04 75 b5 c4 45 00", Header { kind: Kind::Ack, from: 9, to: 5, number: 0, data_next: 1, ..base }, b""),
//!     // The same with the first control item on board, from an end that is about to stop.
//!     (
//!         "04 06 09 05 02 01 04 04 01 02 05 49 ec 1d 7d 00",
//!         Header { kind: Kind::Control, flags: Flags::STOPPED, from: 9, to: 5, number: 0, data_next: 1, ..base },
//!         &[1, 2, 0],
//!     ),
//! ];
//! for (hex, header, payload) in examples {
//!     let wire: Vec<u8> = hex.split(' ').map(|byte| u8::from_str_radix(byte, 16).unwrap()).collect();
//!     let mut decoder = FrameDecoder::<64>::new();
//!     let frames = wire.iter().filter(|&&byte| decoder.push(byte) == Some(Ok((header, payload)))).count();
//!     assert_eq!(frames, 1, "{hex}");
//!     let mut again = [0; 32];
//!     let length = header.encode(payload, &mut again).unwrap();
//!     assert_eq!(again[..length], wire);
//! }
//! ```

mod arrival;
mod cobs;
mod config;
mod crc;
mod endpoint;
mod event;
mod frame;
mod lane;
mod ledger;
mod protocol;
mod queue;
#[cfg(any(test, on_target))]
mod tests;

pub use config::{Config, Counters};
pub use endpoint::{Lane, Link, Received, SendError};
pub use event::{LinkEvent, LinkPhase};
pub use frame::{Flags, FrameDecoder, FrameError, HEADER_BYTES, Header, Kind, TooShort, wire_bytes};
pub use ledger::Ledger;

/// The version of the wire form; ends with different ones do not talk.
pub const VERSION: u8 = 2;

/// The largest window: how many data frames a link can hold in each direction.
pub const MAX_WINDOW: usize = 8;

/// The largest payload of a data frame.
pub const MAX_FRAME: usize = 240;

/// The largest item of the control lane.
pub const CONTROL_BYTES: usize = 48;

/// How many items the control lane holds in each direction.
pub const CONTROL_WINDOW: usize = 4;

/// How much a driver can say in a hello.
pub const HELLO_BYTES: usize = 32;

// One buffer assembles the frames of both lanes and the hellos.
const _: () = assert!(HELLO_BYTES <= CONTROL_BYTES && CONTROL_BYTES <= MAX_FRAME && MAX_FRAME <= 255);

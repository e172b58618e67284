//! The messages that channels hold, read from the rings and links of halted boards.
use crate::dwarf::{DebugTypes, Place, Type, TypeId};
use crate::payload::{self, Undecoded, Value};
use crate::ring::{FilledRing, RawRing};
use crate::{Memory, MemoryError, Port};
use serde::Serialize;
use stillpoint_core::{NodeId, SenderNumber, message_stamp_len};

/// A message that was sent and not yet received.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Message {
    /// Its place in the channel: the first message ever sent on it is 1.
    pub number: u32,
    /// Where it lies.
    pub place: Held,
    /// The bytes of its stamp, which the kit added. Empty if the message could not be read.
    pub stamp: Vec<u8>,
    /// The bytes of its payload.
    pub payload: Vec<u8>,
    /// The payload as a value, if the form of its type is known.
    pub value: Option<Value>,
    /// Why there is no value.
    pub undecoded: Option<String>,
}

/// Who holds a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Held {
    /// The ring at the sender's end of a serial link.
    SenderRing,
    /// The sender's window: it is on the wire, or will be again.
    SenderLink,
    /// The link at the receiver's end has accepted it.
    ReceiverLink,
    /// The ring from which the receiver takes it.
    Ring,
}

/// The raw bytes of messages, oldest first; `None` where they could not be found.
pub(crate) type Found = Vec<(Held, Option<Vec<u8>>)>;

/// One board as far as messages in flight are concerned: its memory, and what its firmware says of it.
pub(crate) struct Holder<'a> {
    pub memory: &'a mut dyn Memory,
    pub types: Option<&'a DebugTypes>,
}

impl Holder<'_> {
    /// The messages in the ring of a port.
    pub fn ring(&mut self, port: &Port, held: Held) -> Result<Found, MemoryError> {
        let ring = RawRing::read(self.memory, port.queue)?;
        let filled = FilledRing::read(ring, self.memory, port.queue)?;
        Ok(filled.messages.into_iter().map(|message| (held, message)).collect())
    }

    /// `count` items of a serial link's data lane from the `first` on: those it sends, or those it accepted.
    pub fn link(&mut self, port: &Port, held: Held, first: u8, count: u8) -> Result<Found, MemoryError> {
        let queue = if held == Held::SenderLink { "data_out" } else { "data_in" };
        let mut found = Vec::new();
        let place = self.link_of(port)?.and_then(|inner| self.types?.follow(inner, &["link", "items", queue]));
        for index in 0..count {
            let item = match place {
                Some(queue) => self.item(queue, first.wrapping_add(index))?,
                None => None,
            };
            found.push((held, item));
        }
        Ok(found)
    }

    /// What the channel of a port carries: the type's name, and the type.
    pub fn carries(&self, port: &Port) -> Option<(String, TypeId)> {
        let Type::Struct { parameters, .. } = self.types?.get(self.channel(port)?.ty) else { return None };
        let (_, ty) = parameters.into_iter().find(|(name, _)| name == "T")?;
        Some((self.types?.type_name(ty), ty))
    }

    fn channel(&self, port: &Port) -> Option<Place> {
        self.types?.find(port.queue.into(), "Channel<")
    }

    /// The inside of the serial link whose ring is that of the port.
    fn link_of(&mut self, port: &Port) -> Result<Option<Place>, MemoryError> {
        let Some(types) = self.types else { return Ok(None) };
        for serial in types.statics() {
            if !types.type_name(serial.place.ty).starts_with("Serial<") {
                continue;
            }
            let inner = types.unwrap(serial.place, "Inner<");
            for side in ["out", "into"] {
                let head = inner.and_then(|inner| types.follow(inner, &[side, "ring", "head"]));
                if let Some(head) = head
                    && self.bytes(head.address as u32, 4)? == port.queue.to_le_bytes()
                {
                    return Ok(inner);
                }
            }
        }
        Ok(None)
    }

    /// One item of a link's queue, counted from its front.
    fn item(&mut self, queue: Place, index: u8) -> Result<Option<Vec<u8>>, MemoryError> {
        let Some(types) = self.types else { return Ok(None) };
        let parts = [types.field(queue, "slots"), types.field(queue, "head"), types.field(queue, "length")];
        let [Some(slots), Some(head), Some(length)] = parts else { return Ok(None) };
        let Type::Array { count, .. } = types.get(slots.ty) else { return Ok(None) };
        let (head, length) = (self.byte(head)?, self.byte(length)?);
        if index >= length || count == 0 {
            return Ok(None);
        }
        let slot = types.element(slots, (u64::from(head) + u64::from(index)) % count);
        let parts = slot.and_then(|slot| types.field(slot, "length").zip(types.field(slot, "bytes")));
        let Some((length, bytes)) = parts else { return Ok(None) };
        let length = self.byte(length)?;
        self.bytes(bytes.address as u32, length.into()).map(Some)
    }

    fn byte(&mut self, at: Place) -> Result<u8, MemoryError> {
        Ok(self.bytes(at.address as u32, 1)?.first().copied().unwrap_or(0))
    }

    fn bytes(&mut self, address: u32, length: usize) -> Result<Vec<u8>, MemoryError> {
        crate::memory::read_bytes(self.memory, address, length)
    }
}

/// Puts a message together: where its stamp ends, and what its payload says. `nodes` is the size of the system.
pub(crate) fn message(
    number: u32,
    (place, raw): (Held, Option<Vec<u8>>),
    nodes: usize,
    carries: Option<(&DebugTypes, TypeId)>,
) -> Message {
    let is_there = raw.is_some();
    let mut payload = raw.unwrap_or_default();
    let length = stamp_length(nodes, &payload).unwrap_or(0);
    let behind = payload.split_off(length);
    let stamp = std::mem::replace(&mut payload, behind);
    let decoded = match carries {
        _ if !is_there => Err(Undecoded::NoBytes),
        Some((types, ty)) => payload::decode(types, ty, &payload),
        None => Err(Undecoded::NoType),
    };
    let undecoded = decoded.as_ref().err().map(ToString::to_string);
    Message { number, place, stamp, payload, value: decoded.ok(), undecoded }
}

/// What the stamp of a message says of its sender's event.
pub(crate) fn sender_number(nodes: usize, message: &[u8], sender: NodeId) -> Option<SenderNumber> {
    macro_rules! for_size {
        ($($n:literal)*) => {
            match nodes {
                $($n => SenderNumber::read::<$n>(message, sender).ok(),)*
                _ => None,
            }
        };
    }
    for_size!(1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32)
}

fn stamp_length(nodes: usize, message: &[u8]) -> Option<usize> {
    macro_rules! for_size {
        ($($n:literal)*) => {
            match nodes {
                $($n => message_stamp_len::<$n>(message).ok(),)*
                _ => None,
            }
        };
    }
    for_size!(1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32)
        .filter(|length| *length <= message.len())
}

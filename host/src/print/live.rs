//! The elements that a sequence holds: of an array or slice all of them, of a `heapless` collection those that are in use.
use super::read::Reader;
use crate::MemoryError;
use crate::dwarf::{Place, Type, TypeId};
use crate::payload::Value;
use crate::payload::form::{crate_of, split};

/// Elements that lie one behind the other, from one of them on and perhaps round the end.
pub(super) struct Elements {
    first: u64,
    element: TypeId,
    size: u64,
    /// Where the first one is, counted from the beginning of the memory for them.
    start: u64,
    capacity: u64,
    pub count: u64,
}

impl Elements {
    /// Where an element is.
    pub fn place(&self, index: u64) -> Place {
        let slot = match self.capacity {
            0 => 0,
            capacity => self.start.wrapping_add(index) % capacity,
        };
        Place { address: self.first.wrapping_add(self.size.wrapping_mul(slot)), ty: self.element }
    }
}

/// What a place holds, as a sequence.
pub(super) enum Live {
    Elements(Elements),
    /// Bytes that are a text.
    Text(Elements),
    /// A sequence whose own account of itself cannot be true.
    Damaged(String),
    /// No sequence.
    No,
}

impl Reader<'_> {
    /// The elements at a place.
    pub(super) fn live(&mut self, at: Place) -> Result<Live, MemoryError> {
        if let Type::Array { element, count } = self.types.get(at.ty) {
            return Ok(Live::Elements(self.row(at.address, element, [0, count, count])));
        }
        if let Some((data, length)) = self.slice(at) {
            let Type::Pointer(Some(element)) = self.types.get(data.ty) else { return Ok(Live::No) };
            let first = self.number(data.address, self.size(data)?)? as u64;
            let count = self.number(length.address, self.size(length)?)? as u64;
            let elements = self.row(first, element, [0, count, count]);
            let is_text = ["&str", "&mut str"].contains(&self.types.type_name(at.ty).as_str());
            return Ok(if is_text { Live::Text(elements) } else { Live::Elements(elements) });
        }
        let path = self.types.type_path(at.ty);
        if crate_of(&path) != "heapless" {
            return Ok(Live::No);
        }
        match split(&path).1 {
            "Vec" | "VecInner" => self.heapless(at, &["len"]),
            "Deque" | "DequeInner" => self.heapless(at, &["front", "back", "full"]),
            "String" | "StringInner" => match self.types.field(at, "vec") {
                Some(bytes) => Ok(match self.heapless(bytes, &["len"])? {
                    Live::Elements(bytes) => Live::Text(bytes),
                    other => other,
                }),
                None => Ok(Live::No),
            },
            _ => Ok(Live::No),
        }
    }

    /// The same as a value, unless the place holds no sequence.
    pub(super) fn sequence(&mut self, at: Place, depth: u32) -> Result<Option<Value>, MemoryError> {
        Ok(match self.live(at)? {
            Live::Elements(elements) => Some(self.elements(&elements, depth)?),
            Live::Text(bytes) => Some(self.text(bytes.first, bytes.count)?),
            Live::Damaged(why) => Some(Value::Note(format!("<{why}>"))),
            Live::No => None,
        })
    }

    fn row(&self, first: u64, element: TypeId, [start, capacity, count]: [u64; 3]) -> Elements {
        Elements { first, element, size: self.types.size(element).unwrap_or(0), start, capacity, count }
    }

    /// A collection of `heapless` 0.7 to 0.9: from 0.9 on the memory for the elements is in a struct of its own.
    fn heapless(&mut self, at: Place, counters: &[&str]) -> Result<Live, MemoryError> {
        let Some(buffer) = self.types.field(at, "buffer") else { return Ok(Live::No) };
        let buffer = self.types.field(buffer, "buffer").unwrap_or(buffer);
        let Type::Array { element: slot, count: capacity } = self.types.get(buffer.ty) else { return Ok(Live::No) };
        // The slots that are in use are set.
        let set = self.types.maybe_uninit(Place { address: buffer.address, ty: slot });
        let element = set.map_or(slot, |value| value.ty);
        let mut numbers = Vec::new();
        for name in counters {
            let Some(counter) = self.types.field(at, name) else { return Ok(Live::No) };
            numbers.push(self.number(counter.address, self.size(counter)?)? as u64);
        }
        let (start, count) = match numbers[..] {
            [length] if length <= capacity => (0, length),
            [front, back, 0] if front < capacity && back < capacity => (front, (back + capacity - front) % capacity),
            [front, back, 1] if front == back && front < capacity => (front, capacity),
            [0, 0, _] if capacity == 0 => (0, 0),
            _ => {
                let told = counters.iter().zip(&numbers).map(|(name, number)| format!("{name} {number}"));
                let told = told.collect::<Vec<_>>().join(", ");
                return Ok(Live::Damaged(format!("damaged or not initialised: {told} with room for {capacity}")));
            }
        };
        Ok(Live::Elements(self.row(buffer.address, element, [start, capacity, count])))
    }

    /// Pointer and length of a slice or text, where a type has them.
    pub(super) fn slice(&self, at: Place) -> Option<(Place, Place)> {
        let data = self.types.field(at, "data_ptr")?;
        Some((data, self.types.field(at, "length")?))
    }
}

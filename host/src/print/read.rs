//! Memory to values, by their types.
use super::live::{Elements, Live};
use super::{Limits, PrintError};
use crate::dwarf::{Choice, DebugTypes, Place, Type, Variant};
use crate::memory::read_bytes;
use crate::payload::Value;
use crate::{Memory, MemoryError};

/// Reads values; what lies together is read at once.
pub(crate) struct Reader<'a> {
    pub types: &'a DebugTypes,
    memory: &'a mut dyn Memory,
    limits: Limits,
    window: (u64, Vec<u8>),
}

/// So much of a static is read at once.
const WINDOW: u64 = 1 << 16;

/// No text is shown longer.
const TEXT: u64 = 1 << 12;

impl<'a> Reader<'a> {
    pub fn new(types: &'a DebugTypes, memory: &'a mut dyn Memory, limits: Limits) -> Self {
        Self { types, memory, limits, window: (0, Vec::new()) }
    }

    /// The value at a place.
    pub fn whole(&mut self, at: Place) -> Result<Value, PrintError> {
        let size = self.types.size(at.ty).unwrap_or(0).min(WINDOW);
        self.look(at.address, size);
        Ok(self.value(at, self.limits.depth)?)
    }

    /// Reads a range at once, if it can be.
    fn look(&mut self, address: u64, size: u64) {
        if let Ok(start) = u32::try_from(address)
            && let Ok(bytes) = read_bytes(self.memory, start, size as usize)
        {
            self.window = (address, bytes);
        }
    }

    fn bytes(&mut self, address: u64, size: usize) -> Result<Vec<u8>, MemoryError> {
        let (base, window) = &self.window;
        let start = address.checked_sub(*base).and_then(|start| usize::try_from(start).ok());
        if let Some(held) = start.and_then(|start| window.get(start..start.checked_add(size)?)) {
            return Ok(held.to_vec());
        }
        let start = u32::try_from(address).map_err(|_| MemoryError::NotSaved { address: u32::MAX })?;
        read_bytes(self.memory, start, size)
    }

    /// A number without a sign.
    pub fn number(&mut self, address: u64, size: u64) -> Result<u128, MemoryError> {
        let bytes = self.bytes(address, size.min(16) as usize)?;
        Ok(bytes.iter().rev().fold(0, |number, byte| number << 8 | u128::from(*byte)))
    }

    pub fn size(&self, at: Place) -> Result<u64, MemoryError> {
        Ok(self.types.size(at.ty).unwrap_or(0))
    }

    /// A part, or why it cannot be read: the other parts may be.
    fn part(&mut self, at: Place, depth: u32) -> Value {
        self.value(at, depth).unwrap_or_else(|error| Value::Note(format!("<{error}>")))
    }

    fn value(&mut self, at: Place, depth: u32) -> Result<Value, MemoryError> {
        let inner = self.through(at)?;
        let value = self.plain_value(inner, depth)?;
        // An atomic flag is kept as a number.
        let name = self.types.type_name(at.ty);
        Ok(match value {
            Value::Unsigned(truth @ 0..=1) if name == "AtomicBool" || name == "Atomic<bool>" => Value::Bool(truth == 1),
            value => value,
        })
    }

    fn plain_value(&mut self, at: Place, depth: u32) -> Result<Value, MemoryError> {
        let Place { address, ty } = at;
        Ok(match self.types.get(ty) {
            Type::Unsigned(size) => Value::Unsigned(self.number(address, size)?),
            Type::Signed(size) => {
                let unused = 128 - 8 * size.clamp(1, 16) as u32;
                Value::Signed((self.number(address, size)? << unused) as i128 >> unused)
            }
            Type::Bool => match self.number(address, 1)? {
                0 => Value::Bool(false),
                1 => Value::Bool(true),
                other => Value::Note(format!("<{other} is no bool>")),
            },
            Type::Char => {
                let number = self.number(address, 4)? as u32;
                char::from_u32(number).map_or_else(|| Value::Note(format!("<{number:#x} is no char>")), Value::Char)
            }
            Type::Float(4) => Value::Float32(f32::from_bits(self.number(address, 4)? as u32)),
            Type::Float(8) => Value::Float(f64::from_bits(self.number(address, 8)? as u64)),
            Type::Float(size) => Value::Note(format!("<f{} {:#x}>", 8 * size, self.number(address, size)?)),
            Type::Pointer(_) => {
                let to = self.number(address, self.size(at)?)?;
                Value::Note(format!("{to:#010x} as {}", self.types.type_name(ty)))
            }
            Type::Other => Value::Note(format!("<{}>", self.types.type_name(ty))),
            Type::Struct { name, members, .. } => {
                if let Some(shown) = self.sequence(at, depth)? {
                    return Ok(shown);
                }
                // Wrappers of libraries do not count: the user asked for what is in them.
                let inner = if self.types.is_wrapper(ty, &members) { Some(depth) } else { depth.checked_sub(1) };
                match inner {
                    _ if members.is_empty() => Value::Struct { name: short(&name), fields: Vec::new() },
                    None => Value::Note(format!("{} {{..}}", short(&name))),
                    Some(depth) => {
                        let part = |part: crate::dwarf::Member| {
                            let value = self.part(Place { address: address + part.offset, ty: part.ty }, depth);
                            (part.name, value)
                        };
                        Value::Struct { name: short(&name), fields: members.into_iter().map(part).collect() }
                    }
                }
            }
            Type::Union(members) => {
                let name = short(&self.types.type_name(ty));
                // Of memory that may not be set there is one view that matters.
                if let Some(value) = self.types.maybe_uninit(at) {
                    return Ok(Value::Struct { name, fields: vec![(String::new(), self.part(value, depth))] });
                }
                let Some(depth) = depth.checked_sub(1) else { return Ok(Value::Note(format!("{name} {{..}}"))) };
                let part = |of: crate::dwarf::Member| (of.name, self.part(Place { address, ty: of.ty }, depth));
                Value::Struct { name: format!("union {name}"), fields: members.into_iter().map(part).collect() }
            }
            Type::Choice(choice) => self.choice(at, &choice, depth)?,
            Type::Array { .. } => match self.live(at)? {
                Live::Elements(elements) => self.elements(&elements, depth)?,
                _ => Value::Note(format!("<{}>", self.types.type_name(ty))),
            },
        })
    }

    /// The variant that an enum is now.
    pub fn variant(&mut self, at: Place, choice: &Choice) -> Result<Option<Variant>, MemoryError> {
        let Some((offset, size)) = choice.tag else { return Ok(choice.variants.first().cloned()) };
        let number = self.number(at.address + offset, size)?;
        let exact = choice.variants.iter().find(|variant| variant.number == Some(number));
        Ok(exact.or_else(|| choice.variants.iter().find(|variant| variant.number.is_none())).cloned())
    }

    fn choice(&mut self, at: Place, choice: &Choice, depth: u32) -> Result<Value, MemoryError> {
        let Some(variant) = self.variant(at, choice)? else {
            let (offset, size) = choice.tag.unwrap_or_default();
            let number = self.number(at.address + offset, size)?;
            return Ok(Value::Note(format!("<{number} is no {}>", short(&choice.name))));
        };
        let Some(content) = variant.content else {
            return Ok(Value::variant(self.types, at.ty, variant.name, Vec::new()));
        };
        let place = Place { address: at.address + content.offset, ty: content.ty };
        let Type::Struct { members, .. } = self.types.get(content.ty) else {
            let fields = vec![(String::new(), self.value(place, depth)?)];
            return Ok(Value::variant(self.types, at.ty, variant.name, fields));
        };
        let Some(depth) = depth.checked_sub(1).or(members.is_empty().then_some(0)) else {
            return Ok(Value::Note(format!("{} {{..}}", variant.name)));
        };
        let part = |of: crate::dwarf::Member| {
            let value = self.part(Place { address: place.address + of.offset, ty: of.ty }, depth);
            (of.name, value)
        };
        let fields = members.into_iter().map(part).collect();
        Ok(Value::variant(self.types, at.ty, variant.name, fields))
    }

    pub(super) fn elements(&mut self, elements: &Elements, depth: u32) -> Result<Value, MemoryError> {
        let count = elements.count;
        let Some(depth) = depth.checked_sub(1) else { return Ok(Value::Note(format!("[..; {count}]"))) };
        let shown = count.min(self.limits.elements as u64);
        let mut values = Vec::new();
        for index in 0..shown {
            values.push(self.part(elements.place(index), depth));
        }
        if shown < count {
            values.push(Value::Note(format!("... {} more", count - shown)));
        }
        Ok(Value::List(values))
    }

    pub(super) fn text(&mut self, first: u64, count: u64) -> Result<Value, MemoryError> {
        let bytes = self.bytes(first, count.min(TEXT) as usize)?;
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if count <= TEXT {
            Ok(Value::Text(text))
        } else {
            Ok(Value::Note(format!("{text:?}... {} more", count - TEXT)))
        }
    }
}

/// The name of a type without its parameters, which are of no help in a value.
fn short(name: &str) -> String {
    match name.split_once('<') {
        Some((base, _)) if !base.is_empty() => base.to_owned(),
        _ => name.to_owned(),
    }
}

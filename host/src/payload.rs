//! Messages as values: postcard's bytes read by the type that the channel carries.
//!
//! The debug information has the fields of a type in the order of the source, which is the order in which a derived
//! `Serialize` writes them. A type that writes itself in another way is shown as bytes, unless its bytes happen to fit.
mod value;

pub use value::Value;

use crate::dwarf::{DebugTypes, Type, TypeId};

/// No message of this kit nests deeper; a type that contains itself does.
const DEPTH: u32 = 16;

/// The value in `bytes`, if they are one of this type and nothing else.
#[must_use]
pub fn decode(types: &DebugTypes, ty: TypeId, bytes: &[u8]) -> Option<Value> {
    let mut rest = bytes;
    let value = take(types, ty, &mut rest, DEPTH)?;
    rest.is_empty().then_some(value)
}

fn take(types: &DebugTypes, ty: TypeId, rest: &mut &[u8], depth: u32) -> Option<Value> {
    let depth = depth.checked_sub(1)?;
    match types.get(ty) {
        Type::Unsigned(1) => take_byte(rest).map(|byte| Value::Unsigned(byte.into())),
        Type::Unsigned(bytes) => take_varint(rest, bytes).map(Value::Unsigned),
        Type::Signed(1) => take_byte(rest).map(|byte| Value::Signed((byte as i8).into())),
        Type::Signed(bytes) => take_varint(rest, bytes).map(|number| Value::Signed(unzigzag(number))),
        Type::Bool => match take_byte(rest)? {
            0 => Some(Value::Bool(false)),
            1 => Some(Value::Bool(true)),
            _ => None,
        },
        Type::Float(4) => take_chunk(rest).map(|bytes| Value::Float(f32::from_le_bytes(bytes).into())),
        Type::Float(8) => take_chunk(rest).map(|bytes| Value::Float(f64::from_le_bytes(bytes))),
        Type::Char => take_char(rest).map(Value::Char),
        Type::Struct { name, members, .. } => {
            let fields = members.into_iter().map(|member| {
                let value = take(types, member.ty, rest, depth)?;
                Some((member.name, value))
            });
            Some(Value::Struct { name, fields: fields.collect::<Option<_>>()? })
        }
        Type::Choice(choice) => {
            let index = usize::try_from(take_varint(rest, 4)?).ok()?;
            let variant = choice.variants.into_iter().nth(index)?;
            let fields = match variant.content {
                None => Vec::new(),
                Some(content) => match take(types, content.ty, rest, depth)? {
                    Value::Struct { fields, .. } => fields,
                    single => vec![(String::new(), single)],
                },
            };
            Some(Value::Struct { name: variant.name, fields })
        }
        Type::Array { element, count } => {
            // A count beyond the bytes that are there cannot be, unless the elements have none.
            let count = usize::try_from(count).ok().filter(|count| *count <= rest.len())?;
            (0..count).map(|_| take(types, element, rest, depth)).collect::<Option<_>>().map(Value::List)
        }
        Type::Float(_) | Type::Union(_) | Type::Pointer(_) | Type::Other => None,
    }
}

fn take_byte(rest: &mut &[u8]) -> Option<u8> {
    let (&byte, after) = rest.split_first()?;
    *rest = after;
    Some(byte)
}

fn take_chunk<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (chunk, after) = rest.split_first_chunk()?;
    *rest = after;
    Some(*chunk)
}

/// A number of at most so many bytes, 7 bits a byte, least significant first.
fn take_varint(rest: &mut &[u8], bytes: u64) -> Option<u128> {
    let bits = u32::try_from(bytes * 8).ok().filter(|bits| *bits <= 128)?;
    let (mut number, mut shift) = (0u128, 0);
    while shift < bits {
        let byte = take_byte(rest)?;
        let part = u128::from(byte & 0x7F);
        if shift + 7 > bits && part >> (bits - shift) != 0 {
            return None;
        }
        number |= part << shift;
        if byte & 0x80 == 0 {
            return Some(number);
        }
        shift += 7;
    }
    None
}

fn unzigzag(number: u128) -> i128 {
    (number >> 1) as i128 ^ -((number & 1) as i128)
}

/// Postcard writes a character as a text of one.
fn take_char(rest: &mut &[u8]) -> Option<char> {
    let length = usize::from(take_byte(rest)?);
    let (text, after) = rest.split_at_checked(length)?;
    *rest = after;
    let mut letters = std::str::from_utf8(text).ok()?.chars();
    letters.next().filter(|_| letters.next().is_none())
}

#[cfg(test)]
mod tests;

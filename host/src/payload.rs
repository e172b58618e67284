//! Messages as values: postcard's bytes read by the type that the channel carries.
//!
//! The debug information has the fields of a type in the order of the source, which is the order in which a derived
//! `Serialize` writes them; `form` knows the types of `core` and `heapless`. A type whose `Serialize` is written by hand
//! is not decoded. Attributes such as `#[serde(skip)]` are not in the debug information: a message that they make
//! shorter does not fit its type and is not decoded either.
mod bytes;
pub(crate) mod form;
mod value;

pub use value::Value;
pub(crate) use value::is_tuple;

use crate::dwarf::{Choice, DebugTypes, Member, Type, TypeId};
use bytes::{take_bool, take_byte, take_char, take_chunk, take_length, take_text, take_varint, unzigzag};
use form::Form;
use stillpoint_core::delay::{CallHeader, Step};

/// No message of this kit nests deeper; a type that contains itself does.
const DEPTH: u32 = 32;

/// Why bytes are not shown as a value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Undecoded {
    /// The type has its own implementation.
    #[error("{0} implements serde::Serialize by hand, so the form of its bytes is not known")]
    ByHand(String),
    /// The type is one of a library, or of a kind, that is not known here.
    #[error("the form of {0} in a message is not known")]
    Unknown(String),
    /// The bytes are not what a derived implementation writes.
    #[error("the bytes do not fit {0}; does a serde attribute change its fields?")]
    Misfit(String),
    /// There is no type.
    #[error("the debug information does not tell the type of the channel")]
    NoType,
    /// There are no bytes.
    #[error("its bytes cannot be read")]
    NoBytes,
}

/// The value in `bytes`, if they are one of this type and nothing else.
pub fn decode(types: &DebugTypes, ty: TypeId, bytes: &[u8]) -> Result<Value, Undecoded> {
    let mut reader = Reader { types, rest: bytes };
    let misfit = || Undecoded::Misfit(types.type_name(ty));
    let value = reader.take(ty, DEPTH).map_err(|why| why.unwrap_or_else(misfit))?;
    if reader.rest.is_empty() { Ok(value) } else { Err(misfit()) }
}

/// Bytes that do not fit are told of the whole message, so they have no error of their own.
type Taken<T> = Result<T, Option<Undecoded>>;

struct Reader<'a> {
    types: &'a DebugTypes,
    rest: &'a [u8],
}

impl Reader<'_> {
    fn take(&mut self, ty: TypeId, depth: u32) -> Taken<Value> {
        let depth = depth.checked_sub(1).ok_or(None)?;
        let rest = &mut self.rest;
        let plain = match self.types.get(ty) {
            Type::Unsigned(1) => take_byte(rest).map(|byte| Value::Unsigned(byte.into())),
            Type::Unsigned(bytes) => take_varint(rest, bytes).map(Value::Unsigned),
            Type::Signed(1) => take_byte(rest).map(|byte| Value::Signed((byte as i8).into())),
            Type::Signed(bytes) => take_varint(rest, bytes).map(|number| Value::Signed(unzigzag(number))),
            Type::Bool => take_bool(rest).map(Value::Bool),
            Type::Float(4) => take_chunk(rest).map(|bytes| Value::Float32(f32::from_le_bytes(bytes))),
            Type::Float(8) => take_chunk(rest).map(|bytes| Value::Float(f64::from_le_bytes(bytes))),
            Type::Char => take_char(rest).map(Value::Char),
            Type::Array { element, count } => {
                // Elements without bytes could be any number.
                let count = usize::try_from(count).ok().filter(|count| *count <= rest.len()).ok_or(None)?;
                return self.elements(element, count, depth).map(Value::List);
            }
            Type::Struct { name, members, parameters } => return self.structure(ty, name, members, &parameters, depth),
            Type::Choice(choice) => return self.choice(ty, choice, depth),
            Type::Float(_) | Type::Union(_) | Type::Pointer(_) | Type::Other => {
                return Err(Some(Undecoded::Unknown(self.types.type_path(ty))));
            }
        };
        plain.ok_or(None)
    }

    fn structure(
        &mut self,
        ty: TypeId,
        name: String,
        members: Vec<Member>,
        parameters: &[(String, TypeId)],
        depth: u32,
    ) -> Taken<Value> {
        let unknown = || Some(Undecoded::Unknown(self.types.type_path(ty)));
        let parameter = |name: &str| parameters.iter().find(|(own, _)| own == name).map(|(_, ty)| *ty);
        let form = Form::of(self.types, ty);
        match form {
            Form::Derived if self.types.is_serialized_by_hand(ty) => Err(Some(Undecoded::ByHand(name))),
            Form::Derived | Form::First(_) => {
                let count = if let Form::First(count) = form { count } else { members.len() };
                Ok(Value::Struct { name, fields: self.fields(members.into_iter().take(count), depth)? })
            }
            Form::Inner => match parameter("T") {
                Some(inner) => self.take(inner, depth),
                None if name == "AtomicBool" => take_bool(&mut self.rest).map(Value::Bool).ok_or(None),
                None => {
                    let inner = members.iter().find(|of| self.types.size(of.ty) != Some(0)).ok_or_else(unknown)?;
                    self.take(inner.ty, depth)
                }
            },
            Form::Text => take_text(&mut self.rest).map(|text| Value::Text(text.to_owned())).ok_or(None),
            Form::Sequence => {
                let element = parameter("T").ok_or_else(unknown)?;
                let count = self.length(element)?;
                self.elements(element, count, depth).map(Value::List)
            }
            Form::Map => {
                let (key, value) = parameter("K").zip(parameter("V")).ok_or_else(unknown)?;
                let count = self.length(key)?;
                let pairs = (0..count).map(|_| Ok((self.take(key, depth)?, self.take(value, depth)?)));
                pairs.collect::<Taken<_>>().map(Value::Map)
            }
            Form::Call => self.call(parameter("T").ok_or_else(unknown)?, depth),
            Form::Unknown => Err(unknown()),
        }
    }

    fn fields(&mut self, members: impl Iterator<Item = Member>, depth: u32) -> Taken<Vec<(String, Value)>> {
        members.map(|member| Ok((member.name, self.take(member.ty, depth)?))).collect()
    }

    /// The number of elements of a sequence. Those without bytes could be any number.
    fn length(&mut self, element: TypeId) -> Taken<usize> {
        let limit = if self.types.size(element) == Some(0) { 1 << 16 } else { self.rest.len() };
        take_length(&mut self.rest, limit).ok_or(None)
    }

    fn elements(&mut self, element: TypeId, count: usize, depth: u32) -> Taken<Vec<Value>> {
        (0..count).map(|_| self.take(element, depth)).collect()
    }

    fn choice(&mut self, ty: TypeId, choice: Choice, depth: u32) -> Taken<Value> {
        match Form::of(self.types, ty) {
            Form::Derived if self.types.is_serialized_by_hand(ty) => {
                return Err(Some(Undecoded::ByHand(choice.name)));
            }
            Form::Derived => {}
            _ => return Err(Some(Undecoded::Unknown(self.types.type_path(ty)))),
        }
        let index = take_varint(&mut self.rest, 4).and_then(|index| usize::try_from(index).ok()).ok_or(None)?;
        let variant = choice.variants.into_iter().nth(index).ok_or(None)?;
        // What a variant holds is a struct that nothing else refers to.
        let fields = match variant.content {
            None => Vec::new(),
            Some(content) => match self.types.get(content.ty) {
                Type::Struct { members, .. } => self.fields(members.into_iter(), depth)?,
                _ => vec![(String::new(), self.take(content.ty, depth)?)],
            },
        };
        Ok(Value::variant(self.types, ty, variant.name, fields))
    }

    /// A message of a remote procedure call: what the gate knows of it, then what the user sent.
    fn call(&mut self, body: TypeId, depth: u32) -> Taken<Value> {
        let header = CallHeader::from_bytes(take_chunk(&mut self.rest).ok_or(None)?);
        let body = self.take(body, depth)?;
        let mut fields = vec![("id".to_owned(), Value::Unsigned(header.number.into()))];
        // A call that no gate follows does not say which way it goes.
        let (name, content) = match header.passage.map(|passage| passage.step) {
            Some(Step::Call) => ("call", "request"),
            Some(Step::Return) => ("return", "response"),
            None => ("unfollowed", "body"),
        };
        if let Some(passage) = header.passage {
            fields.push(("thread".to_owned(), Value::Unsigned(passage.thread.0.into())));
            fields.push(("delay_ticks".to_owned(), Value::Unsigned(passage.delay.ticks.into())));
        }
        fields.push((content.to_owned(), body));
        Ok(Value::Variant { name: name.to_owned(), fields })
    }
}

#[cfg(test)]
mod tests;

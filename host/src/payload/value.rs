//! A value as it is shown: like Rust's debug form, and as JSON.
mod json;

use crate::dwarf::{DebugTypes, TypeId};
use std::fmt;

/// What a message or a variable holds.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A number without a sign.
    Unsigned(u128),
    /// A number with a sign.
    Signed(i128),
    /// True or false.
    Bool(bool),
    /// A floating-point number of 32 bits.
    Float32(f32),
    /// A floating-point number of 64 bits.
    Float(f64),
    /// A character.
    Char(char),
    /// A struct or tuple.
    Struct {
        /// The name of the type.
        name: String,
        /// Its fields; of tuples they are called `__0`, `__1` and so on.
        fields: Vec<(String, Value)>,
    },
    /// A variant of an enum.
    Variant {
        /// The name of the variant.
        name: String,
        /// Its fields, named as those of a struct are.
        fields: Vec<(String, Value)>,
    },
    /// An `Option`.
    Option(Option<Box<Value>>),
    /// An array or another sequence.
    List(Vec<Value>),
    /// Keys and their values.
    Map(Vec<(Value, Value)>),
    /// A text.
    Text(String),
    /// What is shown as it is: an address, or why there is nothing to show.
    Note(String),
}

/// Whether fields have numbers instead of names.
pub(crate) fn is_tuple(fields: &[(String, Value)]) -> bool {
    fields.iter().all(|(name, _)| name.is_empty() || name.starts_with("__"))
}

impl Value {
    /// A variant of the enum `ty`.
    pub(crate) fn variant(types: &DebugTypes, ty: TypeId, name: String, mut fields: Vec<(String, Self)>) -> Self {
        if types.type_path(ty).starts_with("core::option::Option<") {
            return Self::Option(fields.pop().map(|(_, value)| Box::new(value)));
        }
        Self::Variant { name, fields }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unsigned(number) => write!(f, "{number}"),
            Self::Signed(number) => write!(f, "{number}"),
            Self::Bool(truth) => write!(f, "{truth}"),
            Self::Float32(number) => write!(f, "{number:?}"),
            Self::Float(number) => write!(f, "{number:?}"),
            Self::Char(letter) => write!(f, "{letter:?}"),
            Self::Struct { name, fields } | Self::Variant { name, fields } if fields.is_empty() => f.write_str(name),
            Self::Struct { name, fields } | Self::Variant { name, fields } if is_tuple(fields) => {
                // The name of a tuple's type is its own list of types.
                write!(f, "{}", if name.starts_with('(') { "" } else { name })?;
                list(f, ["(", ")"], fields.iter().map(|(_, value)| value))
            }
            Self::Struct { name, fields } | Self::Variant { name, fields } => {
                write!(f, "{name} ")?;
                list(f, ["{ ", " }"], fields.iter().map(|(name, value)| format!("{name}: {value}")))
            }
            Self::Option(None) => f.write_str("None"),
            Self::Option(Some(value)) => write!(f, "Some({value})"),
            Self::List(values) => list(f, ["[", "]"], values.iter()),
            Self::Map(pairs) => list(f, ["{", "}"], pairs.iter().map(|(key, value)| format!("{key}: {value}"))),
            Self::Text(text) => write!(f, "{text:?}"),
            Self::Note(note) => f.write_str(note),
        }
    }
}

fn list(
    f: &mut fmt::Formatter<'_>,
    [open, close]: [&str; 2],
    values: impl Iterator<Item = impl fmt::Display>,
) -> fmt::Result {
    f.write_str(open)?;
    for (place, value) in values.enumerate() {
        write!(f, "{}{value}", if place == 0 { "" } else { ", " })?;
    }
    f.write_str(close)
}

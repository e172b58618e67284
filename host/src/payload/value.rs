//! A value as it is shown: like Rust's debug form, and as JSON.
use serde::Serialize;
use serde::ser::{SerializeMap as _, Serializer};
use std::fmt;

/// What a message says.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A number without a sign.
    Unsigned(u128),
    /// A number with a sign.
    Signed(i128),
    /// True or false.
    Bool(bool),
    /// A floating-point number.
    Float(f64),
    /// A character.
    Char(char),
    /// A struct, a tuple, or a variant of an enum.
    Struct {
        /// The name of the type or variant.
        name: String,
        /// Its fields; of tuples they are called `__0`, `__1` and so on.
        fields: Vec<(String, Value)>,
    },
    /// An array.
    List(Vec<Value>),
    /// A text.
    Text(String),
    /// What is shown as it is: an address, or why there is nothing to show.
    Note(String),
}

fn is_tuple(fields: &[(String, Value)]) -> bool {
    fields.iter().all(|(name, _)| name.is_empty() || name.starts_with("__"))
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unsigned(number) => write!(f, "{number}"),
            Self::Signed(number) => write!(f, "{number}"),
            Self::Bool(truth) => write!(f, "{truth}"),
            Self::Float(number) => write!(f, "{number:?}"),
            Self::Char(letter) => write!(f, "{letter:?}"),
            Self::Struct { name, fields } if fields.is_empty() => f.write_str(name),
            Self::Struct { name, fields } if is_tuple(fields) => {
                // The name of a tuple's type is its own list of types.
                write!(f, "{}", if name.starts_with('(') { "" } else { name })?;
                list(f, ["(", ")"], fields.iter().map(|(_, value)| value))
            }
            Self::Struct { name, fields } => {
                write!(f, "{name} {{ ")?;
                for (place, (name, value)) in fields.iter().enumerate() {
                    write!(f, "{}{name}: {value}", if place == 0 { "" } else { ", " })?;
                }
                f.write_str(" }")
            }
            Self::List(values) => list(f, ["[", "]"], values.iter()),
            Self::Text(text) => write!(f, "{text:?}"),
            Self::Note(note) => f.write_str(note),
        }
    }
}

fn list<'a>(
    f: &mut fmt::Formatter<'_>,
    [open, close]: [&str; 2],
    values: impl Iterator<Item = &'a Value>,
) -> fmt::Result {
    f.write_str(open)?;
    for (place, value) in values.enumerate() {
        write!(f, "{}{value}", if place == 0 { "" } else { ", " })?;
    }
    f.write_str(close)
}

/// As JSON: numbers as numbers where JSON has them, structs as objects, tuples and arrays as arrays.
impl Serialize for Value {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Unsigned(number) => match u64::try_from(*number) {
                Ok(number) => to.serialize_u64(number),
                Err(_) => to.collect_str(number),
            },
            Self::Signed(number) => match i64::try_from(*number) {
                Ok(number) => to.serialize_i64(number),
                Err(_) => to.collect_str(number),
            },
            Self::Bool(truth) => to.serialize_bool(*truth),
            Self::Float(number) => to.serialize_f64(*number),
            Self::Char(letter) => to.serialize_char(*letter),
            Self::Struct { name, fields } if fields.is_empty() => to.serialize_str(name),
            Self::Struct { fields, .. } if is_tuple(fields) => to.collect_seq(fields.iter().map(|(_, value)| value)),
            Self::Struct { fields, .. } => {
                let mut map = to.serialize_map(Some(fields.len()))?;
                for (name, value) in fields {
                    map.serialize_entry(name, value)?;
                }
                map.end()
            }
            Self::List(values) => to.collect_seq(values),
            Self::Text(text) | Self::Note(text) => to.serialize_str(text),
        }
    }
}

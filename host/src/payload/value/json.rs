//! Values as JSON, in the form that `serde_json` gives the same Rust types.
use super::{Value, is_tuple};
use serde::Serialize;
use serde::ser::{SerializeMap as _, Serializer};

/// As `serde_json` writes a type with a derived `Serialize`: structs as objects, tuples as arrays, a variant of an enum as an
/// object with the variant's name as its key, or as the name alone where it has no fields.
///
/// Numbers of more than 64 bits are texts: `serde_json::Value` cannot hold them.
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
            Self::Float32(number) => to.serialize_f32(*number),
            Self::Float(number) => to.serialize_f64(*number),
            Self::Char(letter) => to.serialize_char(*letter),
            Self::Struct { name, fields } => content(name.starts_with('('), fields, to),
            Self::Variant { name, fields } if fields.is_empty() => to.serialize_str(name),
            Self::Variant { name, fields } => {
                let mut map = to.serialize_map(Some(1))?;
                map.serialize_entry(name, &Content(fields))?;
                map.end()
            }
            Self::Option(None) => to.serialize_none(),
            Self::Option(Some(value)) => value.serialize(to),
            Self::List(values) => to.collect_seq(values),
            Self::Map(pairs) => match pairs.iter().map(|(key, _)| key_text(key)).collect::<Option<Vec<_>>>() {
                Some(keys) => to.collect_map(keys.into_iter().zip(pairs.iter().map(|(_, value)| value))),
                None => to.collect_seq(pairs),
            },
            Self::Text(text) | Self::Note(text) => to.serialize_str(text),
        }
    }
}

/// What the name of a variant stands before.
struct Content<'a>(&'a [(String, Value)]);

impl Serialize for Content<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        content(false, self.0, to)
    }
}

fn content<S: Serializer>(is_bare_tuple: bool, fields: &[(String, Value)], to: S) -> Result<S::Ok, S::Error> {
    match fields {
        [] => to.serialize_unit(),
        // A struct around one value is that value; a tuple of one is still a tuple.
        [(_, only)] if is_tuple(fields) && !is_bare_tuple => only.serialize(to),
        _ if is_tuple(fields) => to.collect_seq(fields.iter().map(|(_, value)| value)),
        _ => to.collect_map(fields.iter().map(|(name, value)| (name, value))),
    }
}

/// A key as the text that JSON has to have for it, where there is one.
fn key_text(key: &Value) -> Option<String> {
    match key {
        Value::Text(text) => Some(text.clone()),
        Value::Char(letter) => Some(letter.to_string()),
        Value::Unsigned(_) | Value::Signed(_) | Value::Bool(_) => Some(key.to_string()),
        Value::Variant { name, fields } if fields.is_empty() => Some(name.clone()),
        Value::Struct { fields, .. } => match fields.as_slice() {
            [(_, only)] if is_tuple(fields) => key_text(only),
            _ => None,
        },
        _ => None,
    }
}

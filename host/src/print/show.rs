//! Values on several lines where one is too short.
use crate::payload::{Value, is_tuple};

/// No line is longer, where it can be helped.
const WIDTH: usize = 100;

/// A value as text: on one line if it fits behind `indent` columns, otherwise on several that begin so far to the right.
#[must_use]
pub fn pretty(value: &Value, indent: usize) -> String {
    pretty_at(value, indent, indent)
}

/// The same for a value that begins at a column of a line that is indented less.
fn pretty_at(value: &Value, indent: usize, column: usize) -> String {
    let line = value.to_string();
    if column + line.chars().count() <= WIDTH {
        return line;
    }
    let (blank, inner) = (" ".repeat(indent), indent + 2);
    match value {
        Value::Struct { name, fields } | Value::Variant { name, fields } if !fields.is_empty() => {
            let is_tuple = is_tuple(fields);
            let [open, close] = if is_tuple { ["(", ")"] } else { [" {", "}"] };
            let name = if name.starts_with('(') { "" } else { name.as_str() };
            let mut text = format!("{name}{open}\n");
            for (field, value) in fields {
                let field = if is_tuple { String::new() } else { format!("{field}: ") };
                text += &format!("{blank}  {field}{},\n", pretty_at(value, inner, inner + field.chars().count()));
            }
            text + &blank + close
        }
        Value::Option(Some(value)) => format!("Some({})", pretty_at(value, indent, column + 5)),
        Value::List(values) => format!("[\n{}{blank}]", rows(values, inner)),
        _ => line,
    }
}

/// Elements, as many to a line as fit.
fn rows(values: &[Value], indent: usize) -> String {
    let (mut text, mut line) = (String::new(), String::new());
    let blank = " ".repeat(indent);
    for value in values {
        let element = pretty(value, indent);
        let fits = indent + line.chars().count() + element.chars().count() + 2 <= WIDTH && !element.contains('\n');
        if !line.is_empty() && !fits {
            text += &format!("{blank}{},\n", line);
            line.clear();
        }
        line = if line.is_empty() { element } else { format!("{line}, {element}") };
    }
    if line.is_empty() { text } else { text + &format!("{blank}{line},\n") }
}

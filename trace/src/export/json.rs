//! One JSON object, an event a line.
use crate::{JsonEscapes, Restricted, Row};
use std::io::{self, Write};

pub(super) fn write(shown: &Restricted<'_>, out: &mut dyn Write) -> io::Result<()> {
    let history = shown.history;
    let mut out = JsonEscapes(out);
    let notes: Vec<String> = history.notes().iter().map(|note| note.say(&history.header)).collect();
    writeln!(out, "{{\"header\":{},", serde_json::to_string(&history.header)?)?;
    write!(out, "\"notes\":{},\n\"events\":[", serde_json::to_string(&notes)?)?;
    for (at, place) in shown.places().iter().enumerate() {
        out.write_all(if at == 0 { b"\n" } else { b",\n" })?;
        serde_json::to_writer(&mut out, &Row::of(history, *place))?;
    }
    out.write_all(b"\n]}\n")
}

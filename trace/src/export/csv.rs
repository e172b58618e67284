//! A line an event. The clock is one column: its entries with spaces between them, by the numbers of the nodes.
use crate::{Printable, Restricted, Row};
use std::io::{self, Write};

/// The names of the columns.
pub(super) const COLUMNS: [&str; 16] = [
    "place", "event", "node", "epoch", "number", "time", "micros", "wall", "kind", "action", "arg", "value", "message",
    "partner", "unknown", "clock",
];

pub(super) fn write(shown: &Restricted<'_>, out: &mut dyn Write) -> io::Result<()> {
    let mut writer = csv::Writer::from_writer(out);
    writer.write_record(COLUMNS)?;
    for place in shown.places() {
        let row = Row::of(shown.history, *place);
        let clock: Vec<String> = row.clock.iter().map(ToString::to_string).collect();
        writer.write_record([
            row.place.to_string(),
            said(&row.event),
            said(&row.node),
            row.epoch.to_string(),
            row.number.to_string(),
            text(row.time.map(|time| time.0)),
            text(row.micros),
            row.wall.to_string(),
            row.kind.to_owned(),
            said(&row.action),
            row.arg.to_string(),
            text(row.value),
            text(row.message),
            said(&text(row.partner)),
            said(&text(row.unknown)),
            clock.join(" "),
        ])?;
    }
    writer.flush()
}

/// A text of the firmware as a cell: printable, and never a formula to a spreadsheet, which begins with one of these signs.
fn said(text: &str) -> String {
    let is_formula = text.starts_with(['=', '+', '-', '@', '\t']);
    format!("{}{}", if is_formula { "'" } else { "" }, Printable(text))
}

fn text(value: Option<impl ToString>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}

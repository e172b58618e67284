//! A line an event. The clock is one column: its entries with spaces between them, by the numbers of the nodes.
use crate::{History, Row};
use std::io::{self, Write};

/// The names of the columns.
pub(super) const COLUMNS: [&str; 16] = [
    "place", "event", "node", "epoch", "number", "time", "micros", "wall", "kind", "action", "arg", "value", "message",
    "partner", "unknown", "clock",
];

pub(super) fn write(history: &History, out: &mut dyn Write) -> io::Result<()> {
    let mut writer = csv::Writer::from_writer(out);
    writer.write_record(COLUMNS)?;
    for place in 0..history.events.len() {
        let row = Row::of(history, place);
        let clock: Vec<String> = row.clock.iter().map(ToString::to_string).collect();
        writer.write_record([
            row.place.to_string(),
            row.event,
            row.node,
            row.epoch.to_string(),
            row.number.to_string(),
            text(row.time),
            text(row.micros),
            row.wall.to_string(),
            row.kind.to_owned(),
            row.action,
            row.arg.to_string(),
            text(row.value),
            text(row.message),
            text(row.partner),
            text(row.unknown),
            clock.join(" "),
        ])?;
    }
    writer.flush()
}

fn text(value: Option<impl ToString>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}

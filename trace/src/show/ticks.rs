//! A node's time as people read it.
use crate::{Event, Header};

/// The time of an event in seconds where the firmware says how long a tick is, otherwise in ticks.
///
/// Times of different boards have no common beginning.
#[must_use]
pub fn time_text(header: &Header, event: &Event) -> String {
    let board = header.node(event.id.node).and_then(|node| header.boards.get(node.board));
    let Some(time) = event.time else { return "-".into() };
    match board.and_then(|board| board.tick_rate()?.nanos(time)) {
        Some(nanos) => format!("{}.{:06}", nanos / 1_000_000_000, nanos / 1_000 % 1_000_000),
        None => time.0.to_string(),
    }
}

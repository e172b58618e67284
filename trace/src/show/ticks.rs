//! A node's time as people read it.
use crate::{Event, Header};

/// The time of an event in seconds where the firmware says how long a tick is, otherwise in ticks.
///
/// Times of different boards have no common beginning.
#[must_use]
pub fn time_text(header: &Header, event: &Event) -> String {
    let hz =
        header.node(event.id.node).and_then(|node| header.boards.get(node.board)).and_then(|board| board.counter_hz);
    match (event.time, hz) {
        (None, _) => "-".into(),
        (Some(time), Some(hz)) if hz > 0 => {
            let micros = u128::from(time) * 1_000_000 / u128::from(hz);
            format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000)
        }
        (Some(time), _) => time.to_string(),
    }
}

//! Between two looks at a board.
use std::time::Duration;

/// Gives the processor to others for a moment. Emulated boards need it to get where they are waited for; a probe takes longer
/// than this for one look.
pub(crate) fn pause() {
    std::thread::sleep(Duration::from_micros(100));
}

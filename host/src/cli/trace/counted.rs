//! The figures of one node's log, as `trace record` and `trace info` both show them.
use crate::cli::paint;
use std::fmt;
use stillpoint::trace::NodeSum;

/// What was recorded of one node. `{:#}` marks what is missing with a colour.
pub struct Counted<'a>(pub &'a NodeSum);

impl fmt::Display for Counted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let NodeSum { events, bytes, before, dropped, unplaced, restarts, broken, .. } = self.0;
        write!(f, "{events:>9} events  {bytes:>9} bytes")?;
        for (count, what) in [
            (dropped, "dropped"),
            (before, "before the recording"),
            (unplaced, "before the first sync record"),
            (restarts, "restarts"),
            (broken, "places that are no log"),
        ] {
            match (*count, f.alternate()) {
                (0, _) if what != "dropped" => {}
                (0, _) | (_, false) => write!(f, "  {count:>6} {what}")?,
                (_, true) => write!(f, "  {}{count:>6} {what}{:#}", paint::WARN, paint::WARN)?,
            }
        }
        Ok(())
    }
}

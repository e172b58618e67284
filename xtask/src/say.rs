//! What the user reads while waiting. Results go to standard output; all of this goes to standard error.
use std::io::Write;

/// One line of news: a verb in a fixed column, then what it is about.
pub fn say(verb: &str, what: impl std::fmt::Display) {
    // A closed terminal is no reason to stop.
    let _ = writeln!(std::io::stderr(), "{verb:>10}  {what}");
}

//! What the user reads while waiting. Results go to standard output; all of this goes to standard error.
use std::io::Write;

/// One line of news: a verb in a fixed column, then what it is about.
pub fn say(verb: &str, what: impl std::fmt::Display) {
    // A closed terminal is no reason to stop.
    let _ = writeln!(std::io::stderr(), "{verb:>10}  {what}");
}

/// An error and its causes in one sentence; a cause that the sentence already holds is not repeated.
pub fn sentence(error: &anyhow::Error) -> String {
    error.chain().fold(String::new(), |mut text, cause| {
        let cause = cause.to_string();
        if !text.contains(&cause) {
            text.push_str(if text.is_empty() { "" } else { ": " });
            text.push_str(&cause);
        }
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::Context as _;

    #[test]
    fn each_cause_is_said_once() {
        let error = Err::<(), _>(std::io::Error::other("disk full")).context("cannot write").unwrap_err();
        assert_eq!(sentence(&error), "cannot write: disk full");
        let error = Err::<(), _>(std::io::Error::other("disk full")).context("cannot write (disk full)").unwrap_err();
        assert_eq!(sentence(&error), "cannot write (disk full)");
    }
}

//! Transcripts: commands, `----`, what is expected; readable as documentation, rewritten with `REWRITE=1`.
//!
//! ```text
//! # What follows a hash is for people.
//! send 0->1 "ping"
//! ----
//! 0: send "ping" -> 1
//! ```
//! Commands up to `----` run one after the other; the expectation ends at an empty line. [`console`](crate::sim::Console)
//! has the commands.
use crate::sim::Console;

/// Runs every command and says what the transcript should be.
///
/// # Example
/// ```
/// use stillpoint_tests::transcript::replay;
/// let text = "system 2 0->1\nhalt 1\nsettle\n----\n";
/// let told = replay(text);
/// assert!(told.starts_with("system 2 0->1\nhalt 1\nsettle\n----\nhost: halt, at 1\n1: stop, marker #1 on ~0->1\n"));
/// assert_eq!(replay(&told), told);
/// ```
#[must_use]
pub fn replay(text: &str) -> String {
    let mut console = Console::default();
    let (mut told, mut commands) = (String::new(), Vec::new());
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        told.push_str(line);
        told.push('\n');
        match line.trim() {
            "" => {}
            comment if comment.starts_with('#') => {}
            "----" => {
                let answers = commands.drain(..).flat_map(|command: &str| console.run(command));
                answers.for_each(|answer| {
                    told.push_str(&answer);
                    told.push('\n');
                });
                // What was expected stands up to the next empty line.
                if lines.by_ref().any(|expected| expected.is_empty()) {
                    told.push('\n');
                }
            }
            command => commands.push(command),
        }
    }
    told
}

/// The first line in which two transcripts differ, for people: its number, what is expected, what came.
#[must_use]
pub fn difference(expected: &str, got: &str) -> Option<String> {
    let (mut expected, mut got) = (expected.lines(), got.lines());
    for number in 1.. {
        match (expected.next(), got.next()) {
            (None, None) => return None,
            (old, new) if old == new => {}
            (old, new) => {
                let (old, new) = (old.unwrap_or("(the end)"), new.unwrap_or("(the end)"));
                return Some(format!("line {number}\n  expected: {old}\n  but came: {new}"));
            }
        }
    }
    None
}

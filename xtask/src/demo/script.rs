//! What the demo does, step by step.
use std::sync::mpsc::Receiver;

use super::program::Program;
use crate::command::CommandError;

/// The commands of the demo, in their order. Each must end well.
const SCRIPT: &[&[&str]] = &[
    &["up"],
    &["flash"],
    &["break", "left0:send(ring)^10 -> right1.holding == 1"],
    &["halt"],
    &["cut"],
    &["resume"],
    &["halt"],
    &["down"],
];

/// Why the demo did not come to its end.
#[derive(Debug, thiserror::Error)]
pub enum DemoError {
    /// A command could not be run.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// A command did not end well; what it said is on the screen.
    #[error("`stillpoint {command}` ended with {code}")]
    Failed {
        /// Which.
        command: String,
        /// How.
        code: String,
    },
    /// The user, or the system, asked to stop.
    #[error("interrupted; both boards are stopped")]
    Interrupted,
}

/// Plays the demo, telling each command and what it printed. Whatever the end, both boards are down when this returns.
pub fn play(program: &Program, interrupts: &Receiver<()>, mut tell: impl FnMut(&str)) -> Result<(), DemoError> {
    // What a demo that was killed has left.
    program.run(&["down"])?;
    let played = SCRIPT.iter().try_for_each(|words| step(program, words, interrupts, &mut tell));
    if played.is_err() {
        program.run(&["down"])?;
    }
    played
}

fn step(
    program: &Program,
    words: &[&str],
    interrupts: &Receiver<()>,
    tell: &mut impl FnMut(&str),
) -> Result<(), DemoError> {
    let shown: Vec<String> =
        words.iter().map(|word| if word.contains(' ') { format!("\"{word}\"") } else { (*word).to_owned() }).collect();
    tell(&format!("$ stillpoint {}\n", shown.join(" ")));
    let said = program.run(words)?;
    tell(&said.text);
    if interrupts.try_recv().is_ok() {
        return Err(DemoError::Interrupted);
    }
    match said.code {
        Some(0) => Ok(()),
        Some(code) => Err(DemoError::Failed { command: shown.join(" "), code: format!("exit code {code}") }),
        None => Err(DemoError::Failed { command: shown.join(" "), code: "a signal".into() }),
    }
}

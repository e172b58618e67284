//! Messages round all four cores, and that the command prints what is kept of it.
use std::process::Command;

use anyhow::{Context as _, ensure};

use super::Tier;
use crate::command;
use crate::verb::relay_transcript;
use crate::workspace;

pub const TIER: Tier =
    Tier { name: "relay", proves: "two boards, four cores: every message arrives and every log line is read", run };

fn run() -> anyhow::Result<()> {
    let golden = std::fs::read_to_string(relay_transcript()).context("docs/relay.out is missing")?;
    let mut demo = Command::new(workspace::this_program());
    let printed = command::output(demo.arg("relay").stderr(std::process::Stdio::inherit()))?;
    compare(&golden, &format!("$ cargo xtask relay\n{printed}\n"), "it does not print what docs/relay.out says")?;
    println!("{printed}");
    Ok(())
}

fn compare(expected: &str, found: &str, complaint: &str) -> anyhow::Result<()> {
    let differ = expected.lines().zip(found.lines()).find(|(expected, found)| expected != found);
    let (expected_line, found_line) = differ.unwrap_or(("", ""));
    ensure!(
        expected == found,
        "{complaint}\n  expected: {expected_line}\n  found:    {found_line}\n\
         If the change is meant: cargo xtask relay --write-transcript"
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_that_differs_is_shown() {
        assert!(compare("a\nb\n", "a\nb\n", "differs").is_ok());
        let error = compare("a\nb\n", "a\nc\n", "differs").unwrap_err().to_string();
        assert!(error.contains("expected: b") && error.contains("found:    c"), "{error}");
        assert!(compare("a\n", "a\nb\n", "differs").is_err());
    }
}

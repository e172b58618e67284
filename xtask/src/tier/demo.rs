//! The demo, and that it prints what the README shows.
use std::process::Command;

use anyhow::{Context as _, ensure};

use super::Tier;
use crate::command;
use crate::verb::transcript_path;
use crate::workspace;

pub const TIER: Tier = Tier {
    name: "demo",
    proves: "two boards, four cores: every message arrives, and the README's transcript is true",
    run,
};

fn run() -> anyhow::Result<()> {
    let golden = std::fs::read_to_string(transcript_path()).context("docs/demo.out is missing")?;
    let mut demo = Command::new(workspace::this_program());
    let printed = command::output(demo.arg("demo").stderr(std::process::Stdio::inherit()))?;
    compare(&golden, &format!("$ cargo xtask demo\n{printed}\n"), "the demo does not print what docs/demo.out says")?;
    let readme = std::fs::read_to_string(workspace::root().join("README.md")).context("README.md is missing")?;
    ensure!(readme.contains(&golden), "README.md does not show docs/demo.out as it is; copy it into the README");
    println!("{printed}");
    Ok(())
}

fn compare(expected: &str, found: &str, complaint: &str) -> anyhow::Result<()> {
    let differ = expected.lines().zip(found.lines()).find(|(expected, found)| expected != found);
    let (expected_line, found_line) = differ.unwrap_or(("", ""));
    ensure!(
        expected == found,
        "{complaint}\n  expected: {expected_line}\n  found:    {found_line}\n\
         If the change is meant: cargo xtask demo --write-transcript"
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

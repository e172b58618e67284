//! The demo, and that it tells the story that the README shows.
use std::process::Command;

use anyhow::{Context as _, bail, ensure};

use super::Tier;
use crate::command;
use crate::demo::{excerpt, same_story};
use crate::verb::demo_transcript;
use crate::workspace;

pub const TIER: Tier = Tier {
    name: "demo",
    proves: "two boards, four nodes: a linked breakpoint, certified halts, a cut; and the README's transcript is true",
    run,
};

fn run() -> anyhow::Result<()> {
    let golden = std::fs::read_to_string(demo_transcript()).context("docs/demo.out is missing")?;
    let mut demo = Command::new(workspace::this_program());
    let printed = command::output(demo.arg("demo").stderr(std::process::Stdio::inherit()))?;
    if let Err((expected, found)) = same_story(&golden, &format!("$ cargo xtask demo\n{printed}\n")) {
        bail!(
            "the demo does not tell what docs/demo.out tells\n  expected: {expected}\n  found:    {found}\n\
             If the change is meant: cargo xtask demo --write-transcript"
        );
    }
    let readme = std::fs::read_to_string(workspace::root().join("README.md")).context("README.md is missing")?;
    ensure!(
        readme.contains(&excerpt(&golden)),
        "README.md does not show this part of docs/demo.out as it is; copy it into the README:\n{}",
        excerpt(&golden)
    );
    println!("{printed}");
    Ok(())
}

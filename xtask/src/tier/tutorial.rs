//! The tutorial: a bug found from zero, and that every command of it prints what the document shows.
use std::process::Command;

use super::Tier;
use crate::command;
use crate::workspace;

pub const TIER: Tier = Tier {
    name: "tutorial",
    proves: "the commands of docs/TUTORIAL.md find the bug of token_ring, and print what stands there",
    run: || Ok(command::run(Command::new(workspace::this_program()).arg("tutorial"))?),
};

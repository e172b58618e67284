//! The debug probe whose target is a QEMU machine.
use super::{Tier, together, with_programs};
use crate::command;

pub const TIER: Tier = Tier { name: "probe", proves: "the debug probe drives both cores of a QEMU machine", run };

/// Its test programs.
pub const PROGRAMS: &[&str] = &["boards"];

fn run() -> anyhow::Result<()> {
    Ok(command::run(with_programs(&mut together()?, PROGRAMS))?)
}

//! Real firmware on two emulated boards with two cores each, halted and resumed through probe-rs.
use super::{Tier, test_command};
use crate::command;
use crate::firmware::Firmware;
use crate::qemu;
use crate::toolchain::{CORTEX_M33, Toolchain};
use anyhow::Context as _;

pub const TIER: Tier = Tier {
    name: "qemu",
    proves: "four nodes on two boards halt consistently from any node, with a certificate, and resume",
    run,
};

fn run() -> anyhow::Result<()> {
    qemu::ready()?;
    let toolchain = Toolchain::ready(&[CORTEX_M33])?;
    let images = Firmware::examples().build_all(toolchain)?;
    Firmware::replay().build(toolchain)?;
    let folder = images.first().and_then(|(_, elf)| elf.parent()).context("the agent has no examples")?;
    let mut cargo = test_command(&["stillpoint"]);
    // The tests take each demo by its name from here.
    cargo.args(["--features", "qemu-tests"]).env("STILLPOINT_FIRMWARE", folder);
    // Each test starts two machines with two busy cores each: one after the other.
    cargo.args(["--", "--test-threads", "1"]);
    Ok(command::run(&mut cargo)?)
}

//! Real firmware on two emulated boards with two cores each, halted and resumed through probe-rs.
use super::{Tier, test_command};
use crate::command;
use crate::firmware::Firmware;
use crate::qemu;
use crate::toolchain::{CORTEX_M33, Toolchain};

pub const TIER: Tier = Tier {
    name: "qemu",
    proves: "four nodes on two boards halt consistently from any node, with a certificate, and resume",
    run,
};

fn run() -> anyhow::Result<()> {
    qemu::ready()?;
    let elf = Firmware::example("token_ring").build(Toolchain::ready(&[CORTEX_M33])?)?;
    let mut cargo = test_command(&["stillpoint"]);
    cargo.args(["--features", "qemu-tests", "--test", "two_boards"]).env("STILLPOINT_TOKEN_RING", elf);
    // Each test starts two machines with two busy cores each: one after the other.
    cargo.args(["--", "--test-threads", "1"]);
    Ok(command::run(&mut cargo)?)
}

//! Real firmware on two emulated boards with two cores each, halted and resumed through probe-rs.
use super::{Tier, together, with_programs};
use crate::command;
use crate::firmware::{Firmware, OTHER_PROFILES};
use crate::footprint::kit_in;
use crate::qemu;
use crate::toolchain::{CORTEX_M33, Toolchain};
use anyhow::{Context as _, ensure};
use std::path::{Path, PathBuf};

pub const TIER: Tier = Tier {
    name: "qemu",
    proves: "four nodes on two boards halt consistently from any node and resume; without the kit nothing of it is left",
    run,
};

/// Its test programs.
pub const PROGRAMS: &[&str] = &["commands", "halts", "looks", "recordings"];

fn run() -> anyhow::Result<()> {
    qemu::ready()?;
    let toolchain = Toolchain::ready(&[CORTEX_M33])?;
    let without = Firmware::examples().without_kit().build_all(toolchain)?;
    let images = Firmware::examples().build_all(toolchain)?;
    for (name, elf) in &without {
        let left = kit_in(elf)?;
        ensure!(left.is_empty(), "{name}, built without the kit, has something of it:\n  {}", left.join("\n  "));
        println!("{name} without the kit: nothing of it is left");
    }
    // The check can fail: it finds the kit where it is.
    let (name, elf) = images.iter().find(|(name, _)| name == "token_ring").context("there is no token_ring")?;
    ensure!(!kit_in(elf)?.is_empty(), "{name} has the kit inside, and the check does not see it");
    Firmware::replay().build(toolchain)?;
    Firmware::sabotaged().build(toolchain)?;
    Firmware::stock_executor().build(toolchain)?;
    let partial = Firmware::example("token_ring").with_only("enabled").build(toolchain)?;
    let mut profiles = None;
    for profile in OTHER_PROFILES {
        let elf = Firmware::example("waits").with_profile(profile).build(toolchain)?;
        profiles = elf.parent().and_then(Path::parent).map(Path::to_owned);
    }
    let folder_of = |images: &[(String, PathBuf)]| {
        images.first().and_then(|(_, elf)| elf.parent().map(Path::to_owned)).context("the agent has no examples")
    };
    let (folder, plain) = (folder_of(&images)?, folder_of(&without)?);
    let mut cargo = together()?;
    with_programs(&mut cargo, PROGRAMS);
    // The tests take each demo by its name from here.
    cargo.env("STILLPOINT_FIRMWARE", folder).env("STILLPOINT_PLAIN_FIRMWARE", plain);
    cargo.env("STILLPOINT_PARTIAL_FIRMWARE", partial);
    cargo.env("STILLPOINT_PROFILES_FIRMWARE", profiles.context("waits was built with other profiles")?);
    // Each test starts two machines with two busy cores each: one after the other.
    cargo.args(["--", "--test-threads", "1"]);
    Ok(command::run(&mut cargo)?)
}

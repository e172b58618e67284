//! Halts of two boards: the demos are built here, the rest is a program of its own.
use super::Section;
use super::section::{Profile, from_program};
use crate::firmware::Firmware;
use crate::qemu;
use crate::toolchain::{CORTEX_M33, Toolchain};
use anyhow::Context as _;

/// Builds the demos that are halted and runs the program that halts them.
pub fn measure(program: &str) -> anyhow::Result<Section> {
    qemu::ready()?;
    let toolchain = Toolchain::ready(&[CORTEX_M33])?;
    Firmware::example("chatter").build(toolchain)?;
    let elf = Firmware::example("token_ring").build(toolchain)?;
    let folder = elf.parent().context("a firmware has a folder")?;
    from_program(program, Profile::Dev, &[("STILLPOINT_FIRMWARE", folder)])
}

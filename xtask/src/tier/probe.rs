//! The debug probe whose target is a QEMU machine.
use super::{Tier, cargo_test};
use crate::qemu;

pub const TIER: Tier = Tier { name: "probe", proves: "the debug probe drives both cores of a QEMU machine", run };

fn run() -> anyhow::Result<()> {
    qemu::ready()?;
    cargo_test(&["qemu-probe"])
}

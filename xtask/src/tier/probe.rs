//! The debug probe whose target is a QEMU machine.
use super::{Tier, cargo_test_with_firmware};

pub const TIER: Tier = Tier {
    name: "probe",
    proves: "the debug probe drives both cores of a QEMU machine",
    run: || cargo_test_with_firmware(&["qemu-probe"]),
};

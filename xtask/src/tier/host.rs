//! The host's library and command, the simulator and the paper tests.
use super::{Tier, cargo_test_with_firmware};

pub const TIER: Tier = Tier {
    name: "host",
    proves: "the host's library and command, the simulator and the claims of the papers",
    run: || cargo_test_with_firmware(&["stillpoint", "stillpoint-tests"]),
};

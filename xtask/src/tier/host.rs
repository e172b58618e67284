//! Everything else that runs on the host: traces, library and command, simulator, paper tests, the agent's chip-free parts.
use super::{Tier, cargo_test_with_firmware};

pub const TIER: Tier = Tier {
    name: "host",
    proves: "traces, library, command, simulator, the claims of the papers, and the agent without a chip",
    run: || {
        cargo_test_with_firmware(&[
            "stillpoint-trace",
            "stillpoint-analysis",
            "stillpoint",
            "stillpoint-tests",
            "stillpoint-agent",
        ])
    },
};

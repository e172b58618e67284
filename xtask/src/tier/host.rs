//! Everything else that runs on the host: traces, library and command, simulator, paper tests, the agent's chip-free parts.
use super::{Tier, together, with_programs};
use crate::command;

pub const TIER: Tier = Tier {
    name: "host",
    proves: "traces, library, command, simulator, the claims of the papers, and the agent without a chip",
    run,
};

/// The test programs that need no board.
pub const PROGRAMS: &[&str] = &[
    "causal_order",
    "documents",
    "fuzz_smoke",
    "link",
    "miller_choi",
    "offline",
    "paradise",
    "predicates",
    "recording",
    "simulation",
    "simultaneous",
    "transcripts",
    "wire",
];

fn run() -> anyhow::Result<()> {
    let mut tests = together()?;
    let tests = command::run(with_programs(tests.args(["--lib", "--bins"]), PROGRAMS));
    let examples = command::run(together()?.arg("--doc"));
    // One failure must not hide the next.
    Ok(tests.and(examples)?)
}

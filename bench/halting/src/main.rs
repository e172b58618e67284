//! In-band, sequential and group halts of two boards side by side: `cargo run --release -p stillpoint-bench-halting`.
//!
//! Starts two emulated boards with two cores each, running a demo, and halts them by three methods in turn, so that noise hits
//! all alike: through the kit, by a probe core after core, and by a probe board after board. No breakpoint is set. Prints one JSON object
//! with tables; progress goes to the error output. The folder of the demos is the first argument or `STILLPOINT_FIRMWARE`.
mod boards;
mod cut;
mod halt;
mod report;
mod spread;
mod tap;

use anyhow::Context as _;
use halt::{Bench, Method};
use report::Measured;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Halts by each method, of each demo, unless the second argument says it.
const HALTS: usize = 100;
const DEMOS: [&str; 2] = ["token_ring", "chatter"];
/// For how long the boards run between two halts, at most, so that halts meet every moment.
const PAUSE: Duration = Duration::from_millis(4);
const RATE_SPAN: Duration = Duration::from_millis(500);

fn main() -> anyhow::Result<()> {
    let folder = std::env::args_os().nth(1).or_else(|| std::env::var_os("STILLPOINT_FIRMWARE"));
    let folder = PathBuf::from(folder.context(
        "say where the demos are: as the argument, or in STILLPOINT_FIRMWARE; or run `cargo xtask bench halting`, which builds them",
    )?);
    let halts = std::env::args().nth(2).map_or(Ok(HALTS), |halts| halts.parse());
    let halts = halts.context("the second argument is the number of halts by each method")?;
    let measured = DEMOS.map(|demo| measure(demo, &folder, halts));
    let measured = measured.into_iter().collect::<anyhow::Result<Vec<_>>>()?;
    println!("{:#}", report::section(&measured));
    Ok(())
}

fn measure(demo: &'static str, folder: &Path, rounds: usize) -> anyhow::Result<Measured> {
    let mut bench = Bench::start(&folder.join(demo))?;
    let names = bench.names();
    bench.run_on(Duration::ZERO)?;
    let (before, began) = (bench.events(), Instant::now());
    bench.run_on(RATE_SPAN)?;
    let events = bench.events().iter().zip(&before).map(|(now, before)| f64::from(now - before)).sum::<f64>();
    let rate = events / began.elapsed().as_secs_f64();
    let mut halts = Vec::new();
    let mut dice = 0x5717_1901_u64;
    for round in 0..rounds {
        for method in Method::ALL {
            // Irregular, and the same in every run.
            dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            bench.run_on(PAUSE.mul_f64((dice >> 40) as f64 / f64::from(1 << 24)))?;
            let halt = bench.halt(method, round % names.len());
            halts.extend(halt.with_context(|| format!("{demo}: halt {round} by {method:?}"))?);
        }
        if round % 25 == 24 {
            eprintln!("{demo}: {} of {rounds} halts by each method", round + 1);
        }
    }
    let incomplete = bench.incomplete;
    Ok(Measured { demo, names, halts, incomplete, rate })
}

//! The verbs of `cargo xtask`. One file each: what it does, its arguments, `run`.

mod bench;
mod demo;
mod lint;
mod rewrite;
mod setup;
mod size;
mod stock;
mod test;
mod tutorial;

pub use demo::transcript_path as demo_transcript;
pub use lint::lint_everything;

/// What to do.
#[derive(clap::Subcommand)]
pub enum Verb {
    /// Install what demo and tests need, and say what was there already.
    Setup(setup::Args),
    /// Start two boards, break where something happens, halt four nodes at one consistent moment, go on.
    Demo(demo::Args),
    /// Run every command of docs/TUTORIAL.md and check that it prints what stands there.
    #[command(after_help = "Example:\n  cargo xtask tutorial --write")]
    Tutorial(rewrite::Args),
    /// Run the tests: all tiers, or the ones named.
    Test(test::Args),
    /// Check format, lints and documentation, warnings denied.
    Lint(lint::Args),
    /// Try stock probe-rs and gdb on an emulated board, every step checked; installs both.
    #[command(after_help = "Example:\n  cargo xtask stock --write")]
    Stock(rewrite::Args),
    /// Print flash and RAM of each demo with the kit and without it, side by side.
    Size(size::Args),
    /// Measure what it costs, in instructions, bytes and halts, beside the goals; writes BENCHMARKS.md.
    Bench(bench::Args),
}

impl Verb {
    /// Does it.
    pub fn run(self) -> anyhow::Result<()> {
        match self {
            Self::Setup(args) => setup::run(&args),
            Self::Demo(args) => demo::run(&args),
            Self::Tutorial(args) => tutorial::run(&args),
            Self::Test(args) => test::run(&args),
            Self::Lint(args) => lint::run(&args),
            Self::Stock(args) => stock::run(&args),
            Self::Size(args) => size::run(&args),
            Self::Bench(args) => bench::run(&args),
        }
    }
}

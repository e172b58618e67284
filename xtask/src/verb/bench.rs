//! `cargo xtask bench` - what it costs, beside the goals; writes BENCHMARKS.md and bench/recorded.json.
//!
//! ```text
//! $ cargo xtask bench target
//!      bench  target
//! ## Target: instructions
//! ...
//! | local record, timestamped                                   |           71 |
//! ...
//!      wrote  BENCHMARKS.md and bench/recorded.json
//! ```
use crate::bench::{Record, Which, compare, section_text};
use crate::say::say;

/// What to measure, and what to do with it.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  cargo xtask bench                 measure everything, print it, write BENCHMARKS.md\n  \
                        cargo xtask bench target bytes    measure these, keep the others as recorded\n  \
                        cargo xtask bench --check         fail if a count grew by more than 5% over the recorded one"
)]
pub struct Args {
    /// The sections to measure; all if none is named.
    #[arg(value_enum)]
    sections: Vec<Which>,
    /// Compare counts with the recorded ones, and write nothing.
    #[arg(long)]
    check: bool,
    /// Measure nothing; write BENCHMARKS.md from bench/recorded.json.
    #[arg(long, conflicts_with_all = ["sections", "check", "json"])]
    from_record: bool,
    /// Print the sections as JSON.
    #[arg(long)]
    json: bool,
}

/// Measures, prints, and writes or compares.
pub fn run(args: &Args) -> anyhow::Result<()> {
    // Before the long part: a record that cannot be read is known at once.
    let mut recorded = Record::load()?;
    if args.from_record {
        return recorded.write();
    }
    let chosen = |which: &Which| args.sections.is_empty() || args.sections.contains(which);
    let mut measured = Record::default();
    for which in Which::ALL.into_iter().filter(chosen) {
        say("bench", which.name());
        measured.sections.insert(which, which.measure()?);
    }
    print(&measured, args.json)?;
    if args.check {
        compare(&measured, &recorded)?;
        say("checked", "no count has grown by more than 5%");
        return Ok(());
    }
    recorded.take_over(measured);
    recorded.write()?;
    say("wrote", "BENCHMARKS.md and bench/recorded.json");
    Ok(())
}

fn print(measured: &Record, json: bool) -> anyhow::Result<()> {
    if json {
        println!("{:#}", serde_json::to_value(measured)?);
        return Ok(());
    }
    let sections = measured.sections.values().map(section_text).collect::<Vec<_>>();
    print!("{}", sections.join("\n"));
    Ok(())
}

//! `cargo xtask bench` - what it costs, in Cortex-M33 instructions, beside the goals; writes BENCHMARKS.md.
//!
//! ```text
//! $ cargo xtask bench
//! timestamped local record                      79   goal   80   met
//! ```
use std::fmt::Write as _;

use anyhow::{Context as _, bail};

use crate::bench::{self, Counts};
use crate::workspace;

/// How to run.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  cargo xtask bench            measure, print, write BENCHMARKS.md\n  \
                        cargo xtask bench --check    fail if a count grew by more than 5% over BENCHMARKS.md")]
pub struct Args {
    /// Compare with BENCHMARKS.md instead of writing it.
    #[arg(long)]
    check: bool,
    /// Print JSON instead of a table.
    #[arg(long)]
    json: bool,
}

/// One line of the table.
struct Row {
    what: &'static str,
    /// What it adds up to, from the counts of the spans.
    figure: fn(&Counts) -> Option<u64>,
    goal: Option<u64>,
    /// What others need for as much or less, and who.
    reference: &'static str,
}

fn usual(counts: &Counts, span: &str) -> Option<u64> {
    counts.get(span).map(|count| count.usual)
}

fn most(counts: &Counts, span: &str) -> Option<u64> {
    counts.get(span).map(|count| count.most)
}

const ROWS: &[Row] = &[
    Row {
        what: "timestamped local record",
        figure: |counts| usual(counts, "local_record"),
        goal: Some(80),
        reference: "SystemView u32 166, modality-probe 215 (no timestamp), defmt 923",
    },
    Row {
        what: "the same, with the sync record that comes every 1024 events",
        figure: |counts| most(counts, "local_record"),
        goal: None,
        reference: "",
    },
    Row {
        what: "event, recording off, nothing armed",
        figure: |counts| most(counts, "recording_off"),
        goal: Some(25),
        reference: "",
    },
    Row {
        what: "send + receive, full vector of 4, core part",
        figure: |counts| Some(most(counts, "send_4")? + most(counts, "receive_4")?),
        goal: Some(250),
        reference: "modality-probe 1500 (one clock only)",
    },
    Row {
        what: "send + receive with their records, 4 nodes",
        figure: |counts| Some(usual(counts, "send_record_4")? + usual(counts, "receive_record_4")?),
        goal: None,
        reference: "",
    },
    Row {
        what: "send + receive, 32 nodes, 2 of them talking",
        figure: |counts| Some(usual(counts, "send_32")? + usual(counts, "receive_32")?),
        goal: None,
        reference: "",
    },
    Row {
        what: "merge of 4 entries",
        figure: |counts| most(counts, "merge_4"),
        goal: Some(27),
        reference: "plain loop 5N+7",
    },
    Row {
        what: "merge of 32 entries",
        figure: |counts| most(counts, "merge_32"),
        goal: Some(167),
        reference: "plain loop 5N+7",
    },
    Row {
        what: "predicate evaluation, one comparison",
        figure: |counts| most(counts, "evaluation"),
        goal: Some(60),
        reference: "",
    },
    Row {
        what: "what one armed comparison adds to an event",
        figure: |counts| most(counts, "one_armed")?.checked_sub(usual(counts, "local_record")?),
        goal: None,
        reference: "",
    },
    Row {
        what: "what four armed comparisons add to an event",
        figure: |counts| most(counts, "four_armed")?.checked_sub(usual(counts, "local_record")?),
        goal: None,
        reference: "",
    },
    Row {
        what: "mailbox round trip between two cores, with the kit, both cores",
        figure: |counts| Some(usual(counts, "round_trips")? / ROUND_TRIPS),
        goal: None,
        reference: "",
    },
    Row {
        what: "the same with the kit compiled out",
        figure: |counts| Some(usual(counts, "plain_round_trips")? / ROUND_TRIPS),
        goal: None,
        reference: "",
    },
    Row {
        what: "mailbox round trip, percent of the one without the kit",
        figure: |counts| Some(usual(counts, "round_trips")? * 100 / usual(counts, "plain_round_trips")?),
        goal: Some(150),
        reference: "",
    },
    Row {
        what: "interrupts masked at an event, longest usual one",
        figure: |counts| usual(counts, "masked"),
        goal: Some(200),
        reference: "",
    },
    Row {
        what: "the same, with the sync record that comes every 1024 events, masked",
        figure: |counts| most(counts, "masked"),
        goal: Some(200),
        reference: "",
    },
    Row { what: "halt marker arrives", figure: |counts| most(counts, "marker"), goal: None, reference: "" },
];

/// Round trips that the demo `round_trip` makes.
const ROUND_TRIPS: u64 = 1000;

/// Growth of a count over the recorded one that `--check` lets pass, in percent.
const TOLERANCE: u64 = 5;

/// Measures, and writes or compares.
pub fn run(args: &Args) -> anyhow::Result<()> {
    let counts = bench::count()?;
    let figures: Vec<(&Row, u64)> = ROWS.iter().filter_map(|row| Some((row, (row.figure)(&counts)?))).collect();
    anyhow::ensure!(figures.len() == ROWS.len(), "the benchmark firmware lacks a span; found {:?}", counts.keys());
    if args.json {
        let rows = figures
            .iter()
            .map(|(row, figure)| serde_json::json!({ "what": row.what, "instructions": figure, "goal": row.goal }));
        println!("{:#}", serde_json::Value::Array(rows.collect()));
    } else {
        print!("{}", table(&figures));
    }
    let path = workspace::root().join("BENCHMARKS.md");
    if args.check {
        let recorded = std::fs::read_to_string(&path).context("there is no BENCHMARKS.md: run `cargo xtask bench`")?;
        return compare(&figures, &recorded);
    }
    std::fs::write(&path, document(&figures)).with_context(|| format!("cannot write {}", path.display()))
}

fn verdict(row: &Row, figure: u64) -> &'static str {
    match row.goal {
        Some(goal) if figure <= goal => "met",
        Some(_) => "missed",
        None => "",
    }
}

fn table(figures: &[(&Row, u64)]) -> String {
    let mut text = String::new();
    for (row, figure) in figures {
        let goal = row.goal.map_or(String::new(), |goal| format!("goal {goal:>4}"));
        let _ = writeln!(text, "{:<62} {figure:>5}   {goal:<9}   {}", row.what, verdict(row, *figure));
    }
    text
}

fn document(figures: &[(&Row, u64)]) -> String {
    let mut text = String::from(
        "# What it costs\n\n\
         Written by `cargo xtask bench`; `cargo xtask bench --check` fails when a count has grown by more than 5%.\n\n\
         Instructions of one Cortex-M33, counted by a QEMU plugin between two labels of the firmware in `bench/firmware`,\n\
         built as demos are (`profile.firmware`), and of both cores of the demo `round_trip`. They do not depend on the machine that runs QEMU: two runs give the same.\n\n\
         | what | instructions | goal | | others |\n|---|---|---|---|---|\n",
    );
    for (row, figure) in figures {
        let goal = row.goal.map_or(String::new(), |goal| format!("<= {goal}"));
        let _ = writeln!(text, "| {} | {figure} | {goal} | {} | {} |", row.what, verdict(row, *figure), row.reference);
    }
    text.push_str("\nThe figures of others are reference constants of the design, not measured by this command.\n");
    text
}

/// Fails for every figure that grew by more than the tolerance.
fn compare(figures: &[(&Row, u64)], recorded: &str) -> anyhow::Result<()> {
    let mut grown = Vec::new();
    for (row, figure) in figures {
        let line = recorded.lines().find_map(|line| line.strip_prefix(&format!("| {} | ", row.what)));
        let before: u64 = line
            .and_then(|rest| rest.split(' ').next()?.parse().ok())
            .with_context(|| format!("BENCHMARKS.md does not have '{}': run `cargo xtask bench`", row.what))?;
        if figure * 100 > before * (100 + TOLERANCE) {
            grown.push(format!("{}: {before} -> {figure}", row.what));
        }
    }
    if grown.is_empty() {
        return Ok(());
    }
    bail!("instruction counts have grown by more than {TOLERANCE}%:\n  {}", grown.join("\n  "))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROW: Row = Row { what: "a thing", figure: |_| None, goal: Some(80), reference: "" };

    #[test]
    fn growth_beyond_the_tolerance_fails_and_is_named() {
        let recorded = document(&[(&ROW, 100)]);
        assert!(compare(&[(&ROW, 105)], &recorded).is_ok());
        let error = compare(&[(&ROW, 106)], &recorded).unwrap_err().to_string();
        assert!(error.contains("a thing: 100 -> 106"), "{error}");
    }

    #[test]
    fn a_figure_that_was_never_recorded_is_an_error() {
        assert!(compare(&[(&ROW, 1)], "# nothing\n").unwrap_err().to_string().contains("cargo xtask bench"));
    }

    #[test]
    fn a_missed_goal_says_so() {
        assert!(document(&[(&ROW, 81)]).contains("| a thing | 81 | <= 80 | missed |"));
        assert!(table(&[(&ROW, 80)]).contains("met"));
    }
}

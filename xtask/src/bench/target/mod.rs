//! Instructions on the Cortex-M33.
mod count;
mod image;
mod masked;
mod rows;

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};

use super::Section;
use super::section::Table;
use crate::firmware::Firmware;
use crate::qemu;
use crate::say::say;
use crate::toolchain::{CORTEX_M33, Toolchain};
use count::{Counts, Plugin, Run};
use masked::Masked;
use rows::{ROUND_TRIPS, ROWS};

const TEXT: &str = "\
Instructions of one Cortex-M33, counted by the QEMU plugin of `bench/plugin` between two labels of the firmware in
`bench/firmware` and `bench/agent`, built as demos are (`profile.firmware`), and of both cores of the demo `round_trip`.";

/// Builds plugin and firmware, runs them, and makes a section of the counts.
pub fn measure() -> anyhow::Result<Section> {
    qemu::ready()?;
    let toolchain = Toolchain::ready(&[CORTEX_M33])?;
    let plugin = Plugin::build()?;
    let mut counts = plugin.run(&Firmware::benchmarks().build(toolchain)?, &[])?.counts;
    ensure!(counts["empty"].most == 0, "the labels of a span cost {} instructions themselves", counts["empty"].most);
    let demo = Firmware::example("round_trip");
    let without_kit = plugin.run(&demo.without_kit().build(toolchain)?, &[])?;
    let with_kit = plugin.run(&demo.build(toolchain)?, &[])?;
    counts.insert("plain_round_trips".into(), without_kit.counts["round_trips"]);
    counts.insert("round_trips".into(), with_kit.counts["round_trips"]);
    let mut masked = Vec::new();
    for nodes in [4, 32] {
        let elf = Firmware::agent_benchmarks(nodes).build(toolchain)?;
        for armed in [0, 1, 4] {
            say("count", format_args!("{nodes} nodes, {armed} armed"));
            let run = plugin.run(&elf, &[&format!("armed={armed}")])?;
            masked.push(Masked::of(nodes, armed, &run).context("interrupts were never masked")?);
            // With something armed, the bell has rung for that before.
            if (nodes, armed) == (4, 0) {
                counts.extend(["halt", "ring", "bell", "tracepoint"].map(|name| (name.to_owned(), run.counts[name])));
            }
        }
    }
    section(&counts, &masked, &dearest(&with_kit))
}

fn section(counts: &Counts, masked: &[Masked], dearest: &[(String, u64)]) -> anyhow::Result<Section> {
    let figures: Vec<(&str, u64)> = ROWS.iter().filter_map(|row| Some((row.what, (row.figure)(counts)?))).collect();
    ensure!(figures.len() == ROWS.len(), "the benchmark firmware lacks a span; found {:?}", counts.keys());
    let rows = figures.iter().map(|(what, figure)| vec![json!(what), json!(figure)]).collect();
    let counts = figures.iter().map(|(what, figure)| ((*what).to_owned(), *figure));
    let counts = counts.chain(masked.iter().map(|it| (it.name(), it.most)));
    let functions = dearest.iter().map(|(name, count)| vec![json!(format!("`{name}`")), json!(count)]).collect();
    Ok(Section {
        title: "Target: instructions".into(),
        text: TEXT.into(),
        tables: vec![
            table("", &["what", "instructions"], rows),
            masked::table(masked),
            table(
                "The dearest functions of a round trip with the kit, both cores, what they call not included:",
                &["function", "instructions"],
                functions,
            ),
        ],
        counts: counts.map(|(name, count)| (name, count.into())).collect(),
        ..Section::default()
    })
}

fn table(caption: &str, columns: &[&str], rows: Vec<Vec<Value>>) -> Table {
    Table { caption: caption.into(), columns: columns.iter().map(|&name| name.to_owned()).collect(), rows }
}

/// The ten functions that take most of a round trip.
fn dearest(run: &Run) -> Vec<(String, u64)> {
    run.functions().into_iter().take(10).map(|(name, count)| (name, count / ROUND_TRIPS)).collect()
}

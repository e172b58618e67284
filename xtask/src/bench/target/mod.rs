//! Instructions on the Cortex-M33.
mod count;
mod rows;

use anyhow::ensure;
use serde_json::{Value, json};

use super::Section;
use super::section::Table;
use count::Counts;
use rows::ROWS;

const TEXT: &str = "\
Instructions of one Cortex-M33, counted by the QEMU plugin of `bench/plugin` between two labels of the firmware in
`bench/firmware`, built as demos are (`profile.firmware`), and of both cores of the demo `round_trip`.";

/// Builds plugin and firmware, runs them, and makes a section of the counts.
pub fn measure() -> anyhow::Result<Section> {
    section(&count::count()?)
}

fn section(counts: &Counts) -> anyhow::Result<Section> {
    let figures: Vec<(&str, u64)> = ROWS.iter().filter_map(|row| Some((row.what, (row.figure)(counts)?))).collect();
    ensure!(figures.len() == ROWS.len(), "the benchmark firmware lacks a span; found {:?}", counts.keys());
    let rows: Vec<Vec<Value>> = figures.iter().map(|(what, figure)| vec![json!(what), json!(figure)]).collect();
    let table = Table { caption: String::new(), columns: vec!["what".into(), "instructions".into()], rows };
    Ok(Section {
        title: "Target: instructions".into(),
        text: TEXT.into(),
        tables: vec![table],
        counts: figures.iter().map(|(what, figure)| ((*what).to_owned(), (*figure).into())).collect(),
        ..Section::default()
    })
}

//! For how long interrupts are masked.
use serde_json::json;

use super::count::{Count, Run};
use crate::bench::section::Table;

/// The longest sections of one run.
pub struct Masked {
    nodes: u32,
    armed: u32,
    /// The longest of all.
    pub most: u64,
    /// The function that masked for that long.
    by: String,
    /// The longest at the place where even the shortest is longest: what is usual.
    usual: u64,
}

impl Masked {
    /// What a run with so many nodes and armed predicates showed.
    pub fn of(nodes: u32, armed: u32, run: &Run) -> Option<Self> {
        let (place, most) = run.longest_masked(|count: &Count| count.most)?;
        let (_, usual) = run.longest_masked(|count: &Count| count.usual)?;
        let by = run.image.function(place).unwrap_or_else(|| format!("{place:#x}"));
        Some(Self { nodes, armed, most, by, usual })
    }

    /// Its name in the record.
    pub fn name(&self) -> String {
        format!("interrupts masked, {} nodes, {} armed", self.nodes, self.armed)
    }
}

/// The table of all runs.
pub fn table(all: &[Masked]) -> Table {
    let rows = all.iter().map(|it| {
        let Masked { nodes, armed, most, by, usual } = it;
        vec![json!(nodes), json!(armed), json!(most), json!(format!("`{by}`")), json!(usual)]
    });
    super::table(
        "Interrupts masked: the longest of some 7000 sections of two cores that send, receive, set a watch and trace; \
         first messages (full stamps) and sync records (every 1024 events) included:",
        &["nodes", "predicates armed", "longest", "masked by", "longest usual"],
        rows.collect(),
    )
}

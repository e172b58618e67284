//! One section of measurements, as a benchmark program prints it.
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Stdio;

use anyhow::Context as _;
use serde::{Deserialize, Serialize};
use serde_json::{Number, Value};

use crate::command;
use crate::toolchain::cargo;

/// A section: its words, tables and pictures, and the counts that do not depend on the machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Section {
    /// Its heading.
    pub title: String,
    /// Markdown before the tables.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// Its tables.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tables: Vec<Table>,
    /// Instructions and bytes, by name: the same on every machine, so `--check` compares them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub counts: BTreeMap<String, Number>,
    /// Numbers that goals are judged by and that do depend on the machine; nobody compares them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub figures: BTreeMap<String, Number>,
    /// Pictures, after the tables.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pictures: Vec<Picture>,
    /// Markdown at the end.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub after: String,
}

/// A table. Cells are text or numbers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Table {
    /// A line before it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub caption: String,
    /// The names of the columns.
    pub columns: Vec<String>,
    /// The rows, a cell for each column.
    pub rows: Vec<Vec<Value>>,
}

/// A picture in a file of the repository.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Picture {
    /// From the root of the repository.
    pub file: String,
    /// What it shows.
    pub alt: String,
}

impl Section {
    /// A count or figure by name.
    pub fn number(&self, name: &str) -> Option<f64> {
        self.counts.get(name).or_else(|| self.figures.get(name))?.as_f64()
    }
}

/// How a benchmark program is built.
#[derive(Clone, Copy)]
pub enum Profile {
    /// What it counts is its own code.
    Release,
    /// What it measures is done by boards; the tests have built what it needs.
    Dev,
}

impl Profile {
    fn name(self) -> &'static str {
        match self {
            Self::Release => "release",
            Self::Dev => "dev",
        }
    }
}

/// Runs a benchmark program of the workspace with these variables set and reads the section that it prints.
pub fn from_program(package: &str, profile: Profile, variables: &[(&str, &Path)]) -> anyhow::Result<Section> {
    let mut run = cargo();
    run.args(["run", "--quiet", "--profile", profile.name(), "--package", package]).stderr(Stdio::inherit());
    run.envs(variables.iter().copied());
    parse(&command::output(&mut run)?).with_context(|| format!("{package} printed no section"))
}

/// Reads a section, and refuses a table whose rows do not fit its columns.
fn parse(text: &str) -> anyhow::Result<Section> {
    let section: Section = serde_json::from_str(text)?;
    for table in &section.tables {
        if let Some(row) = table.rows.iter().find(|row| row.len() != table.columns.len()) {
            anyhow::bail!("a row of {} cells in a table of {} columns: {row:?}", row.len(), table.columns.len());
        }
    }
    Ok(section)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_is_read_as_programs_print_it() {
        let text = r#"{"title": "Halting", "text": "Two boards.", "counts": {"hops": 3},
            "tables": [{"caption": "200 halts", "columns": ["way", "events"], "rows": [["in-band", 1.5]]}],
            "pictures": [{"file": "docs/bench/scaling.svg", "alt": "cost"}], "after": "That was all."}"#;
        let section = parse(text).unwrap();
        assert_eq!((section.number("hops"), section.number("none")), (Some(3.0), None));
        assert_eq!(section.tables[0].rows[0][1], 1.5);
    }

    #[test]
    fn what_is_no_section_is_refused() {
        for text in ["", "progress 3 of 7", r#"{"tables": []}"#, r#"{"title": "x", "count": {}}"#] {
            assert!(parse(text).is_err(), "{text}");
        }
        let ragged = r#"{"title": "x", "tables": [{"columns": ["a", "b"], "rows": [["1"]]}]}"#;
        assert!(parse(ragged).unwrap_err().to_string().contains("1 cells in a table of 2"));
    }
}

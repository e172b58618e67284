//! All sections as they were last recorded: `bench/recorded.json`.
use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::Context as _;
use serde::{Deserialize, Serialize};

use super::{Section, Which};
use crate::workspace;

/// Sections by their place in the document.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Record {
    /// Those that were ever measured.
    pub sections: BTreeMap<Which, Section>,
}

impl Record {
    /// What the repository has; nothing if it has no record yet.
    pub fn load() -> anyhow::Result<Self> {
        let path = path();
        match std::fs::read_to_string(&path) {
            Ok(text) => serde_json::from_str(&text)
                .with_context(|| format!("{} is no record; take the last one from git", path.display())),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(error).with_context(|| format!("cannot read {}", path.display())),
        }
    }

    /// Takes the sections of `newer` over and keeps the others.
    pub fn take_over(&mut self, newer: Self) {
        self.sections.extend(newer.sections);
    }

    /// Writes it, and BENCHMARKS.md with it.
    pub fn write(&self) -> anyhow::Result<()> {
        let json = serde_json::to_string_pretty(self)? + "\n";
        for (path, text) in [(path(), json), (document_path(), super::document(self))] {
            std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
        }
        Ok(())
    }
}

fn path() -> PathBuf {
    workspace::root().join("bench/recorded.json")
}

fn document_path() -> PathBuf {
    workspace::root().join("BENCHMARKS.md")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn section(title: &str) -> Section {
        Section { title: title.into(), ..Section::default() }
    }

    #[test]
    fn benchmarks_md_is_what_the_record_says_and_nothing_else() {
        let written = std::fs::read_to_string(document_path()).unwrap();
        let told = super::super::document(&Record::load().unwrap());
        let differing = written.lines().zip(told.lines()).find(|(written, told)| written != told);
        assert!(written == told, "BENCHMARKS.md was edited; run `cargo xtask bench`. First line: {differing:?}");
    }

    #[test]
    fn a_run_of_some_sections_keeps_the_others() {
        let mut record = Record { sections: [(Which::Host, section("old")), (Which::Bytes, section("kept"))].into() };
        record.take_over(Record { sections: [(Which::Host, section("new"))].into() });
        let titles: Vec<&str> = record.sections.values().map(|section| section.title.as_str()).collect();
        assert_eq!(titles, ["new", "kept"]);
    }

    #[test]
    fn a_record_survives_the_file() {
        let mut host = section("Host");
        host.counts.insert("merge".into(), serde_json::Number::from_f64(2.5).unwrap());
        let record = Record { sections: [(Which::Host, host)].into() };
        let text = serde_json::to_string(&record).unwrap();
        assert_eq!(serde_json::from_str::<Record>(&text).unwrap(), record);
        assert!(text.starts_with(r#"{"host":{"#), "{text}");
    }
}

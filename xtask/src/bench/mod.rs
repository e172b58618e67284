//! What it costs: sections of measurements, what was recorded of them, and the goals they are held to.
//!
//! [`target`] counts instructions on the Cortex-M33 here; every other section is a program of its own that prints one
//! JSON object, a [`Section`]. [`Record`] is all of them as `bench/recorded.json` keeps them, and BENCHMARKS.md is
//! nothing but [`document()`] of that record.
mod bytes;
mod check;
mod document;
mod goals;
mod halting;
mod record;
mod section;
mod target;

pub use check::compare;
pub use document::{document, section_text};
pub use record::Record;
pub use section::Section;

use anyhow::Context as _;

/// The sections, in the order of the document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Which {
    /// Instructions on the Cortex-M33.
    Target,
    /// Instructions on the host.
    Host,
    /// Bytes of records, stamps, flash and RAM.
    Bytes,
    /// Halts of two boards, by every way of halting.
    Halting,
    /// Cost as nodes and messages grow.
    Scaling,
}

impl Which {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Target, Self::Host, Self::Bytes, Self::Halting, Self::Scaling];

    /// What to type.
    pub fn name(self) -> &'static str {
        match self {
            Self::Target => "target",
            Self::Host => "host",
            Self::Bytes => "bytes",
            Self::Halting => "halting",
            Self::Scaling => "scaling",
        }
    }

    /// Measures it anew.
    pub fn measure(self) -> anyhow::Result<Section> {
        let program = format!("stillpoint-bench-{}", self.name());
        let measured = match self {
            Self::Target => target::measure(),
            Self::Bytes => bytes::measure(&program),
            Self::Halting => halting::measure(&program),
            Self::Host | Self::Scaling => section::from_program(&program, section::Profile::Release, &[]),
        };
        measured.with_context(|| format!("the section `{}` was not measured", self.name()))
    }
}

//! The system file as it is written, before anything is checked.
use serde::Deserialize;
use std::path::PathBuf;
use toml::Spanned;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawFile {
    #[serde(default)]
    pub record: Option<Spanned<String>>,
    #[serde(default)]
    pub board: Vec<RawBoard>,
    #[serde(default)]
    pub node: Vec<RawNode>,
    #[serde(default)]
    pub link: Vec<RawLink>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawNode {
    pub name: Spanned<String>,
    pub record: Spanned<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawBoard {
    pub name: Spanned<String>,
    pub chip: Spanned<String>,
    #[serde(default)]
    pub chip_description: Option<Spanned<PathBuf>>,
    pub probe: Spanned<String>,
    pub firmware: Spanned<PathBuf>,
    #[serde(default)]
    pub arguments: Option<Spanned<Vec<String>>>,
    #[serde(default)]
    pub nodes: Vec<Spanned<String>>,
    #[serde(default)]
    pub record: Option<Spanned<String>>,
    #[serde(default)]
    pub speed_khz: Option<Spanned<u32>>,
    #[serde(default)]
    pub under_reset: Option<Spanned<bool>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawLink {
    pub between: Spanned<Vec<Spanned<String>>>,
}

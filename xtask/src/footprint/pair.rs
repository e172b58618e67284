//! A demo with the kit and without it.
use std::path::PathBuf;

use super::{Footprint, Purpose, kit_in};
use crate::firmware::Firmware;
use crate::toolchain::Toolchain;

/// The demos that are built both ways.
const DEMOS: [&str; 3] = ["token_ring", "pipeline", "rpc_timeouts"];
/// Nodes of a board: one for each core.
const NODES: u64 = 2;

/// What the RAM is for, and its name in the table.
pub const PURPOSES: [(&str, Purpose); 7] = [
    ("agents", Purpose::Agents),
    ("control blocks", Purpose::ControlBlocks),
    ("log rings", Purpose::LogRings),
    ("message buffers", Purpose::Channels),
    ("link windows", Purpose::Links),
    ("text log", Purpose::Text),
    ("stacks", Purpose::Stacks),
];

/// What is reported apart: how large they are is the program's choice.
const APART: [Purpose; 3] = [Purpose::LogRings, Purpose::Channels, Purpose::Links];

/// The least of the kit, and the features of which each adds something to that.
const LEAST_FEATURES: &str = "enabled";
const FEATURES: [(&str, &str); 2] = [("predicates", "enabled,predicates"), ("calls", "enabled,calls")];

/// The name of the part that is always there.
pub const LEAST: &str = "least";

/// What a part of the kit adds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// The least that there is, or a feature on top of that.
    pub name: String,
    /// Bytes of flash.
    pub flash: u64,
    /// Bytes of RAM for each node; logs, message buffers and link windows apart.
    pub ram_per_node: u64,
}

/// A demo, both ways.
pub struct Pair {
    /// Its name.
    pub name: String,
    /// The one with the kit.
    pub elf: PathBuf,
    /// What it occupies with the kit.
    pub with: Footprint,
    /// What it occupies without.
    pub without: Footprint,
    /// What of the kit is in the one without.
    pub left_over: Vec<String>,
    /// What the parts of the kit add, the least first.
    pub parts: Vec<Part>,
}

impl Pair {
    /// Builds every demo both ways and takes it apart.
    pub fn of_every_demo(toolchain: Toolchain) -> anyhow::Result<Vec<Self>> {
        let plain: Vec<PathBuf> = DEMOS
            .iter()
            .map(|name| Firmware::example(name).without_kit().build(toolchain))
            .collect::<Result<_, _>>()?;
        let pair = |(name, plain): (&&'static str, PathBuf)| {
            let elf = Firmware::example(name).build(toolchain)?;
            let (with, without) = (Footprint::of(&elf)?, Footprint::of(&plain)?);
            let parts = parts(name, &without, toolchain)?;
            Ok(Self { name: (*name).to_owned(), elf, with, without, left_over: kit_in(&plain)?, parts })
        };
        DEMOS.iter().zip(plain).map(pair).collect()
    }

    /// Bytes of flash that the kit adds.
    pub fn kit_flash(&self) -> u64 {
        self.with.flash.saturating_sub(self.without.flash)
    }

    /// Bytes of RAM that the kit adds for each node; logs, message buffers and link windows apart.
    pub fn kit_ram_per_node(&self) -> u64 {
        ram_per_node(&self.with, &self.without)
    }
}

fn ram_per_node(with: &Footprint, without: &Footprint) -> u64 {
    let rest = |of: &Footprint| of.ram.saturating_sub(APART.iter().map(|purpose| of.serving(*purpose)).sum());
    rest(with).saturating_sub(rest(without)).div_ceil(NODES)
}

/// Builds a demo with the least of the kit, and with each feature on top of that.
fn parts(demo: &'static str, without: &Footprint, toolchain: Toolchain) -> anyhow::Result<Vec<Part>> {
    let build = |features| Footprint::of(&Firmware::example(demo).with_only(features).build(toolchain)?);
    let part = |name: &str, with: &Footprint, without: &Footprint| Part {
        name: name.to_owned(),
        flash: with.flash.saturating_sub(without.flash),
        ram_per_node: ram_per_node(with, without),
    };
    let least = build(LEAST_FEATURES)?;
    let mut parts = vec![part(LEAST, &least, without)];
    for (name, features) in FEATURES {
        parts.push(part(name, &build(features)?, &least));
    }
    Ok(parts)
}

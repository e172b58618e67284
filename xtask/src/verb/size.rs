//! `cargo xtask size` - flash and RAM of each demo, per section.
//!
//! ```text
//! $ cargo xtask size
//! relay                flash      ram   shared
//!   .text              15432        -        -
//!   .bss                   -     2208        -
//!   total              15432     2208        -
//! ```
use std::fmt::Write as _;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::elf::{self, Memory, Section};
use crate::firmware::Firmware;
use crate::toolchain::{CORTEX_M33, Toolchain};

const MEMORIES: [(&str, Memory); 3] = [("flash", Memory::Flash), ("ram", Memory::Ram), ("shared", Memory::Shared)];

/// How to print it.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  cargo xtask size\n  cargo xtask size --json | jq '.[] | {name, flash}'")]
pub struct Args {
    /// Print JSON instead of a table.
    #[arg(long)]
    json: bool,
}

/// A demo and what it occupies.
struct Image {
    name: String,
    elf: PathBuf,
    sections: Vec<Section>,
}

/// Builds every demo and measures it.
pub fn run(args: &Args) -> anyhow::Result<()> {
    let toolchain = Toolchain::ready(&[CORTEX_M33])?;
    let mut images = Vec::new();
    for (name, elf) in Firmware::examples().build_all(toolchain)? {
        let sections = elf::sections(&elf)?;
        images.push(Image { name, elf, sections });
    }
    if args.json {
        println!("{:#}", Value::Array(images.iter().map(as_json).collect()));
    } else {
        print!("{}", images.iter().map(as_table).collect::<Vec<_>>().join("\n"));
    }
    Ok(())
}

fn total(image: &Image, memory: Memory) -> u64 {
    image.sections.iter().map(|section| section.occupies(memory)).sum()
}

fn as_table(image: &Image) -> String {
    let mut text = format!("{:<18}", image.name);
    for (title, _) in MEMORIES {
        let _ = write!(text, " {title:>8}");
    }
    text.push('\n');
    let mut row = |name: &str, bytes: &dyn Fn(Memory) -> u64| {
        let _ = write!(text, "  {name:<16}");
        for (_, memory) in MEMORIES {
            let bytes = bytes(memory);
            let _ = if bytes == 0 { write!(text, " {:>8}", "-") } else { write!(text, " {bytes:>8}") };
        }
        text.push('\n');
    };
    for section in &image.sections {
        row(&section.name, &|memory| section.occupies(memory));
    }
    row("total", &|memory| total(image, memory));
    text
}

fn as_json(image: &Image) -> Value {
    let mut value = json!({ "name": image.name, "elf": image.elf, "sections": [] });
    for (title, memory) in MEMORIES {
        value[title] = total(image, memory).into();
    }
    value["sections"] = image
        .sections
        .iter()
        .map(|section| {
            let mut row = json!({ "name": section.name });
            for (title, memory) in MEMORIES {
                row[title] = section.occupies(memory).into();
            }
            row
        })
        .collect();
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image() -> Image {
        let section = |name: &str, memory, size, initial| Section { name: name.into(), memory, size, initial };
        let sections = vec![section(".text", Memory::Flash, 1000, 0), section(".data", Memory::Ram, 8, 8)];
        Image { name: "relay".into(), elf: "relay".into(), sections }
    }

    #[test]
    fn the_table_adds_up_per_memory() {
        let table = as_table(&image());
        assert!(table.contains("  total                1008        8        -"), "{table}");
    }

    #[test]
    fn the_json_says_the_same_as_the_table() {
        let value = as_json(&image());
        assert_eq!((&value["flash"], &value["ram"]), (&json!(1008), &json!(8)));
        assert_eq!(value["sections"][1], json!({ "name": ".data", "flash": 8, "ram": 8, "shared": 0 }));
    }
}

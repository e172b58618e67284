//! `cargo xtask size` - flash and RAM of each demo with the kit and without it, side by side, and what the kit's are for.
//!
//! ```text
//! $ cargo xtask size
//! token_ring                                    with  without      kit
//!   flash                                      39000    31000     8000
//!     code                                     34000    27000     7000
//!     ...
//!   RAM                                       240000   109000   131000
//!     agents                                    1000        -     1000
//!     ...
//!   flash of the kit                            8000 of  8192: met
//!   RAM of the kit per node, logs, messages, links apart  900 of  1024: met
//!   the least kit, without features             5000 of flash, 700 of RAM per node
//!   feature predicates adds                     2000 of flash, 100 of RAM per node
//!   nothing of the kit is in the one without it
//! ```
use std::collections::BTreeSet;
use std::fmt::Write as _;

use anyhow::ensure;
use serde_json::{Value, json};

use crate::footprint::{Footprint, LEAST, Origin, PURPOSES, Pair, Part};
use crate::toolchain::{CORTEX_M33, Toolchain};

/// What the kit may occupy; logs, message buffers and link windows are reported apart.
const FLASH_GOAL: u64 = 8 * 1024;
const RAM_GOAL: u64 = 1024;

/// How to print it.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  cargo xtask size --verbose\n  cargo xtask size --json | jq '.[] | {name, kit}'")]
pub struct Args {
    /// Print JSON instead of a table.
    #[arg(long)]
    json: bool,
    /// Print the code by the file it was written in, too. What a file inlines of the language counts for that file.
    #[arg(long, short)]
    verbose: bool,
    /// Fail if a goal is missed, or if anything of the kit is in a demo without it.
    #[arg(long)]
    check: bool,
}

/// Builds every demo both ways and measures it.
pub fn run(args: &Args) -> anyhow::Result<()> {
    let pairs = Pair::of_every_demo(Toolchain::ready(&[CORTEX_M33])?)?;
    if args.json {
        println!("{:#}", Value::Array(pairs.iter().map(as_json).collect()));
    } else {
        print!("{}", pairs.iter().map(|pair| as_table(pair, args.verbose)).collect::<Vec<_>>().join("\n"));
    }
    let missed: Vec<&str> = pairs.iter().filter(|pair| !is_good(pair)).map(|pair| pair.name.as_str()).collect();
    ensure!(!args.check || missed.is_empty(), "{} not as small as it should be", missed.join(", "));
    Ok(())
}

fn is_good(pair: &Pair) -> bool {
    pair.left_over.is_empty() && pair.kit_flash() <= FLASH_GOAL && pair.kit_ram_per_node() <= RAM_GOAL
}

/// Bytes of code of the link between boards, which is the program's own.
fn link(of: &Footprint) -> u64 {
    let is_link = |file: &str| file.starts_with("core/src/link/") || file.starts_with("target-agent/src/serial");
    let ours = of.code.bytes.iter().filter(|(origin, _)| matches!(origin, Origin::Here(file) if is_link(file)));
    ours.map(|(_, bytes)| bytes).sum()
}

fn code(of: &Footprint) -> u64 {
    of.code.bytes.values().sum()
}

/// Texts, tables, vectors.
fn constants(of: &Footprint) -> u64 {
    of.flash.saturating_sub(code(of)).saturating_sub(of.initial)
}

/// Bytes of RAM that are for nothing else.
fn rest(of: &Footprint) -> u64 {
    of.ram.saturating_sub(PURPOSES.iter().map(|(_, purpose)| of.serving(*purpose)).sum())
}

fn as_table(pair: &Pair, verbose: bool) -> String {
    let mut text = format!("{:<54} {:>8} {:>8} {:>8}\n", pair.name, "with", "without", "kit");
    let mut row = |name: &str, with: u64, without: u64| {
        let cell = |bytes: i64| if bytes == 0 { "-".to_owned() } else { bytes.to_string() };
        let [with, without] = [with, without].map(|bytes| i64::try_from(bytes).unwrap_or(i64::MAX));
        let (a, b, c) = (cell(with), cell(without), cell(with - without));
        let _ = writeln!(text, "  {name:<52} {a:>8} {b:>8} {c:>8}");
    };
    let (with, without) = (&pair.with, &pair.without);
    row("flash", with.flash, without.flash);
    row("  code", code(with), code(without));
    row("  constants", constants(with), constants(without));
    row("  initial values of RAM", with.initial, without.initial);
    row("  (link between boards, in both)", link(with), link(without));
    if verbose {
        let origins: BTreeSet<&Origin> = with.code.bytes.keys().chain(without.code.bytes.keys()).collect();
        let bytes = |of: &Footprint, origin| of.code.bytes.get(origin).copied().unwrap_or(0);
        let mut rows: Vec<_> = origins.into_iter().map(|it| (bytes(with, it), bytes(without, it), it)).collect();
        rows.sort_by(|a, b| b.0.saturating_sub(b.1).cmp(&a.0.saturating_sub(a.1)).then(b.0.cmp(&a.0)));
        for (with, without, origin) in rows {
            row(&format!("  {origin}"), with, without);
        }
    }
    row("RAM", with.ram, without.ram);
    for (name, purpose) in PURPOSES {
        row(&format!("  {name}"), with.serving(purpose), without.serving(purpose));
    }
    row("  tasks, drivers", rest(with), rest(without));
    for (name, bytes, goal) in [
        ("flash of the kit", pair.kit_flash(), FLASH_GOAL),
        ("RAM of the kit per node, logs, messages, links apart", pair.kit_ram_per_node(), RAM_GOAL),
    ] {
        let verdict = if bytes <= goal { "met" } else { "over" };
        let _ = writeln!(text, "  {name:<52} {bytes:>8} of {goal:>5}: {verdict}");
    }
    for Part { name, flash, ram_per_node } in &pair.parts {
        let name =
            if name == LEAST { "the least kit, without features".into() } else { format!("feature {name} adds") };
        let _ = writeln!(text, "  {name:<52} {flash:>8} of flash, {ram_per_node} of RAM per node");
    }
    match pair.left_over.as_slice() {
        [] => text.push_str("  nothing of the kit is in the one without it\n"),
        left => left.iter().for_each(|line| _ = writeln!(text, "  WITHOUT THE KIT, YET: {line}")),
    }
    text
}

fn as_json(pair: &Pair) -> Value {
    let one = |of: &Footprint| {
        let ram: Value = PURPOSES.iter().map(|(name, purpose)| (*name, of.serving(*purpose))).collect();
        let code: Value = of.code.bytes.iter().map(|(origin, bytes)| (origin.to_string(), *bytes)).collect();
        json!({ "flash": of.flash, "initial": of.initial, "ram": of.ram, "link": link(of), "ram_by_purpose": ram, "code_by_file": code })
    };
    json!({
        "name": pair.name,
        "elf": pair.elf,
        "with": one(&pair.with),
        "without": one(&pair.without),
        "kit": { "flash": pair.kit_flash(), "ram_per_node": pair.kit_ram_per_node() },
        "parts": pair.parts.iter().map(|part| json!({ "name": part.name, "flash": part.flash, "ram_per_node": part.ram_per_node })).collect::<Vec<_>>(),
        "left_over": pair.left_over,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::footprint::{Code, Purpose, Static};

    fn footprint(flash: u64, ram: u64, statics: &[(Purpose, u64)]) -> Footprint {
        let statics = statics.iter().map(|&(purpose, size)| Static { name: "X".into(), size, purpose }).collect();
        let code = Code { bytes: [(Origin::Here("core/src/link/crc.rs".into()), 60)].into(), touched: [].into() };
        Footprint { flash, initial: 0, ram, code, statics }
    }

    fn pair() -> Pair {
        let with =
            footprint(9000, 70_100, &[(Purpose::LogRings, 65_536), (Purpose::Agents, 2000), (Purpose::Channels, 500)]);
        let without = footprint(1000, 2064, &[(Purpose::Channels, 300)]);
        Pair {
            name: "token_ring".into(),
            elf: "token_ring".into(),
            with,
            without,
            left_over: vec![],
            parts: vec![Part { name: LEAST.into(), flash: 5000, ram_per_node: 900 }],
        }
    }

    #[test]
    fn the_kit_is_the_difference_and_buffers_are_reported_apart() {
        let pair = pair();
        assert_eq!((pair.kit_flash(), pair.kit_ram_per_node()), (8000, 1150));
        let table = as_table(&pair, false);
        assert!(
            table.contains("  flash                                                    9000     1000     8000\n"),
            "{table}"
        );
        assert!(
            table.contains("    (link between boards, in both)                           60       60        -\n"),
            "{table}"
        );
        assert!(table.contains("5000 of flash, 900 of RAM per node"), "{table}");
        assert!(table.contains("8000 of  8192: met") && table.contains("1150 of  1024: over"), "{table}");
    }

    #[test]
    fn what_is_left_over_is_named_and_is_not_good() {
        let small = footprint(2000, 2064, &[]);
        let mut pair = Pair { with: small, ..pair() };
        assert!(is_good(&pair));
        pair.left_over = vec!["symbol stillpoint_park".into()];
        assert!(!is_good(&pair) && as_table(&pair, false).contains("stillpoint_park"));
    }

    #[test]
    fn the_json_says_the_same_as_the_table() {
        let value = as_json(&pair());
        assert_eq!(value["kit"], json!({ "flash": 8000, "ram_per_node": 1150 }));
        assert_eq!(value["with"]["ram_by_purpose"]["log rings"], 65_536);
    }
}

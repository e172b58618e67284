//! Runs firmware under QEMU with the counting plugin: the firmware of `bench/firmware` under QEMU with the plugin of `bench/plugin`.
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, bail, ensure};
use object::{Object as _, ObjectSymbol as _};
use qemu_probe::{Exit, Machine, MachineKind};

use crate::firmware::Firmware;
use crate::qemu;
use crate::toolchain::{CORTEX_M33, Toolchain, cargo};

/// Instructions from the begin of a span to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Count {
    /// The least of all runs: what it usually takes.
    pub usual: u64,
    /// The most of all runs.
    pub most: u64,
}

/// The counts of every span, by name.
pub type Counts = BTreeMap<String, Count>;

const LIMIT: Duration = Duration::from_secs(120);

/// Builds plugin and firmware, runs them, and returns the counts.
pub fn count() -> anyhow::Result<Counts> {
    qemu::ready()?;
    let toolchain = Toolchain::ready(&[CORTEX_M33])?;
    let plugin = build_plugin()?;
    let mut counts = counts_of(&Firmware::benchmarks().build(toolchain)?, &plugin)?;
    let demo = Firmware::example("round_trip");
    let without_kit = counts_of(&demo.without_kit().build(toolchain)?, &plugin)?;
    let with_kit = counts_of(&demo.build(toolchain)?, &plugin)?;
    let masked = longest_masked(&with_kit).context("the demo round_trip never masked interrupts")?;
    counts.insert("masked".into(), masked);
    counts.insert("plain_round_trips".into(), without_kit["round_trips"]);
    counts.insert("round_trips".into(), with_kit["round_trips"]);
    Ok(counts)
}

/// For how many instructions interrupts were masked at most, at the place where that was longest.
fn longest_masked(counts: &Counts) -> Option<Count> {
    let places = counts.iter().filter(|(name, _)| name.starts_with("masked:"));
    places.map(|(_, count)| *count).max_by_key(|count| (count.usual, count.most))
}

fn counts_of(elf: &Path, plugin: &Path) -> anyhow::Result<Counts> {
    let out = elf.with_extension("counts");
    let mut arguments = vec![format!("out={}", out.display())];
    for (kind, name, begin, end) in spans(elf)? {
        arguments.push(format!("{kind}={name}:{begin:x}:{end:x}"));
    }
    // Virtual time that counts instructions: what a timestamp says is then the same in every run, too.
    let builder = Machine::builder(MachineKind::Mps2An521).elf(elf).semihosting(["bench"]).gdb(false).icount(0);
    let mut machine = builder.plugin(plugin.to_owned(), arguments).start()?;
    match machine.wait(LIMIT)? {
        Exit::Code(0) => {}
        other => bail!("the benchmark firmware ended with {other:?}; it last said: {}", machine.console()),
    }
    let text = std::fs::read_to_string(&out).with_context(|| format!("the plugin did not write {}", out.display()))?;
    parse(&text)
}

fn build_plugin() -> anyhow::Result<PathBuf> {
    let mut build = cargo();
    build.args(["build", "--package", "stillpoint-count", "--message-format", "json-render-diagnostics"]);
    build.stderr(std::process::Stdio::inherit());
    let messages = crate::command::output(&mut build)?;
    let messages = messages.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    let library = messages.filter(|message| message["target"]["name"] == "stillpoint_count").find_map(|message| {
        let files = message["filenames"].as_array()?.iter().filter_map(|file| file.as_str());
        files.map(PathBuf::from).find(|file| file.extension().is_some_and(|ending| ending == "so" || ending == "dylib"))
    });
    library.context("cargo built no library from stillpoint-count")
}

/// The spans of an image: kind, name, first address, first address after it.
fn spans(elf: &Path) -> anyhow::Result<Vec<(&'static str, String, u64, u64)>> {
    let bytes = std::fs::read(elf).with_context(|| format!("cannot read {}", elf.display()))?;
    let file = object::File::parse(&*bytes).with_context(|| format!("{} is no ELF file", elf.display()))?;
    let labels: BTreeMap<String, u64> =
        file.symbols().filter_map(|symbol| Some((symbol.name().ok()?.to_owned(), symbol.address() & !1))).collect();
    let mut found = Vec::new();
    for kind in ["span", "total"] {
        for (label, begin) in &labels {
            let Some(name) = label.strip_prefix(&format!("{kind}_begin_")) else { continue };
            let end = labels.get(&format!("{kind}_end_{name}")).with_context(|| format!("{kind} {name} has no end"))?;
            found.push((kind, name.to_owned(), *begin, *end));
        }
    }
    ensure!(!found.is_empty(), "{} has no span", elf.display());
    Ok(found)
}

fn parse(text: &str) -> anyhow::Result<Counts> {
    let line = |line: &str| {
        let fields: Vec<&str> = line.split(' ').collect();
        let [name, runs, least, most] = fields[..] else { bail!("not a count: {line}") };
        ensure!(runs.parse::<u64>()? > 0, "span {name} was never run");
        Ok((name.to_owned(), Count { usual: least.parse()?, most: most.parse()? }))
    };
    text.lines().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_read_by_name() {
        let counts = parse("merge_4 3 17 19\nempty 1 0 0\n").unwrap();
        assert_eq!(counts["merge_4"], Count { usual: 17, most: 19 });
        assert_eq!(counts.len(), 2);
    }

    #[test]
    fn a_span_that_was_never_run_is_no_count() {
        assert!(parse("merge_4 0 0 0").unwrap_err().to_string().contains("never run"));
        assert!(parse("merge_4 3").is_err());
    }
}

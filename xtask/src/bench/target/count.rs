//! Runs firmware under QEMU with the counting plugin: the firmware of `bench/firmware` under QEMU with the plugin of `bench/plugin`.
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, bail, ensure};
use qemu_probe::{Exit, Machine, MachineKind};

use super::image::Image;
use crate::toolchain::cargo;

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

/// The built plugin.
pub struct Plugin(PathBuf);

/// What came of a run.
pub struct Run {
    /// The image that ran.
    pub image: Image,
    /// Its counts.
    pub counts: Counts,
}

impl Plugin {
    /// Builds it.
    pub fn build() -> anyhow::Result<Self> {
        build_plugin().map(Self)
    }

    /// Runs `elf` with these words on its command line until it ends, or until both cores have parked.
    pub fn run(&self, elf: &Path, words: &[&str]) -> anyhow::Result<Run> {
        let image = Image::read(elf)?;
        let (out, functions) = (elf.with_extension("counts"), elf.with_extension("functions"));
        // What an earlier run left must not pass for this one's.
        let _ = std::fs::remove_file(&out);
        std::fs::write(&functions, image.function_list())
            .with_context(|| format!("cannot write {}", functions.display()))?;
        let mut arguments = vec![format!("out={}", out.display()), format!("functions={}", functions.display())];
        arguments.extend(image.spans()?);
        if let Ok(halt) = image.address("halt_begin") {
            let (bell, park) = (image.address("urgent_doorbell")?, image.address("stillpoint_park")?);
            arguments.push(format!("since=halt:{halt:x}:{park:x}"));
            arguments.push(format!("since=ring:{halt:x}:{:x}", image.address("ring_urgently")?));
            arguments.push(format!("since=bell:{bell:x}:{park:x}"));
            arguments.push(format!("stop={park:x}:2"));
        }
        // Virtual time that counts instructions: what a timestamp says is then the same in every run, too.
        let builder = Machine::builder(MachineKind::Mps2An521)
            .elf(elf)
            .words(words.iter().copied())
            .semihosting(true)
            .gdb(false)
            .icount(0);
        let mut machine = builder.plugin(self.0.clone(), arguments).start()?;
        match machine.wait(LIMIT)? {
            Exit::Code(0) => {}
            other => bail!("{} ended with {other:?}; it last said: {}", elf.display(), machine.console()),
        }
        let text =
            std::fs::read_to_string(&out).with_context(|| format!("the plugin did not write {}", out.display()))?;
        Ok(Run { image, counts: parse(&text)? })
    }
}

impl Run {
    /// The place at which interrupts were masked for longest by `measure`: where, and for how long.
    pub fn longest_masked(&self, measure: fn(&Count) -> u64) -> Option<(u64, u64)> {
        let places =
            self.counts.iter().filter_map(|(name, count)| Some((address_in(name, "masked:")?, measure(count))));
        places.max_by_key(|(_, count)| *count)
    }

    /// Instructions of each function while the total was counted, the dearest first.
    pub fn functions(&self) -> Vec<(String, u64)> {
        // Functions that differ only in their types are one here.
        let mut by_name = BTreeMap::<String, u64>::new();
        for (name, count) in &self.counts {
            if let Some(name) = address_in(name, "function:").and_then(|address| self.image.function(address)) {
                *by_name.entry(name).or_default() += count.most;
            }
        }
        let mut functions: Vec<(String, u64)> = by_name.into_iter().collect();
        functions.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
        functions
    }
}

fn address_in(name: &str, prefix: &str) -> Option<u64> {
    u64::from_str_radix(name.strip_prefix(prefix)?, 16).ok()
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

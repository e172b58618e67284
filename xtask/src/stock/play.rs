//! What is done with the tools, step by step. Each step is checked by what it prints.
use std::path::Path;

use anyhow::{Context as _, bail, ensure};
use object::{Object as _, ObjectSymbol as _};

use crate::toolchain::CORTEX_M33;
use crate::tutorial::{Background, Bench};
use crate::workspace;

/// The demo's source, in which breakpoints are set.
const SOURCE: &str = "target-agent/examples/guide/after.rs";
/// A line that only core 0 executes, and one that only core 1 executes, each some hundred times a second.
const LINE_OF_CORE_0: &str = "if number <= 4 {";
const LINE_OF_CORE_1: &str = "sum = sum.wrapping_add(sample.value);";
/// RAM that the demo does not use.
const SPARE: &str = "0x80800000";

/// A session with a served board, and what it printed so far.
pub struct Play {
    bench: Bench,
    serve: Option<Background>,
    transcript: String,
    /// The channels that core 0 and core 1 send into: their memory changes with each message.
    channels: [u64; 2],
}

type Part = fn(&mut Play) -> anyhow::Result<()>;

impl Play {
    /// The parts, in their order.
    pub const PARTS: [Part; 8] = [
        Self::serve,
        Self::download_and_verify,
        Self::reset,
        Self::read_and_write,
        Self::run,
        Self::debug,
        Self::gdb,
        Self::second_tool,
    ];

    /// A folder with the firmware in it and these programs on the PATH.
    pub fn new(firmware: &Path, programs: &[&Path]) -> anyhow::Result<Self> {
        let mut bench = Bench::new(firmware, programs).context("cannot make a folder")?;
        let elf = bench.folder().join("target").join(CORTEX_M33).join("firmware/examples/guide_after");
        std::fs::copy(elf, bench.folder().join("guide_after"))?;
        let mut transcript = String::from("$ export");
        for (name, value) in [
            ("PROBE_RS_PROBE", "20b7:9db1:tcp:127.0.0.1:4444"),
            ("PROBE_RS_CHIP", "mps2-an521"),
            ("PROBE_RS_CHIP_DESCRIPTION_PATH", "board.yaml"),
            ("RUST_LOG", "error"),
        ] {
            bench.export(name, value);
            transcript += &format!(" {name}={value}");
        }
        transcript.push('\n');
        print!("{transcript}");
        let channels = [channel(firmware, "SAMPLES")?, channel(firmware, "AVERAGES")?];
        Ok(Self { bench, serve: None, transcript, channels })
    }

    /// The whole transcript; the board must still be there.
    pub fn end(self) -> anyhow::Result<String> {
        self.serve.context("the board is served")?.interrupt()?;
        Ok(self.transcript)
    }

    fn tell(&mut self, text: &str) {
        print!("{text}");
        self.transcript += text;
    }

    /// Runs a command, which must print all of `expected`. Returns what it printed.
    fn step(&mut self, command: &str, expected: &[&str]) -> anyhow::Result<String> {
        self.tell(&format!("$ {command}\n"));
        let printed = plain(&self.bench.run(command)?);
        self.tell(&printed);
        for text in expected {
            ensure!(printed.contains(text), "`{command}` does not print {text:?}");
        }
        Ok(printed)
    }

    fn serve(&mut self) -> anyhow::Result<()> {
        self.step("qemu-probe chip mps2-an521 > board.yaml", &[])?;
        let command = "qemu-probe serve --elf guide_after";
        let serve = self.bench.start(command, " b32 ")?;
        self.tell(&format!("$ {command} &\n{}", serve.said()));
        // The example that it prints works as it stands.
        let said = serve.said();
        let example = said.lines().find(|line| line.starts_with("probe-rs ")).context("serve prints an example")?;
        self.step(example, &["10000000: "])?;
        self.serve = Some(serve);
        Ok(())
    }

    fn download_and_verify(&mut self) -> anyhow::Result<()> {
        self.step("probe-rs download guide_after", &["Finished in"])?;
        self.step("probe-rs verify guide_after", &["Verification successful"])?;
        Ok(())
    }

    fn reset(&mut self) -> anyhow::Result<()> {
        self.step("probe-rs reset", &[])?;
        self.expect_both_cores_run()
    }

    fn read_and_write(&mut self) -> anyhow::Result<()> {
        self.step(&format!("probe-rs write b32 {SPARE} 0x12345678 0x9abcdef0"), &[])?;
        self.step(&format!("probe-rs read b32 {SPARE} 2"), &["80800000: 12345678 9abcdef0"])?;
        Ok(())
    }

    fn run(&mut self) -> anyhow::Result<()> {
        self.step("timeout --signal INT 5 probe-rs run guide_after || test $? = 124", &["Finished in"])?;
        self.expect_both_cores_run()
    }

    fn debug(&mut self) -> anyhow::Result<()> {
        let command = "probe-rs debug guide_after -c break -c bt -c quit";
        self.tell(&format!("$ {command}\n"));
        // It wants a terminal.
        let printed = plain(&self.bench.run(&format!("script --quiet --return --command '{command}' /dev/null"))?);
        self.tell(&printed);
        ensure!(printed.contains("Frame 1: "), "`{command}` prints no backtrace");
        self.expect_both_cores_run()
    }

    fn gdb(&mut self) -> anyhow::Result<()> {
        let [zero, one] = [line_of(LINE_OF_CORE_0)?, line_of(LINE_OF_CORE_1)?];
        let command = "probe-rs gdb";
        let server = self.bench.start(command, "GDB stub")?;
        self.tell(&format!("$ {command} &\n{}", plain(&server.said())));
        let script = [
            "target remote localhost:1337".into(),
            format!("tbreak after.rs:{zero}"),
            format!("tbreak after.rs:{one}"),
            "continue".into(),
            "continue".into(),
            "info threads".into(),
            "detach".into(),
        ];
        let words: String = script.iter().map(|line| format!(" \\\n    -ex '{line}'")).collect();
        let printed = self.step(
            &format!("gdb-multiarch -q -batch{words} guide_after"),
            &["Temporary breakpoint 1,", "Temporary breakpoint 2,"],
        )?;
        for line in [format!("after.rs:{zero}"), format!("after.rs:{one}")] {
            ensure!(printed.contains(&line), "gdb does not stop at {line}");
        }
        server.interrupt()?;
        self.tell("$ kill -INT %2    # or Ctrl-C: ends probe-rs gdb\n");
        self.expect_both_cores_run()
    }

    fn second_tool(&mut self) -> anyhow::Result<()> {
        let _first = self.bench.start("probe-rs gdb", "GDB stub")?;
        let refused = self.bench.run("! probe-rs reset 2> /dev/null");
        ensure!(refused.is_ok(), "a second tool is served");
        let said = self.serve.as_ref().map(Background::said).unwrap_or_default();
        ensure!(said.contains("qemu-probe: busy: turned away"), "serve does not say that it is busy");
        Ok(())
    }

    /// Reads the memory of both channels until both have changed.
    fn expect_both_cores_run(&mut self) -> anyhow::Result<()> {
        for (core, address) in self.channels.into_iter().enumerate() {
            let command = format!("probe-rs read b32 {address:#x} 8");
            let before = self.step(&command, &[])?;
            for attempt in 0.. {
                let after = plain(&self.bench.run(&command)?);
                if after != before {
                    self.tell(&format!("$ {command}    # core {core} runs\n{after}"));
                    break;
                }
                if attempt == 20 {
                    bail!("core {core} does not run: its channel does not change");
                }
            }
        }
        Ok(())
    }
}

/// Without colours, progress bars, blank lines and the path of the workspace.
fn plain(text: &str) -> String {
    let root = format!("{}/", workspace::root().display());
    let mut out = String::new();
    for line in text.lines() {
        let line = line.rsplit('\r').next().unwrap_or(line).replace(&root, "");
        let mut letters = line.chars();
        let mut kept = String::new();
        while let Some(letter) = letters.next() {
            if letter == '\u{1b}' {
                letters.by_ref().find(char::is_ascii_alphabetic);
            } else {
                kept.push(letter);
            }
        }
        if !kept.trim().is_empty() {
            out += kept.trim_end();
            out.push('\n');
        }
    }
    out
}

/// Where a static of the demo is.
fn channel(firmware: &Path, name: &str) -> anyhow::Result<u64> {
    let image = std::fs::read(firmware).with_context(|| format!("cannot read {}", firmware.display()))?;
    let file = object::File::parse(&*image)?;
    let found = file.symbols().find(|symbol| symbol.name().is_ok_and(|found| found.contains(name)));
    found.map(|symbol| symbol.address()).with_context(|| format!("the demo has no static {name}"))
}

/// The number of a line of the demo's source.
fn line_of(text: &str) -> anyhow::Result<usize> {
    let source = std::fs::read_to_string(workspace::root().join(SOURCE))?;
    let found = source.lines().position(|line| line.trim() == text);
    found.map(|index| index + 1).with_context(|| format!("{SOURCE} has no line `{text}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_progress_and_blank_lines_are_left_out() {
        assert_eq!(plain("\u{1b}[32mok\u{1b}[0m  \n\n 1%\r100%\n"), "ok\n100%\n");
    }

    #[test]
    fn the_lines_with_breakpoints_are_in_the_source() {
        assert!(line_of(LINE_OF_CORE_0).is_ok() && line_of(LINE_OF_CORE_1).is_ok());
    }
}

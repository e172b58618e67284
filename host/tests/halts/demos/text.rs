//! The text logs of a demo, read from the memory of machines that run.
use anyhow::{Context as _, ensure};
use defmt_decoder::Table;
use object::{Object as _, ObjectSymbol as _};
use qemu_probe::Machine;
use std::path::Path;
use std::time::Instant;
use stillpoint_core::log::TextReader;

const MAGIC: u32 = 0xDEF7_1066;
const HEADER: u32 = 64;
const CORES: u32 = 2;

/// Where a demo's firmware keeps its text, and how to read it.
pub struct TextLog {
    address: u32,
    table: Table,
}

impl TextLog {
    /// Of this firmware.
    pub fn of(elf: &Path) -> anyhow::Result<Self> {
        let bytes = std::fs::read(elf).with_context(|| format!("cannot read {}", elf.display()))?;
        let file = object::File::parse(&*bytes)?;
        let rings = file.symbols().find(|symbol| symbol.name() == Ok("STILLPOINT_DEFMT_RINGS"));
        let address = rings.context("the firmware has no text log")?.address() as u32;
        Ok(Self { address, table: Table::parse(&bytes)?.context("the firmware has no texts")? })
    }

    /// The lines of every core so far, core 0 first.
    pub fn lines(&self, machine: &Machine) -> anyhow::Result<Vec<Vec<String>>> {
        let memory = machine.shared_ram().context("the machine shares no memory")?;
        let word = |at: u32| {
            let mut bytes = [0; 4];
            memory.read(at, &mut bytes).map(|()| u32::from_le_bytes(bytes))
        };
        let mut cores = Vec::new();
        for core in 0..CORES {
            // Both rings are as large as the first one says.
            let size = word(self.address + 4)?;
            let ring = self.address + core * (HEADER + size);
            let written = if word(ring)? == MAGIC { word(ring + 8)? } else { 0 };
            ensure!(
                written <= size && word(ring + 16)? == 0,
                "the text log of core {core} is longer than this test reads"
            );
            let mut bytes = vec![0; written as usize];
            memory.read(ring + HEADER, &mut bytes)?;
            cores.push(self.decode(&bytes)?);
        }
        Ok(cores)
    }

    fn decode(&self, bytes: &[u8]) -> anyhow::Result<Vec<String>> {
        let (mut reader, mut rest, mut lines) = (TextReader::new(), bytes, Vec::new());
        while let Some((item, length)) = reader.next(rest)? {
            rest = &rest[length..];
            let mut decoder = self.table.new_stream_decoder();
            decoder.received(item.line);
            match decoder.decode() {
                Ok(frame) => lines.push(frame.display_message().to_string()),
                Err(error) => anyhow::bail!("{error:?}: the text log is damaged after {lines:?}"),
            }
        }
        Ok(lines)
    }

    /// What all nodes said, `name: line`, as soon as each said as much as `expected` has of it.
    pub fn transcript(&self, machines: &[Machine], names: &[&str], expected: &str) -> anyhow::Result<String> {
        let due = |name: &str| expected.lines().filter(|line| line.starts_with(&format!("{name}: "))).count();
        let until = Instant::now() + crate::boards::LIMIT;
        loop {
            let mut nodes = Vec::new();
            for machine in machines {
                nodes.extend(self.lines(machine)?);
            }
            let said = |(name, lines): (&&str, &Vec<String>)| lines.len() >= due(name);
            if names.iter().zip(&nodes).all(said) || Instant::now() > until {
                let mut text = String::new();
                for (name, lines) in names.iter().zip(nodes) {
                    lines.iter().for_each(|line| text += &format!("{name}: {line}\n"));
                }
                return Ok(text);
            }
        }
    }
}

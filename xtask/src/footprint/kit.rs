//! Is anything of the kit in an image that was built without it?
use std::path::Path;

use anyhow::Context as _;
use object::{Object as _, ObjectSymbol as _};

use super::{Footprint, Origin, Purpose};

/// What exists only as part of the kit. The algorithms are all of `core` but the link, which carries the program's
/// own messages from board to board, and the units of time, which link and platform use.
const KIT: [&str; 13] = [
    "core/src/",
    "target-agent/src/agent/",
    "target-agent/src/fault.rs",
    "target-agent/src/lane.rs",
    "target-agent/src/log/place.rs",
    "target-agent/src/name.rs",
    "target-agent/src/replay.rs",
    "target-agent/src/retained.rs",
    "target-agent/src/sabotage.rs",
    "target-agent/src/serial/wired.rs",
    "target-agent/src/shared.rs",
    "target-agent/src/tap.rs",
    "target-agent/src/time/line.rs",
];
const NOT_KIT: [&str; 2] = ["core/src/link/", "core/src/time.rs"];

/// Symbols by which a host finds the kit. Names begin with the last.
const SYMBOLS: [&str; 4] = ["STILLPOINT_SHARED", "STILLPOINT_WIRE_VERSION", "stillpoint_park", "stillpoint|"];

/// What of the kit is in `elf`, a line for each finding; empty if nothing is.
pub fn kit_in(elf: &Path) -> anyhow::Result<Vec<String>> {
    let footprint = Footprint::of(elf)?;
    let mut found = Vec::new();
    for (origin, bytes) in &footprint.code.touched {
        if let Origin::Here(file) = origin
            && is_kit(file)
        {
            found.push(format!("{bytes} bytes of code have to do with {file}"));
        }
    }
    for purpose in [Purpose::Agents, Purpose::ControlBlocks, Purpose::LogRings] {
        let bytes = footprint.serving(purpose);
        if bytes > 0 {
            found.push(format!("{bytes} bytes of RAM are {purpose:?}"));
        }
    }
    let bytes = std::fs::read(elf).with_context(|| format!("cannot read {}", elf.display()))?;
    let file = object::File::parse(&*bytes).with_context(|| format!("{} is no ELF file", elf.display()))?;
    let names = file.symbols().filter_map(|symbol| symbol.name().map(str::to_owned).ok());
    found.extend(names.filter(|name| is_kit_symbol(name)).map(|name| format!("symbol {name}")));
    Ok(found)
}

fn is_kit(file: &str) -> bool {
    let is_in = |places: &[&str]| places.iter().any(|place| file.starts_with(place));
    is_in(&KIT) && !is_in(&NOT_KIT)
}

fn is_kit_symbol(name: &str) -> bool {
    SYMBOLS.iter().any(|symbol| name.starts_with(symbol))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_link_is_the_programs_own_and_the_rest_of_core_is_the_kit() {
        assert!(is_kit("core/src/node/step.rs") && is_kit("target-agent/src/agent/mod.rs"));
        assert!(!is_kit("core/src/link/endpoint.rs") && !is_kit("target-agent/src/plain/agent.rs"));
    }

    #[test]
    fn every_file_that_counts_as_kit_exists() {
        for file in KIT {
            let path = crate::workspace::root().join(file);
            assert!(path.exists(), "{file} is gone: what replaced it?");
        }
    }

    #[test]
    fn names_of_the_kit_are_known_by_their_beginnings() {
        assert!(is_kit_symbol("stillpoint|port|ring|a.rs|1|2") && is_kit_symbol("STILLPOINT_WIRE_VERSION_5"));
        assert!(!is_kit_symbol("STILLPOINT_DEFMT_RINGS"));
    }
}

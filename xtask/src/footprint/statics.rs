//! Which statics there are, and what they are for, by their types.
use std::collections::BTreeMap;

use addr2line::gimli::{self, AttributeValue, DebuggingInformationEntry, Operation, Unit};
use object::{Object as _, ObjectSymbol as _, SymbolKind};

use super::dwarf::{Debug, Reader};
use crate::elf::Memory;

/// What memory is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Purpose {
    /// What the agents of the cores know.
    Agents,
    /// What the host reads of each node.
    ControlBlocks,
    /// Records of events.
    LogRings,
    /// Messages between cores, and on their way to a link.
    Channels,
    /// Windows and frames of serial links.
    Links,
    /// The text log.
    Text,
    /// Stacks.
    Stacks,
    /// The program itself, executor and drivers.
    Program,
}

/// A static, or a part of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Static {
    /// Its symbol.
    pub name: String,
    /// Bytes.
    pub size: u64,
    /// What it is for.
    pub purpose: Purpose,
}

/// What the debug information says of a type.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Type {
    name: String,
    /// Where the member `logs` begins, if it has one.
    logs_at: Option<u64>,
}

/// Every static of `file` in RAM.
pub fn find(file: &object::File<'_>, debug: &Debug<'_>) -> anyhow::Result<Vec<Static>> {
    let types = types_of_statics(debug)?;
    let mut found = Vec::new();
    for symbol in file.symbols().filter(|symbol| symbol.kind() == SymbolKind::Data && symbol.size() > 0) {
        if !matches!(Memory::at(symbol.address()), Some(Memory::Ram | Memory::Shared)) {
            continue;
        }
        let name = symbol.name().unwrap_or_default();
        let unknown = Type::default();
        let of = types.get(&symbol.address()).unwrap_or(&unknown);
        for (purpose, size) in purposes(name, of, symbol.size()) {
            found.push(Static { name: name.to_owned(), size, purpose });
        }
    }
    Ok(found)
}

/// What a static is for; one that holds control blocks and logs is two.
fn purposes(symbol: &str, of: &Type, size: u64) -> Vec<(Purpose, u64)> {
    let is = |name: &str| of.name.split('<').next() == Some(name);
    let purpose = match of.name.as_str() {
        _ if is("Shared") && of.logs_at.is_some() => {
            let control = of.logs_at.unwrap_or(size).min(size);
            return vec![(Purpose::ControlBlocks, control), (Purpose::LogRings, size - control)];
        }
        _ if is("Locals") => Purpose::Agents,
        _ if is("Channel") => Purpose::Channels,
        _ if is("Serial") => Purpose::Links,
        _ if is("Stack") || is("Reserve") => Purpose::Stacks,
        _ if symbol == "STILLPOINT_DEFMT_RINGS" => Purpose::Text,
        _ => Purpose::Program,
    };
    vec![(purpose, size)]
}

/// The type of every static, by address.
fn types_of_statics(debug: &Debug<'_>) -> anyhow::Result<BTreeMap<u64, Type>> {
    let mut types = BTreeMap::new();
    let mut units = debug.units();
    while let Some(header) = units.next()? {
        let unit = debug.unit(header)?;
        let mut entries = unit.entries();
        while let Some(entry) = entries.next_dfs()? {
            if entry.tag() == gimli::DW_TAG_variable
                && let Some(address) = address_of(entry, &unit)?
                && let Some(AttributeValue::UnitRef(at)) = entry.attr_value(gimli::DW_AT_type)
            {
                types.insert(address, type_at(debug, &unit, at)?);
            }
        }
    }
    Ok(types)
}

fn address_of(entry: &DebuggingInformationEntry<Reader<'_>>, unit: &Unit<Reader<'_>>) -> anyhow::Result<Option<u64>> {
    let Some(AttributeValue::Exprloc(place)) = entry.attr_value(gimli::DW_AT_location) else { return Ok(None) };
    let mut operations = place.operations(unit.encoding());
    Ok(match operations.next()? {
        Some(Operation::Address { address }) => Some(address),
        _ => None,
    })
}

fn type_at(debug: &Debug<'_>, unit: &Unit<Reader<'_>>, at: gimli::UnitOffset) -> anyhow::Result<Type> {
    let mut tree = unit.entries_tree(Some(at))?;
    let root = tree.root()?;
    let mut found = Type { name: name_of(debug, unit, root.entry())?, logs_at: None };
    let mut members = root.children();
    while let Some(member) = members.next()? {
        let entry = member.entry();
        if entry.tag() == gimli::DW_TAG_member && name_of(debug, unit, entry)? == "logs" {
            found.logs_at = entry.attr_value(gimli::DW_AT_data_member_location).and_then(|value| value.udata_value());
        }
    }
    Ok(found)
}

fn name_of(
    debug: &Debug<'_>,
    unit: &Unit<Reader<'_>>,
    entry: &DebuggingInformationEntry<Reader<'_>>,
) -> anyhow::Result<String> {
    let Some(name) = entry.attr_value(gimli::DW_AT_name) else { return Ok(String::new()) };
    Ok(debug.attr_string(unit, name)?.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str) -> Type {
        Type { name: name.into(), logs_at: None }
    }

    #[test]
    fn a_static_is_for_what_its_type_is_for() {
        let of = |name: &str| purposes("token_ring::X", &named(name), 8);
        assert_eq!(of("Channel<token_ring::Token, 4, 64>"), [(Purpose::Channels, 8)]);
        assert_eq!(of("Locals<Mps2An521, 4, 6>"), [(Purpose::Agents, 8)]);
        assert_eq!(of("Channels"), [(Purpose::Program, 8)], "a name of the program's own");
        assert_eq!(purposes("STILLPOINT_DEFMT_RINGS", &named("[Ring; 2]"), 9), [(Purpose::Text, 9)]);
    }

    #[test]
    fn shared_memory_is_control_blocks_up_to_the_logs() {
        let shared = Type { logs_at: Some(992), ..named("Shared<4, 6, 65536>") };
        let expected = [(Purpose::ControlBlocks, 992), (Purpose::LogRings, 131_104)];
        assert_eq!(purposes("STILLPOINT_SHARED", &shared, 132_096), expected);
    }

    #[test]
    fn the_types_of_this_programs_own_statics_are_found() {
        struct Marked([u8; 24]);
        static MARKED: Marked = Marked([7; 24]);
        let bytes = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        let file = object::File::parse(&*bytes).unwrap();
        let types = types_of_statics(&super::super::dwarf::load(&file).unwrap()).unwrap();
        assert!(
            types.values().any(|found| found.name == "Marked"),
            "not found: {}",
            std::hint::black_box(&MARKED).0[0]
        );
    }
}

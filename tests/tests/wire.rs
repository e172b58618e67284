//! `docs/WIRE.md` says what the code does: every example in it is decoded by what ships, its checked tables are compared.
#[path = "wire/decode.rs"]
mod decode;
#[path = "wire/document.rs"]
mod document;

use document::Section;
use std::mem::{offset_of, size_of};
use stillpoint_core::control::{CommandError, CommandWords, ControlBlock, StateCode};
use stillpoint_core::log::Recording;
use stillpoint_core::predicate::{Detector, Generation, Plan, SlotId};
use stillpoint_core::{Command, EventKind, HaltId, PortSet};

const DOCUMENT: &str = include_str!("../../docs/WIRE.md");

fn sections() -> Vec<Section> {
    document::parse(DOCUMENT).unwrap_or_else(|error| panic!("docs/WIRE.md: {error}"))
}

fn section(title: &str) -> Section {
    sections().into_iter().find(|section| section.title == title).unwrap_or_else(|| panic!("no section {title}"))
}

/// The rows of the section's tables whose first two cells are a number and a name.
fn numbered(section: &Section) -> Vec<(usize, &str)> {
    let numbers = |row: &'_ Vec<String>| row.first().and_then(|cell| cell.parse().ok());
    section.rows.iter().filter_map(|row| Some((numbers(row)?, row.get(1)?.as_str()))).collect()
}

/// What does not hold in a document, by line.
fn complaints(text: &str) -> Vec<String> {
    let sections = match document::parse(text) {
        Ok(sections) => sections,
        Err(error) => return vec![error],
    };
    let mut complaints = Vec::new();
    for section in sections {
        if section.examples.is_empty() {
            complaints.push(format!("section {} has no example", section.title));
        }
        for example in section.examples {
            let Some(said) = decode::decode(&example) else {
                complaints.push(format!("line {}: nothing decodes {}", example.line, example.name));
                continue;
            };
            for (case, said) in example.cases.iter().zip(said) {
                if case.meaning != said {
                    let (line, stated) = (example.line, &case.meaning);
                    complaints.push(format!("line {line}: the document says\n  {stated}\nthe code says\n  {said}"));
                }
            }
        }
    }
    complaints
}

#[test]
fn every_section_has_examples_and_the_code_reads_each_as_the_document_does() {
    let complaints = complaints(DOCUMENT);
    assert!(complaints.is_empty(), "docs/WIRE.md\n{}", complaints.join("\n"));
}

/// Each way in which the document can rot is noticed.
#[test]
fn a_changed_byte_a_changed_meaning_an_unknown_kind_and_a_bare_section_are_noticed() {
    let good =
        "## Marker\n```text example: halt-marker\n03 00 29 00 00 00 01 01\n=> halt 3, position 41, order [1]\n```\n";
    assert_eq!(complaints(good), [""; 0]);
    for (from, to, complaint) in [
        ("29", "2a", "position 42"),
        ("halt 3", "halt 4", "says\n  halt 3"),
        ("01 01\n", "01 01 00\n", "bytes after the halt marker"),
        ("halt-marker", "stop-marker", "nothing decodes stop-marker"),
        ("example: halt-marker", "halt-marker", "section Marker has no example"),
        ("=> ", "", "halt is not a byte"),
        ("text example", "example", "write ```text example"),
    ] {
        let found = complaints(&good.replace(from, to)).concat();
        assert!(found.contains(complaint), "{from} to {to}: {found}");
    }
}

#[test]
fn the_table_of_the_control_block_is_its_layout() {
    type Block = ControlBlock<4, 6>;
    macro_rules! words {
        ($($field:ident)*) => { [$((offset_of!(Block, $field) / 4, stringify!($field))),*] };
    }
    // The four words of the header are private; the example of the header holds them to their places.
    let mut layout = vec![(0, "magic"), (1, "version"), (2, "size"), (3, "shape")];
    layout.extend(words!(
        revision phase last_halt markers_seen undelivered up refused time delay order log text bell name recording stopped registers image watches clock
        ports fault slots command answer
    ));
    layout.push((size_of::<Block>() / 4, "end"));
    let section = section("Control block");
    let mut table = numbered(&section);
    // The tables of a port's words follow.
    table.truncate(layout.len());
    assert_eq!(table, layout);
}

#[test]
fn the_table_of_event_kinds_is_complete_and_in_order() {
    let section = section("Log");
    let kinds: Vec<_> = EventKind::ALL.iter().map(|kind| format!("{kind:?}")).collect();
    let expected: Vec<_> = kinds.iter().map(String::as_str).enumerate().collect();
    assert_eq!(numbered(&section), expected);
}

#[test]
fn states_and_errors_have_the_numbers_the_document_names() {
    let states = ["starting", "running", "suspended", "draining", "parked", "faulted"];
    for (number, name) in states.iter().enumerate() {
        assert_eq!(format!("{:?}", StateCode::from_word(number as u32).unwrap()).to_lowercase(), *name);
        assert!(DOCUMENT.contains(&format!("{number} {name}")));
    }
    let errors = [
        (CommandError::Checksum, "wrong checksum"),
        (CommandError::UnknownCommand, "unknown command"),
        (CommandError::BadArgument, "bad argument"),
        (CommandError::ProgramTooLong, "program too long"),
    ];
    assert!(errors.iter().all(|(error, words)| DOCUMENT.contains(&format!("{} {words}", *error as u32))));
}

#[test]
fn the_table_of_commands_numbers_them_as_the_host_does() {
    let (slot, generation) = (SlotId::ALL[0], Generation(0));
    let install = Command::Install { slot, generation, detector: Detector::Causal, program: &[1] };
    let commands = [
        ("halt", Command::Halt(HaltId(0))),
        ("release", Command::Release(HaltId(0))),
        ("suspend", Command::Suspend),
        ("continue", Command::Continue),
        ("record", Command::Record(Recording::OFF)),
        ("install", install),
        ("enable", Command::Enable { slot, generation, silent: PortSet::EMPTY }),
        ("remove", Command::Remove { slot }),
        ("report", Command::Report),
        ("plan", Command::Plan { slot, generation, plan: Plan::NOTHING }),
    ];
    let section = section("Commands");
    let table: Vec<_> = section.rows.iter().filter_map(|row| Some((row[0].as_str(), row[1].parse().ok()?))).collect();
    let numbers = commands.map(|(name, command)| (name, CommandWords::encode(&command, 1).unwrap().as_block().0[0]));
    assert_eq!(table, numbers);
}

/// The agent's constants are private to it, and it builds for another target: its source is the witness.
#[test]
fn the_agent_numbers_control_items_as_the_document_does() {
    let source = include_str!("../../target-agent/src/agent/links.rs");
    for (number, name) in
        [(1, "MARKER_FORWARD"), (2, "MARKER_REVERSE"), (3, "RELEASE"), (4, "PREDICATE"), (5, "NOTICE")]
    {
        assert!(source.contains(&format!("const {name}: u8 = {number};")), "{name} is not {number}");
    }
    let section = section("Control items");
    let items = ["halt marker along the channel", "halt marker against the channel, on the reverse lane"];
    assert_eq!(
        numbered(&section),
        [(1, items[0]), (2, items[1]), (3, "release"), (4, "predicate marker"), (5, "notice")]
    );
}

/// As above: the ring is the agent's, and its source is the witness.
#[test]
fn the_ring_of_the_text_log_has_the_words_the_document_names() {
    let source = include_str!("../../target-agent/src/log/ring.rs");
    let (_, ring) = source.split_once("pub struct Ring<const SIZE: usize> {").expect("the ring is a struct");
    let fields = ring.lines().filter_map(|line| line.trim().strip_suffix(": AtomicU32,"));
    let fields: Vec<_> = fields.enumerate().collect();
    let section = section("Text log");
    assert_eq!(numbered(&section), fields);
    assert!(source.contains("pub const MAGIC: u32 = 0xDEF7_1066;") && DOCUMENT.contains("`66 10 f7 de`"));
    assert!(source.contains("pub const HEADER: usize = 64;"));
}

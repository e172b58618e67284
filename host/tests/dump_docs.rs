//! `docs/DUMP.md` is held to the reader that ships.
use std::path::Path;
use stillpoint::dump::{Dump, MAGIC, MAX_BODY, PIECE};

fn document() -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/DUMP.md")).unwrap()
}

fn bytes_of(line: &str) -> Vec<u8> {
    line.split_whitespace().map(|pair| u8::from_str_radix(pair, 16).expect("pairs of hex digits")).collect()
}

/// The frames of the document, put together into a file, are read as it says.
#[test]
fn the_examples_of_the_document_are_read_as_stated() {
    let text = document();
    let (_, examples) = text.split_once("## Examples\n```\n").expect("a section of examples");
    let (mut file, mut stated) = (MAGIC.to_vec(), Vec::new());
    for line in examples.lines().take_while(|line| !line.starts_with("```")) {
        if let Some(statement) = line.strip_prefix("=> ") {
            stated.push(statement.to_owned());
        } else if let Some(plain) = line.strip_prefix("+ ") {
            file.extend(plain.as_bytes());
        } else {
            file.extend(bytes_of(line));
        }
    }
    let dump = Dump::parse(&file, Path::new("docs/DUMP.md")).unwrap();
    assert_eq!(dump.damage, [], "every frame is sound, and the end counts them");
    let board = &dump.header.boards[0];
    let mut read =
        vec![format!("header: system {}, board {}, {} core", dump.header.system, board.name, board.stopped.len())];
    for (address, bytes) in dump.memory(0) {
        read.push(format!("memory of board {} at {address:#010x}: {bytes:02x?}", board.name));
    }
    read.push("end".into());
    assert_eq!(read, stated);
}

#[test]
fn the_limits_of_the_document_are_those_of_the_code() {
    let text = document();
    assert!(text.contains(&format!("1 to {MAX_BODY}")));
    assert!(text.contains(&format!("at most {PIECE}")));
    assert!(text.contains(std::str::from_utf8(&MAGIC).unwrap()));
}

//! `docs/DUMP.md` is held to the reader that ships.
use crate::examples::{document, examples};
use stillpoint::dump::{Dump, MAGIC, MAX_BODY, PIECE};

/// The frames of the document, put together into a file, are read as it says.
#[test]
fn the_examples_of_the_document_are_read_as_stated() {
    let (path, text) = document("DUMP.md");
    let (file, stated) = examples(&text, &MAGIC);
    let dump = Dump::parse(&file, &path).unwrap();
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
    let (_, text) = document("DUMP.md");
    assert!(text.contains(&format!("1 to {MAX_BODY}")));
    assert!(text.contains(&format!("at most {PIECE}")));
    assert!(text.contains(std::str::from_utf8(&MAGIC).unwrap()));
}

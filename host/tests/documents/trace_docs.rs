//! `docs/TRACE.md` is held to the reader that ships.
use crate::examples::{document, examples};
use stillpoint::trace::{Item, MAGIC, TraceFile};

/// The frames of the document, put together into a file, are read as it says.
#[test]
fn the_examples_of_the_document_are_read_as_stated() {
    let (path, text) = document("TRACE.md");
    let (file, stated) = examples(&text, &MAGIC);
    let trace = TraceFile::parse(&file, &path).unwrap();
    assert_eq!(trace.damage, None);
    let mut read = vec![format!("header: system {}, {} nodes", trace.header.system, trace.header.nodes.len())];
    for chunk in &trace.chunks {
        let entries = trace.entries(chunk.node);
        let records = entries.iter().filter(|entry| matches!(entry.item, Item::Record(_))).count();
        read.push(format!(
            "log of node {} at {} us: position {}, {} dropped, {} bytes, {records} records",
            chunk.node,
            chunk.wall,
            chunk.position,
            chunk.dropped,
            chunk.bytes.len()
        ));
    }
    read.push(format!("end at {} us", trace.ended.expect("an end")));
    assert_eq!(read, stated);
}

#[test]
fn the_limits_of_the_document_are_those_of_the_code() {
    let (_, text) = document("TRACE.md");
    assert!(text.contains(&format!("1 to {}", stillpoint::trace::MAX_BODY)));
    assert!(text.contains(std::str::from_utf8(&MAGIC).unwrap()));
}

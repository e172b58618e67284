//! `docs/TRACE.md` is held to the reader that ships.
use std::path::Path;
use stillpoint::trace::{Item, MAGIC, TraceFile};

fn bytes_of(line: &str) -> Vec<u8> {
    line.split_whitespace().map(|pair| u8::from_str_radix(pair, 16).expect("pairs of hex digits")).collect()
}

/// The frames of the document, put together into a file, are read as it says.
#[test]
fn the_examples_of_the_document_are_read_as_stated() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/TRACE.md");
    let text = std::fs::read_to_string(&path).unwrap();
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
    let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/TRACE.md")).unwrap();
    assert!(text.contains(&format!("1 to {}", stillpoint::trace::MAX_BODY)));
    assert!(text.contains(std::str::from_utf8(&MAGIC).unwrap()));
}

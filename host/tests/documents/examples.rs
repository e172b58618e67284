//! The examples in documents about files: hex bytes, plain text behind `+ `, and what they mean behind `=> `.
use std::path::{Path, PathBuf};

/// A document of this name, and where it is.
pub fn document(name: &str) -> (PathBuf, String) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs").join(name);
    let text = std::fs::read_to_string(&path).unwrap();
    (path, text)
}

/// The file that the examples of a document make, which begins with `magic`, and what the document says of it.
pub fn examples(text: &str, magic: &[u8]) -> (Vec<u8>, Vec<String>) {
    let (_, examples) = text.split_once("## Examples\n```\n").expect("a section of examples");
    let (mut file, mut stated) = (magic.to_vec(), Vec::new());
    for line in examples.lines().take_while(|line| !line.starts_with("```")) {
        if let Some(statement) = line.strip_prefix("=> ") {
            stated.push(statement.to_owned());
        } else if let Some(plain) = line.strip_prefix("+ ") {
            file.extend(plain.as_bytes());
        } else {
            let byte = |pair: &str| u8::from_str_radix(pair, 16).expect("pairs of hex digits");
            file.extend(line.split_whitespace().map(byte));
        }
    }
    (file, stated)
}

//! The transcript in the README of qemu-probe: the block of text between two comments.
use std::path::PathBuf;

use crate::workspace;

const BEGIN: &str = "<!-- cargo xtask stock: begin -->\n";
const END: &str = "<!-- cargo xtask stock: end -->\n";

/// Puts a new transcript in the place of the old one.
pub fn write_transcript(new: &str) -> std::io::Result<()> {
    let path: PathBuf = workspace::root().join("qemu-probe/README.md");
    let text = std::fs::read_to_string(&path)?;
    let replaced = replaced(&text, new)
        .ok_or_else(|| std::io::Error::other(format!("{} has no place for the transcript", path.display())))?;
    std::fs::write(path, replaced)
}

fn replaced(text: &str, new: &str) -> Option<String> {
    let (before, rest) = text.split_once(BEGIN)?;
    let (_, after) = rest.split_once(END)?;
    Some(format!("{before}{BEGIN}```text\n{new}```\n{END}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_block_between_the_comments_is_replaced() {
        let old = format!("above\n{BEGIN}```text\n$ old\n```\n{END}below\n");
        assert_eq!(replaced(&old, "$ new\n"), Some(old.replace("old", "new")));
        assert_eq!(replaced("no place", "$ new\n"), None);
    }
}

//! The examples of docs/BREAKPOINTS.md are expressions, and what it says is refused is refused.
use stillpoint::expr::parse;

const DOCUMENT: &str = include_str!("../../../docs/BREAKPOINTS.md");

/// The lines of all fenced blocks with this title.
fn lines(title: &str) -> Vec<&'static str> {
    let mut blocks = DOCUMENT.split("\n```");
    let mut found = Vec::new();
    // Text and blocks alternate.
    while let (Some(_), Some(block)) = (blocks.next(), blocks.next()) {
        let (first, body) = block.split_once('\n').unwrap_or((block, ""));
        if first == title {
            found.extend(body.lines());
        }
    }
    found
}

#[test]
fn every_example_is_read_and_every_counterexample_is_refused() {
    let (good, bad) = (lines("break"), lines("break refused"));
    assert!(good.len() >= 7 && bad.len() >= 5, "the examples are found: {good:?} {bad:?}");
    for text in good {
        if let Err(error) = parse(text) {
            panic!("{error}");
        }
    }
    for text in bad {
        assert!(parse(text).is_err(), "{text} is read after all");
    }
}

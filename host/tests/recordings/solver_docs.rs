//! `docs/SOLVER.md` is held to real runs: every command in it is run, and says what the page says.
use crate::cli::{Bench, wait_for};

const PAGE: &str = include_str!("../../../docs/SOLVER.md");

/// The blocks of the page that begin with three backquotes, `text` and these words.
fn blocks(words: &str) -> Vec<&'static str> {
    let begin = if words.is_empty() { "```text\n".into() } else { format!("```text {words}\n") };
    PAGE.split(&begin).skip(1).filter_map(|rest| rest.split("```").next()).collect()
}

/// Each command of a block and what follows it.
fn commands(block: &str) -> impl Iterator<Item = (&str, &str)> {
    block.split("$ stillpoint ").skip(1).map(|rest| rest.split_once('\n').unwrap_or((rest, "")))
}

/// Two boards with these words on their command lines.
fn solver(words: &str) -> Bench {
    let words: Vec<&str> = words.split_whitespace().collect();
    let bench = Bench::with_words("solver", &words);
    std::fs::write(bench.path("solver.model"), include_str!("../../../target-agent/examples/solver.model")).unwrap();
    bench
}

/// Waits until nothing happens any more: mult3 has got its block and three columns, and nobody has done anything since.
fn wait_until_done(bench: &Bench) {
    let mut last = None;
    let is_done = || {
        let info = bench.run(["info", "--json"]).expect(0).json();
        let events: Vec<_> = (0..4).map(|node| info["boards"][node / 2]["nodes"][node % 2]["event"].clone()).collect();
        let work = &info["boards"][1]["nodes"][1]["ports"][0];
        assert_eq!(work["name"], "work");
        let rests = last.replace(events.clone()) == Some(events);
        Ok((work["messages"] == 4 && rests).then_some(()))
    };
    wait_for("the solver is done", is_done).unwrap();
}

/// Without what differs from run to run: numbers that stand alone or behind `#`, and who had an object first.
fn steady(text: &str) -> Vec<String> {
    let is_number = |word: &str| {
        let bare = word.trim_matches(|c: char| "(),.".contains(c));
        !bare.is_empty() && bare.chars().all(|c| c.is_ascii_digit() || c == '.')
    };
    // `solve#17` is an event of one run, `solver.rs:153` and `mult2` are the same in every run.
    let word = |word: &str| match word.split_once('#') {
        _ if is_number(word) => "#".to_owned(),
        Some((name, number)) if is_number(number) => format!("{name}#"),
        _ => word.to_owned(),
    };
    let line = |line: &str| {
        let line = line.replace("   had it first", "");
        line.split_whitespace().map(word).collect::<Vec<_>>().join(" ")
    };
    let mut lines: Vec<String> = text.lines().map(line).filter(|line| !line.is_empty()).collect();
    // Which of two comes first is not the same in every run.
    lines.sort_unstable();
    lines
}

fn follow(words: &str) {
    let bench = solver(words);
    wait_until_done(&bench);
    let blocks = blocks(words);
    assert!(!blocks.is_empty(), "the page has blocks for {words:?}");
    for (command, expected) in blocks.into_iter().flat_map(commands) {
        let done = bench.run(command.split_whitespace());
        assert_eq!(
            steady(&done.out),
            steady(expected),
            "stillpoint {command}, with {words:?}:\n{}{}",
            done.out,
            done.err
        );
    }
}

#[test]
fn the_sequencing_bug_is_found_as_the_page_says() {
    follow("bug=sequence");
}

#[test]
fn the_race_is_found_as_the_page_says() {
    follow("bug=race");
}

#[test]
fn nothing_is_found_in_the_correct_program_as_the_page_says() {
    follow("");
}

#[test]
fn the_page_shows_the_model_and_the_source_as_they_are() {
    let (model, source) = (
        include_str!("../../../target-agent/examples/solver.model"),
        include_str!("../../../target-agent/examples/solver.rs"),
    );
    for (kind, text) in [("```model\n", model), ("```rust\n", source)] {
        let pieces: Vec<_> = PAGE.split(kind).skip(1).filter_map(|rest| rest.split("```").next()).collect();
        assert!(!pieces.is_empty());
        for piece in pieces {
            assert!(text.contains(piece), "not as it is in the demo:\n{piece}");
        }
    }
}

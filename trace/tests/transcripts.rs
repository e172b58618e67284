//! Transcripts of checks and detections: a run drawn by hand, what is asked of it, and the answer.
//!
//! A file begins with its nodes; then each line is something that happens or a question, whose answer follows between
//! `----` and an empty line. `STILLPOINT_REWRITE=1` writes the answers anew.
use std::path::{Path, PathBuf};
use stillpoint_core::{Event, EventKind};
use stillpoint_trace::{BoardInfo, Builder, History, Item, NameInfo, Sketch, check, detect};

struct Drawing {
    nodes: Vec<String>,
    names: Vec<String>,
    sketch: Sketch,
    /// Places in the drawing at which the records of a node are lost, and how many.
    lost: Vec<(usize, usize, u32)>,
}

impl Drawing {
    fn new(nodes: &str) -> Self {
        let nodes: Vec<String> = nodes.split_whitespace().map(str::to_owned).collect();
        let sketch = Sketch::new(&nodes.iter().map(String::as_str).collect::<Vec<_>>());
        let mut drawing = Self { nodes, names: Vec::new(), sketch, lost: Vec::new() };
        let watch = NameInfo { kind: "watch".into(), number: 0, text: "x".into(), ..NameInfo::default() };
        drawing.sketch.header().boards = vec![BoardInfo { names: vec![watch], ..BoardInfo::default() }];
        for node in &mut drawing.sketch.header().nodes {
            node.watches = vec![0];
        }
        drawing
    }

    fn node(&self, name: &str) -> usize {
        self.nodes.iter().position(|node| node == name).unwrap_or_else(|| panic!("no node {name}"))
    }

    fn tag(&mut self, text: &str) -> u16 {
        let at = self.names.iter().position(|name| name == text).unwrap_or(self.names.len());
        if at == self.names.len() {
            self.names.push(text.to_owned());
            let place = Some(format!("src/main.rs:{}", 10 * (at + 1)));
            let name = NameInfo { kind: "trace".into(), number: at as u16, text: text.to_owned(), place };
            self.sketch.header().boards[0].names.push(name);
        }
        at as u16
    }

    fn draw(&mut self, line: &str) {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            [from, "->", to] => drop(self.sketch.send(self.node(from), self.node(to))),
            [to, "<-", from] => drop(self.sketch.receive(self.node(from), self.node(to))),
            [node, "x", "=", value] => {
                let value = value.parse::<i32>().unwrap() as u32;
                let node = self.node(node);
                self.sketch.event(node, Event { kind: EventKind::Watch, arg: 0, value });
            }
            ["lose", count, "of", node] => {
                let at = self.sketch.items().count();
                self.lost.push((at, self.node(node), count.parse().unwrap()));
            }
            [node, "trace", text] => {
                let (node, tag) = (self.node(node), self.tag(text));
                self.sketch.local(node, tag);
            }
            _ => panic!("{line:?} means nothing"),
        }
    }

    fn history(&mut self) -> History {
        let mut builder = Builder::new(&self.sketch.header().clone());
        let mut left: Vec<u32> = self.lost.iter().map(|(.., count)| *count).collect();
        for (at, (node, item)) in self.sketch.items().enumerate() {
            let is_lost = |of: &usize| {
                let (from, lossy, _) = self.lost[*of];
                from <= at && lossy == usize::from(node) && left[*of] > 0
            };
            match (0..left.len()).find(is_lost) {
                Some(of) => {
                    left[of] -= 1;
                    if left[of] == 0 {
                        builder.push(node, at as u64, Item::Gap(self.lost[of].2));
                    }
                }
                None => builder.push(node, at as u64, item),
            }
        }
        builder.finish(None)
    }

    fn answer(&mut self, question: &str) -> String {
        let history = self.history();
        if let Some(text) = question.strip_prefix("detect ") {
            return detect::detect(text, &history, 3)
                .map_or_else(|error| format!("{error}\n"), |found| found.to_string());
        }
        let text = question.strip_prefix("check ").unwrap_or(question).to_owned();
        let checked = check::parse(&check::Source { name: "model".into(), text })
            .and_then(|model| check::check(&[model], &history, &check::Options::default()));
        checked.map_or_else(|error| format!("{error}\n"), |report| report.to_string())
    }
}

/// The text with every answer as it is today.
fn rewritten(text: &str) -> String {
    let (mut out, mut drawing, mut question) = (String::new(), None::<Drawing>, String::new());
    let mut skipping = false;
    for line in text.lines() {
        if skipping {
            skipping = !line.is_empty();
            continue;
        }
        if line == "----" {
            let answer = drawing.as_mut().expect("nodes come first").answer(question.trim_end());
            out.push_str(&format!("----\n{answer}\n"));
            question.clear();
            skipping = true;
            continue;
        }
        out.push_str(&format!("{line}\n"));
        let asks = line.starts_with("check ") || line.starts_with("detect ") || !question.is_empty();
        match line.strip_prefix("nodes ") {
            Some(nodes) => drawing = Some(Drawing::new(nodes)),
            None if asks => question.push_str(&format!("{line}\n")),
            None if line.is_empty() || line.starts_with('#') => {}
            None => drawing.as_mut().expect("nodes come first").draw(line),
        }
    }
    out
}

fn files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/transcripts");
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

#[test]
fn every_transcript_is_answered_as_it_says() {
    assert!(files().len() >= 3);
    for file in files() {
        let text = std::fs::read_to_string(&file).unwrap();
        let now = rewritten(&text);
        if std::env::var_os("STILLPOINT_REWRITE").is_some() {
            std::fs::write(&file, &now).unwrap();
        } else {
            assert_eq!(text, now, "{}", file.display());
        }
    }
}

/// The same in the document: its drawings are answered as it says.
#[test]
fn the_drawings_of_the_document_are_answered_as_it_says() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/CHECK.md");
    let text = std::fs::read_to_string(&path).unwrap();
    let (mut now, mut found) = (String::new(), 0);
    for (at, part) in text.split("```").enumerate() {
        let body = part.strip_prefix("drawing\n").filter(|_| at % 2 == 1);
        let part = body.map_or(part.to_owned(), |body| {
            found += 1;
            format!("drawing\n{}\n", rewritten(&format!("{}\n\n", body.trim_end())).trim_end())
        });
        now.push_str(&format!("{}{part}", if at == 0 { "" } else { "```" }));
    }
    assert!(found >= 2, "the drawings are found");
    if std::env::var_os("STILLPOINT_REWRITE").is_some() {
        std::fs::write(&path, &now).unwrap();
    } else {
        assert_eq!(text, now);
    }
}

/// Blocks called `model` are read, and those that are to be refused are refused; likewise questions.
#[test]
fn the_examples_of_the_document_are_read_and_its_counterexamples_refused() {
    let text = include_str!("../../docs/CHECK.md");
    let blocks = |title: &str| -> Vec<String> {
        let blocks = text.split("```").skip(1).step_by(2);
        let of = |block: &str| block.strip_prefix(title).and_then(|block| block.strip_prefix('\n')).map(str::to_owned);
        blocks.filter_map(of).collect()
    };
    let (models, refused) = (blocks("model"), blocks("model refused"));
    assert!(models.len() >= 3 && !refused.is_empty());
    for text in models {
        if let Err(error) = check::parse(&check::Source { name: "docs/CHECK.md".into(), text }) {
            panic!("{error}");
        }
    }
    for text in refused.iter().flat_map(|block| block.lines()) {
        let source = check::Source { name: "docs/CHECK.md".into(), text: text.into() };
        assert!(check::parse(&source).is_err(), "{text} is read after all");
    }
}

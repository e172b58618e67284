//! `stillpoint stable`, `show --program` and `show --lines` on a recording, with the sources beside it and no board.
use super::Place;
use crate::cli::Done;
use std::path::{Path, PathBuf};
use stillpoint_core::log::{LogRing, LogWriter, Recording, Standing};
use stillpoint_core::time::Ticks;
use stillpoint_core::{Event, EventKind, EventNumber, NodeId};
use stillpoint_trace::{BoardInfo, ChannelInfo, Chunk, Header, NameInfo, NodeInfo, PortInfo, Writer};

/// A demo's nodes, the watches of each, and its channels: from a node and its port to a node and its port.
struct System {
    demo: &'static str,
    nodes: &'static [(&'static str, &'static [&'static str])],
    channels: &'static [(u8, &'static str, u8, &'static str)],
}

const RING: System = System {
    demo: "token_ring",
    nodes: &[
        ("left0", &["holding", "lap"]),
        ("left1", &["holding", "lap"]),
        ("right0", &["holding", "lap"]),
        ("right1", &["holding", "lap"]),
    ],
    channels: &[
        (0, "ring", 1, "ring"),
        (1, "ring", 0, "hand"),
        (0, "out", 2, "ring"),
        (2, "ring", 3, "ring"),
        (3, "ring", 2, "hand"),
        (2, "out", 0, "ring"),
    ],
};

const PIPELINE: System = System {
    demo: "pipeline",
    nodes: &[("producer", &["count"]), ("filter", &["count"]), ("square", &["count"]), ("sink", &["count", "sum"])],
    channels: &[(0, "out", 1, "in"), (1, "out", 2, "in"), (2, "out", 3, "in"), (2, "unused", 1, "unused")],
};

const BARRIER: System = System {
    demo: "barrier",
    nodes: &[("gate", &["rounds"]), ("near", &["phase", "extra"]), ("wire", &[]), ("far", &["phase", "extra"])],
    channels: &[
        (1, "arrived", 0, "arrived"),
        (0, "go", 1, "go"),
        (2, "up", 0, "up"),
        (0, "down", 2, "down"),
        (3, "arrived", 2, "arrived"),
        (2, "go", 3, "go"),
    ],
};

fn source(demo: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../target-agent/examples").join(format!("{demo}.rs"))
}

/// The line of a demo on which a text stands for the n-th time.
fn line(demo: &str, text: &str, nth: usize) -> usize {
    let source = std::fs::read_to_string(source(demo)).unwrap();
    source.lines().enumerate().filter(|(_, line)| line.contains(text)).nth(nth).expect("the demo has it").0 + 1
}

impl System {
    /// Every port and every name has a number of its own.
    fn header(&self) -> Header {
        let mut ports: Vec<Vec<PortInfo>> = vec![Vec::new(); self.nodes.len()];
        let mut add = |node: u8, name: &str, out: bool, peer: u8| {
            let own = &mut ports[usize::from(node)];
            own.push(PortInfo { id: own.len() as u8, name: name.into(), out, peer });
            own.len() as u8 - 1
        };
        let channels = self.channels.iter().map(|(from, out, to, into)| ChannelInfo {
            from: *from,
            out: add(*from, out, true, *to),
            to: *to,
            into: add(*to, into, false, *from),
        });
        let channels = channels.collect();
        let all: Vec<&str> = self.nodes.iter().flat_map(|(_, watches)| watches.iter().copied()).collect();
        let name = |text: &&str| all.iter().position(|other| other == text).unwrap() as u16;
        let nodes = (0..).zip(self.nodes).zip(ports).map(|((id, (node, watches)), ports)| NodeInfo {
            id,
            name: (*node).into(),
            board: usize::from(id / 2),
            core: usize::from(id % 2),
            vector_stamps: true,
            ports,
            watches: watches.iter().map(name).collect(),
        });
        let nodes = nodes.collect();
        let names = all.iter().map(|text| NameInfo {
            kind: "watch".into(),
            number: name(text),
            text: (*text).into(),
            place: None,
        });
        let names: Vec<_> = names.collect();
        let board = |name: &str| BoardInfo {
            name: name.into(),
            firmware: "gone.elf".into(),
            identity: "unknown".into(),
            names: names.clone(),
            ..BoardInfo::default()
        };
        let boards = vec![board("A"), board("B")];
        Header { tool: "test".into(), system: "two boards".into(), boards, nodes, channels, ..Header::default() }
    }

    /// Records these events of the first node, and nothing of the others.
    fn record(&self, place: &Place, events: &[Event]) {
        let mut file = Writer::create(&place.path().join("run.trace"), &self.header()).unwrap();
        let (ring, mut log) = (LogRing::<4096>::new(), LogWriter::<4>::new());
        for (number, event) in (1..).zip(events) {
            let (clock, recording) = ([number, 0, 0, 0], Recording::FULL);
            let standing = Standing {
                me: NodeId(0),
                number: EventNumber(number),
                clock: &clock,
                counts: &[0; 8],
                origins: &[],
                recording: &recording,
            };
            log.push(&ring, event, Ticks(number), &standing);
        }
        let mut bytes = vec![0; 4096];
        let piece = ring.peek(&mut bytes);
        bytes.truncate(piece.length);
        file.log(&Chunk { node: 0, wall: 0, position: 0, dropped: 0, bytes }).unwrap();
        file.end(1).unwrap();
    }
}

fn stable(place: &Place, demo: &str, event: &str) -> Done {
    let source = source(demo);
    place.run(["stable", event, "--trace", "run.trace", "--source", source.to_str().unwrap()])
}

#[test]
fn the_laps_of_the_ring_are_promised_with_the_lines_that_justify_it() {
    let place = Place::new();
    RING.record(&place, &[]);
    let (first, second) = (line("token_ring", "inbox.recv()", 0), line("token_ring", "inbox.recv()", 1));
    let set = line("token_ring", "lap.set(", 0);
    let expected = format!(
        "left0.lap   changes only after recv(ring), token_ring.rs:{first}, :{second}, which right1 feeds through right0\n\
         recognised  at right1, recv(ring), token_ring.rs:{first}, :{second}; set of `lap`, token_ring.rs:{set}\n\
         carried by  left0.out, right0.ring; 4 other channels carry nothing\n"
    );
    assert_eq!(stable(&place, "token_ring", "left0.lap == 4 === right1.lap == 5").expect(0).out, expected);
}

#[test]
fn holding_the_token_is_refused_with_the_line_that_changes_it() {
    let place = Place::new();
    RING.record(&place, &[]);
    let set = line("token_ring", "holding.set(0)", 0);
    let expected = format!(
        "cannot be promised: left0 can set `holding` (token_ring.rs:{set}) without hearing from right1, so no message that \
         says `left0.holding == 1` stays true\n\
         instead: `stillpoint detect` on a recording, or `stillpoint break` as best effort\n"
    );
    assert_eq!(stable(&place, "token_ring", "left0.holding == 1 === right1.holding == 1").expect(1).out, expected);
}

#[test]
fn phases_at_a_barrier_are_promised_and_extra_work_is_not() {
    let place = Place::new();
    BARRIER.record(&place, &[]);
    let phases = stable(&place, "barrier", "near.phase == 4 === far.phase == 4").expect(0).out;
    let go = line("barrier", "go.recv()", 0);
    let first = format!("near.phase  changes only after recv(go), barrier.rs:{go}, which gate feeds\n");
    let second = format!("far.phase   changes only after recv(go), barrier.rs:{go}, which gate feeds through wire\n");
    assert!(phases.starts_with(&(first + &second)), "{phases}");
    assert!(
        phases.ends_with("carried by  near.arrived, wire.up, far.arrived; 3 other channels carry nothing\n"),
        "{phases}"
    );
    let extra = stable(&place, "barrier", "near.extra == 4 === far.extra == 4").expect(1).out;
    assert!(extra.contains(&format!("(barrier.rs:{})", line("barrier", "extra.set(", 0))), "{extra}");
}

/// Every `$ stillpoint stable` of the documentation prints what stands there.
#[test]
fn the_documentation_shows_what_the_command_prints() {
    let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/SIMULTANEOUS.md")).unwrap();
    let place = Place::new();
    BARRIER.record(&place, &[]);
    let blocks: Vec<_> = text
        .split("```")
        .filter_map(|block| block.trim_start_matches("text").trim_start().strip_prefix("$ stillpoint stable '"))
        .collect();
    assert_eq!(blocks.len(), 2);
    for block in blocks {
        let (event, expected) = block.split_once("'\n").unwrap();
        assert_eq!(stable(&place, "barrier", event).out, expected, "{event}");
    }
}

/// Nothing flows back from the sink, so nothing holds the producer; a watch that only grows needs no holding.
#[test]
fn a_watch_that_never_falls_is_promised_on_the_users_word() {
    let place = Place::new();
    PIPELINE.record(&place, &[]);
    let event = "filter.count >= 4 === sink.count == 2";
    let refused = stable(&place, "pipeline", event).expect(1).out;
    assert!(
        refused.contains("sends nothing that filter waits for") || refused.contains("without hearing from"),
        "{refused}"
    );
    let source = source("pipeline");
    let words = ["stable", event, "--trace", "run.trace", "--growing", "filter.count", "--source"];
    let done = place.run(words.into_iter().chain([source.to_str().unwrap()])).expect(0);
    assert!(done.out.starts_with("filter.count  never becomes false again\n"), "{}", done.out);
}

#[test]
fn what_cannot_be_answered_is_one_sentence_and_exit_code_2() {
    let place = Place::new();
    RING.record(&place, &[]);
    let says = |event: &str, text: &str| {
        let done = stable(&place, "token_ring", event).expect(2);
        assert!(done.err.contains(text), "{event}: {}", done.err);
    };
    says("left0.lap == 4", "this is one condition, not several at once");
    says("left0.lap == 4 === left0.lap == 5", "two components are of one node");
    says("left0.lap == 4 === right1.lap == left0.lap", "a condition of right1 cannot read a watch of left0");
    says("left0.lap == 4 === right1.lop == 5", "lop");
    // Without the firmware nobody knows where the sources are.
    let done = place.run(["stable", "left0.lap == 4 === right1.lap == 5", "--trace", "run.trace"]).expect(2);
    assert!(done.err.contains("gone.elf") && done.err.contains("--source"), "{}", done.err);
    let refused = |text: &str, why: &str| {
        std::fs::write(place.path().join("main.rs"), text).unwrap();
        let words = ["stable", "left0.lap == 4 === right1.lap == 5", "--trace", "run.trace", "--source", "main.rs"];
        let done = place.run(words).expect(2);
        assert!(done.err.contains(why), "{}", done.err);
    };
    refused("fn main() {\n  let\n}", "main.rs:3 does not parse");
    refused("fn main() {}", "the sources begin no node `left0`; they may not be those of the firmware");
    let ring = std::fs::read_to_string(source("token_ring")).unwrap();
    refused(&ring.replace("lap.set(", "drop("), "no source line that is followed sets `lap` of left0");
}

#[test]
fn the_json_of_a_verdict_has_what_the_text_has() {
    let place = Place::new();
    RING.record(&place, &[]);
    let source = source("token_ring");
    let words = ["--json", "stable", "left0.lap == 4 === right1.lap == 5", "--trace", "run.trace", "--source"];
    let answer = place.run(words.into_iter().chain([source.to_str().unwrap()])).expect(0).json();
    assert_eq!(answer["is_promised"], true);
    assert_eq!(answer["promised"]["node"], "right1");
    assert_eq!(answer["promised"]["carried"], serde_json::json!(["left0.out", "right0.ring"]));
    assert_eq!(answer["promised"]["silent"], 4);
    assert_eq!(answer["notes"], serde_json::json!([]));
}

/// Checked by hand: left0 of the ring sends on `ring` in three lines and on `out` in one.
#[test]
fn a_listing_with_lines_has_the_line_of_each_event_or_its_candidates() {
    let place = Place::new();
    // Ports of left0: ring (0), hand (1), out (2), ring (3).
    let event = |kind, arg| Event::new(kind, arg);
    let watch = Event { value: 1, ..event(EventKind::Watch, 0) };
    RING.record(&place, &[event(EventKind::Send, 0), watch, event(EventKind::Send, 2), Event::local(9)]);
    let source = source("token_ring");
    let words = ["show", "run.trace", "--lines", "--source", source.to_str().unwrap()];
    let shown = place.run(words).expect(0).out;
    let of = |nth: usize| shown.lines().filter(|line| line.starts_with("left0#")).nth(nth).unwrap_or_default();
    let at = |text, nth| line("token_ring", text, nth);
    let sends =
        format!("token_ring.rs:{}, :{} or :{}", at("outbox.send", 0), at("outbox.send", 1), at("outbox.send", 2));
    assert!(of(0).contains("send(ring)") && of(0).ends_with(&sends), "{shown}");
    let sets = format!("token_ring.rs:{} or :{}", at("holding.set(1)", 0), at("holding.set(0)", 0));
    assert!(of(1).ends_with(&sets), "{shown}");
    assert!(of(2).ends_with(&format!("token_ring.rs:{}", at("to.send", 0))), "{shown}");
    assert!(!of(3).contains(".rs:"), "{shown}");
    let json = place.run(["--json"].into_iter().chain(words)).expect(0).json();
    assert_eq!(json["events"][2]["source"], format!("token_ring.rs:{}", at("to.send", 0)));
    assert_eq!(json["events"][3]["source"], serde_json::Value::Null);
}

/// Checked by hand for the pipeline: the producer sends in one line.
#[test]
fn the_one_line_that_sends_is_certain() {
    let place = Place::new();
    PIPELINE.record(&place, &[Event::new(EventKind::Send, 0)]);
    let source = source("pipeline");
    let shown = place.run(["show", "run.trace", "--lines", "--source", source.to_str().unwrap()]).expect(0).out;
    let expected = format!("pipeline.rs:{}", line("pipeline", "out.send(&number)", 0));
    assert!(shown.lines().last().unwrap_or_default().ends_with(&expected), "{shown}");
}

#[test]
fn a_program_is_drawn_with_its_lines_and_the_marks_of_an_event() {
    let place = Place::new();
    RING.record(&place, &[]);
    let source = source("token_ring");
    let words = ["show", "run.trace", "--program", "--event", "left0.lap == 4 === right1.lap == 5", "--source"];
    let words: Vec<_> = words.into_iter().chain([source.to_str().unwrap()]).collect();
    let dot = place.run(&words).expect(0).out;
    let of = |part: &str| dot.lines().filter(|line| line.contains(part)).count();
    assert_eq!(of("subgraph cluster_"), 4);
    // right1 recognises where it takes the token, in two lines, and where it sets its lap.
    assert_eq!(of("peripheries=2"), 3);
    assert!(of("penwidth=4") > 0 && of("style=dashed") > 0, "{dot}");
    let set = line("token_ring", "lap.set(", 0);
    assert_eq!(of(&format!("label=\"set lap :{set}\"")), 4);
    let drawn = place.run(words.iter().copied().chain(["--svg", "flow.svg"])).expect(0);
    assert!(drawn.out.starts_with("drew "), "{}", drawn.out);
    let svg = std::fs::read_to_string(place.path().join("flow.svg")).unwrap();
    assert_eq!(svg.matches("class=\"mark\"").count(), 3);
    assert!(svg.contains("class=\"message carried\"") && svg.contains("component 1: generalised dependent"), "{svg}");
}

/// The pictures of the documentation are what the program draws. After a change that is meant, write them anew:
/// `DRAW=1 cargo test -p stillpoint --test offline pictures`.
#[test]
fn the_pictures_of_the_documentation_are_up_to_date() {
    let (lap, phase) = ("left0.lap == 4 === right1.lap == 5", "near.phase == 4 === far.phase == 4");
    for (system, event) in [(RING, Some(lap)), (PIPELINE, None), (BARRIER, Some(phase))] {
        let place = Place::new();
        system.record(&place, &[]);
        let (trace, source) = (format!("{}.trace", system.demo), source(system.demo));
        std::fs::rename(place.path().join("run.trace"), place.path().join(&trace)).unwrap();
        let mut words = vec!["show", &trace, "--program", "--svg", "new.svg", "--source", source.to_str().unwrap()];
        words.extend(event.into_iter().flat_map(|event| ["--event", event]));
        place.run(words).expect(0);
        let drawn = std::fs::read_to_string(place.path().join("new.svg")).unwrap();
        let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../docs/{}_program.svg", system.demo));
        if std::env::var_os("DRAW").is_some() {
            std::fs::write(&kept, &drawn).unwrap();
        }
        assert!(std::fs::read_to_string(&kept).unwrap() == drawn, "{} is out of date", kept.display());
    }
}

//! What the sources of a demo say of simultaneous events.
use stillpoint_analysis::{
    Action, Component, ExtractError, Extracted, Instance, Obstacle, Point, Port, Source, extract, recognise,
};
use stillpoint_core::NodeId;

const RING: &str = include_str!("../../../target-agent/examples/token_ring.rs");

fn port(from: u8, out: &str, to: u8, into: &str) -> Port {
    Port { from: (NodeId(from), out.into()), to: (NodeId(to), into.into()) }
}

fn task(node: u8, function: &str, ports: &[(&str, &str)]) -> Instance {
    let ports = ports.iter().map(|(parameter, port)| ((*parameter).into(), (*port).into())).collect();
    Instance { node: NodeId(node), function: function.into(), ports, preempts: false }
}

fn source(text: &str) -> [Source; 1] {
    [Source { file: "token_ring.rs".into(), text: text.into() }]
}

fn ring() -> Extracted {
    let ports = [
        port(0, "ring", 1, "ring"),
        port(1, "ring", 0, "hand"),
        port(0, "out", 2, "ring"),
        port(2, "ring", 3, "ring"),
        port(3, "ring", 2, "hand"),
        port(2, "out", 0, "ring"),
    ];
    let pass = |node| task(node, "pass", &[("inbox", "ring"), ("outbox", "ring")]);
    let forward = |node| task(node, "forward", &[("from", "hand"), ("to", "out")]);
    extract(&source(RING), &ports, &[pass(0), forward(0), pass(1), pass(2), forward(2), pass(3)]).unwrap()
}

/// The line of the demo on which a text stands for the n-th time.
fn line(text: &str, nth: usize) -> usize {
    RING.lines().enumerate().filter(|(_, line)| line.contains(text)).nth(nth).expect("the demo has it").0 + 1
}

fn lines(found: &Extracted, action: Action) -> Vec<usize> {
    let all = found.program.statements_with(action);
    let mut lines: Vec<_> = all.map(|id| found.place(id).expect("it is in the source").line).collect();
    lines.sort_unstable();
    lines
}

fn component(found: &Extracted, watch: &str) -> Component {
    let id = found.program.watch(watch).expect("the demo sets it");
    Component { node: found.program.watches()[id.index()].node, watches: vec![id], monotonic: false }
}

#[test]
fn every_send_receive_and_set_of_the_ring_has_its_line() {
    let found = ring();
    assert_eq!(found.notes, []);
    let channel = |name| found.program.channel(name).unwrap();
    assert_eq!(lines(&found, Action::Receive(channel("2.out"))), [line("inbox.recv()", 0), line("inbox.recv()", 1)]);
    let sends = [line("outbox.send", 0), line("outbox.send", 1), line("outbox.send", 2)];
    assert_eq!(lines(&found, Action::Send(channel("0.ring"))), sends);
    assert_eq!(lines(&found, Action::Send(channel("0.out"))), [line("to.send", 0)]);
    let holding = found.program.watch("0.holding").unwrap();
    assert_eq!(lines(&found, Action::Write(holding)), [line("holding.set(1)", 0), line("holding.set(0)", 0)]);
}

/// The lap of left0 changes only after a message that right1 feeds through right0.
#[test]
fn laps_of_the_ring_are_recognised_at_right1() {
    let found = ring();
    let event = [component(&found, "0.lap"), component(&found, "3.lap")];
    let (recognitions, _) = recognise(&found.program, &event);
    let right1 = recognitions.iter().find(|one| one.node == NodeId(3)).expect("right1 recognises it");
    assert!(right1.points.contains(&Point::Write(found.program.watch("3.lap").unwrap())));
    let carried: Vec<_> = right1.carried().iter().map(|id| found.program.channels()[id.index()].name.clone()).collect();
    assert_eq!(carried, ["0.out", "2.ring"]);
    let release = right1.holds[0].release.expect("left0 is held back");
    assert_eq!(found.program.channels()[release.sent.index()].name, "3.ring");
    assert_eq!(found.program.channels()[release.received.index()].name, "2.out");
}

#[test]
fn holding_the_token_cannot_be_recognised_and_the_line_says_why() {
    let found = ring();
    let event = [component(&found, "0.holding"), component(&found, "3.holding")];
    let (recognitions, obstacles) = recognise(&found.program, &event);
    assert_eq!(recognitions, []);
    let at_right1 = obstacles.iter().find_map(|obstacle| match obstacle {
        Obstacle::Changes { node: NodeId(3), component: 0, change } => Some(change),
        _ => None,
    });
    let write = at_right1.expect("left0 changes without right1").write;
    assert_eq!(found.place(write).unwrap().line, line("holding.set(0)", 0));
}

#[test]
fn sources_that_cannot_be_used_are_refused_with_a_sentence() {
    let refused = |text: &str, tasks: &[Instance]| extract(&source(text), &[], tasks).unwrap_err().to_string();
    assert!(refused("fn a() {}\nfn (", &[]).starts_with("token_ring.rs:2 does not parse: "));
    let missing = ExtractError::NoFunction("pass".into()).to_string();
    assert_eq!(refused("fn other() {}", &[task(0, "pass", &[])]), missing);
    let text = "async fn pass(out: Outbox) {}";
    assert_eq!(refused(text, &[task(0, "pass", &[("out", "far")])]), "node 0 has no port `far`, which `pass` uses");
}

/// A helper that calls itself may do anything; so may a port or watch whose variable is not followed.
#[test]
fn what_is_not_followed_is_noted_and_taken_for_anything() {
    let text = "async fn go(pair: Pair) {\n let x = watch!(agent, \"x\").unwrap();\n again();\n pair.out.send(&1).await;\n}\n\
                fn again() { again() }\nasync fn take(from: Inbox) { from.recv().await; }";
    let ports = [port(0, "out", 1, "in")];
    let found = extract(&source(text), &ports, &[task(0, "go", &[]), task(1, "take", &[("from", "in")])]).unwrap();
    let notes: Vec<_> = found.notes.iter().map(|note| (note.place.line, note.text.as_str())).collect();
    assert!(
        notes.contains(&(6, "`again` calls itself: taken for any use of the node's ports and watches")),
        "{notes:?}"
    );
    assert!(notes.contains(&(4, "`send` is on a port that is not known: taken for any port of the node")), "{notes:?}");
    assert_eq!(lines(&found, Action::Send(found.program.channel("0.out").unwrap())), [4, 6]);
    assert_eq!(lines(&found, Action::Write(found.program.watch("0.x").unwrap())), [6]);
}

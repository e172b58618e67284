//! What the sources of a demo say of simultaneous events.
#[path = "demos.rs"]
mod demos;

use demos::{Demo, channel, demo, node};
use stillpoint_analysis::{Action, Component, Extracted, Node, Obstacle, Point, Port, Source, extract, recognise};
use stillpoint_core::NodeId;

const RING: &str = include_str!("../../../target-agent/examples/token_ring.rs");

fn ring() -> Extracted {
    demo("token_ring").extract()
}

/// The line of the demo on which a text stands for the n-th time.
fn line(text: &str, nth: usize) -> usize {
    RING.lines().enumerate().filter(|(_, line)| line.contains(text)).nth(nth).expect("the demo has it").0 + 1
}

fn lines(found: &Extracted, action: Action) -> Vec<usize> {
    found.lines(action).into_iter().map(|place| place.line).collect()
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

/// The gate of a barrier can tell that both workers are in one phase, fixed or fuzzy; what a worker sets while it waits at a
/// fuzzy one, it cannot.
#[test]
fn phases_at_a_barrier_are_recognised_at_the_gate_and_extra_work_is_not() {
    let found = demo("barrier").extract();
    let (recognitions, _) = recognise(&found.program, &["1.phase", "3.phase"].map(|name| component(&found, name)));
    let gate = recognitions.iter().find(|one| one.node == NodeId(0)).expect("the gate recognises it");
    let name = |id: stillpoint_analysis::ChannelId| found.program.channels()[id.index()].name.clone();
    let carried: Vec<_> = gate.carried().into_iter().map(name).collect();
    assert_eq!(carried, ["1.arrived", "2.up", "3.arrived"]);
    let releases: Vec<_> = gate.holds.iter().filter_map(|hold| hold.release).map(|one| name(one.sent)).collect();
    assert_eq!(releases, ["0.go", "0.down"]);
    let (recognitions, obstacles) =
        recognise(&found.program, &["1.extra", "3.extra"].map(|name| component(&found, name)));
    assert_eq!(recognitions, []);
    let write = obstacles.iter().find_map(|obstacle| match obstacle {
        Obstacle::Changes { node: NodeId(0), component: 0, change } => Some(change.write),
        _ => None,
    });
    let text = include_str!("../../../target-agent/examples/barrier.rs");
    let line = text.lines().position(|line| line.contains("extra.set")).expect("the demo sets it") + 1;
    assert_eq!(found.place(write.expect("near changes without the gate")).unwrap().line, line);
}

/// The notes of every demo, each with the reason why nothing better is known.
#[test]
fn every_demo_is_extracted_and_each_note_has_its_reason() {
    for Demo { name, notes, .. } in demos::all() {
        let found = demo(name).extract();
        let mut seen: Vec<_> = found.notes.iter().map(|note| note.text.clone()).collect();
        seen.sort();
        seen.dedup();
        assert_eq!(seen, notes, "{name}: {:#?}", found.notes);
    }
}

/// Every channel of a demo has lines that send and lines that receive, except those that nobody uses.
#[test]
fn every_channel_of_a_demo_has_its_lines_at_both_ends() {
    for Demo { name, unused, .. } in demos::all() {
        let found = demo(name).extract();
        for (at, channel) in found.program.channels().iter().enumerate() {
            let id = stillpoint_analysis::ChannelId(at as u32);
            let ends = [Action::Send(id), Action::Receive(id)].map(|action| !found.lines(action).is_empty());
            assert_eq!(ends, [!unused.contains(&channel.name.as_str()); 2], "{name}: {}", channel.name);
        }
    }
}

/// Counted in the sources by hand.
#[test]
fn the_tasks_of_each_node_are_those_that_it_spawns() {
    let tasks = |name: &str, node: u8| {
        let found = demo(name).extract();
        let own = found.program.tasks().iter().enumerate().filter(|(_, task)| task.node == NodeId(node));
        let mut names: Vec<_> =
            own.map(|(at, _)| found.task_name(stillpoint_analysis::TaskId(at as u32)).to_owned()).collect();
        names.sort();
        names
    };
    assert_eq!(tasks("token_ring", 0), ["forward", "pass", "pump"]);
    assert_eq!(tasks("token_ring", 3), ["pass"]);
    assert_eq!(tasks("pipeline", 1), ["filter", "pump"]);
    // The functions of a waker are code that may run at any time.
    assert_eq!(tasks("rpc_timeouts", 0), ["answer", "feeder", "kept code", "pump", "watchdog"]);
    assert_eq!(tasks("sabotaged", 0), ["pump", "send", "send", "take", "take"]);
    assert_eq!(tasks("solver", 3), ["mult_of_core_1"]);
    assert_eq!(tasks("chatter", 0), ["forward", "pass", "play", "pump", "talk"]);
}

fn source(text: &str) -> Vec<Source> {
    vec![Source { file: "token_ring.rs".into(), text: text.into() }]
}

#[test]
fn sources_that_cannot_be_used_are_refused_with_a_sentence() {
    let nodes = [node(0, "left0", &[])];
    let refused = |text: &str| extract(&[source(text)], &nodes, &[]).unwrap_err().to_string();
    assert!(refused("fn a() {}\nfn (").starts_with("token_ring.rs:2 does not parse: "));
    assert_eq!(
        refused("#[entry] fn main() {}"),
        "the sources begin no node `left0`; they may not be those of the firmware"
    );
}

/// Two nodes: `p` runs the task `go` with the port `out` and the watch `x`, `q` takes what it sends and sends back.
fn two(body: &str) -> Extracted {
    let text = format!(
        "system!(AGENTS of Agent: nodes = 2, ports = 2, log = 1024);
#[task] async fn take(mut from: Inbox<u32>, mut back: Outbox<u32>) {{ loop {{ from.recv().await; back.send(&1).await; }} }}
#[entry] fn main() -> ! {{
    start_core1(|| {{
        let agent = AGENTS.begin(name!(node \"q\"), Q, StampKind::Vector).unwrap();
        let from = agent.inbox(name!(\"in\"), &A, P, ZERO).unwrap();
        let back = agent.outbox(name!(\"back\"), &B, P, ZERO).unwrap();
        executor.run(|spawner| spawner.spawn(take(from, back)))
    }});
    let agent = AGENTS.begin(name!(node \"p\"), P, StampKind::Vector).unwrap();
    let out = agent.outbox(name!(\"out\"), &A, Q, ONE).unwrap();
    let back = agent.inbox(name!(\"back\"), &B, Q, ONE).unwrap();
    executor.run(|spawner| spawner.spawn(go(agent, out, back)))
}}
{body}"
    );
    let nodes: [Node; 2] = [node(0, "p", &["out", "back"]), node(1, "q", &["in", "back"])];
    let channels: [Port; 2] = [channel((0, "out"), (1, "in")), channel((1, "back"), (0, "back"))];
    extract(&[source(&text)], &nodes, &channels).unwrap()
}

/// Whether p's `x` is promised to stay until q lets it change.
fn is_stable(found: &Extracted) -> bool {
    let carrier = found.program.channel("0.out").unwrap();
    let release = found.program.channel("1.back").unwrap();
    stillpoint_analysis::stability(&found.program, &component(found, "0.x"), carrier, release).is_ok()
}

fn go(body: &str) -> Extracted {
    two(&format!(
        "#[task] async fn go(agent: Agent, mut out: Outbox<u32>, mut back: Inbox<u32>) {{\n let x = watch!(agent, \"x\").unwrap();\n{body}\n}}"
    ))
}

/// A request and its answer: the plain form, and the same in each way of writing it that is followed.
#[test]
fn a_write_after_the_receive_is_stable_however_it_is_written() {
    let ways = [
        "loop { x.set(1); out.send(&1).await.unwrap(); back.recv().await.unwrap(); }",
        "loop { x.set(1); let sent = out.send(&1); sent.await.unwrap(); let got = async { back.recv().await }; got.await; }",
        "let mut ends = (out, back); loop { x.set(1); ends.0.send(&1).await; ends.1.recv().await; }",
        "let [mut out] = [out]; for n in 0.. { x.set(n); out.send(&1).await?; match back.recv().await { Ok(_) => {}, Err(_) => return } }",
        "let mut step = || x.set(1); loop { step(); out.send(&1).await; while back.try_recv().is_err() { yield_now().await; } }",
        "loop { x.set(1); out.send(&1).await; loop { match with_timeout(T, back.recv()).await { Ok(_) => break, Err(_) => continue } } }",
        "loop { x.set(1); out.send(&1).await; if let Either::Second(_) = select(Timer::after(T), back.recv()).await { continue } panic!() }",
        "'all: loop { x.set(1); out.send(&1).await; 'one: { if back.try_recv().is_ok() { break 'one } continue 'all } }",
    ];
    for (at, way) in ways.into_iter().enumerate() {
        let found = go(way);
        assert_eq!(found.notes, [], "{way}");
        // The last one sends again without a receive in between, and sets x before.
        assert_eq!(is_stable(&found), at != 7, "{way}");
    }
}

#[test]
fn a_write_before_the_receive_is_found_however_it_is_hidden() {
    let ways = [
        "loop { out.send(&1).await; x.set(1); back.recv().await; }",
        "loop { out.send(&1).await; with_timeout(T, back.recv()).await; x.set(1); }",
        "loop { out.send(&1).await; let _ = back.try_recv(); x.set(1); }",
        "loop { out.send(&1).await; select(work(&x), back.recv()).await; }",
        "loop { out.send(&1).await; join(back.recv(), async { x.set(1) }).await; }",
        "loop { out.send(&1).await; let later = back.recv(); x.set(1); later.await; }",
        // The send is in a future that loses the race.
        "loop { match select(async { out.send(&1).await; pending::<()>().await }, Timer::after(T)).await { Either::First(_) => panic!(), Either::Second(_) => x.set(1) } back.recv().await; }",
        "loop { out.send(&1).await; poke(); back.recv().await; }",
        "let act = |n| x.set(n); loop { out.send(&1).await; (0..2).for_each(act); back.recv().await; }",
        "loop { out.send(&1).await; agent.watch(name!(watch \"y\")).map_err(|_| x.set(1)); back.recv().await; }",
        "let all = [x]; loop { out.send(&1).await; for one in &all { one.set(1); } back.recv().await; }",
        "let held = Held { x }; loop { out.send(&1).await; held.act(); back.recv().await; }",
        "let held = Held { x }; loop { out.send(&1).await; Held::act(&held); back.recv().await; }",
        "let held = Held { x }; loop { out.send(&1).await; let Held { x } = &held; x.set(2); back.recv().await; }",
        "loop { out.send(&1).await; 'a: { if busy() { break 'a } back.recv().await; } x.set(1); }",
        "loop { out.send(&1).await; if back.recv().await.is_ok() || true { } fn inner(x: &Watch) { x.set(1) } inner(&x); out.send(&1).await; x.set(2); }",
    ];
    for way in ways {
        let text = format!(
            "struct Held {{ x: Watch }} impl Held {{ fn act(&self) {{ self.x.set(1) }} }}
            fn poke() {{ watch!(kit::agent(), \"x\").unwrap().set(1) }}
            async fn work(x: &Watch) {{ x.set(1); Timer::after(T).await }}
            #[task] async fn go(agent: Agent, mut out: Outbox<u32>, mut back: Inbox<u32>) {{
            let x = watch!(agent, \"x\").unwrap();\n{way}\n}}"
        );
        assert!(!is_stable(&two(&text)), "{way}");
    }
}

/// What is not followed is noted, and the condition is not promised then.
#[test]
fn what_is_not_followed_is_noted_and_taken_for_anything() {
    const QUIET: &str = "x.set(1); out.send(&1).await; back.recv().await;";
    let ways = [
        (format!("again(&x); {QUIET}"), "fn again(x: &Watch) { again(x) }", "`again` calls itself"),
        (format!("library::keep(&x); {QUIET}"), "", "`keep` gets a port, watch or function and is not in the sources"),
        (
            "x.set(1); out.send(&1).await; KEPT.borrow().set(1); back.recv().await;".into(),
            "static KEPT: Cell<Option<Watch>> = NONE;",
            "`set` is on a watch",
        ),
        (format!("local!(x); {QUIET}"), "macro_rules! local { ($x:expr) => { $x.set(1) } }", "the macro `local`"),
        (format!("other! {{ with x do }} {QUIET}"), "", "the macro `other`"),
        (format!("let mut y = watch!(agent, \"y\"); y = x; {QUIET}"), "", "a port, watch or function is assigned"),
        (QUIET.into(), "#[task] async fn lost(agent: Agent) { watch!(agent, \"x\").unwrap().set(3); }", "task `lost`"),
        (
            QUIET.into(),
            "struct Guard(Watch); impl Drop for Guard { fn drop(&mut self) { self.0.set(0) } }",
            "`drop` is called without a name",
        ),
        (
            QUIET.into(),
            "struct Guard(Watch); impl Drop for Guard { fn drop(&mut self) { self.end() } } impl Guard { fn end(&self) { self.0.set(0) } }",
            "`drop` is called without a name",
        ),
        (format!("let act = async || x.set(1); {QUIET}"), "", "an async closure is not followed"),
        (
            format!("LOCK.lock(|| x.set(1)); {QUIET}"),
            "struct Own; impl Own { async fn lock(&self, act: impl FnOnce()) {} }",
            "`lock` gets a port, watch or function and is not in the sources",
        ),
        (
            QUIET.into(),
            "static KEPT: Mutex<Watch> = NEW; #[interrupt] fn TIMER() { KEPT.get().set(3) }",
            "`set` is on a watch that is not known",
        ),
        (
            QUIET.into(),
            "static HIGH: InterruptExecutor = NEW; #[task] async fn other(a: Agent) {}",
            "with an interrupt executor",
        ),
    ];
    for (body, items, note) in ways {
        let text = format!(
            "{items} #[task] async fn go(agent: Agent, mut out: Outbox<u32>, mut back: Inbox<u32>) {{
            let x = watch!(agent, \"x\").unwrap(); loop {{ {body} }} }}"
        );
        let found = two(&text);
        assert!(found.notes.iter().any(|one| one.text.starts_with(note)), "{note}: {:?}", found.notes);
        assert!(!is_stable(&found) || note.starts_with("with an"), "{note}");
    }
}

/// A sister task of the same pool counts, too.
#[test]
fn a_task_that_is_spawned_twice_is_its_own_sister() {
    let text = "#[task(pool_size = 2)] async fn go(agent: Agent, mut out: Outbox<u32>, mut back: Inbox<u32>) {
        let x = watch!(agent, \"x\").unwrap(); loop { x.set(1); out.send(&1).await; back.recv().await; } }";
    let once = two(text);
    let twice = {
        let text = text.replace("async fn go", "async fn run_one");
        let helper = "#[task] async fn go(agent: Agent, out: Outbox<u32>, back: Inbox<u32>) { for n in 0..2 { spawner.spawn(run_one(agent, out, back)); } }";
        two(&format!("{text} {helper}"))
    };
    let of = |found: &Extracted| found.program.tasks().iter().filter(|task| task.node == NodeId(0)).count();
    assert_eq!((of(&once), of(&twice)), (1, 3));
    assert!(is_stable(&once));
}

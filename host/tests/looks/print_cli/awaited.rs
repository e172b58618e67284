//! What the last recorded event of a task says about the `.await` at which the task is suspended, for every demo that
//! records and runs on: `selftest` records nothing, `round_trip` and `sabotaged` end. The tables are read off the
//! demos' sources and know nothing of how a task's storage is decoded.
use serde_json::Value;

/// One demo.
pub struct Demo {
    pub name: &'static str,
    pub source: &'static str,
    /// Whether it runs on one board instead of two.
    pub is_alone: bool,
    /// Words of its command line.
    pub words: &'static [&'static str],
    pub tasks: &'static [Expected],
}

/// A task: after which event it is suspended at which lines. An empty event stands for a task whose lines do not depend on
/// events. A line is a text of the source that is there once, and how many lines further down.
pub type Expected = (&'static str, &'static [(&'static str, &'static [&'static str])]);

macro_rules! source {
    ($path:literal) => {
        include_str!(concat!("../../../../target-agent/examples/", $path))
    };
}

const PUMP: Expected = ("pump", &[("", &["agent.pump(&LINK).await"])]);

pub const DEMOS: &[Demo] = &[
    Demo {
        name: "token_ring",
        source: source!("token_ring.rs"),
        is_alone: false,
        words: &[],
        tasks: &[
            ("pass", &[("send(ring)", &["_ => inbox.recv().await"]), ("recv(ring)", &["outbox.send(&token).await"])]),
            ("forward", &[("recv(hand)", &["to.send(&token).await"]), ("send(out)", &["from.recv().await"])]),
            PUMP,
        ],
    },
    Demo {
        name: "pipeline",
        source: source!("pipeline.rs"),
        is_alone: false,
        words: &[],
        tasks: &[
            ("produce", &[("", &["async fn produce+3"])]),
            // It counts what it is about to send on.
            (
                "filter",
                &[
                    ("recv(in)", &["async fn filter+4"]),
                    ("watch(count)", &["async fn filter+15"]),
                    ("send(out)", &["async fn filter+4"]),
                ],
            ),
            (
                "square",
                &[
                    ("recv(in)", &["out.send(&square).await"]),
                    ("watch(count)", &["out.send(&square).await"]),
                    ("send(out)", &["async fn square+3"]),
                ],
            ),
            ("sink", &[("", &["total.wrapping_add(inbox.recv()"])]),
            PUMP,
        ],
    },
    Demo {
        name: "rpc_timeouts",
        source: source!("rpc_timeouts.rs"),
        is_alone: false,
        words: &[],
        tasks: &[
            (
                "ask",
                &[
                    ("call(square)", &["client.call_with_timeout"]),
                    ("return(square)", &["Timer::after_millis(10)"]),
                    ("watch(calls)", &["Timer::after_millis(10)"]),
                ],
            ),
            (
                "answer",
                &[
                    ("serve(square)", &["Timer::after_millis(5)"]),
                    ("reply(square)", &["server.next().await"]),
                    ("watch(calls)", &["server.next().await"]),
                ],
            ),
            ("sense", &[("send(samples)", &["samples.send(&Sample+4"])]),
            ("collect", &[("", &["samples.recv().await"])]),
            ("feeder", &[("", &["async fn feeder+3"])]),
            ("watchdog", &[("", &["Timer::after_millis(100)"])]),
            PUMP,
        ],
    },
    Demo {
        name: "chatter",
        source: source!("chatter.rs"),
        is_alone: false,
        words: &["pause=500"],
        tasks: &[
            (
                "pass",
                &[("recv(ring)", &["async fn pass+12", "async fn pass+14"]), ("send(ring)", &["async fn pass+7"])],
            ),
            (
                "play",
                &[
                    ("recv(there)", &["async fn play+8", "async fn play+10"]),
                    ("recv(back)", &["async fn play+8", "async fn play+10"]),
                    ("send(there)", &["async fn play+4"]),
                    ("send(back)", &["async fn play+4"]),
                ],
            ),
            ("talk", &[("", &["async fn talk+3"])]),
            ("forward", &[("recv(hand)", &["to.send(&message)"]), ("send(out)", &["from.recv().await"])]),
            PUMP,
        ],
    },
    Demo {
        name: "faults",
        source: source!("faults.rs"),
        is_alone: false,
        words: &[],
        tasks: &[
            ("produce", &[("", &["async fn produce+5"])]),
            (
                "relay",
                &[
                    ("recv(made)", &["async fn relay+6"]),
                    ("recv(far in)", &["async fn relay+6"]),
                    ("watch(seen)", &["async fn relay+6"]),
                    ("send(far out)", &["async fn relay+3"]),
                    ("send(to sink)", &["async fn relay+3"]),
                ],
            ),
            // No event says that its timer has ended. On a busy computer the link can be slower than the sink.
            (
                "consume",
                &[
                    ("recv(to sink)", &["Timer::after_millis(1)"]),
                    ("watch(seen)", &["Timer::after_millis(1)", "async fn consume+4"]),
                    ("watch(interrupts)", &["Timer::after_millis(1)", "async fn consume+4"]),
                ],
            ),
            PUMP,
        ],
    },
    Demo {
        name: "link_soak",
        source: source!("link_soak.rs"),
        is_alone: false,
        words: &[],
        tasks: &[
            ("send", &[("", &["outbox.send(&Message::new(number))"])]),
            ("receive", &[("recv(in)", &["next.send(&message)"]), ("send(checked)", &["match inbox.recv().await"])]),
            ("receive_again", &[("", &["check(1, inbox.recv()"])]),
            ("show", &[("", &["Timer::after_millis(100)"])]),
            PUMP,
        ],
    },
    Demo {
        name: "solver",
        source: source!("solver.rs"),
        is_alone: false,
        words: &["rounds=0"],
        tasks: &[
            (
                "solve",
                &[
                    ("trace(dist)", &["around.to_mult1.send(&Work::Segment"]),
                    ("send(to_mult1)", &["around.to_b.send(&Work::Segment", "around.to_b.send(&Work::Column"]),
                    ("send(to_b)", &["around.to_b.send(&Work::Segment", "around.from_mult1.recv()", "_ => reduced("]),
                    ("recv(from_b)", &["_ => reduced("]),
                    ("trace(solve)", &["around.to_mult1.send(&Work::Column", "around.to_b.send(&Work::Column"]),
                ],
            ),
            (
                "mult_of_core_1",
                &[
                    ("recv(work)", &["match work.recv().await"]),
                    ("trace(mult)", &["match work.recv().await", "match work.recv().await+5"]),
                    ("send(done)", &["match work.recv().await"]),
                ],
            ),
            (
                "mult_2",
                &[
                    ("recv(work)", &["select(work.recv()", "to_mult3.send(&work)", "async fn mult_2+21"]),
                    ("send(to_mult3)", &["select(work.recv()"]),
                    ("trace(mult)", &["select(work.recv()", "async fn mult_2+26"]),
                    ("recv(from_mult3)", &["done.send(&reduced.unwrap())"]),
                    ("send(done)", &["select(work.recv()"]),
                ],
            ),
            PUMP,
        ],
    },
    Demo {
        name: "guide_after",
        source: source!("guide/after.rs"),
        is_alone: true,
        words: &[],
        tasks: &[
            (
                "measure",
                &[
                    ("send(samples)", &["with_timeout(PATIENCE, averages.recv())"]),
                    ("recv(averages)", &["Timer::after_millis(2)"]),
                    ("watch(average)", &["Timer::after_millis(2)"]),
                ],
            ),
            ("average", &[("recv(samples)", &["averages.send(&(sum"]), ("send(averages)", &["samples.recv().await"])]),
        ],
    },
    Demo {
        name: "replay",
        source: source!("replay.rs"),
        is_alone: true,
        words: &[],
        tasks: &[
            ("sense", &[("", &["Duration::from_millis(1)).await", "Duration::from_ticks(0)).await"])]),
            ("look", &[("", &["Timer::at(next).await"])]),
        ],
    },
];

/// After which event the task `steps` of `waits` is suspended at which lines, from the outside: every event has another line.
/// The last two events come in a function that two others await, so the event before them decides as well.
const STEPS: &[(&str, &[&str])] = &[
    ("timer", &["Timer::after_micros(700)"]),
    ("select", &["select(Timer::after_micros(800)"]),
    ("join", &["join(Timer::after_micros(500)"]),
    ("even", &["Timer::after_micros(600)"]),
    ("odd", &["Timer::after_micros(601)"]),
    ("below", &["below(agent, turn).await", "Timer::after_micros(650)"]),
    ("above", &["below(agent, turn).await", "Timer::after_micros(750)"]),
    ("part", &["Timer::after_micros(400 + part)"]),
    ("below bottom", &["below(agent, turn).await", "bottom(agent, turn).await", "Timer::after_micros(550)"]),
    ("below last", &["below(agent, turn).await", "bottom(agent, turn).await", "Timer::after_micros(450)"]),
    ("part bottom", &["pin!(bottom(agent, turn))+2", "Timer::after_micros(550)"]),
    ("part last", &["pin!(bottom(agent, turn))+2", "Timer::after_micros(450)"]),
];

/// The lines at which `steps` is suspended after these events of its node, and the events that say so.
pub fn step(source: &str, node: &Value, events: &[Value]) -> Option<(String, Vec<u64>)> {
    let named = events.iter().rev().filter(|event| event["node"] == *node);
    let mut named =
        named.filter_map(|event| event["action"].as_str().unwrap().strip_prefix("trace(")?.split(')').next());
    let last = named.next()?;
    let is_below = |name: &str| name == "bottom" || name == "last";
    let key = match is_below(last) {
        true => format!("{} {last}", named.find(|name| !is_below(name))?),
        false => last.to_owned(),
    };
    let (_, texts) = STEPS.iter().find(|(event, _)| *event == key)?;
    Some((key, texts.iter().map(|text| line(source, text)).collect()))
}

/// The line that a text of the source names.
pub fn line(source: &str, text: &str) -> u64 {
    let (text, further) = match text.rsplit_once('+') {
        Some((text, further)) if !further.is_empty() && further.bytes().all(|byte| byte.is_ascii_digit()) => {
            (text, further.parse().unwrap())
        }
        _ => (text, 0),
    };
    super::line_of(source, text) + further
}

/// The lines at which a task may be suspended after the events of its node, and the event that says so. None if none of
/// these is an event of the task.
pub fn implied(demo: &Demo, task: &Expected, node: &Value, events: &[Value]) -> Option<(String, Vec<u64>)> {
    let lines = |texts: &[&str]| texts.iter().map(|text| line(demo.source, text)).collect();
    if let Some((_, texts)) = task.1.iter().find(|(action, _)| action.is_empty()) {
        return Some(("any event".into(), lines(texts)));
    }
    events.iter().rev().filter(|event| event["node"] == *node).find_map(|event| {
        let said = event["action"].as_str().unwrap();
        let is_own =
            |action: &str| said == action || said.strip_prefix(action).is_some_and(|rest| rest.starts_with(' '));
        let (_, texts) = task.1.iter().find(|(action, _)| is_own(action))?;
        Some((event.to_string(), lines(texts)))
    })
}

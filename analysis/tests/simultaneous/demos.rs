//! The demos with their nodes and channels, as their control blocks say.
use stillpoint_analysis::{Extracted, Node, Port, Source, extract};
use stillpoint_core::NodeId;

pub fn node(id: u8, name: &str, ports: &[&str]) -> Node {
    let ports = ports.iter().map(|port| (*port).into()).collect();
    Node { id: NodeId(id), name: name.into(), firmware: 0, ports }
}

pub fn channel(from: (u8, &str), to: (u8, &str)) -> Port {
    Port { from: (NodeId(from.0), from.1.into()), to: (NodeId(to.0), to.1.into()) }
}

/// A demo.
pub struct Demo {
    pub name: &'static str,
    text: &'static str,
    nodes: &'static [&'static str],
    /// From a node and its port to a node and its port.
    channels: &'static [(u8, &'static str, u8, &'static str)],
    /// Channels that nobody sends on or receives from.
    pub unused: &'static [&'static str],
    /// What is not followed.
    pub notes: &'static [&'static str],
}

macro_rules! text {
    ($name:literal) => {
        include_str!(concat!("../../../target-agent/examples/", $name, ".rs"))
    };
}

const BOARDS: &[&str] = &["left0", "left1", "right0", "right1"];

/// Every demo that has nodes.
pub fn all() -> Vec<Demo> {
    let demo = |name, text, nodes, channels| Demo { name, text, nodes, channels, unused: &[], notes: &[] };
    vec![
        demo(
            "token_ring",
            text!("token_ring"),
            BOARDS,
            &[
                (0, "ring", 1, "ring"),
                (1, "ring", 0, "hand"),
                (0, "out", 2, "ring"),
                (2, "ring", 3, "ring"),
                (3, "ring", 2, "hand"),
                (2, "out", 0, "ring"),
            ],
        ),
        demo(
            "barrier",
            text!("barrier"),
            &["gate", "near", "wire", "far"],
            &[
                (1, "arrived", 0, "arrived"),
                (0, "go", 1, "go"),
                (2, "up", 0, "up"),
                (0, "down", 2, "down"),
                (3, "arrived", 2, "arrived"),
                (2, "go", 3, "go"),
            ],
        ),
        Demo {
            // Nothing flows back over the link.
            unused: &["2.unused"],
            ..demo(
                "pipeline",
                text!("pipeline"),
                &["producer", "filter", "square", "sink"],
                &[(0, "out", 1, "in"), (1, "out", 2, "in"), (2, "out", 3, "in"), (2, "unused", 1, "unused")],
            )
        },
        demo(
            "chatter",
            text!("chatter"),
            BOARDS,
            &[
                (0, "ring", 1, "ring"),
                (1, "ring", 0, "hand"),
                (0, "there", 1, "there"),
                (1, "back", 0, "back"),
                (0, "out", 2, "ring"),
                (2, "ring", 3, "ring"),
                (3, "ring", 2, "hand"),
                (2, "there", 3, "there"),
                (3, "back", 2, "back"),
                (2, "out", 0, "ring"),
            ],
        ),
        Demo {
            // The handler of a core's timer calls a function that a task has put into a static.
            notes: &[
                "`set` of something unknown gets a port or function: taken for any use of the node's ports and watches",
                "a function that is not known is called: taken for any use of the node's ports and watches",
                "code that is kept may run at any time: taken for any use of the node's ports and watches",
            ],
            ..demo(
                "faults",
                text!("faults"),
                BOARDS,
                &[
                    (1, "made", 0, "made"),
                    (0, "far out", 2, "far in"),
                    (2, "far out", 0, "far in"),
                    (2, "to sink", 3, "to sink"),
                    (0, "second out", 2, "second in"),
                    (2, "second out", 0, "second in"),
                ],
            )
        },
        demo(
            "link_soak",
            text!("link_soak"),
            BOARDS,
            &[(0, "checked", 1, "checked"), (0, "out", 2, "in"), (2, "checked", 3, "checked"), (2, "out", 0, "in")],
        ),
        demo(
            "two_phase",
            text!("two_phase"),
            &["coordinator", "store1", "store2", "store3"],
            &[
                (0, "ask", 1, "ask"),
                (1, "told", 0, "told"),
                (0, "to_board", 2, "from_board"),
                (2, "to_board", 0, "from_board"),
                (2, "ask", 3, "ask"),
                (3, "told", 2, "told"),
            ],
        ),
        demo("replay", text!("replay"), &["sensor", "logger"], &[(0, "levels", 1, "levels")]),
        demo("round_trip", text!("round_trip"), &["zero", "one"], &[(0, "there", 1, "there"), (1, "back", 0, "back")]),
        Demo {
            // To crash inside a call, it polls the call by hand, with a waker whose functions are kept in a static.
            notes: &[
                "`poll_once` gets a port, watch or function and is not in the sources: taken for any use of the node's ports and watches",
                "`poll` gets a port, watch or function and is not in the sources: taken for any use of the node's ports and watches",
                "code that is kept may run at any time: taken for any use of the node's ports and watches",
            ],
            ..demo(
                "rpc_timeouts",
                text!("rpc_timeouts"),
                &["server", "neighbour", "far client", "sensor"],
                &[
                    (1, "questions", 0, "questions"),
                    (0, "answers", 1, "answers"),
                    (2, "far questions", 0, "far questions"),
                    (0, "far answers", 2, "far answers"),
                    (3, "samples", 2, "samples"),
                ],
            )
        },
        demo(
            "sabotaged",
            text!("sabotaged"),
            BOARDS,
            &[
                (0, "numbers out", 1, "numbers in"),
                (1, "back out", 0, "back in"),
                (0, "far out", 2, "far in"),
                (2, "far out", 0, "far in"),
                (2, "numbers out", 3, "numbers in"),
                (3, "back out", 2, "back in"),
            ],
        ),
        demo(
            "solver",
            text!("solver"),
            &["solve", "mult1", "mult2", "mult3"],
            &[
                (0, "to_mult1", 1, "work"),
                (1, "done", 0, "from_mult1"),
                (0, "to_b", 2, "work"),
                (2, "done", 0, "from_b"),
                (2, "to_mult3", 3, "work"),
                (3, "done", 2, "from_mult3"),
            ],
        ),
        demo("stock_executor", text!("stock_executor"), &["near", "far"], &[(0, "numbers", 1, "numbers")]),
        demo(
            "waits",
            text!("waits"),
            &["near", "far"],
            &[
                (0, "data", 1, "data"),
                (0, "there", 1, "there"),
                (1, "back again", 0, "back again"),
                (1, "here", 0, "here"),
                (0, "and back", 1, "and back"),
            ],
        ),
        demo(
            "guide",
            text!("guide/after"),
            &["meter", "averager"],
            &[(0, "samples", 1, "samples"), (1, "averages", 0, "averages")],
        ),
    ]
}

pub fn demo(name: &str) -> Demo {
    all().into_iter().find(|demo| demo.name == name).expect("there is such a demo")
}

impl Demo {
    pub fn extract(&self) -> Extracted {
        let channels: Vec<_> =
            self.channels.iter().map(|(from, out, to, into)| channel((*from, out), (*to, into))).collect();
        let nodes: Vec<_> = self.nodes.iter().zip(0..).map(|(name, id)| node(id, name, &[])).collect();
        let sources = vec![Source { file: format!("{}.rs", self.name), text: self.text.into() }];
        extract(&[sources], &nodes, &channels).unwrap_or_else(|error| panic!("{}: {error}", self.name))
    }
}

//! What any bytes may do to a decoder, the verifier or a node: nothing but a typed error.
//!
//! Each [`Target`] takes arbitrary bytes and panics if a promise is broken. Beside "never panics" these are: what was
//! refused changed nothing; what was accepted can be written again and gives the same bytes; what depends on more than
//! one decoder agrees. The same functions are run by libFuzzer (`fuzz/README.md`) and, with bytes from [`inputs`], by a smoke
//! test that needs no nightly compiler (`tests/tests/fuzz_smoke.rs`).
mod bytes;
mod certificate;
mod control;
mod link;
mod log;
mod message;
mod mutate;
mod node;
mod program;
mod script;
mod text;

pub use bytes::Bytes;
pub use mutate::inputs;

/// Something that takes bytes from outside.
///
/// # Example: no bytes are a reason to panic
/// ```
/// let target = stillpoint_tests::fuzz::target("halt_marker").unwrap();
/// (target.run)(&[3, 0, 41, 0, 0, 0, 1, 1]);
/// (target.run)(b"anything");
/// ```
pub struct Target {
    /// What it is called on the command line.
    pub name: &'static str,
    /// Takes the bytes; panics if a promise is broken.
    pub run: fn(&[u8]),
    /// Inputs that are right, from which wrong ones are made.
    pub seeds: fn() -> Vec<Vec<u8>>,
}

/// Every target.
pub const TARGETS: [Target; 12] = [
    Target { name: "stamp", run: message::stamp, seeds: message::stamp_seeds },
    Target { name: "halt_marker", run: message::halt_marker, seeds: message::halt_marker_seeds },
    Target { name: "hello", run: message::hello, seeds: message::hello_seeds },
    Target { name: "carry", run: message::carry, seeds: message::carry_seeds },
    Target { name: "log", run: log::log, seeds: log::seeds },
    Target { name: "text", run: text::text, seeds: text::seeds },
    Target { name: "link", run: link::link, seeds: link::seeds },
    Target { name: "program", run: program::program, seeds: program::seeds },
    Target { name: "command", run: control::command, seeds: control::command_seeds },
    Target { name: "control_header", run: control::control_header, seeds: control::header_seeds },
    Target { name: "certificate", run: certificate::certificate, seeds: certificate::seeds },
    Target { name: "node", run: node::node, seeds: node::seeds },
];

/// The target of this name.
#[must_use]
pub fn target(name: &str) -> Option<&'static Target> {
    TARGETS.iter().find(|target| target.name == name)
}

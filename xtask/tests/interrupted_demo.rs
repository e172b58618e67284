//! A demo that is interrupted leaves no machine behind.
mod support;

use std::process::{ExitStatus, Stdio};
use support::{demo_machines, signal, wait_until, xtask};

/// Starts the demo and interrupts it when both its machines run.
fn interrupted_by(name: &str) -> ExitStatus {
    let mut demo = xtask(&["demo"]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    // It may have to build its firmware first.
    wait_until(600, "the start of two machines", || {
        assert!(demo.try_wait().unwrap().is_none(), "the demo ended before its machines ran");
        demo_machines().len() == 2
    });
    signal(name, &demo);
    let status = demo.wait().unwrap();
    assert_eq!(demo_machines(), [0; 0], "both machines have ended");
    status
}

/// One after the other: they are demos of one folder.
#[test]
fn an_interrupted_demo_fails_and_stops_both_machines() {
    for name in ["INT", "TERM"] {
        assert_eq!(interrupted_by(name).code(), Some(1), "{name}");
    }
}

//! However the demo ends, its machines end with it.
mod support;

use std::process::{Child, ExitStatus, Stdio};

use support::{Dir, LOOP_FOR_EVER, is_alive, qemus_of, signal, spoiled_relay, wait_until, xtask};

/// Starts a demo that would run for long, and returns it with its two QEMU processes.
fn endless_demo(dir: &Dir) -> (Child, Vec<u32>) {
    let image = spoiled_relay(dir, &["Reset"], LOOP_FOR_EVER);
    let demo = xtask(&["relay", "--firmware"]).arg(image).stderr(Stdio::null()).spawn().unwrap();
    wait_until(10, "two machines", || qemus_of(demo.id()).len() == 2);
    let qemus = qemus_of(demo.id());
    (demo, qemus)
}

fn interrupted_by(name: &str) -> ExitStatus {
    let dir = Dir::new(name);
    let (mut demo, qemus) = endless_demo(&dir);
    signal(name, &demo);
    let status = demo.wait().unwrap();
    wait_until(5, "the end of both machines", || !qemus.iter().any(|pid| is_alive(*pid)));
    status
}

#[test]
fn ctrl_c_ends_the_demo_with_an_error_and_both_machines_with_it() {
    assert_eq!(interrupted_by("INT").code(), Some(1));
}

#[test]
fn a_request_to_terminate_ends_both_machines() {
    assert_eq!(interrupted_by("TERM").code(), Some(1));
}

#[test]
fn even_a_demo_that_is_killed_leaves_no_machine() {
    assert_eq!(interrupted_by("KILL").code(), None);
}

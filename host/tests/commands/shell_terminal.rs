//! `stillpoint shell` as somebody at a terminal uses it, through a pseudo-terminal.
//!
//! `cargo xtask test qemu` builds the firmware, says where it is, and runs this.
use crate::cli::{self, Bench};
use rexpect::session::{PtySession, spawn_command};

/// Long enough for a machine with much else to do.
const PATIENCE: u64 = 120_000;

fn shell(bench: &Bench) -> PtySession {
    let mut command = bench.bare_command(["shell"]);
    command.env("TERM", "xterm").env("NO_COLOR", "1").env_remove("CLICOLOR_FORCE");
    spawn_command(command, Some(PATIENCE)).expect("a pseudo-terminal")
}

/// Waits for a text, which is shown on failure with what came instead.
#[track_caller]
fn see(terminal: &mut PtySession, text: &str) -> String {
    terminal.exp_string(text).unwrap_or_else(|error| panic!("no {text:?}: {error}"))
}

/// Waits for a prompt of a halted system.
#[track_caller]
fn see_halted(terminal: &mut PtySession) -> String {
    terminal.exp_regex(r"stillpoint \(halted \d+\)> ").unwrap_or_else(|error| panic!("not halted: {error}")).0
}

const RUNNING: &str = "stillpoint (4 running)> ";

#[test]
fn the_prompt_shows_the_state_and_ctrl_c_halts_instead_of_killing() {
    let bench = Bench::running("token_ring");
    let mut terminal = shell(&bench);
    see(&mut terminal, RUNNING);
    terminal.send_control('c').unwrap();
    let halted = see_halted(&mut terminal);
    assert!(halted.contains("is one consistent moment of 4 nodes"), "{halted}");
    terminal.send_line("step left0").unwrap();
    let stepped = see_halted(&mut terminal);
    assert!(stepped.contains("left0  event "), "{stepped}");
    terminal.send_line("resume").unwrap();
    see(&mut terminal, RUNNING);

    // While a command waits, Ctrl-C is a signal.
    terminal.send_line("break left1:fault").unwrap();
    see(&mut terminal, "armed  breakpoint 0");
    terminal.send_control('c').unwrap();
    see(&mut terminal, "interrupted; the breakpoint stays armed");
    let halted = see_halted(&mut terminal);
    assert!(halted.contains("is one consistent moment of 4 nodes"), "{halted}");
    terminal.send_line("delete all").unwrap();
    see(&mut terminal, "breakpoint 0  removed");
    terminal.send_line("resume").unwrap();
    see(&mut terminal, RUNNING);

    // Leaving changes nothing.
    terminal.send_control('d').unwrap();
    terminal.exp_eof().expect("it ends");
    bench.expect_progress();
}

#[test]
fn names_are_completed_and_lines_are_remembered() {
    let bench = Bench::running("token_ring");
    let mut terminal = shell(&bench);
    see(&mut terminal, RUNNING);
    terminal.send("bre\tli\t\n").unwrap();
    see(&mut terminal, "no breakpoint is armed");
    see(&mut terminal, RUNNING);
    // The tabulator key completes what is unambiguous: a node, a port, a file.
    terminal.send("break right1:re\t --no-wait\n").unwrap();
    see(&mut terminal, "breakpoint 0 armed: right1:recv(ring)");
    terminal.exp_regex(r"stillpoint \([^)]*\)> ").unwrap();
    std::fs::write(bench.path("script"), "delete all\nresume\n").unwrap();
    terminal.send("source scr\t\n").unwrap();
    see(&mut terminal, "breakpoint 0  removed");
    see(&mut terminal, RUNNING);
    terminal.send_line("quit").unwrap();
    terminal.exp_eof().expect("it ends");

    let mut terminal = shell(&bench);
    see(&mut terminal, RUNNING);
    // Three lines up: quit, source, break.
    terminal.send("\x1b[A\x1b[A\x1b[A\n").unwrap();
    see(&mut terminal, "breakpoint 0 armed: right1:recv(ring)");
    terminal.exp_regex(r"stillpoint \([^)]*\)> ").unwrap();
    terminal.send_control('d').unwrap();
    terminal.exp_eof().expect("it ends");
}

#[test]
fn commands_of_a_breakpoint_run_while_nobody_types() {
    let bench = Bench::running("token_ring");
    let mut terminal = shell(&bench);
    see(&mut terminal, RUNNING);
    terminal.send_line("when left0.holding == 1 do { break list; resume } --times 2").unwrap();
    for list in ["0  armed    left0.holding == 1", "no breakpoint is armed"] {
        see(&mut terminal, "breakpoint 0 fired: left0.holding == 1");
        see(&mut terminal, list);
        see(&mut terminal, "resumed: left0, left1, right0, right1");
    }
    terminal.send_line("status").unwrap();
    see(&mut terminal, "right1  running");
    terminal.send_line("quit").unwrap();
    terminal.exp_eof().expect("it ends");
}

#[test]
fn a_board_that_dies_is_named_and_the_shell_attaches_again() {
    let bench = Bench::running("token_ring");
    let processes = bench.processes();
    let mut terminal = shell(&bench);
    see(&mut terminal, RUNNING);
    cli::signal("KILL", processes[1]);
    terminal.send_line("halt").unwrap();
    see(&mut terminal, "no certificate");
    see(&mut terminal, "board B is gone");
    see(&mut terminal, "stillpoint (lost B)> ");
    terminal.send_line("status").unwrap();
    see(&mut terminal, "run `stillpoint down`, then `stillpoint up`");
    terminal.exp_regex(r"stillpoint \([^)]*\)> ").unwrap();
    // The other end of its links went with it, so the emulated boards come up together.
    terminal.send_line("down").unwrap();
    see(&mut terminal, "board B  had ended already");
    terminal.exp_regex(r"stillpoint \([^)]*\)> ").unwrap();
    terminal.send_line("up").unwrap();
    see(&mut terminal, "board B  started");
    terminal.exp_regex(r"stillpoint \([^)]*\)> ").unwrap();
    terminal.send_line("flash").unwrap();
    see(&mut terminal, "board B  flashed and started");
    terminal.exp_regex(r"stillpoint \([^)]*\)> ").unwrap();
    terminal.send_line("run").unwrap();
    see(&mut terminal, RUNNING);
    terminal.send_line("halt").unwrap();
    see_halted(&mut terminal);
    terminal.send_line("quit").unwrap();
    terminal.exp_eof().expect("it ends");
}

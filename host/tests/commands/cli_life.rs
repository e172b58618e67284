//! The program `stillpoint`: from boards that are off to boards that run, and back.
use crate::cli::{Bench, Done, signal};
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

#[test]
fn boards_come_up_once_are_flashed_run_and_go_down() {
    let bench = Bench::new("token_ring");
    let up = bench.run(["up"]).expect(0);
    let golden = "board A started, process #\nboard B started, process #\nflash them with `stillpoint flash`\n";
    assert_eq!(up.masked(&["process "]), golden);
    let again = bench.run(["up"]).expect(0);
    let golden = "board A is up already, process #\nboard B is up already, process #\n";
    assert_eq!(again.masked(&["process "]), golden);

    for process in bench.processes() {
        let line = std::fs::read(format!("/proc/{process}/cmdline")).unwrap();
        assert!(!String::from_utf8_lossy(&line).contains("semihosting"), "firmware could open files of this computer");
    }
    let dirs = bench.run(["up", "--run-dirs"]).expect(0).out;
    let dirs: Vec<&str> = dirs.lines().filter_map(|line| line.split_once("  /")).map(|(_, dir)| dir).collect();
    assert_eq!(dirs.len(), 2, "{dirs:?}");
    for dir in dirs {
        assert!(std::path::Path::new("/").join(dir).join("machine.json").is_file(), "{dir}");
    }

    let empty = bench.run(["status"]).expect(1);
    empty.expect_out("A.0  missing   it is empty; write its firmware with `stillpoint flash`");
    let flash = bench.run(["flash"]).expect(0);
    let golden = "board A flashed and started, # bytes\nboard B flashed and started, # bytes\n";
    assert_eq!(flash.masked(&["started, "]), golden);
    let run = bench.run(["run"]).expect(0);
    assert_eq!(run.out, "board A  runs\nboard B  runs\n", "what runs is not disturbed");
    let status = bench.run(["status"]).expect(0);
    assert_eq!(status.out, "left0   running\nleft1   running\nright0  running\nright1  running\n");
    assert_eq!(status.err, "");
    bench.expect_progress();

    let down = bench.run(["down"]).expect(0);
    assert_eq!(down.out, "board A  stopped\nboard B  stopped\n");
    let again = bench.run(["down"]).expect(0);
    assert_eq!(again.out, "board A  was not up\nboard B  was not up\n");
    bench.run(["status"]).expect(1).expect_out("start it with `stillpoint up`");
}

/// QEMU's control socket serves one client, so no debugger can attach while this one holds it; and QEMU tells it of every stop.
struct Monitor(BufReader<UnixStream>);

impl Monitor {
    fn of(run_dir: &Path) -> Self {
        let stream = UnixStream::connect(run_dir.join("qmp.sock")).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let mut monitor = Self(BufReader::new(stream));
        monitor.execute("qmp_capabilities");
        monitor
    }

    /// Runs a command and returns how often the machine was stopped since the one before.
    fn execute(&mut self, command: &str) -> usize {
        writeln!(self.0.get_mut(), "{{\"execute\": \"{command}\"}}").unwrap();
        let (mut stops, mut line) = (0, String::new());
        while !line.contains("\"return\"") {
            line.clear();
            assert!(self.0.read_line(&mut line).unwrap() > 0, "QEMU closed its socket");
            stops += usize::from(line.contains("\"STOP\""));
        }
        stops
    }
}

#[test]
fn looking_halting_breaking_recording_and_resuming_stop_no_machine_and_need_no_debugger() {
    let quiet_rounds = std::env::var("STILLPOINT_QUIET_ROUNDS").map_or(1, |rounds| rounds.parse().unwrap());
    let bench = Bench::running("token_ring");
    bench.expect_progress();
    let dirs = bench.run(["up", "--run-dirs"]).expect(0).out;
    let dirs = dirs.lines().filter_map(|line| Some(Path::new("/").join(line.split_once("  /")?.1)));
    let mut monitors: Vec<Monitor> = dirs.map(|dir| Monitor::of(&dir)).collect();
    assert_eq!(monitors.len(), 2);
    let [trace, dump] = ["quiet.trace", "quiet.dump"].map(|name| bench.path(name));
    let [trace_name, dump_name] = [&trace, &dump].map(|path| path.to_str().unwrap());
    for round in 0..quiet_rounds {
        for command in [
            &["status"][..],
            &["info"],
            &["watch"],
            &["log"],
            &["halt"],
            &["status"],
            &["cut"],
            &["cut", "--tasks"],
            &["tasks", "--why"],
            &["bt", "left1", "--vars"],
            &["bt", "left1/pass"],
            &["print", "token_ring::LINK", "--node", "left1", "--json"],
            &["dump", dump_name],
            &["resume"],
            &["break", "left0:send(ring)^3 -> right1:recv(ring)"],
            &["cut"],
            &["resume"],
            &["trace", "record", trace_name, "--events", "200"],
            &["halt", "--at", "right1"],
            &["resume"],
        ] {
            bench.run(command).expect(0);
            let stops: usize = monitors.iter_mut().map(|monitor| monitor.execute("query-status")).sum();
            assert_eq!(stops, 0, "round {round}: {command:?}");
        }
        std::fs::remove_file(&dump).unwrap();
    }
    drop(monitors);
    bench.expect_progress();
}

#[test]
fn info_shows_boards_nodes_ports_and_peers_by_their_names() {
    let bench = Bench::running("token_ring");
    let info = bench.run(["info"]).expect(0);
    for line in
        ["board A  mps2-an521, qemu, firmware.elf, wire version ", "  left0  node 0, epoch ", "    out   -> right0  "]
    {
        info.expect_out(line);
    }
    let info = bench.run(["info", "--json"]).expect(0).json();
    let left0 = &info["boards"][0]["nodes"][0];
    assert_eq!((left0["name"].as_str(), left0["stamps"].as_str()), (Some("left0"), Some("vector")));
    let ports = left0["ports"].as_array().unwrap();
    let out = ports.iter().find(|port| port["name"] == "out").expect("a port named out");
    assert_eq!((&out["direction"], &out["peer"], &out["serial"]), (&"out".into(), &"right0".into(), &true.into()));
    assert_eq!(left0["watches"][0]["name"], "holding");
}

#[test]
fn a_reset_starts_one_board_anew_and_the_system_goes_on() {
    let bench = Bench::running("token_ring");
    bench.expect_progress();
    assert_eq!(bench.run(["reset", "B"]).expect(0).out, "board B  reset\n");
    bench.run(["run"]).expect(0);
    let status = bench.run(["status"]).expect(0);
    assert_eq!(status.out, "left0   running\nleft1   running\nright0  running\nright1  running\n");
    bench.run(["reset", "C"]).expect(2).expect_err("there is no board C");
}

#[test]
fn names_in_the_system_file_go_before_those_of_the_firmware() {
    let bench = Bench::running("token_ring");
    let text = std::fs::read_to_string(bench.system_file()).unwrap();
    bench.write_system(&text.replacen("name = \"A\"", "name = \"A\"\nnodes = [\"one\"]", 1));
    let status = bench.run(["status"]).expect(0);
    assert_eq!(status.out, "one     running\nleft1   running\nright0  running\nright1  running\n");
    bench.run(["halt", "--at", "one"]).expect(0);
}

/// How often the tests below do what they do: a few times, or as often as `STILLPOINT_ROUNDS` says.
fn rounds() -> u32 {
    std::env::var("STILLPOINT_ROUNDS").map_or(10, |rounds| rounds.parse().expect("STILLPOINT_ROUNDS is a number"))
}

/// Kills commands at moments spread over the time that they take. Returns how many had not ended by themselves.
struct Killer {
    state: u32,
    killed: u32,
}

impl Killer {
    fn new() -> Self {
        Self { state: 1, killed: 0 }
    }

    /// Runs a command and kills it at some moment before `whole` is over.
    fn strike(&mut self, bench: &Bench, args: &[&str], whole: Duration) {
        self.state = self.state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let command = bench.command(args).spawn().unwrap();
        // Not to wait for anything: any moment will do.
        std::thread::sleep(whole * (self.state >> 16) / (1 << 16));
        signal("KILL", command.id());
        self.killed += u32::from(Done::of(command).code.is_none());
    }
}

const ALL_RUN: &str = "left0   running\nleft1   running\nright0  running\nright1  running\n";

#[test]
fn commands_that_only_look_may_be_killed_at_any_moment() {
    let bench = Bench::running("token_ring");
    let begin = Instant::now();
    bench.run(["status"]).expect(0);
    let (whole, mut killer, mut released) = (begin.elapsed() * 5 / 4, Killer::new(), 0);
    let looks: [&[&str]; 6] =
        [&["status"], &["info"], &["watch"], &["log"], &["cut"], &["watch", "--live", "--every", "1"]];
    for round in 0..rounds() {
        let args = looks[round as usize % looks.len()];
        killer.strike(&bench, args, whole);
        let status = bench.run(["status"]).expect(0);
        assert_eq!(status.out, ALL_RUN, "round {round}, after {args:?}: {}", status.err);
        released += u32::from(status.err.contains("was left stopped by a debugger that was killed; it runs again"));
        if round % 5 == 4 {
            bench.expect_progress();
        }
    }
    println!("{} of {} commands killed, {released} left cores stopped", killer.killed, rounds());
    assert!(killer.killed > 0, "no command was killed before it had ended");
    bench.expect_progress();
}

#[test]
fn both_boards_may_be_reset_at_any_moment_and_go_on() {
    let bench = Bench::running("token_ring");
    for _ in 0..rounds() {
        assert_eq!(bench.run(["reset"]).expect(0).out, "board A  reset\nboard B  reset\n");
        bench.expect_progress();
    }
    bench.run(["halt"]).expect(0);
}

#[test]
fn no_board_starts_before_all_are_reset() {
    let bench = Bench::running("token_ring");
    let slow = bench.processes()[1];
    for round in 0..5 {
        // Board B is late: board A, reset and running, would send it the token, which its reset would take.
        signal("STOP", slow);
        let reset = bench.command(["reset"]).spawn().unwrap();
        bench.wait_until_taken("B", &reset);
        signal("CONT", slow);
        Done::of(reset).expect(0);
        println!("round {round}");
        bench.expect_progress();
    }
}

#[test]
fn boards_reset_one_after_the_other_start_answer_and_halt() {
    let bench = Bench::running("token_ring");
    for _ in 0..3 {
        for board in ["A", "B"] {
            let reset = bench.run(["reset", board]).expect(0);
            reset.expect_err("lost  messages that were on their way to or from board");
            assert_eq!(bench.run(["status"]).expect(0).out, ALL_RUN);
        }
        // The token may have been lost with either board; that is counted, and the cut is consistent.
        bench.run(["halt"]).expect(0).expect_out("certificate: ");
        bench.run(["resume"]).expect(0);
    }
    bench.run(["reset"]).expect(0);
    bench.expect_progress();
}

#[test]
fn breakpoints_fire_and_the_system_goes_on_as_often_as_one_likes() {
    let bench = Bench::running("token_ring");
    for round in 0..rounds() {
        bench.run(["break", "left0:send(ring) -> right1.holding == 1"]).expect(0);
        let resume = bench.run(["resume"]).expect(0);
        assert_eq!(resume.out, "resumed: left0, left1, right0, right1\n", "round {round}");
    }
    bench.expect_progress();
    assert_eq!(bench.run(["break", "list"]).expect(0).out, "no breakpoint is armed\n");
}

#[test]
fn commands_that_arm_breakpoints_may_be_killed_at_any_moment() {
    let bench = Bench::running("token_ring");
    bench.run(["halt"]).expect(0);
    let begin = Instant::now();
    bench.run(["step"]).expect(0);
    let (whole, mut killer) = (begin.elapsed() * 5 / 4, Killer::new());
    let arms: [&[&str]; 4] =
        [&["step"], &["next"], &["when", "left0.holding == 1 do { resume }"], &["break", "left0:send(ring)"]];
    for round in 0..rounds() {
        let args = arms[round as usize % arms.len()];
        killer.strike(&bench, args, whole);
        // Only what was asked to stay armed does; all else is removed by the next command, and everything goes on.
        let listed = bench.run(["break", "list"]).expect(0);
        let is_known = |line: &str| {
            ["no breakpoint is armed", "left0:send(ring)", "  stage 1"].iter().any(|part| line.contains(part))
        };
        assert!(listed.out.lines().all(is_known), "round {round}, after {args:?}: {}", listed.out);
        bench.run(["break", "rm", "all"]).expect(0);
        bench.run(["resume"]).expect(0);
        assert_eq!(bench.run(["status"]).expect(0).out, ALL_RUN, "round {round}, after {args:?}");
        if round % 5 == 4 {
            bench.expect_progress();
        }
        bench.run(["halt"]).expect(0).expect_out("certificate: ");
    }
    println!("{} of {} commands killed", killer.killed, rounds());
    assert!(killer.killed > 0, "no command was killed before it had ended");
}

//! The program `stillpoint`: halting and resuming.
use crate::cli::{Bench, Done, signal};
use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use stillpoint::Session;
use stillpoint::config::SystemFile;

const NUMBERS: &[&str] = &["event ", "reached in ", "channels, "];

#[test]
fn a_halt_is_certified_survives_the_program_and_is_resumed_by_another() {
    let bench = Bench::running("token_ring");
    bench.expect_progress();
    let halt = bench.run(["halt"]).expect(0);
    // The host commands all nodes. A marker may come before the bell of a node rings.
    let reached: Vec<String> = halt.masked(NUMBERS).lines().take(4).map(str::to_owned).collect();
    for (line, name) in reached.iter().zip(["left0", "left1", "right0", "right1"]) {
        assert!(line.starts_with(&format!("{name} event # reached by ")), "{}", halt.out);
    }
    assert!(reached.iter().any(|line| line.ends_with("reached by host")), "{}", halt.out);
    let certificate = "certificate: halt 1 is one consistent moment of 4 nodes, reached in # ms\n";
    assert!(halt.masked(NUMBERS).ends_with(certificate), "{}", halt.out);

    let status = bench.run(["status"]).expect(0);
    assert_eq!(status.out.lines().next(), Some("left0   parked    in halt 1"));
    let again = bench.run(["halt", "--json"]).expect(0).json();
    assert_eq!((&again["certified"], &again["already"], &again["halt"]), (&true.into(), &true.into(), &1.into()));
    let run = bench.run(["run"]).expect(0);
    run.expect_out("halted: left0, left1, right0, right1; let them go with `stillpoint resume`");

    assert_eq!(bench.run(["resume"]).expect(0).out, "resumed: left0, left1, right0, right1\n");
    assert_eq!(bench.run(["resume"]).expect(0).out, "nothing was halted\n");
    bench.expect_progress();
}

/// The processor time that a process has used, in hundredths of a second.
fn used(process: u32) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
    let (_, after_name) = stat.rsplit_once(')').unwrap();
    let fields: Vec<&str> = after_name.split_whitespace().collect();
    // Fields 14 and 15 of the line: in user mode and in the kernel.
    [11, 12].map(|field: usize| fields[field].parse::<u64>().unwrap()).iter().sum()
}

#[test]
fn a_halted_system_hardly_uses_the_host() {
    for demo in ["token_ring", "chatter"] {
        let bench = Bench::running(demo);
        bench.expect_progress();
        bench.run(["halt"]).expect(0);
        let machines = bench.processes();
        let total = || machines.iter().map(|process| used(*process)).sum::<u64>();
        let (began, before) = (Instant::now(), total());
        std::thread::sleep(Duration::from_secs(3));
        let (passed, used) = (began.elapsed().as_millis() as u64, total() - before);
        // 5 % of one core: a hundredth of a second is 10 ms. Two boards that spin would use all of two cores.
        assert!(used * 10 <= passed / 20, "{demo}: {used} hundredths of a second in {passed} ms");
        bench.run(["resume"]).expect(0);
        bench.expect_progress();
    }
}

#[test]
fn any_node_can_begin_and_the_certificate_says_who_did() {
    let bench = Bench::running("token_ring");
    for (number, (name, first)) in [("right1", "right1"), ("A.1", "left1"), ("left0", "left0")].into_iter().enumerate()
    {
        let halt = bench.run(["halt", "--at", name, "--json"]).expect(0).json();
        assert_eq!((&halt["certified"], &halt["halt"]), (&true.into(), &(number + 1).into()));
        assert_eq!(halt["channels"], 6);
        assert!(halt["in_flight"].as_u64().unwrap() <= 1, "there is one token: {halt}");
        let nodes = halt["nodes"].as_array().unwrap();
        let began: Vec<_> =
            nodes.iter().filter(|node| node["reached_by"] == "host").map(|node| &node["name"]).collect();
        assert_eq!(began, [first]);
        bench.run(["resume"]).expect(0);
    }
    let unknown = bench.run(["halt", "--at", "rihgt1"]).expect(2);
    unknown.expect_err("there is no node rihgt1; did you mean right1? (there are: left0, left1, right0, right1)");
}

#[test]
fn a_delayed_halt_stops_one_node_and_names_what_it_cannot_protect() {
    let bench = Bench::running("token_ring");
    let delayed = bench.run(["halt", "--delayed", "left1"]).expect(0);
    let golden = "suspended: left1; all others run\n\
                  not protected: timeouts around these plain ports run on while left1 is stopped\n  \
                  left0  ring, to left1\n  left0  hand, from left1\n";
    assert_eq!(delayed.out, golden);
    let status = bench.run(["status"]).expect(0);
    assert_eq!(status.out, "left0   running\nleft1   suspended\nright0  running\nright1  running\n");
    assert_eq!(bench.run(["resume"]).expect(0).out, "resumed: left1\n");
    bench.expect_progress();
}

#[test]
fn halting_by_the_probe_is_there_for_comparison_and_claims_no_certificate() {
    let bench = Bench::running("token_ring");
    for how in ["--sequential", "--group"] {
        let halt = bench.run(["halt", how, "--json"]).expect(0).json();
        assert_eq!(halt["certified"], false);
        let nodes = halt["nodes"].as_array().unwrap();
        assert_eq!(nodes.len(), 4);
        assert_eq!(nodes[0]["events_after"], 0, "the first to stop does nothing after itself");
        let together = nodes[0]["milliseconds"] == nodes[1]["milliseconds"];
        assert_eq!(together, how == "--group", "{halt}");
        let status = bench.run(["status"]).expect(0);
        assert_eq!(status.out, "left0   stopped\nleft1   stopped\nright0  stopped\nright1  stopped\n");
        bench.run(["halt"]).expect(1).expect_err("left0, left1, right0, right1: stopped by the probe");
        assert_eq!(bench.run(["resume"]).expect(0).out, "resumed: left0, left1, right0, right1\n");
        bench.expect_progress();
    }
}

const SYSTEM: &str = "STILLPOINT_TEST_SYSTEM";
const DOES: &str = "STILLPOINT_TEST_DOES";

/// Not a test of its own: the debugger that the next test kills.
#[test]
fn helper_that_debugs_board_a_and_waits_to_be_killed() {
    let Some(system) = std::env::var_os(SYSTEM) else { return };
    let file = SystemFile::read(system.as_ref()).unwrap();
    let mut session = Session::open(&file, &file.boards[0]).unwrap();
    session.halt_core(1).unwrap();
    if std::env::var(DOES).is_ok_and(|does| does == "break") {
        let mut core = session.probe().core(1).unwrap();
        let pc: u32 = core.read_core_reg(core.program_counter()).unwrap();
        // It waits for its next message in one place, and comes back there.
        core.set_hw_breakpoint(pc.into()).unwrap();
        core.run().unwrap();
        core.wait_for_core_halted(Duration::from_secs(10)).unwrap();
    }
    println!("ready");
    let _ = std::io::stdin().read(&mut [0]);
    std::process::abort();
}

#[test]
fn cores_that_a_killed_debugger_left_stopped_run_again_and_the_next_command_says_so() {
    let bench = Bench::running("token_ring");
    for (does, verb) in [
        ("halt", "status"),
        ("break", "status"),
        ("halt", "resume"),
        ("break", "run"),
        ("break", "reset"),
        ("break", "info"),
        ("halt", "doctor"),
    ] {
        let mut debugger = Command::new(std::env::current_exe().unwrap())
            .args(["cli_halt::helper_that_debugs_board_a_and_waits_to_be_killed", "--exact", "--nocapture"])
            .env(SYSTEM, bench.system_file())
            .env(DOES, does)
            .env("STILLPOINT_STATE", bench.state_folder())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(debugger.stdout.take().unwrap()).lines().map_while(Result::ok);
        assert!(lines.any(|line| line.ends_with("ready")), "the debugger did not {does}");
        debugger.kill().unwrap();
        debugger.wait().unwrap();
        let next = bench.run([verb]).expect(0);
        if verb == "doctor" {
            next.expect_out("core 1 was left stopped by a debugger that was killed; it runs again");
        } else {
            next.expect_err("core 1 of board A was left stopped by a debugger that was killed; it runs again");
        }
        let status = bench.run(["status"]).expect(0);
        assert_eq!(status.out, "left0   running\nleft1   running\nright0  running\nright1  running\n");
        assert!(!status.err.contains("left stopped"), "it is said once: {}", status.err);
        bench.expect_progress();
    }
}

const ROUNDS: u32 = 24;

/// Kills or interrupts a host at many moments of its life; whatever it was doing, the next one finds a system it can halt and resume.
fn strike_hosts_with(name: &str) {
    let bench = Bench::running("token_ring");
    let begin = Instant::now();
    bench.run(["halt"]).expect(0);
    let whole = begin.elapsed();
    bench.run(["resume"]).expect(0);
    let mut struck = 0;
    for round in 0..ROUNDS {
        let verb = if round % 2 == 0 { "halt" } else { "resume" };
        let host = bench.command([verb]).spawn().unwrap();
        // Not to wait for anything: each round strikes at another moment of what a halt takes, and any will do.
        std::thread::sleep(whole * round / ROUNDS);
        // One that is done already stays a child of ours until it is waited for, so the number is not reused.
        signal(name, host.id());
        let done = Done::of(host);
        struck += usize::from(done.code != Some(0));
        let status = bench.run(["status"]).expect(0);
        assert!(!status.out.contains("missing"), "round {round}: {}", status.out);
    }
    assert!(struck > 0, "no host was struck before it was done");
    bench.run(["resume"]).expect(0);
    bench.run(["halt"]).expect(0).expect_out("certificate: ");
    bench.run(["resume"]).expect(0);
    bench.expect_progress();
}

#[test]
fn a_host_killed_at_any_moment_leaves_a_system_that_the_next_one_can_use() {
    strike_hosts_with("KILL");
}

#[test]
fn ctrl_c_at_any_moment_leaves_a_system_that_the_next_one_can_use() {
    strike_hosts_with("INT");
}

/// The counters of the link at one end, which the firmware keeps for a debugger.
fn link_counters(bench: &Bench, demo: &str, node: &str) -> serde_json::Map<String, serde_json::Value> {
    fn find(value: &serde_json::Value) -> Option<&serde_json::Value> {
        match value {
            serde_json::Value::Object(fields) => fields.get("counters").or_else(|| fields.values().find_map(find)),
            serde_json::Value::Array(values) => values.iter().find_map(find),
            _ => None,
        }
    }
    let link =
        bench.run(["print", &format!("{demo}::LINK"), "--node", node, "--depth", "12", "--json"]).expect(0).json();
    find(&link).and_then(|counters| counters.as_object()).expect("the link counts").clone()
}

/// Also where a loaded computer lets a board wait for longer than its peer's patience.
fn halt_twenty_times_on_a_clean_line(demo: &str, nodes: [&str; 2]) {
    let bench = Bench::running(demo);
    let lines: String = (0..20).map(|_| "halt\nresume\n").chain(["halt\n"]).collect();
    bench.shell(lines).expect(0);
    for node in nodes {
        let counters = link_counters(&bench, demo, node);
        let none =
            ["retransmits", "duplicates", "checksum_errors", "malformed", "oversized", "overruns", "out_of_order"];
        for field in none.into_iter().chain(["stale", "downs", "lost_by_reset"]) {
            assert_eq!(counters[field], 0, "{field} of {node}: {counters:?}");
        }
        assert!(counters["sent"].as_u64() > Some(20), "{counters:?}");
    }
}

#[test]
fn twenty_halts_of_a_ring_send_no_frame_of_a_clean_line_again() {
    halt_twenty_times_on_a_clean_line("token_ring", ["left0", "right0"]);
}

#[test]
fn twenty_halts_with_every_channel_busy_send_no_frame_of_a_clean_line_again() {
    halt_twenty_times_on_a_clean_line("chatter", ["left0", "right0"]);
}

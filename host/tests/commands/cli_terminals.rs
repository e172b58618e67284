//! The program `stillpoint` in several terminals at once, on one pair of boards.
use crate::cli::{Bench, Done, signal, wait_for};
use serde_json::Value;
use std::process::Child;
use std::time::{Duration, Instant};

/// How often the tests below do what they do: a few times, or as often as `STILLPOINT_ROUNDS` says.
fn rounds() -> u32 {
    std::env::var("STILLPOINT_ROUNDS").map_or(10, |rounds| rounds.parse().expect("STILLPOINT_ROUNDS is a number"))
}

const ALL_RUN: &str = "left0   running\nleft1   running\nright0  running\nright1  running\n";

/// Starts a command in a terminal of its own.
fn terminal(bench: &Bench, args: &[&str]) -> Child {
    let mut command = bench.command(args);
    // Nobody reads what it shows meanwhile, and a pipe that is full would stop it.
    let out = |name: &str| std::fs::File::create(bench.path(name)).unwrap();
    let name = args[0];
    command.stdout(out(&format!("{name}.out"))).stderr(out(&format!("{name}.err")));
    command.spawn().expect("the program can be run")
}

/// What a terminal shows.
fn shown(bench: &Bench, command: &str) -> String {
    ["out", "err"].map(|kind| std::fs::read_to_string(bench.path(&format!("{command}.{kind}"))).unwrap()).concat()
}

/// Ends a command of a terminal by Ctrl-C. Returns its exit code.
fn ended(bench: &Bench, command: &str, mut child: Child) -> Option<i32> {
    assert_eq!(child.try_wait().unwrap(), None, "{command} has ended: {}", shown(bench, command));
    signal("INT", child.id());
    wait_for("it ends", || Ok(child.try_wait()?)).unwrap().code()
}

/// Waits until a terminal has shown this.
fn wait_until_shown(bench: &Bench, command: &str, part: &str) {
    let is_shown = || Ok(shown(bench, command).contains(part).then_some(()));
    wait_for(format!("{command} shows {part:?}"), is_shown)
        .unwrap_or_else(|error| panic!("{error}: {}", shown(bench, command)));
}

/// Fails unless a recording has every event of every node since it began. Returns how often all nodes halted or resumed: that
/// is recorded and takes no event number.
fn expect_whole(info: &Value) -> u64 {
    let nodes = info["nodes"].as_array().expect("nodes");
    let mut turns = Vec::new();
    for node in nodes {
        assert_eq!((&node["dropped"], &node["unplaced"], &node["broken"]), (&0.into(), &0.into(), &0.into()), "{info}");
        let [events, first, last] = ["events", "first", "last"].map(|name| node[name].as_u64().expect("a number"));
        assert!(events > 10, "{info}");
        turns.push(events.checked_sub(last - first + 1).expect("an event is missing"));
    }
    assert!(turns.windows(2).all(|pair| pair[0] == pair[1]), "{info}");
    turns[0]
}

#[test]
fn commands_in_six_terminals_disturb_neither_each_other_nor_the_recording() {
    let bench = Bench::running("token_ring");
    bench.expect_progress();
    let trace = bench.path("long.trace");
    let record = terminal(&bench, &["trace", "record", trace.to_str().unwrap()]);
    let watch = terminal(&bench, &["watch", "--live", "--every", "20"]);
    let log = terminal(&bench, &["log", "--follow"]);
    wait_until_shown(&bench, "trace", "recording");
    for round in 0..rounds() {
        // It never fires, and sees the halt of another terminal.
        let waiting = terminal(&bench, &["break", "left0.lap < 0"]);
        wait_until_shown(&bench, "break", "armed");
        let status = bench.run(["status"]).expect(0);
        assert!(status.out.starts_with(ALL_RUN), "round {round}: {}", status.out);
        bench.run(["halt"]).expect(0).expect_out("certificate: ");
        bench.run(["cut"]).expect(0).expect_out("certificate of halt");
        let mut waiting = waiting;
        let code = wait_for("the waiting break sees the halt", || Ok(waiting.try_wait()?)).unwrap().code();
        let said = shown(&bench, "break");
        assert_eq!(code, Some(1), "round {round}: {said}");
        assert!(said.contains("halt"), "round {round}: {said}");
        bench.run(["delete", "all"]).expect(0);
        let resumed = bench.run(["resume"]).expect(0);
        assert_eq!(resumed.out, "resumed: left0, left1, right0, right1\n", "round {round}");
    }
    bench.expect_progress();
    assert_eq!(ended(&bench, "watch", watch), Some(0), "{}", shown(&bench, "watch"));
    assert_eq!(ended(&bench, "log", log), Some(0), "{}", shown(&bench, "log"));
    assert_eq!(ended(&bench, "trace", record), Some(0), "{}", shown(&bench, "trace"));
    let info = bench.run(["trace", "info", trace.to_str().unwrap(), "--json"]).expect(0).json();
    assert_eq!(expect_whole(&info), 2 * u64::from(rounds()), "{info}");
}

#[test]
fn clients_may_be_killed_at_any_moment_and_the_others_go_on() {
    let bench = Bench::running("token_ring");
    bench.expect_progress();
    let trace = bench.path("killed.trace");
    let record = terminal(&bench, &["trace", "record", trace.to_str().unwrap()]);
    wait_until_shown(&bench, "trace", "recording");
    let looks: [&[&str]; 8] = [
        &["status"],
        &["halt"],
        &["cut"],
        &["resume"],
        &["watch", "--live", "--every", "1"],
        &["log", "--follow"],
        &["break", "left0.lap < 0"],
        &["info"],
    ];
    let (mut random, mut killed) = (1_u32, 0);
    for round in 0..rounds() {
        let mut clients: Vec<Child> = Vec::new();
        for client in 0..3 {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let args = looks[(random >> 16) as usize % looks.len()];
            clients.push(bench.command(args).spawn().unwrap());
            // Not to wait for anything: any moment will do.
            std::thread::sleep(Duration::from_millis(u64::from(random >> 24) / (1 + client)));
        }
        for client in clients {
            signal("KILL", client.id());
            killed += u32::from(Done::of(client).code.is_none());
        }
        // A halt may be on its way, or a breakpoint armed; neither keeps the next command from its work.
        bench.run(["delete", "all"]).expect(0);
        bench.run(["resume"]).expect(0);
        let status = bench.run(["status"]).expect(0);
        assert_eq!(status.out, ALL_RUN, "round {round}: {}", status.err);
    }
    println!("{killed} of {} clients killed", 3 * rounds());
    assert!(killed > 0, "no client was killed before it had ended");
    bench.expect_progress();
    assert_eq!(ended(&bench, "trace", record), Some(0), "{}", shown(&bench, "trace"));
    let info = bench.run(["trace", "info", trace.to_str().unwrap(), "--json"]).expect(0).json();
    assert_eq!(expect_whole(&info) % 2, 0, "every halt was resumed: {info}");
}

#[test]
fn a_second_controller_is_refused_and_told_who_controls() {
    let bench = Bench::running("token_ring");
    let process = bench.processes()[1];
    // A reset that has to wait: board B does not answer.
    signal("STOP", process);
    let reset = bench.command(["reset"]).spawn().unwrap();
    bench.wait_until_taken("B", &reset);
    let refused = bench.run(["reset"]);
    signal("CONT", process);
    let first = reset.id();
    Done::of(reset).expect(0);
    let controls = format!("process {first} (`stillpoint reset`) has had control of the boards for ");
    refused.expect(2).expect_err(&controls);
    bench.expect_progress();
}

#[test]
fn an_owner_that_is_killed_is_replaced_and_its_clients_say_so() {
    let bench = Bench::running("token_ring");
    bench.expect_progress();
    let mut watch = terminal(&bench, &["watch", "--live", "--every", "10"]);
    wait_until_shown(&bench, "watch", "left0");
    let owner = bench.owner();
    signal("KILL", owner);
    let code = wait_for("the client ends", || Ok(watch.try_wait()?)).unwrap().code();
    let said = shown(&bench, "watch");
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("the process that owns the boards has ended"), "{said}");
    assert_eq!(bench.run(["status"]).expect(0).out, ALL_RUN);
    assert_ne!(bench.owner(), owner);
    bench.run(["halt"]).expect(0);
    bench.run(["resume"]).expect(0);
}

#[test]
fn an_owner_may_be_killed_at_any_moment_of_a_command_and_the_next_one_goes_on() {
    let bench = Bench::running("token_ring");
    let begin = Instant::now();
    bench.run(["halt"]).expect(0);
    let whole = begin.elapsed() * 3 / 2;
    bench.run(["resume"]).expect(0);
    let commands: [&[&str]; 8] = [
        &["status"],
        &["halt"],
        &["cut"],
        &["resume"],
        &["info"],
        &["reset"],
        &["step"],
        &["break", "left0:send(ring)", "--timeout", "5"],
    ];
    let (mut random, mut failed) = (1_u32, 0);
    for round in 0..rounds() {
        random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let args = commands[round as usize % commands.len()];
        let owner = bench.owner();
        let command = bench.command(args).spawn().unwrap();
        // Not to wait for anything: any moment will do.
        std::thread::sleep(whole * (random >> 16) / (1 << 16));
        signal("KILL", owner);
        let done = Done::of(command);
        assert!(matches!(done.code, Some(0..=2)), "round {round}, {args:?}: {done:?}");
        failed += u32::from(done.err.contains("the process that owns the boards has ended"));
        // A halt may be on its way, or a breakpoint armed; neither keeps the next command from its work.
        bench.run(["delete", "all"]).expect(0);
        bench.run(["resume"]).expect(0);
        let status = bench.run(["status"]).expect(0);
        assert_eq!(status.out, ALL_RUN, "round {round}, after {args:?}: {done:?} {}", status.err);
        assert_ne!(bench.owner(), owner, "round {round}");
        if round % 5 == 4 {
            bench.expect_progress();
        }
    }
    println!("{failed} of {} commands lost their owner", rounds());
    assert!(failed > 0, "no command used the owner when it was killed");
    bench.run(["halt"]).expect(0).expect_out("certificate: ");
}

#[test]
fn a_recording_ends_with_a_halt_when_asked_and_goes_on_through_it_otherwise() {
    let bench = Bench::running("token_ring");
    let trace = bench.path("until.trace");
    let mut record = terminal(&bench, &["trace", "record", trace.to_str().unwrap(), "--until-halt"]);
    wait_until_shown(&bench, "trace", "recording");
    bench.expect_progress();
    let halt = bench.run(["halt", "--json"]).expect(0).json();
    assert_eq!(wait_for("the recording ends", || Ok(record.try_wait()?)).unwrap().code(), Some(0));
    let info = bench.run(["trace", "info", trace.to_str().unwrap(), "--json"]).expect(0).json();
    assert_eq!(expect_whole(&info), 1, "one halt: {info}");
    for (recorded, halted) in info["nodes"].as_array().unwrap().iter().zip(halt["nodes"].as_array().unwrap()) {
        assert_eq!(recorded["name"], halted["name"]);
        // The upper bits are the epoch.
        let last = recorded["last"].as_u64().unwrap() & 0x00FF_FFFF;
        assert_eq!(last, halted["event"].as_u64().unwrap(), "the recording ends at the halt: {info} {halt}");
    }
    bench.run(["resume"]).expect(0);
}

#[test]
fn an_owner_ends_with_its_boards_and_leaves_nothing_behind() {
    let bench = Bench::running("token_ring");
    let owner = bench.owner();
    let socket = bench.lock_file("A").with_file_name("owner.sock");
    let mode = std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(&socket).unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600);
    bench.run(["down"]).expect(0);
    assert!(!socket.exists());
    let is_gone = || Ok((!std::path::Path::new(&format!("/proc/{owner}")).exists()).then_some(()));
    wait_for("the owner ends", is_gone).unwrap();
}

//! `stillpoint shell` as a script uses it: lines from a pipe, on two emulated boards.
//!
//! `cargo xtask test qemu` builds the firmware, says where it is, and runs this.
use crate::cli::{self, Bench, LIMIT, Watchdog};
use std::io::{BufRead as _, BufReader};
use std::os::unix::ffi::OsStrExt as _;

/// Numbers that differ from run to run.
const CHANGING: [&str; 6] = ["event ", "halt ", "message ", "reached in ", "lap = ", "lap > "];

#[test]
fn lines_are_commands_of_one_session_and_the_last_failure_is_the_exit_code() {
    let bench = Bench::new("token_ring");
    let done = bench.shell(
        "# the boards come up, and everything else is attached once\n\
         up\nrun\n\n\
         alias h halt --at right0   # a short name\n\
         h\n\
         alias\n\
         resume\n\
         quit\n\
         this line is never read\n",
    );
    done.expect_out("board A  had another image: flashed and started\nboard B  had another image");
    let end = done.masked(&CHANGING);
    let end = &end[end.find("left0 event").unwrap_or_else(|| panic!("no halt in {done:?}"))..];
    let lines: Vec<&str> = end.lines().collect();
    assert_eq!(lines[2], "right0 event # reached by host", "{end}");
    assert_eq!(lines[5], "certificate: halt # is one consistent moment of 4 nodes, reached in # ms", "{end}");
    assert_eq!(lines[6..], ["h halt --at right0", "resumed: left0, left1, right0, right1"], "{end}");
    assert_eq!(done.expect(0).err, "");
    bench.expect_progress();

    let failing = bench.shell("status\nhalt --at nobody\nbreak list\n").expect(2);
    failing.expect_err("there is no node nobody (there are: left0, left1, right0, right1)");
    failing.expect_out("no breakpoint is armed");
    let bad = bench.shell("halt --at nobody\nbreak left0:fault --timeout 1\nstatus\n").expect(1);
    bad.expect_out("not fired in time; it stays armed");
    bad.expect_out("breakpoints\n0  armed    left0:fault\n");
    bench.shell("delete 0\nbrek\n").expect(2).expect_err("a similar subcommand exists: 'break'");
    assert_eq!(
        bench.shell("status").expect(0).out,
        "left0   running\nleft1   running\nright0  running\nright1  running\n"
    );
}

#[test]
fn what_is_wrong_with_a_line_is_said_and_the_shell_goes_on() {
    let bench = Bench::running("token_ring");
    let done =
        bench.shell("alias a b\nalias b c\nalias c a --full\nshell\nsource 'x\nunalias q\nbreak list\n").expect(2);
    done.expect_err("an alias loop: c -> a -> b -> c; nothing was changed");
    done.expect_err("this is the shell");
    done.expect_err("a quote is never closed");
    done.expect_err("there is no alias q");
    assert_eq!(done.out, "no breakpoint is armed\n");

    let done = bench.shell(b"status \xff\nbreak list\n").expect(2);
    done.expect_err("a line is not UTF-8 text");
    assert_eq!(done.out, "no breakpoint is armed\n");
    let done = bench
        .run([
            std::ffi::OsStr::from_bytes(b"halt"),
            std::ffi::OsStr::from_bytes(b"--at"),
            std::ffi::OsStr::from_bytes(b"\xff"),
        ])
        .expect(2);
    done.expect_err("invalid UTF-8");
    // A system file may have any name.
    let odd = bench.path("").join(std::ffi::OsStr::from_bytes(b"\xff.toml"));
    std::fs::copy(bench.system_file(), &odd).unwrap();
    let done = bench.run([std::ffi::OsStr::new("--system"), odd.as_os_str(), std::ffi::OsStr::new("status")]).expect(1);
    done.expect_out("it is not up");
}

#[test]
fn a_file_is_read_up_to_the_line_that_fails_and_not_for_ever() {
    let bench = Bench::running("token_ring");
    let write = |name: &str, text: &[u8]| std::fs::write(bench.path(name), text).unwrap();
    write("inner", b"# a comment\nbreak list\nhalt --at nobody\nresume\n");
    write("outer", b"break list\nsource inner\nbreak list\n");
    let done = bench.shell("source outer\n").expect(2);
    assert_eq!(done.out, "no breakpoint is armed\n".repeat(2), "nothing behind the line that failed was run");
    done.expect_err("outer:2: inner:3: there is no node nobody");

    write("itself", b"source itself\n");
    let done = bench.shell("source itself\nbreak list\n").expect(2);
    done.expect_err("does one read itself?");
    assert_eq!(done.out, "no breakpoint is armed\n");
    write("odd", b"break list\n\xfe\n");
    bench.shell("source odd\n").expect(2).expect_err("odd:2: the line is not UTF-8 text");
    bench.shell("source nowhere\n").expect(2).expect_err("cannot read nowhere");
    write("bad", b"break left0:fault --timeout 1\n");
    bench.shell("source bad\n").expect(1).expect_err("bad:1: `break left0:fault --timeout 1` failed");
}

#[test]
fn when_runs_its_commands_each_time_it_fires() {
    let bench = Bench::running("token_ring");
    let done = bench.run(["when", "left0.holding == 1", "do", "{ break list; resume }", "--times", "3"]).expect(0);
    let once = "breakpoint 0 fired: left0.holding == 1\n\
                stage 1 left0 event # left0.holding == 1 completed it\n\
                halt #, begun by left0, is one consistent moment of 4 nodes; resume with `stillpoint resume`\n";
    let (armed, resumed) = ("0 armed left0.holding == 1\n", "resumed: left0, left1, right0, right1\n");
    let again = format!("{once}{armed}{resumed}");
    let last = format!("{once}no breakpoint is armed\n{resumed}");
    assert_eq!(done.masked(&CHANGING), format!("{again}{again}{last}"));
    bench.expect_progress();

    // Without resume it ends where it stopped, and nothing stays armed that nobody waits for.
    let done = bench.run(["when", "left0:send(ring) -> left1:recv(ring) do { break list }"]).expect(0);
    done.expect_out("breakpoint 0 fired: left0:send(ring) -> left1:recv(ring)");
    assert_eq!(bench.run(["status"]).expect(0).out.matches("parked").count(), 4);
    assert_eq!(bench.run(["break", "list"]).expect(0).out, "no breakpoint is armed\n");
    bench.run(["when", "left0.lap > 1", "do", "{ cut }"]).expect(2).expect_err("the system is halted");

    // In a shell it stays armed, and fires while other lines are run and waited for.
    let done =
        bench.shell("when left0:recv(ring) do { delete all }\nresume\nbreak right1:fault --timeout 60\nstatus\n");
    done.expect_out("breakpoint 0 fired: left0:recv(ring)");
    done.expect_out("left0   parked");
    for bad in ["left0.lap > 1", "left0.lap > 1 do { }", "left0.lap > 1 do { when left0:fault do { cut } }"] {
        bench.run(["when", bad]).expect(2);
    }
}

#[test]
fn stop_is_in_a_node_at_an_event_if_a_condition_holds() {
    let bench = Bench::running("token_ring");
    let fired = |line: &str| {
        let done = bench.shell(format!("{line}\ninfo --json\ndelete all --json\nresume --json\n")).expect(0);
        let (text, json) = done.out.split_at(done.out.find('{').unwrap());
        let info = serde_json::Deserializer::from_str(json).into_iter::<serde_json::Value>().next().unwrap().unwrap();
        (text.lines().next().unwrap_or_default().to_owned(), info["boards"][0]["nodes"][0].clone())
    };
    let watch = |node: &serde_json::Value, name: &str| {
        let watches = node["watches"].as_array().unwrap();
        watches.iter().find(|watch| watch["name"] == name).unwrap()["value"].as_i64().unwrap()
    };
    assert_eq!(fired("stop in left0 at send(ring)").0, "breakpoint 0 fired: left0:send(ring)");
    let (line, left0) = fired("stop in left0 if holding == 1");
    assert_eq!((line.as_str(), watch(&left0, "holding")), ("breakpoint 0 fired: left0.holding == 1", 1));
    let lap = watch(&left0, "lap") + 20;
    let (line, left0) = fired(&format!("stop in left0 at recv(ring) if lap > {lap}"));
    // What held already when it was armed is looked at only when it fires.
    assert!(line.starts_with("breakpoint 0 fired: left0") && line.ends_with("left0:recv(ring)"), "{line}");
    assert!(watch(&left0, "lap") > lap, "{left0:#}");
    // The condition becomes true in every lap, and holds at no receive: there the token is not taken yet. However often the
    // system went on by then, nothing stays armed or halted for a condition that nobody looks at any more.
    let never = "stop in left0 at recv(ring) if holding == 1";
    let late = bench.run(["stop", never.strip_prefix("stop ").unwrap(), "--timeout", "1"]).expect(1);
    late.expect_out("not fired in time; it is removed");
    assert_eq!(bench.run(["break", "list"]).expect(0).out, "no breakpoint is armed\n");
    bench.expect_progress();
    let mut waiting = bench.command(never.split(' ')).spawn().unwrap();
    let watchdog = Watchdog::over(&waiting, LIMIT);
    let mut said = BufReader::new(waiting.stderr.take().unwrap()).lines().map(Result::unwrap);
    assert!(said.any(|line| line.contains("went on  halt")), "it fires where the condition does not hold");
    cli::signal("INT", waiting.id());
    let rest: Vec<String> = said.collect();
    assert_eq!(waiting.wait().unwrap().code(), Some(130), "{rest:?}");
    assert!(rest.iter().any(|line| line.contains("the breakpoint is removed, and the system runs")), "{rest:?}");
    assert!(!watchdog.has_bitten());
    assert_eq!(bench.run(["break", "list"]).expect(0).out, "no breakpoint is armed\n");
    bench.expect_progress();
    // What the event itself changes.
    let count = left0["event"].as_u64().unwrap() + 50;
    let (line, left0) = fired(&format!("stop in left0 if count >= {count}"));
    assert_eq!(line, format!("breakpoint 0 fired: left0.count >= {count}"));
    assert!(left0["event"].as_u64() >= Some(count), "{left0:#}");
    let heard = bench.shell(format!("stop in right0 at recv(ring) if pred(left0) > {count}\n")).expect(0);
    heard.expect_out("breakpoint 0 fired: right0:recv(ring)");
    for bad in ["in left0", "left0 at send(ring)", "in left0 at sned(ring)", "in nobody if lap > 1"] {
        bench.run(["stop", bad]).expect(2);
    }
}

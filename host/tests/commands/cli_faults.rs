//! The program `stillpoint`: what it says when something is wrong.
use crate::cli::{self, Bench};
use object::{Object as _, ObjectSection as _};
use std::fs::File;

#[test]
fn a_board_that_dies_is_named_and_the_others_halt_and_resume() {
    let bench = Bench::running("token_ring");
    bench.expect_progress();
    bench.kill(1);
    let halt = bench.run(["halt"]).expect(1);
    halt.expect_out(
        "B.0, B.1  missing: board B: it is not up (QEMU has ended and left no message, as after `kill -9`)",
    );
    halt.expect_out("no certificate: halt 1: without B.0, B.1");
    halt.expect_out("left1");
    let status = bench.run(["status"]).expect(1);
    for line in ["left0  parked    in halt 1", "left1  parked    in halt 1", "B.0    missing "] {
        status.expect_out(line);
    }
    let json = bench.run(["halt", "--json"]).expect(1).json();
    assert_eq!((&json["certified"], &json["missing"][0]["nodes"][1]), (&false.into(), &"B.1".into()));
    // Alone they would go on at another moment than board B, if that comes back.
    let refused = bench.run(["resume"]).expect(1);
    refused.expect_err("nothing was resumed: board B (B.0, B.1) is missing: it is not up");
    refused.expect_err("--partial resumes the others");
    bench.run(["status"]).expect(1).expect_out("left0  parked    in halt 1");
    let resume = bench.run(["resume", "--partial"]).expect(1);
    resume.expect_out("resumed: left0, left1");
    resume.expect_out("missing: B.0, B.1");
    let status = bench.run(["status"]).expect(1);
    status.expect_out("left0  running");
    status.expect_out("left1  running");
    bench.run(["info"]).expect(1).expect_out("missing: it is not up");

    // Board A cannot get a new neighbour while it runs: its wire ended with the old one.
    bench.run(["up"]).expect(2).expect_err("run `stillpoint down`, then `up`");
    bench
        .run(["down"])
        .expect(0)
        .expect_out("board B  had ended already: QEMU has ended and left no message, as after `kill -9`");
    bench.run(["up"]).expect(0);
    bench.run(["run"]).expect(0);
    bench.run(["halt"]).expect(0);
}

#[test]
fn a_board_that_another_debugger_has_can_be_looked_at_and_what_needs_a_debugger_names_that_one() {
    let bench = Bench::running("token_ring");
    let up = bench.run(["up", "--json"]).expect(0).json();
    let run_dir = up["boards"][1]["run_dir"].as_str().unwrap().to_owned();
    let machine = qemu_probe::Machine::attach(&run_dir).unwrap();
    let other = qemu_probe::QemuProbe::attach(&machine).unwrap();
    let began = std::time::Instant::now();
    bench.run(["status"]).expect(0);
    for _ in 0..4 {
        let reset = bench.run(["reset"]);
        assert_ne!(reset.code, Some(0));
        reset.expect_err(&format!("the machine's debug port is in use by process {} (", std::process::id()));
    }
    assert!(began.elapsed() < cli::LIMIT, "five commands took {:?}", began.elapsed());
    drop(other);
    bench.expect_progress();
}

#[test]
fn a_qemu_that_a_signal_has_stopped_is_called_that_and_down_ends_it() {
    let bench = Bench::running("token_ring");
    let process = bench.processes()[1];
    cli::signal("STOP", process);
    for _ in 0..2 {
        let status = bench.run(["status"]).expect(1);
        status.expect_out(&format!(
            "QEMU (process {process}) was stopped by a signal; `kill -CONT {process}` lets it go on"
        ));
    }
    cli::signal("CONT", process);
    bench.expect_progress();
    cli::signal("STOP", process);
    bench.run(["down"]).expect(0);
    bench.run(["up"]).expect(0);
}

/// The command has connected to the queue of a QEMU that does not answer, and would wait for seconds.
#[test]
fn ctrl_c_ends_a_command_that_waits_for_a_boards_port() {
    let bench = Bench::running("token_ring");
    let process = bench.processes()[1];
    cli::signal("STOP", process);
    for (args, signal) in [(&["status"][..], "INT"), (&["halt"], "TERM"), (&["reset"], "INT"), (&["cut"], "TERM")] {
        let command = bench.command(args).spawn().unwrap();
        bench.wait_until_connected(&command);
        cli::signal(signal, command.id());
        cli::Done::of(command).expect(130).expect_err("interrupted; nothing was changed");
    }
    cli::signal("CONT", process);
    bench.expect_progress();
}

#[test]
fn a_board_killed_while_the_halt_is_under_way_is_named_too() {
    let bench = Bench::running("token_ring");
    let process = bench.processes()[1];
    let halt = bench.command(["halt", "--limit", "3"]).spawn().unwrap();
    cli::signal("KILL", process);
    let halt = cli::Done::of(halt);
    // It may have been killed before, during or after the halt; a certificate is only for a state that was whole.
    match halt.code {
        Some(0) => halt.expect_out("certificate: "),
        Some(1) => halt.expect_out("no certificate"),
        other => panic!("exit code {other:?}: {halt:?}"),
    }
    let after = bench.run(["halt"]).expect(1);
    after.expect_out("missing: board B");
    let status = bench.run(["status"]).expect(1);
    status.expect_out("left0  parked");
    status.expect_out("left1  parked");
}

#[test]
fn a_crashed_node_is_named_and_not_among_those_that_resumed() {
    let bench = Bench::new("faults");
    bench.write_words_of_each(&[], &["crash=declared", "core=1"]);
    bench.run(["up"]).expect(0);
    bench.run(["flash"]);
    // The crash halts the whole system; nobody has to ask for it.
    let halted = || Ok(bench.run(["status"]).out.contains("right1  faulted").then_some(()));
    cli::wait_for("right1 has crashed", halted).unwrap();
    bench.run(["halt"]);
    let resume = bench.run(["resume", "--json"]).expect(1).json();
    assert_eq!(resume["resumed"], serde_json::json!(["left0", "left1", "right0"]));
    assert_eq!(
        (&resume["stayed"][0]["name"], &resume["stayed"][0]["state"]),
        (&"right1".into(), &"faulted".into()),
        "{resume}"
    );
    // The others run, and the crashed node is named as often as one asks.
    let again = bench.run(["resume"]).expect(1);
    again.expect_out("nothing was halted\nfaulted: right1 (");
    again.expect_out("`stillpoint reset B`");
}

/// Boards have no semihosting: the call is a fault, and the system stops as at any other.
#[test]
fn firmware_that_asks_for_its_end_has_crashed_and_every_command_says_so() {
    let bench = Bench::new("faults");
    bench.write_words_of_each(&[], &["crash=exit"]);
    bench.run(["up"]).expect(0);
    bench.run(["flash"]);
    let halted = || Ok(bench.run(["status"]).out.contains("right0  faulted").then_some(()));
    cli::wait_for("right0 has crashed", halted).unwrap();
    let why = ": a semihosting call, which only a debugger that offers semihosting answers";
    bench.run(["status"]).expect(1).expect_out(why);
    let doctor = bench.run(["doctor"]).expect(1);
    doctor.expect_out("board B: runs this firmware, which has crashed: right0 (HardFault at ");
    doctor.expect_out("fix: stillpoint reset B");
    assert!(!doctor.out.contains("all is well"), "{}", doctor.out);
    bench.run(["halt"]).expect(0).expect_out("certificate: ");
    assert_eq!(bench.processes().len(), 2, "no machine has ended");
    // What the hint says helps: the board starts anew.
    bench.run(["resume"]).expect(1);
    bench.run(["reset", "B"]);
    cli::wait_for("right0 has started", || {
        Ok(bench.run(["info"]).out.contains("right0  node 2, epoch 1").then_some(()))
    })
    .unwrap();
}

/// A core that cannot run its fault handler ends QEMU.
#[test]
fn firmware_that_ends_its_machine_is_named_as_the_cause_and_each_hint_leads_on() {
    let bench = Bench::new("faults");
    bench.write_words_of_each(&[], &["crash=lockup"]);
    bench.run(["up"]).expect(0);
    let process = bench.processes()[1];
    bench.run(["flash"]);
    let ended = || Ok((!std::path::Path::new(&format!("/proc/{process}")).exists()).then_some(()));
    cli::wait_for("the machine of board B has ended", ended).unwrap();
    let why = "QEMU has ended: a core locked up, because it could not run its fault handler (Lockup: ";
    let hint = "run `stillpoint down`, then `stillpoint up`";
    for command in ["status", "halt", "info"] {
        let said = bench.run([command]).expect(1);
        said.expect_out(why);
        assert!(command == "info" || said.out.contains(hint), "{}", said.out);
        assert!(!said.out.contains("kill -9") && !said.err.contains("kill -9"), "{said:?}");
    }
    bench.run(["doctor"]).expect(1).expect_out(why);
    bench.run(["up"]).expect(2).expect_err("run `stillpoint down`, then `up`");
    bench.run(["down"]).expect(0).expect_out(why);
    bench.run(["up"]).expect(0);
    bench.run(["status"]).expect(1).expect_out("write its firmware with `stillpoint flash`");
}

/// A machine whose process gets a small part of a processor.
struct Slowed {
    process: u32,
    over: std::sync::mpsc::Sender<()>,
    worker: Option<std::thread::JoinHandle<()>>,
}

impl Slowed {
    /// Lets the process run for a tenth of the time, in short turns.
    fn new(process: u32) -> Self {
        let (over, ended) = std::sync::mpsc::channel();
        let worker = std::thread::spawn(move || {
            let turn = |of| ended.recv_timeout(std::time::Duration::from_millis(of)).is_err_and(|why| why == TIMEOUT);
            const TIMEOUT: std::sync::mpsc::RecvTimeoutError = std::sync::mpsc::RecvTimeoutError::Timeout;
            loop {
                cli::signal("STOP", process);
                let goes_on = turn(180);
                cli::signal("CONT", process);
                if !goes_on || !turn(20) {
                    return;
                }
            }
        });
        Self { process, over, worker: Some(worker) }
    }
}

impl Drop for Slowed {
    fn drop(&mut self) {
        let _ = self.over.send(());
        self.worker.take().map(std::thread::JoinHandle::join);
        cli::signal("CONT", self.process);
    }
}

#[test]
fn a_slow_qemu_is_waited_for_and_never_taken_for_dead_stopped_or_in_use() {
    let bench = Bench::running("token_ring");
    let slowed = Slowed::new(bench.processes()[1]);
    for round in 0..3 {
        let commands =
            [&["status"][..], &["info"], &["halt", "--limit", "30"], &["cut"], &["resume"], &["reset"], &["status"]];
        for args in commands {
            let done = bench.run(args);
            assert_eq!(done.code, Some(0), "round {round}, {args:?}: {done:?}");
            for wrong in ["killed", "kill -", "in use", "already taken", "missing", "ended"] {
                assert!(!done.out.contains(wrong) && !done.err.contains(wrong), "{args:?}: {done:?}");
            }
        }
    }
    drop(slowed);
    bench.run(["run"]).expect(0);
    bench.expect_progress();
}

/// Ends a process with the test, however that ends.
struct Ended(u32);

impl Drop for Ended {
    fn drop(&mut self) {
        if std::path::Path::new(&format!("/proc/{}", self.0)).exists() {
            cli::signal("KILL", self.0);
        }
    }
}

/// Its machine runs on, and no command can find it by its board any more.
#[test]
fn a_machine_whose_run_directory_was_moved_is_found_by_doctor_and_ended_by_its_hint() {
    let bench = Bench::running("token_ring");
    let processes = bench.processes();
    let up = bench.run(["up", "--json"]).expect(0).json();
    let run_dir = std::path::PathBuf::from(up["boards"][1]["run_dir"].as_str().unwrap());
    // Moved, the machine is none that the bench ends.
    let _ended = Ended(processes[1]);
    std::fs::rename(&run_dir, bench.path("moved")).unwrap();
    bench.run(["status"]).expect(1).expect_out("it was not started");
    let hint = format!("kill {}", processes[1]);
    let doctor = bench.run(["doctor"]).expect(1);
    doctor.expect_out(&format!("QEMU process {} runs, and its run directory ", processes[1]));
    doctor.expect_out(&hint);
    cli::signal("TERM", processes[1]);
    let ended = || Ok((!std::path::Path::new(&format!("/proc/{}", processes[1])).exists()).then_some(()));
    cli::wait_for("the machine has ended", ended).unwrap();
    assert!(!bench.run(["doctor"]).out.contains(&hint));
    bench.run(["down"]).expect(0);
    bench.run(["up"]).expect(0);
    bench.run(["run"]).expect(0);
    bench.expect_progress();
}

#[test]
fn a_board_without_firmware_is_not_reset() {
    let bench = Bench::new("token_ring");
    bench.run(["up"]).expect(0);
    // Without an image its cores would lock up, and QEMU would end.
    bench.run(["reset"]).expect(2).expect_err("board A: it is empty; write its firmware with `stillpoint flash`");
    assert_eq!(bench.processes().len(), 2);
    bench.run(["flash"]).expect(0);
    bench.expect_progress();
}

/// Changes one byte of a section of the firmware.
fn spoil(bench: &Bench, section: &str, at: u64) {
    let path = bench.path("firmware.elf");
    let mut elf = std::fs::read(&path).unwrap();
    let file = object::File::parse(&*elf).unwrap();
    let (offset, _) = file.section_by_name(section).expect("the section is there").file_range().unwrap();
    elf[(offset + at) as usize] ^= 1;
    std::fs::write(&path, &elf).unwrap();
}

#[test]
fn an_image_that_is_not_the_elf_file_is_refused_until_it_is_flashed() {
    let bench = Bench::running("token_ring");
    // The entry of an exception that does not exist.
    spoil(&bench, ".vector_table", 32);
    for verb in ["halt", "info", "resume"] {
        let refused = bench.run([verb]).expect(2);
        refused.expect_err("board A: what is on it is not ");
        refused.expect_err("; write it with `stillpoint flash`");
    }
    bench.run(["status"]).expect(1).expect_out("A.0  missing   what is on it is not ");
    let run = bench.run(["run", "--json"]).expect(0).json();
    assert_eq!((&run["boards"][0]["did"], &run["boards"][1]["did"]), (&"flashed".into(), &"flashed".into()));
    bench.run(["status"]).expect(0);
    // A glance may miss one byte of code; whoever runs firmware gets exactly that.
    bench.install("token_ring");
    bench.run(["flash"]).expect(0);
    spoil(&bench, ".rodata", 5);
    let run = bench.run(["run", "--json"]).expect(0).json();
    assert_eq!(run["boards"][0]["did"], "flashed");
}

#[test]
fn firmware_that_cannot_be_debugged_is_refused_before_the_board_is_touched() {
    let bench = Bench::running("token_ring");
    bench.install("guide_before");
    for verb in ["flash", "halt", "run"] {
        bench.run([verb]).expect(2).expect_err("is not instrumented: it has no symbol STILLPOINT_SHARED");
    }
    let mut elf = std::fs::read(cli::firmware("token_ring")).unwrap();
    let symbol = b"STILLPOINT_WIRE_VERSION_";
    // The name is there twice: in the symbol table, and for the debugger.
    let places: Vec<usize> =
        (0..elf.len() - symbol.len()).filter(|at| elf[*at..].starts_with(symbol)).map(|at| at + symbol.len()).collect();
    assert!(!places.is_empty(), "firmware says its version");
    places.into_iter().for_each(|at| elf[at] = b'0');
    std::fs::write(bench.path("firmware.elf"), elf).unwrap();
    bench.run(["flash"]).expect(2).expect_err("speaks another version than this tool");
    std::fs::remove_file(bench.path("firmware.elf")).unwrap();
    bench.run(["up"]).expect(1).expect_out("missing  the firmware ");
    let missing = bench.run(["flash"]).expect(2);
    missing.expect_err("stillpoint.toml:5:12: cannot read");
    missing.expect_err("build the firmware first\n  |\n5 | firmware = \"firmware.elf\"\n  |            ^^^^^^^^^^^^^^");
    std::fs::write(bench.path("firmware.elf"), "no ELF").unwrap();
    bench.run(["flash"]).expect(2).expect_err("is no ELF file");
    bench.install("token_ring");
    bench.run(["status"]).expect(0);
    bench.expect_progress();
}

#[test]
fn a_second_host_is_told_who_has_the_board() {
    let bench = Bench::running("token_ring");
    let path = bench.lock_file("A");
    let file = File::options().read(true).write(true).open(&path).unwrap();
    file.lock().unwrap();
    for verb in ["flash", "reset", "down"] {
        bench.run([verb]).expect(2).expect_err("it is in use by process ");
    }
    bench.run(["status"]).expect(1).expect_out("A.0     in use    it is in use by process ");
    drop(file);
    bench.run(["status"]).expect(0);
}

#[test]
fn two_boards_that_are_the_same_are_named_and_no_board_is_said_to_be_missing() {
    let bench = Bench::new("token_ring");
    let text = std::fs::read_to_string(bench.system_file()).unwrap();
    bench.write_system(&text.replace("board=B", "board=A"));
    bench.run(["up"]).expect(0);
    bench.run(["run"]);
    for command in [&["watch"][..], &["break", "left0:fault", "--no-wait"], &["cut"]] {
        let refused = bench.run(command);
        assert_ne!(refused.code, Some(0));
        refused.expect_err("boards A and B both have node 0");
        assert!(!refused.err.contains("missing"), "{}", refused.err);
    }
}

#[test]
fn a_name_that_two_nodes_have_is_refused_by_every_command() {
    let bench = Bench::new("token_ring");
    let text = std::fs::read_to_string(bench.system_file()).unwrap();
    // The system file calls a node of board A as the firmware of board B calls one of its own.
    let named = "firmware = \"firmware.elf\"\nnodes = [\"right0\", \"other\"]\n";
    bench.write_system(&text.replacen("firmware = \"firmware.elf\"\n", named, 1));
    bench.run(["up"]).expect(0);
    bench.run(["run"]).expect(0);
    for command in [&["halt", "--at", "right0"][..], &["watch", "right0.laps"], &["break", "right0:fault", "--no-wait"]]
    {
        let refused = bench.run(command).expect(2);
        refused.expect_err("several nodes are called");
        refused.expect_err("A.0");
        refused.expect_err("B.0");
    }
    bench.run(["watch", "\"B.0\".count"]).expect(0);
}

#[test]
fn a_wrong_system_file_is_shown_where_it_is_wrong() {
    let bench = Bench::new("token_ring");
    let text = std::fs::read_to_string(bench.system_file()).unwrap();
    bench.write_system(&text.replacen("mps2-an521", "mps2-an512", 1));
    let wrong = bench.run(["up"]).expect(2);
    wrong.expect_err("no emulated chip \"mps2-an512\"; did you mean mps2-an521?");
    let error = bench.run(["up", "--json"]).expect(2).json();
    assert!(error["error"].as_str().unwrap().contains("mps2-an512"));

    bench.write_system(
        &text
            .replacen("probe = \"qemu\"", "probe = \"feed:beef:none\"", 1)
            .replacen("arguments = [\"board=A\"]", "", 1)
            .replace("[[link]]\nbetween = [\"A.uart1\", \"B.uart1\"]", ""),
    );
    let wrong = bench.run(["halt"]).expect(2);
    wrong.expect_err("stillpoint.toml:3:8: no chip \"mps2-an521\"");
    let text = std::fs::read_to_string(bench.system_file()).unwrap();
    bench.write_system(&text.replacen("chip = \"mps2-an521\"", "chip = \"nRF52840_xxAA\"", 1));
    let wrong = bench.run(["halt"]).expect(2);
    wrong.expect_err("stillpoint.toml:4:9: no probe feed:beef:none is connected");

    std::fs::remove_file(bench.system_file()).unwrap();
    bench.run(["halt"]).expect(2).expect_err("no stillpoint.toml in");
    bench.write_system(
        "[[board]]\nname = \"A\"\nchip = \"mps2-an521\"\nprobe = \"qemu\"\nfirmware = \"firmware.elf\"\n",
    );
    bench.run(["--system", "elsewhere.toml", "up"]).expect(2).expect_err("cannot read elsewhere.toml");
}

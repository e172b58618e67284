//! QEMU dies, or hangs, during every operation: an error within two seconds, never a hang. A debugger dies: the next one
//! finds a machine that runs.
use crate::common::bench::{Bench, PATIENCE};
use crate::common::{OrSay, StopOnDrop, firmware};
use probe_rs::{MemoryInterface, RegisterId, VectorCatchCondition};
use qemu_probe::{BoardError, CoreView, Machine, MachineKind};
use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

const TRIES: u32 = 20;
const LIMIT: Duration = Duration::from_secs(2);
const KIND: MachineKind = MachineKind::Mps2An521;

/// Repeats `operation` while another thread kills QEMU at some moment, and checks how long the error took.
fn killed_during(name: &str, operation: impl Fn(&mut Bench) -> Result<(), String> + Send + Sync) {
    let mut worst = Duration::ZERO;
    for attempt in 0..TRIES {
        let machine = Machine::builder(KIND).elf(firmware(KIND, "counters")).shared_ram(true).start().or_say();
        let pid = machine.pid();
        let mut bench = Bench::attach(machine);
        let (begun, has_begun) = mpsc::channel();
        let killed = std::thread::spawn(move || {
            has_begun.recv().unwrap();
            // Somewhere in the operation, or in the next one: spread over what one takes.
            let moment = Instant::now() + Duration::from_micros(u64::from(attempt) * 113);
            while Instant::now() < moment {
                std::hint::spin_loop();
            }
            rustix::process::kill_process(
                rustix::process::Pid::from_raw(pid.try_into().unwrap()).unwrap(),
                rustix::process::Signal::KILL,
            )
            .unwrap();
            Instant::now()
        });
        begun.send(()).unwrap();
        let end = Instant::now() + Duration::from_secs(20);
        let error = loop {
            assert!(Instant::now() < end, "{name}: goes on without QEMU");
            if let Err(error) = operation(&mut bench) {
                break error;
            }
        };
        let took = killed.join().unwrap().elapsed();
        assert!(took < LIMIT, "{name}: the error took {took:?}: {error}");
        worst = worst.max(took);
    }
    println!("{name}: worst {worst:?} of {TRIES}");
}

fn text(error: probe_rs::Error) -> String {
    match BoardError::inside(&error) {
        // Some operations of probe-rs give up with an error of their own after the first of ours.
        Some(BoardError::Lost { .. }) | None => error.to_string(),
        Some(other) => panic!("expected a lost connection, got {other}"),
    }
}

#[test]
fn halt_and_run() {
    killed_during("halt, run", |bench| {
        let mut core = bench.session.core(0).map_err(text)?;
        core.halt(PATIENCE).map_err(text)?;
        core.run().map_err(text)
    });
}

#[test]
fn step() {
    killed_during("step", |bench| {
        let mut core = bench.session.core(1).map_err(text)?;
        core.halt(PATIENCE).map_err(text)?;
        core.step().map(|_| ()).map_err(text)
    });
}

#[test]
fn status() {
    killed_during("status", |bench| bench.session.core(0).map_err(text)?.status().map(|_| ()).map_err(text));
}

#[test]
fn breakpoints() {
    killed_during("breakpoint", |bench| {
        let at = u64::from(bench.tick(0));
        let mut core = bench.session.core(0).map_err(text)?;
        core.set_hw_breakpoint(at).map_err(text)?;
        core.wait_for_core_halted(Duration::from_secs(1)).map_err(text)?;
        core.clear_hw_breakpoint(at).map_err(text)?;
        core.run().map_err(text)
    });
}

#[test]
fn registers() {
    killed_during("registers", |bench| {
        let mut core = bench.session.core(0).map_err(text)?;
        core.halt(PATIENCE).map_err(text)?;
        let r0: u32 = core.read_core_reg(RegisterId(0)).map_err(text)?;
        core.write_core_reg(RegisterId(0), r0).map_err(text)?;
        let psp: u32 = core.read_core_reg(RegisterId(18)).map_err(text)?;
        core.write_core_reg(RegisterId(18), psp).map_err(text)
    });
}

#[test]
fn memory() {
    killed_during("memory", |bench| {
        let scratch = u64::from(bench.symbol("SCRATCH"));
        let mut core = bench.session.core(1).map_err(text)?;
        let mut data = [0; 4096];
        core.read_8(scratch, &mut data).map_err(text)?;
        core.write_8(scratch, &data).map_err(text)
    });
}

#[test]
fn live_memory() {
    killed_during("live memory", |bench| {
        let live = u64::from(bench.symbol("LIVE"));
        let mut core = bench.session.core(1).map_err(text)?;
        core.read_word_32(live).map_err(text)?;
        core.write_word_32(live + 12, 0).map_err(text)
    });
}

#[test]
fn devices() {
    killed_during("devices", |bench| {
        let mut core = bench.session.core(1).map_err(text)?;
        core.read_word_32(0x5001_F000).map_err(text)?;
        core.write_word_32(0x5000_0008, 1).map_err(text)
    });
}

#[test]
fn resets() {
    killed_during("reset", |bench| {
        let mut core = bench.session.core(0).map_err(text)?;
        core.reset().map_err(text)?;
        core.reset_and_halt(PATIENCE).map(|_| ()).map_err(text)
    });
}

#[test]
fn vector_catch() {
    killed_during("vector catch", |bench| {
        let mut core = bench.session.core(1).map_err(text)?;
        core.enable_vector_catch(VectorCatchCondition::HardFault).map_err(text)?;
        core.disable_vector_catch(VectorCatchCondition::HardFault).map_err(text)
    });
}

#[test]
fn groups() {
    killed_during("group", |bench| {
        bench.cores.halt().map_err(|error| error.to_string())?;
        bench.cores.resume().map_err(|error| error.to_string())
    });
}

#[test]
fn waiting_for_a_halt() {
    killed_during("wait", |bench| {
        bench.cores.wait_for_halt(0, Duration::from_secs(30)).map(|_| ()).map_err(|error| error.to_string())
    });
}

#[test]
fn download() {
    let elf = firmware(KIND, "counters");
    killed_during("download", |bench| {
        use probe_rs::flashing::{ElfLoader, ElfOptions, download_file};
        download_file(&mut bench.session, &elf, ElfLoader(ElfOptions::default())).map_err(|error| error.to_string())
    });
}

#[test]
fn attach() {
    for attempt in 0..TRIES {
        let machine = Machine::builder(KIND).elf(firmware(KIND, "counters")).start().or_say();
        let pid = machine.pid();
        let killer = std::thread::spawn(move || {
            let moment = Instant::now() + Duration::from_micros(u64::from(attempt) * 211);
            while Instant::now() < moment {
                std::hint::spin_loop();
            }
            let pid = rustix::process::Pid::from_raw(pid.try_into().unwrap()).unwrap();
            rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
        });
        let begin = Instant::now();
        // Either it fails, or the connection is made and fails at its first use.
        if let Ok((probe, cores)) = qemu_probe::QemuProbe::attach(&machine) {
            killer.join().unwrap();
            assert!(cores.wait_for_halt(0, Duration::from_secs(30)).is_err());
            drop(probe);
        }
        assert!(begin.elapsed() < LIMIT, "{:?}", begin.elapsed());
    }
}

/// A QEMU that lives but hangs: stopped by a signal in mid-session.
#[test]
fn a_hanging_qemu_is_given_up_within_the_limit() {
    use rustix::process::{Pid, Signal, kill_process};
    let bench = Bench::running(KIND);
    let pid = Pid::from_raw(bench.machine.pid().try_into().unwrap()).unwrap();
    kill_process(pid, Signal::STOP).unwrap();
    let begin = Instant::now();
    let error = bench.cores.halt().unwrap_err();
    assert!(matches!(error, BoardError::Silent { .. }), "{error}");
    // The limit stated in the README, and a second for a busy computer.
    assert!(begin.elapsed() < Duration::from_secs(6), "{:?}", begin.elapsed());
    // From then on at once.
    let begin = Instant::now();
    assert!(bench.cores.halt().is_err());
    assert!(begin.elapsed() < Duration::from_millis(200));
    kill_process(pid, Signal::CONT).unwrap();
}

const RUN_DIR: &str = "QEMU_PROBE_TEST_RUN_DIR";
const DOES: &str = "QEMU_PROBE_TEST_DOES";

/// Not a test of its own: the debugger that the next tests kill.
#[test]
fn helper_that_debugs_a_machine_and_waits_to_be_killed() {
    let Some(run_dir) = std::env::var_os(RUN_DIR) else { return };
    let mut bench = Bench::attach(Machine::attach(std::path::Path::new(&run_dir)).or_say());
    match std::env::var(DOES).unwrap().as_str() {
        "halt" => drop(bench.halt(1)),
        "keep" => {
            bench.halt(1);
            bench.cores.keep_halted().unwrap();
        }
        "break" => {
            for core in [0, 1] {
                let tick = bench.tick(core);
                bench.set_breakpoint(core, tick);
                bench.expect_breakpoint(core, tick);
            }
        }
        other => panic!("cannot do {other}"),
    }
    println!("ready");
    let _ = std::io::stdin().read(&mut [0]);
    // Ends at once, as when it is killed.
    std::process::abort();
}

/// A machine whose debugger was killed when it had done this, and the next debugger.
fn after_a_debugger_that_was_killed(does: &str, check: impl FnOnce(&mut Bench)) {
    let dir = tempfile::tempdir().unwrap();
    let _stopped = StopOnDrop(dir.path());
    let machine = Machine::builder(KIND).elf(firmware(KIND, "counters")).shared_ram(true).detached(dir.path());
    drop(machine.start().or_say());
    let mut debugger = Command::new(std::env::current_exe().unwrap())
        .args(["kill::helper_that_debugs_a_machine_and_waits_to_be_killed", "--exact", "--nocapture"])
        .envs([(RUN_DIR, dir.path().as_os_str()), (DOES, does.as_ref())])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(debugger.stdout.take().unwrap()).lines().map_while(Result::ok);
    assert!(lines.into_iter().any(|line| line.ends_with("ready")), "the debugger did not {does}");
    debugger.kill().unwrap();
    debugger.wait().unwrap();
    check(&mut Bench::attach(Machine::attach(dir.path()).or_say()));
}

#[test]
fn a_core_that_a_killed_debugger_halted_runs_again_and_is_named() {
    after_a_debugger_that_was_killed("halt", |bench| {
        assert_eq!(bench.cores.status().unwrap(), [CoreView::Running; 2]);
        assert_eq!(bench.cores.released(), [1]);
        bench.expect_progress(0);
        bench.expect_progress(1);
    });
}

#[test]
fn a_core_that_a_killed_debugger_wanted_to_stay_halted_stays_halted() {
    after_a_debugger_that_was_killed("keep", |bench| {
        assert_eq!(bench.cores.status().unwrap(), [CoreView::Running, CoreView::Halted]);
        assert_eq!(bench.cores.released(), [0; 0]);
        bench.expect_progress(0);
        bench.expect_standstill(1);
    });
}

#[test]
fn a_breakpoint_of_a_killed_debugger_stops_no_core() {
    after_a_debugger_that_was_killed("break", |bench| {
        assert_eq!(bench.cores.status().unwrap(), [CoreView::Running; 2]);
        for core in [0, 1] {
            bench.expect_progress(core);
        }
    });
}

//! What it costs to attach to two emulated boards, to halt four nodes with a certificate, and to let them go; beside what a
//! probe can do without help from the firmware.
//!
//!     STILLPOINT_FIRMWARE=.../firmware/examples cargo bench -p stillpoint --bench halt
use anyhow::Context as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use stillpoint::config::SystemFile;
use stillpoint::{ProbeHalt, System, emulated, flash};
use stillpoint_core::control::StateCode;

const ROUNDS: usize = 100;
const LIMIT: Duration = Duration::from_secs(20);

fn main() -> anyhow::Result<()> {
    let folder =
        std::env::var_os("STILLPOINT_FIRMWARE").context("set STILLPOINT_FIRMWARE to the folder of the demos")?;
    let elf = PathBuf::from(folder).join("token_ring").canonicalize()?;
    let home = tempfile::tempdir()?;
    let board = |name: &str| {
        let head = format!("[[board]]\nname = \"{name}\"\nchip = \"mps2-an521\"\nprobe = \"qemu\"\n");
        format!("{head}firmware = {:?}\narguments = [\"board={name}\"]\n", elf.display().to_string())
    };
    let link = "[[link]]\nbetween = [\"A.uart1\", \"B.uart1\"]\n";
    let file = SystemFile::parse(&home.path().join("stillpoint.toml"), board("A") + &board("B") + link)?;
    emulated::up(&file)?;
    let measured = measure(&file);
    for board in &file.boards {
        emulated::down(&file, board)?;
    }
    measured
}

fn measure(file: &SystemFile) -> anyhow::Result<()> {
    let mut sessions = Vec::new();
    for board in &file.boards {
        sessions.push(flash(file, board, |_| {})?.0);
    }
    for session in &mut sessions {
        session.reset()?;
    }
    drop(sessions);
    wait_until_started(&mut System::open(file)?)?;

    println!("| operation, {ROUNDS} times | median | 95 % below |\n|---|---|---|");
    let mut system = None;
    row("attach to two boards", || {
        drop(system.take());
        Ok(timed(|| system = Some(System::open(file))))
    })?;
    let mut system = system.context("attached above")??;
    let (mut halts, mut resumes, mut events) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        let addresses = system.addresses();
        let from = addresses[round % addresses.len()];
        let began = Instant::now();
        let halted = system.halt_all(Some(from), LIMIT)?;
        halts.push(began.elapsed());
        anyhow::ensure!(halted.is_certified(), "halt {round}: {halted:?}");
        events.push(system.skew()?.lines.iter().filter_map(|line| line.events).sum::<u32>());
        let began = Instant::now();
        system.resume_all(LIMIT)?;
        resumes.push(began.elapsed());
    }
    print("consistent halt of four nodes, to its certificate", halts);
    print("resume", resumes);
    print_events("in band: events of the others that the trigger did not know of, all together", events);
    for (name, how) in [("sequential", ProbeHalt::Sequential), ("group", ProbeHalt::Group)] {
        let (mut spans, mut events) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            let stops = system.halt_by_probe(how)?;
            spans.push(stops.iter().map(|stop| stop.after_first).max().unwrap_or_default());
            events.push(stops.iter().filter_map(|stop| stop.events_after).sum::<u32>());
            system.run_stopped()?;
        }
        print(&format!("by the probe, {name}: from the first core stopped to the last"), spans);
        print_events(&format!("by the probe, {name}: events after the first stop"), events);
    }
    Ok(())
}

fn wait_until_started(system: &mut System) -> anyhow::Result<()> {
    let until = Instant::now() + LIMIT;
    while system.nodes()?.iter().any(|node| node.state == Some(StateCode::Starting)) {
        anyhow::ensure!(Instant::now() < until, "not every node starts within {LIMIT:?}");
    }
    Ok(())
}

fn timed(work: impl FnOnce()) -> Duration {
    let began = Instant::now();
    work();
    began.elapsed()
}

fn row(what: &str, mut work: impl FnMut() -> anyhow::Result<Duration>) -> anyhow::Result<()> {
    let times = (0..ROUNDS).map(|_| work()).collect::<anyhow::Result<Vec<_>>>()?;
    print(what, times);
    Ok(())
}

fn print(what: &str, mut times: Vec<Duration>) {
    times.sort_unstable();
    let milliseconds = |at: usize| times[at].as_secs_f64() * 1e3;
    println!("| {what} | {:.1} ms | {:.1} ms |", milliseconds(ROUNDS / 2), milliseconds(ROUNDS * 95 / 100));
}

fn print_events(what: &str, mut events: Vec<u32>) {
    events.sort_unstable();
    println!("| {what} | {} | {} |", events[ROUNDS / 2], events[ROUNDS * 95 / 100]);
}

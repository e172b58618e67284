//! The same unit tests once more, on the Cortex-M33, and the self-test of the platform below them.
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use qemu_probe::{Exit, Link, Machine, MachineKind, Serial};

use super::Tier;

use crate::firmware::Firmware;
use crate::nudge::Nudges;
use crate::qemu;
use crate::toolchain::{CORTEX_M33, Toolchain, cargo};

pub const TIER: Tier = Tier {
    name: "target",
    proves: "the unit tests of the algorithms, every one of them, and the platform on the Cortex-M33",
    run,
};

/// Long enough for a slow machine; a hang is cut off here.
const LIMIT: Duration = Duration::from_secs(240);
/// The self-test opens its link some seconds after its start: QEMU is made to look at it every so often.
const TICK: Duration = Duration::from_millis(500);
const WIRES: usize = 100;

fn run() -> anyhow::Result<()> {
    qemu::ready()?;
    let toolchain = Toolchain::ready(&[CORTEX_M33])?;
    let listed = cargo().args(["test", "--package", "stillpoint-core", "--lib", "--", "--list"]).output()?;
    let host = listed_tests(&String::from_utf8_lossy(&listed.stdout));
    ensure!(!host.is_empty(), "the host lists no unit test of stillpoint-core; does it build?");

    let console = run_firmware(&Firmware::unit_tests().build(toolchain)?, vec![])?;
    let target = passed_tests(&console);
    println!("unit tests of stillpoint-core: {} on the host, {} on the Cortex-M33", host.len(), target.len());
    let missing: Vec<&String> = host.iter().filter(|name| !target.contains(name)).collect();
    let extra: Vec<&String> = target.iter().filter(|name| !host.contains(name)).collect();
    ensure!(
        missing.is_empty() && extra.is_empty() && host.len() == target.len(),
        "the two sides do not run the same tests\n  only on the host: {missing:?}\n  only on the target: {extra:?}"
    );

    let (one, other) = Link::pair().context("no link for the self-test")?;
    let selftest = Firmware::example("selftest").build(toolchain)?;
    let console = run_firmware(&selftest, vec![Serial::Null, Serial::Link(one), Serial::Link(other)])?;
    println!("platform self-test: {}", console.lines().last().unwrap_or_default());
    Ok(())
}

/// Runs firmware that ends by itself and returns what it printed, if it says that all went well.
fn run_firmware(elf: &Path, mut serial: Vec<Serial>) -> anyhow::Result<String> {
    let (mut nudges, wires) = Nudges::new(WIRES, TICK, 1).context("no wires to QEMU")?;
    serial.extend(wires);
    let builder = Machine::builder(MachineKind::Mps2An521).elf(elf).semihosting(true).gdb(false);
    let mut machine = serial.into_iter().fold(builder, |builder, serial| builder.serial(serial)).start()?;
    let start = Instant::now();
    let mut exit = Exit::Running;
    while exit == Exit::Running && start.elapsed() < LIMIT {
        exit = machine.wait(TICK)?;
        nudges.nudge();
    }
    let console = machine.console();
    verdict(exit, &console)?;
    Ok(console)
}

/// What the firmware's exit and words amount to.
fn verdict(exit: Exit, console: &str) -> anyhow::Result<()> {
    let failures: Vec<&str> = console.lines().filter(|line| is_failure(line)).collect();
    let last = console.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("nothing");
    match exit {
        _ if !failures.is_empty() => bail!("on the target: {}", failures.join("\n")),
        Exit::Running => bail!("the target hangs: no end within {} s; it last said: {last}", LIMIT.as_secs()),
        Exit::Code(0) if last.ends_with(" passed, 0 failed") && !last.starts_with("0 ") => Ok(()),
        Exit::Code(0) => bail!("the target ended without saying that all passed; it last said: {last}"),
        other => bail!("the target ended with {other:?}; it last said: {last}"),
    }
}

fn is_failure(line: &str) -> bool {
    line.contains("FAILED") || line.starts_with("PANIC") || line.starts_with("FAULT")
}

/// The names in what `cargo test -- --list` prints.
fn listed_tests(listing: &str) -> Vec<String> {
    listing.lines().filter_map(|line| line.strip_suffix(": test")).map(str::to_owned).collect()
}

/// The names of the tests the target ran, without the crate's name, as the host writes them.
fn passed_tests(console: &str) -> Vec<String> {
    let passed = console.lines().filter_map(|line| line.strip_prefix("test ")?.strip_suffix(" ... ok"));
    passed.map(|name| name.strip_prefix("stillpoint_core::").unwrap_or(name).to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_and_target_name_a_test_alike() {
        assert_eq!(listed_tests("clock::tests::ticks: test\n\n1 test, 0 benchmarks\n"), ["clock::tests::ticks"]);
        assert_eq!(passed_tests("test stillpoint_core::clock::tests::ticks ... ok\n1 passed"), ["clock::tests::ticks"]);
    }

    #[test]
    fn only_an_orderly_end_with_all_passed_is_good() {
        let good = "test a ... ok\n12 passed, 0 failed\n";
        assert!(verdict(Exit::Code(0), good).is_ok());
        for (exit, console) in [
            (Exit::Running, good),
            (Exit::Code(1), good),
            (Exit::Code(0), ""),
            (Exit::Code(0), "0 passed, 0 failed"),
            (Exit::Code(0), "test a ... ok"),
        ] {
            assert!(verdict(exit, console).is_err(), "{exit:?} {console}");
        }
    }

    #[test]
    fn a_failing_assertion_is_shown_with_test_file_and_line() {
        let line = "test stillpoint_core::cut::tests::x ... FAILED at core/src/cut.rs:88: left != right";
        let error = verdict(Exit::Code(1), &format!("test a ... ok\n{line}\n1 passed, 1 failed")).unwrap_err();
        assert!(error.to_string().contains(line), "{error}");
    }

    #[test]
    fn a_hang_is_reported_with_the_last_words() {
        let error = verdict(Exit::Running, "test a ... ok\n").unwrap_err().to_string();
        assert!(error.contains("hangs") && error.contains("test a ... ok"), "{error}");
    }
}

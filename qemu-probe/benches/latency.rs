//! What each operation of the probe costs, as the table of the README.
//!
//!     $ cargo bench -p qemu-probe --bench latency

#[path = "../tests/common/mod.rs"]
mod common;

use common::bench::{Bench, PATIENCE};
use common::{OrSay, firmware};
use probe_rs::flashing::{ElfLoader, ElfOptions, download_file};
use probe_rs::{MemoryInterface, Permissions, RegisterId};
use qemu_probe::{Machine, MachineKind, QemuProbe};
use std::time::{Duration, Instant};

const KIND: MachineKind = MachineKind::Mps2An521;

/// Median and 95th percentile of `times` runs.
fn measure(times: usize, mut operation: impl FnMut()) -> (Duration, Duration) {
    let mut taken: Vec<Duration> = (0..times)
        .map(|_| {
            let begin = Instant::now();
            operation();
            begin.elapsed()
        })
        .collect();
    taken.sort();
    (taken[times / 2], taken[times * 95 / 100])
}

fn row(name: &str, times: usize, operation: impl FnMut()) {
    let (median, slow) = measure(times, operation);
    println!("| {name} | {} | {} |", micros(median), micros(slow));
}

fn micros(time: Duration) -> String {
    let micros = time.as_secs_f64() * 1e6;
    if micros < 10.0 { format!("{micros:.1} µs") } else { format!("{micros:.0} µs") }
}

fn main() {
    let elf = firmware(KIND, "counters");
    println!("| operation | median | 95 % below |\n|---|---|---|");
    row("start a machine", 10, || {
        Machine::builder(KIND).elf(&elf).start().or_say();
    });
    // One machine at a time: its cores never sleep and want two processors.
    let machine = Machine::builder(KIND).elf(&elf).start().or_say();
    row("attach to a running machine and detach", 50, || {
        let (probe, _) = QemuProbe::attach(&machine).unwrap();
        probe.attach_with_registry(KIND.name(), Permissions::default(), &qemu_probe::registry()).unwrap();
    });
    drop(machine);
    let mut bench = Bench::running(KIND);
    control(&mut bench);
    memory(&mut bench);
    row("reset and halt", 50, || {
        bench.session.core(0).unwrap().reset_and_halt(PATIENCE).unwrap();
    });
    row("download of an ELF", 10, || {
        download_file(&mut bench.session, &elf, ElfLoader(ElfOptions::default())).unwrap();
    });
    drop(bench);
    println!();
    rates();
}

fn control(bench: &mut Bench) {
    let tick = bench.tick(0);
    row("status of a core", 1000, || {
        bench.status(0);
    });
    row("halt and run one core, the other running", 300, || {
        bench.halt(0);
        bench.run(0);
    });
    row("halt and run all cores as a group", 300, || {
        bench.cores.halt().unwrap();
        bench.cores.resume().unwrap();
    });
    bench.set_breakpoint(0, tick);
    bench.expect_breakpoint(0, tick);
    row("from a breakpoint to the next hit, the other core running", 300, || {
        bench.run(0);
        bench.cores.wait_for_halt(0, PATIENCE).unwrap();
        bench.status(0);
    });
    row("step, the other core running", 300, || {
        bench.session.core(0).unwrap().step().unwrap();
    });
    bench.halt(1);
    row("step, the other core halted", 300, || {
        bench.session.core(0).unwrap().step().unwrap();
    });
    bench.status(0);
    row("read R0, all halted", 300, || {
        let _: u32 = bench.session.core(0).unwrap().read_core_reg(RegisterId(0)).unwrap();
    });
    row("read PSP, all halted", 300, || {
        let _: u32 = bench.session.core(0).unwrap().read_core_reg(RegisterId(18)).unwrap();
    });
    bench.clear_breakpoint(0, tick);
    bench.cores.resume().unwrap();
}

fn memory(bench: &mut Bench) {
    let (scratch, live) = (u64::from(bench.symbol("SCRATCH")), u64::from(bench.symbol("LIVE")));
    row("read a word, running", 500, || {
        bench.session.core(0).unwrap().read_word_32(scratch).unwrap();
    });
    row("read a word, running, live", 500, || {
        bench.session.core(0).unwrap().read_word_32(live).unwrap();
    });
    row("write a word to a device, running", 100, || {
        bench.session.core(0).unwrap().write_word_32(0x5000_0008, 0).unwrap();
    });
    bench.cores.halt().unwrap();
    row("read a word, halted", 500, || {
        bench.session.core(0).unwrap().read_word_32(scratch).unwrap();
    });
    row("write a word to a device, halted", 100, || {
        bench.session.core(0).unwrap().write_word_32(0x5000_0008, 0).unwrap();
    });
    bench.cores.resume().unwrap();
}

fn rates() {
    println!("| read rate | 64 B | 4 KiB | 64 KiB |\n|---|---|---|---|");
    let mut bench = Bench::running(KIND);
    let (code, live) = (0x1000_0000, u64::from(bench.symbol("LIVE")));
    rate(&mut bench, "through QEMU, running", code);
    bench.cores.halt().unwrap();
    rate(&mut bench, "through QEMU, halted", code);
    bench.cores.resume().unwrap();
    rate(&mut bench, "shared RAM, live", live);
}

fn rate(bench: &mut Bench, name: &str, address: u64) {
    print!("| {name} |");
    for len in [64, 4096, 65536] {
        let mut data = vec![0; len];
        let (median, _) = measure(50, || {
            bench.session.core(0).unwrap().read_8(address, &mut data).unwrap();
        });
        print!(" {:.1} MB/s |", len as f64 / median.as_secs_f64() / 1e6);
    }
    println!();
}

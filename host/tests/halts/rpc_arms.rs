//! Four ways of halting the demo `rpc_timeouts`, and what they do to its timeouts and watchdogs.
//!
//! Halts are *parked*: the cores run the parking loop and are never stopped by the probe, for stopping QEMU would stop
//! its timers too and prove nothing.
use crate::boards::LIMIT;
use crate::rpc_demo::{Counts, Demo};
use anyhow::{Context as _, ensure};
use std::time::{Duration, Instant};
use stillpoint::Node;

/// Counts per second of the board's counter.
const COUNTER_HZ: u64 = 20_000_000;

/// Reports of these nodes, then nothing for so long, then reports again.
fn stay(demo: &mut Demo, nodes: &[usize], length: Duration) -> anyhow::Result<Vec<Stay>> {
    let read = |demo: &mut Demo| nodes.iter().map(|node| demo.node(*node)).collect::<anyhow::Result<Vec<_>>>();
    let began = Instant::now();
    let before = read(demo)?;
    // How long a stop lasts is what is tested: the raw timer runs for it, and nobody's timeout fires.
    std::thread::sleep(length);
    let after = read(demo)?;
    let wall = began.elapsed();
    let pairs = before.into_iter().zip(after);
    Ok(pairs.map(|(before, after)| Stay { length, wall, before, after }).collect())
}

/// Halts everybody consistently for so long.
fn halt_all(demo: &mut Demo, initiator: usize, length: Duration) -> anyhow::Result<Vec<Stay>> {
    let proof = demo.system.halt(Demo::at(initiator), LIMIT)?;
    let stays = stay(demo, &[0, 1, 2, 3], length)?;
    demo.system.release(Demo::at(initiator), proof.halt, LIMIT)?;
    Ok(stays)
}

/// Stops one node alone for so long.
fn stop_one(demo: &mut Demo, node: usize, length: Duration) -> anyhow::Result<Vec<Stay>> {
    demo.system.suspend(Demo::at(node), LIMIT)?;
    let stays = stay(demo, &[node], length)?;
    demo.system.resume_one(Demo::at(node), LIMIT)?;
    Ok(stays)
}

/// A node at the beginning and at the end of a stop.
struct Stay {
    length: Duration,
    wall: Duration,
    before: Node,
    after: Node,
}

impl Stay {
    /// The raw timer ran for the length of the stop.
    fn raw(&self) -> u64 {
        self.after.time.wrapping_since(self.before.time).0
    }

    fn check(&self) -> anyhow::Result<()> {
        let (least, most) = (counts_of(self.length) * 99 / 100, counts_of(self.wall) * 101 / 100);
        let raw = self.raw();
        ensure!((least..=most).contains(&raw), "the timer ran for {raw} counts in a stop of {least} to {most}");
        let logical = self.after.logical_time().wrapping_since(self.before.logical_time()).0;
        ensure!(logical <= 1, "logical time ran for {logical} counts in a stop of {:?}", self.length);
        Ok(())
    }
}

fn counts_of(time: Duration) -> u64 {
    time.as_nanos() as u64 * COUNTER_HZ / 1_000_000_000
}

/// The same numbers every time.
struct Seeded(u64);

impl Seeded {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }

    /// 50 ms to 2 s: mostly short, some longer than any timeout of the demo.
    fn length(&mut self, halt: u64) -> Duration {
        Duration::from_millis(if halt % 8 >= 6 && halt % 16 < 8 {
            1_900 + self.below(101)
        } else {
            50 + self.below(50)
        })
    }
}

/// With the kit: halts of all nodes and of single ones in turn.
fn kit(words: &[&str], halts: u64, length: fn(&mut Seeded, u64) -> Duration) -> anyhow::Result<Arm> {
    let mut demo = Demo::start(words)?;
    let mut seeded = Seeded(0x5EED);
    demo.wait_for_calls(3)?;
    let mut arm = Arm::default();
    for halt in 0..halts {
        // Every node in turn, and each of them once for long.
        let (node, length) = ((halt / 2 + halt / 16) as usize % 4, length(&mut seeded, halt));
        let delayed = halt % 2 == 1;
        let stays = if delayed { stop_one(&mut demo, node, length) } else { halt_all(&mut demo, node, length) };
        let stays = stays.with_context(|| format!("halt {halt}, node {node}, {length:?}, delayed: {delayed}"))?;
        arm.add(&stays, delayed);
        demo.wait_for_calls(1).with_context(|| format!("after halt {halt}, node {node}, delayed: {delayed}"))?;
    }
    arm.end(demo)
}

/// What came of one way of halting.
#[derive(Default)]
struct Arm {
    halts: u32,
    delayed: u32,
    stopped: Duration,
    stays: Vec<Stay>,
    counts: Option<Counts>,
    refused: u32,
}

impl Arm {
    fn add(&mut self, stays: &[Stay], delayed: bool) {
        self.halts += 1;
        self.delayed += u32::from(delayed);
        self.stopped += stays[0].length;
        self.stays.extend(stays.iter().map(|stay| Stay {
            before: stay.before.clone(),
            after: stay.after.clone(),
            ..*stay
        }));
    }

    fn end(mut self, mut demo: Demo) -> anyhow::Result<Self> {
        // Long enough for every watchdog to look, and for replies that are late to come.
        demo.wait_for_calls(10)?;
        self.counts = Some(demo.counts()?);
        self.refused = demo.system.nodes()?.iter().map(|node| node.refused).sum();
        Ok(self)
    }

    fn row(&self, name: &str) -> String {
        let Counts { calls, timeouts, late, bites } = self.counts.expect("the arm has ended");
        let (halts, delayed, stopped) = (self.halts, self.delayed, self.stopped.as_secs_f64());
        format!("{name:<28} {halts:>5} {delayed:>7} {stopped:>8.1} s {calls:>6} {timeouts:>8} {late:>5} {bites:>6}")
    }
}

/// Must show of the demo, in one table.
#[test]
fn no_timeout_fires_and_no_watchdog_bites_because_somebody_looked() -> anyhow::Result<()> {
    let began = Instant::now();
    let with_kit = kit(&[], 100, Seeded::length)?;
    let kit_took = began.elapsed();
    for (number, stay) in with_kit.stays.iter().enumerate() {
        stay.check().with_context(|| format!("stop {number}, node {}", stay.before.id.0))?;
    }
    // Each longer than any timeout of the demo: whatever waits then, times out.
    let real_time = kit(&["time=real"], 8, |seeded, _| Duration::from_millis(2_000 + seeded.below(100)))?;
    let one_by_one = core_by_core()?;
    let undisturbed = no_halt(kit_took)?;

    println!(
        "{:<28} {:>5} {:>7} {:>10} {:>6} {:>8} {:>5} {:>6}",
        "", "halts", "delayed", "stopped", "calls", "timeouts", "late", "bites"
    );
    for (name, arm) in [
        ("kit", &with_kit),
        ("kit, logical time off", &real_time),
        ("stopped core by core", &one_by_one),
        ("no halt", &undisturbed),
    ] {
        println!("{}", arm.row(name));
    }
    let bad = |arm: &Arm| arm.counts.map(|counts| (counts.timeouts, counts.bites)).expect("the arm has ended");
    assert_eq!((with_kit.halts, with_kit.delayed), (100, 50));
    assert_eq!((bad(&with_kit), with_kit.refused), ((0, 0), 0), "with the kit nothing fires");
    assert_eq!(bad(&undisturbed), (0, 0), "the demo itself must not fail, or nothing was shown");
    for (arm, why) in [(real_time, "timers ran on"), (one_by_one, "nobody knew of the stop")] {
        let (timeouts, bites) = bad(&arm);
        assert!(timeouts > 0 && bites > 0, "{timeouts} timeouts and {bites} bites although {why}");
    }
    Ok(())
}

/// As under a debugger that knows one core at a time: each is stopped while the others run, and its timers run on.
fn core_by_core() -> anyhow::Result<Arm> {
    let mut demo = Demo::start(&["time=real", "gate=off"])?;
    demo.wait_for_calls(3)?;
    let mut arm = Arm::default();
    for node in 0..4 {
        arm.add(&stop_one(&mut demo, node, Duration::from_millis(2_500))?, false);
        demo.wait_for_calls(1)?;
    }
    arm.end(demo)
}

fn no_halt(length: Duration) -> anyhow::Result<Arm> {
    let mut demo = Demo::start(&[])?;
    demo.wait_for_calls(3)?;
    // As long and as closely watched as the arm it is compared with: a computer without time for an emulated core makes
    // timers fire in both.
    let until = Instant::now() + length;
    while Instant::now() < until {
        demo.wait_for_calls(1)?;
    }
    Arm::default().end(demo)
}

//! A thousand halts of four nodes on two boards, begun by whoever happens to: the host at all nodes, at one node, at several
//! nodes without waiting for an answer, or a node by itself at a breakpoint. Every one of them is certified.
//!
//! `cargo xtask test qemu` builds the firmware, says where it is, and runs this; `--nocapture` shows the table.
use crate::boards::{LIMIT, two_boards};
use anyhow::Context as _;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};
use stillpoint::breakpoint::{self, Waited};
use stillpoint::expr::{compile, parse, resolve};
use stillpoint::{HaltProof, System};
use stillpoint_core::HaltId;
use stillpoint_core::predicate::{Detector, SlotId};

/// How many halts: a thousand, or as many as `STILLPOINT_HALTS` says.
fn how_many() -> usize {
    std::env::var("STILLPOINT_HALTS").map_or(1000, |halts| halts.parse().expect("STILLPOINT_HALTS is a number"))
}

/// Fixed but irregular choices.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % sides as u64) as usize
    }
}

/// How a halt was begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum By {
    /// The host commands all nodes at once, as `stillpoint halt` does.
    Everybody,
    /// The host commands one node, as `stillpoint halt --at` does.
    Host,
    Several,
    Node,
}

/// What one halt came to.
struct Cycle {
    by: By,
    took: Duration,
    /// For each node that was reached: hops from whoever triggered it, and events that this one did not know of.
    reached: Vec<(usize, u32)>,
}

fn halt(system: &mut System, dice: &mut Dice) -> anyhow::Result<(By, HaltProof)> {
    let addresses = system.addresses();
    match dice.roll(20) {
        0 => {
            let node = ["left0", "left1", "right0", "right1"][dice.roll(4)];
            let text = format!("{node}.holding == 1");
            let directory = breakpoint::directory(system)?;
            let compiled = compile(&resolve(&parse(&text)?, &directory)?, &directory)?;
            let armed = breakpoint::arm(system, &compiled, Detector::Causal, &text, |_| {})?;
            let never = AtomicBool::new(false);
            let waited = breakpoint::wait(system, &armed, None, Some(LIMIT), &never, |_| {})?;
            anyhow::ensure!(matches!(waited, Waited::Fired(_)), "{text} does not fire: {waited:?}");
            breakpoint::remove(system, SlotId::ALL[0])?;
            Ok((By::Node, system.prove()?))
        }
        1..=8 => {
            let halted = system.halt_all(None, LIMIT)?;
            anyhow::ensure!(halted.waiting.is_empty() && halted.lost.is_empty(), "{halted:?}");
            Ok((By::Everybody, halted.proof.context("no proof")??))
        }
        9..=12 => {
            system.begin_halt(&addresses)?;
            system.wait_parked(LIMIT)?;
            Ok((By::Several, system.prove()?))
        }
        _ => Ok((By::Host, system.halt(addresses[dice.roll(addresses.len())], LIMIT)?)),
    }
}

/// Hops to each node that was reached, and how many of its events the trigger did not know of.
fn reached(system: &mut System) -> anyhow::Result<Vec<(usize, u32)>> {
    let lines = system.skew()?.lines;
    let hops = |path: &[String]| path.len().checked_sub(1).filter(|hops| *hops > 0);
    Ok(lines.iter().filter_map(|line| Some((hops(&line.path)?, line.events?))).collect())
}

#[test]
fn a_thousand_halts_begun_by_the_host_by_one_node_and_by_several_are_all_certified() -> anyhow::Result<()> {
    let (_machines, mut system) = two_boards("token_ring")?;
    let addresses = system.addresses();
    let mut dice = Dice(0x5717_1901);
    let mut cycles = Vec::new();
    let mut last = HaltId(0);
    for cycle in 0..how_many() {
        let began = Instant::now();
        let (by, proof) = halt(&mut system, &mut dice).with_context(|| format!("halt {cycle}"))?;
        let took = began.elapsed();
        assert!(proof.halt.is_newer_than(last), "halt {cycle} is a new one");
        let in_flight: usize = proof.channels.iter().map(|channel| channel.in_flight.len()).sum();
        assert!(in_flight <= 1, "halt {cycle}: there is one token, and {in_flight} messages are in flight");
        cycles.push(Cycle { by, took, reached: reached(&mut system)? });
        last = proof.halt;
        let at = addresses[dice.roll(addresses.len())];
        system.release(at, last, LIMIT).with_context(|| format!("release {cycle}"))?;
    }
    let nodes = system.nodes()?;
    for node in &nodes {
        assert_eq!(node.refused, 0, "node {} refused a step", node.id.0);
    }
    print(&cycles);
    Ok(())
}

fn print(cycles: &[Cycle]) {
    println!("| {} halts, 0 failures | halts | wall time, median | 95 % below |\n|---|---|---|---|", cycles.len());
    for by in [By::Everybody, By::Host, By::Several, By::Node] {
        let mut took: Vec<Duration> = cycles.iter().filter(|cycle| cycle.by == by).map(|cycle| cycle.took).collect();
        took.sort_unstable();
        println!(
            "| begun by {by:?} | {} | {:?} | {:?} |",
            took.len(),
            took[took.len() / 2],
            took[took.len() * 95 / 100]
        );
    }
    println!("| hops from the trigger | nodes reached | events it did not know of, median | 95 % below | most |");
    println!("|---|---|---|---|---|");
    for hops in 1..4 {
        let all = cycles.iter().flat_map(|cycle| &cycle.reached);
        let mut events: Vec<u32> = all.filter(|(far, _)| *far == hops).map(|(_, events)| *events).collect();
        events.sort_unstable();
        if let Some(most) = events.last() {
            let (median, high) = (events[events.len() / 2], events[events.len() * 95 / 100]);
            println!("| {hops} | {} | {median} | {high} | {most} |", events.len());
        }
    }
}

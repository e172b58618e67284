//! Causal order of many events: time on the processor, and memory.
use crate::input::{Run, header};
use std::hint::black_box;
use std::process::{Command, Stdio};
use std::{env, fs, io};
use stillpoint_trace::{CausalOrder, Item};

/// The argument with which this program sorts so many events and says what it took.
pub const CHILD: &str = "--stream";

/// How many events: each time twice as many.
pub const EVENTS: [usize; 5] = [625_000, 1_250_000, 2_500_000, 5_000_000, 10_000_000];

/// What a run took.
#[derive(Clone, Copy, Debug)]
pub struct Taken {
    pub events: usize,
    /// Nanoseconds on the processor, the making of the records among them.
    pub nanoseconds: u64,
    /// Records and clocks held at most.
    pub held: u64,
    /// The most memory the process had, in KiB.
    pub memory: u64,
}

/// Sorts in this process, and prints what it took: time, records and clocks held, memory.
pub fn stream(events: &str) {
    let events = events.parse().unwrap_or(0);
    let (mut order, mut sum, mut held) = (CausalOrder::new(&header(8)), 0, 0);
    for (at, (node, record)) in Run::new(8).take(events).enumerate() {
        order.push(node, 0, Item::Record(record), &mut |_, clock| sum += u64::from(clock[0]));
        // Often enough, and at another place of the round each time.
        if at % 7 == 0 {
            held = held.max(order.held());
        }
    }
    order.finish(&mut |_, clock| sum += u64::from(clock[0]));
    black_box(sum);
    let time = fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let most = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.split_whitespace().next());
    println!("{} {held} {}", time.split(' ').next().unwrap_or("0"), most.unwrap_or("0"));
}

/// Runs all sizes, three times each and in turn, so that a load on the machine meets all alike; the fastest counts.
pub fn run() -> io::Result<Vec<Taken>> {
    let mut best: Vec<Option<Taken>> = vec![None; EVENTS.len()];
    for round in 1..=3 {
        for (best, events) in best.iter_mut().zip(EVENTS) {
            eprintln!("causal order of {events} events, {round} of 3");
            let taken = once(events)?;
            if best.is_none_or(|best| taken.nanoseconds < best.nanoseconds) {
                *best = Some(taken);
            }
        }
    }
    Ok(best.into_iter().flatten().collect())
}

fn once(events: usize) -> io::Result<Taken> {
    let program = env::current_exe()?;
    let run = Command::new(program).args([CHILD, &events.to_string()]).stdin(Stdio::null()).output()?;
    let said = String::from_utf8_lossy(&run.stdout).into_owned();
    let numbers: Vec<u64> = said.split_whitespace().filter_map(|number| number.parse().ok()).collect();
    match numbers[..] {
        [nanoseconds, held, memory] => Ok(Taken { events, nanoseconds, held, memory }),
        _ => Err(io::Error::other(format!("a run of {events} events said {said:?}"))),
    }
}

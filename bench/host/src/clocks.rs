//! Clocks: tick, merge and compare, beside those of `crdts` and `vclock`.
use crate::callgrind::Work;
use crdts::{CmRDT as _, CvRDT as _};
use std::hint::black_box;
use stillpoint_core::{NodeId, VectorClock};

/// How many entries.
pub const SIZES: [usize; 5] = [4, 8, 16, 32, 64];
/// What is done.
pub const CALLS: [&str; 3] = ["tick", "merge", "compare"];
/// How often.
const TIMES: usize = 1000;

pub fn works() -> Vec<Work> {
    // Ours have at most 32 entries: as many nodes as a system has.
    let mut works = [ours::<4>(), ours::<8>(), ours::<16>(), ours::<32>()].into_iter().flatten().collect::<Vec<_>>();
    works.extend(SIZES.into_iter().flat_map(|size| crdts(size).into_iter().chain(vclock(size))));
    works
}

fn name(call: &str, whose: &str, size: usize) -> String {
    format!("clock {call}, {whose}, {size} entries")
}

/// Two clocks that know all nodes: the second is ahead in every other entry.
fn entries(size: usize) -> (Vec<u32>, Vec<u32>) {
    (vec![5; size], (0..size as u32).map(|entry| 5 + entry % 2).collect())
}

fn ours<const N: usize>() -> [Work; 3] {
    let clocks = || {
        let (one, other) = entries(N);
        let clock = |entries: Vec<u32>| {
            let mut clock = [0; N];
            clock.copy_from_slice(&entries);
            VectorClock::<N>::from_entries(clock)
        };
        (clock(one), clock(other))
    };
    [
        Work::new(name("tick", "stillpoint", N), TIMES, move || {
            let (mut clock, _) = clocks();
            move || {
                for time in 0..TIMES {
                    black_box(black_box(&mut clock).tick(NodeId((time % N) as u8)));
                }
            }
        }),
        Work::new(name("merge", "stillpoint", N), TIMES, move || {
            let (one, other) = clocks();
            let mut into = [one; TIMES];
            move || into.iter_mut().for_each(|clock| black_box(clock).merge(black_box(&other)))
        }),
        Work::new(name("compare", "stillpoint", N), TIMES, move || {
            let (one, other) = clocks();
            move || (0..TIMES).for_each(|_| _ = black_box(black_box(&one).partial_cmp(black_box(&other))))
        }),
    ]
}

fn crdts(size: usize) -> [Work; 3] {
    let clocks = move || {
        let (one, other) = entries(size);
        let clock = |entries: Vec<u32>| {
            let mut clock = crdts::VClock::<u8>::new();
            (0..).zip(entries).for_each(|(node, count)| clock.apply(crdts::Dot::new(node, u64::from(count))));
            clock
        };
        (clock(one), clock(other))
    };
    [
        Work::new(name("tick", "crdts", size), TIMES, move || {
            let (mut clock, _) = clocks();
            move || {
                for time in 0..TIMES {
                    let tick = black_box(&clock).inc((time % size) as u8);
                    black_box(&mut clock).apply(tick);
                }
            }
        }),
        Work::new(name("merge", "crdts", size), TIMES, move || {
            let (one, other) = clocks();
            // A merge takes the other clock away; making the copies is not counted.
            let (mut into, mut others) = (vec![one; TIMES], vec![other; TIMES]);
            move || into.iter_mut().zip(others.drain(..)).for_each(|(clock, other)| black_box(clock).merge(other))
        }),
        Work::new(name("compare", "crdts", size), TIMES, move || {
            let (one, other) = clocks();
            move || (0..TIMES).for_each(|_| _ = black_box(black_box(&one).partial_cmp(black_box(&other))))
        }),
    ]
}

fn vclock(size: usize) -> [Work; 3] {
    let clocks = move || {
        let (one, other) = entries(size);
        let clock = |entries: Vec<u32>| {
            let mut clock = vclock::VClock::<u8, u64>::default();
            for (node, count) in (0..).zip(entries) {
                (0..=count).for_each(|_| clock.incr(&node));
            }
            clock
        };
        (clock(one), clock(other))
    };
    [
        Work::new(name("tick", "vclock", size), TIMES, move || {
            let (mut clock, _) = clocks();
            move || (0..TIMES).for_each(|time| black_box(&mut clock).incr(&((time % size) as u8)))
        }),
        Work::new(name("merge", "vclock", size), TIMES, move || {
            let (one, other) = clocks();
            let mut into = vec![one; TIMES];
            move || into.iter_mut().for_each(|clock| black_box(clock).merge(black_box(&other)))
        }),
        Work::new(name("compare", "vclock", size), TIMES, move || {
            let (one, other) = clocks();
            move || (0..TIMES).for_each(|_| _ = black_box(black_box(&one).partial_cmp(black_box(&other))))
        }),
    ]
}

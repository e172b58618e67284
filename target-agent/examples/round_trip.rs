//! A message goes from core 0 to core 1 and back, a thousand times, and the program ends. Nothing is printed.
//!
//! `cargo xtask bench` counts the instructions of both cores with the kit and without it, and the longest time for which
//! interrupts are masked.
#![no_std]
#![no_main]
#![expect(named_asm_labels, reason = "each label is in a function that is never inlined, so it exists once")]

use embassy_executor::{SpawnToken, Spawner};
use static_cell::StaticCell;
use stillpoint_agent::platform::{self, Chip, Platform};
use stillpoint_agent::{Channel, CoreId, Executor, Inbox, NodeId, Outbox, StampKind, name, trace, watch};

stillpoint_agent::system!(AGENTS of Agent: nodes = 4, ports = 6, log = 65536);

static THERE: Channel<u32> = Channel::new();
static BACK: Channel<u32> = Channel::new();

const ZERO: NodeId = NodeId(0);
const ONE: NodeId = NodeId(1);
const ROUNDS: u32 = 1000;

/// Where the counting of both cores begins.
#[inline(never)]
fn begin() {
    // SAFETY: a label.
    unsafe { core::arch::asm!(".global total_begin_round_trips\ntotal_begin_round_trips:", "nop") };
}

/// Where it ends.
#[inline(never)]
fn end() {
    // SAFETY: a label.
    unsafe { core::arch::asm!(".global total_end_round_trips\ntotal_end_round_trips:", "nop") };
}

#[embassy_executor::task]
async fn ask(agent: Agent, mut out: Outbox<u32>, mut back: Inbox<u32>) {
    // The first stamps are full ones, and the other core may still be starting.
    for number in 0..10 {
        out.send(&number).await.unwrap();
        assert_eq!(back.recv().await, Ok(number));
    }
    begin();
    for number in 0..ROUNDS {
        out.send(&number).await.unwrap();
        assert_eq!(back.recv().await, Ok(number));
    }
    end();
    // What else masks interrupts.
    let answered = watch!(agent, "answered").unwrap();
    for number in 0..20 {
        answered.set(number);
        trace!(agent, "answered");
    }
    platform::semihosting::exit(true);
}

#[embassy_executor::task]
async fn answer(mut there: Inbox<u32>, mut back: Outbox<u32>) {
    loop {
        let number = there.recv().await.unwrap();
        back.send(&number).await.unwrap();
    }
}

fn spawn<S>(spawner: Spawner, task: Result<SpawnToken<S>, embassy_executor::SpawnError>) {
    spawner.spawn(task.expect("the task is spawned once"));
}

#[cortex_m_rt::entry]
fn main() -> ! {
    static EXECUTORS: [StaticCell<Executor>; 2] = [const { StaticCell::new() }; 2];
    platform::init();
    Chip::start_core1(|| {
        let agent = AGENTS.begin(name!(node "one"), ONE, StampKind::Vector).unwrap();
        let there = agent.inbox(name!("there"), &THERE, ZERO, CoreId::ZERO).unwrap();
        let back = agent.outbox(name!("back"), &BACK, ZERO, CoreId::ZERO).unwrap();
        agent.start().unwrap();
        EXECUTORS[1].init(Executor::new()).run(|spawner| spawn(spawner, answer(there, back)))
    })
    .expect("core 1 is started once");
    let agent = AGENTS.begin(name!(node "zero"), ZERO, StampKind::Vector).unwrap();
    let out = agent.outbox(name!("there"), &THERE, ONE, CoreId::ONE).unwrap();
    let back = agent.inbox(name!("back"), &BACK, ONE, CoreId::ONE).unwrap();
    agent.start().unwrap();
    EXECUTORS[0].init(Executor::new()).run(|spawner| spawn(spawner, ask(agent, out, back)))
}

//! Two cores exchange messages with none, one or four predicates armed, and then halt for ever.
//!
//! `armed=K` on the command line says how many. The counting plugin measures for how long interrupts are masked at each
//! event, and how far it is from where a halt begins to where each core parks.
#![expect(named_asm_labels, reason = "each label is in a function that is never inlined, so it exists once")]

use core::sync::atomic::Ordering;
use embassy_executor::{SpawnToken, Spawner};
use static_cell::StaticCell;
use stillpoint_agent::platform::{self, Bell, Chip, MAX_CORES, Platform};
use stillpoint_agent::{Channel, CoreId, Executor, Inbox, NodeId, Outbox, StampKind, name, trace, watch};
use stillpoint_core::control::{CommandWords, ControlBlock, StateCode};
use stillpoint_core::predicate::{Detector, Generation, Op, Program, ProgramBuilder, Relation, SlotId};
use stillpoint_core::{Command, Node, PortSet};

const PORTS: usize = 6;
const LOG: usize = 65536;
stillpoint_agent::system!(AGENTS of Agent: nodes = crate::NODES, ports = PORTS, log = LOG);

type Watch = stillpoint_agent::agent::Watch<Chip, { crate::NODES }, PORTS, LOG>;

/// A full stamp of so many nodes, and the number.
const MESSAGE: usize = (Node::<{ crate::NODES }, PORTS>::STAMP_ROOM + 8).next_multiple_of(4);
static THERE: Channel<u32, 4, MESSAGE> = Channel::new();
static BACK: Channel<u32, 4, MESSAGE> = Channel::new();

const ZERO: NodeId = NodeId(0);
const ONE: NodeId = NodeId(1);
/// More than the events between two sync records, so that these are among what is measured.
const ROUNDS: u32 = 1000;
/// A value that no watch takes: what is armed is evaluated at every event and never comes true.
const NEVER: i32 = -1;

/// Where the counting begins.
#[inline(never)]
fn begin() {
    // SAFETY: a label.
    unsafe { core::arch::asm!(".global total_begin_events\ntotal_begin_events:", "nop") };
}

/// Where it ends.
#[inline(never)]
fn end() {
    // SAFETY: a label.
    unsafe { core::arch::asm!(".global total_end_events\ntotal_end_events:", "nop") };
}

/// Halts the system, from the label to where this core parks.
#[inline(never)]
fn halt(agent: Agent) {
    // SAFETY: a label.
    unsafe { core::arch::asm!(".global halt_begin\nhalt_begin:") };
    agent.halt();
}

/// A tracepoint, all that it costs an application.
#[inline(never)]
fn tracepoint(agent: Agent) {
    // SAFETY: a label.
    unsafe { core::arch::asm!(".global since_begin_tracepoint\nsince_begin_tracepoint:") };
    trace!(agent, "asked");
    // SAFETY: a label.
    unsafe { core::arch::asm!(".global since_end_tracepoint\nsince_end_tracepoint:", "nop") };
}

/// What a host finds by the symbol.
fn control(core: CoreId) -> &'static ControlBlock<{ crate::NODES }, PORTS> {
    let blocks = core::ptr::from_ref(&STILLPOINT_SHARED).cast::<[ControlBlock<{ crate::NODES }, PORTS>; MAX_CORES]>();
    // SAFETY: the blocks of both cores are what `Shared`, whose layout is fixed, begins with.
    let blocks = unsafe { &*blocks };
    &blocks[core.index()]
}

/// Does what a host does: writes the command, rings, waits for the answer.
fn command(core: CoreId, command: &Command<'_>) {
    let block = control(core);
    let sequence = block.answer.sequence.load(Ordering::Relaxed).wrapping_add(1);
    let words = CommandWords::encode(command, sequence).unwrap();
    let (words, checksum, sequence) = words.as_block();
    for (place, word) in block.command.words.iter().zip(words) {
        place.store(*word, Ordering::Relaxed);
    }
    block.command.checksum.store(checksum, Ordering::Relaxed);
    block.command.sequence.store(sequence, Ordering::Release);
    Chip::ring(core, Bell::Urgent);
    while block.answer.sequence.load(Ordering::Acquire) != sequence {
        core::hint::spin_loop();
    }
    assert_eq!(block.answer.error.load(Ordering::Relaxed), 0, "the agent refused to arm a predicate");
}

/// Arms as many predicates as the command line says, at both nodes: each a comparison of the node's watch.
fn arm() {
    let digit = |value: &[u8]| usize::from(value.first().map_or(0, |digit| digit.wrapping_sub(b'0')));
    let armed = platform::words::argument("armed=", digit).expect("armed=K says how many predicates");
    assert!(armed <= SlotId::ALL.len());
    let condition = [Op::WatchCompare { watch: 0, relation: Relation::Equal, constant: NEVER }];
    let program: Program = ProgramBuilder::new(1).push_condition_term(1, 1, &condition).finish().unwrap();
    let generation = Generation(1);
    let is_starting = |core| control(core).phase.load(Ordering::Acquire) != StateCode::Running as u32;
    while is_starting(CoreId::ONE) {
        core::hint::spin_loop();
    }
    for slot in SlotId::ALL.into_iter().take(armed) {
        let install = Command::Install { slot, generation, detector: Detector::Causal, program: program.as_bytes() };
        for core in [CoreId::ZERO, CoreId::ONE] {
            command(core, &install);
        }
        command(CoreId::ZERO, &Command::Enable { slot, generation, silent: PortSet::EMPTY });
        command(CoreId::ONE, &Command::Enable { slot, generation, silent: PortSet::EMPTY });
    }
}

#[embassy_executor::task]
async fn ask(agent: Agent, asked: Watch, mut out: Outbox<u32>, mut back: Inbox<u32>) {
    arm();
    // The first messages are among what is measured: their stamps are full ones.
    begin();
    for number in 0..ROUNDS {
        out.send(&number).await.unwrap();
        assert_eq!(back.recv().await, Ok(number));
        asked.set(number as i32);
        tracepoint(agent);
    }
    end();
    halt(agent);
}

#[embassy_executor::task]
async fn answer(answered: Watch, mut there: Inbox<u32>, mut back: Outbox<u32>) {
    loop {
        let number = there.recv().await.unwrap();
        answered.set(number as i32);
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
        let answered = watch!(agent, "answered").unwrap();
        agent.start().unwrap();
        EXECUTORS[1].init(Executor::new()).run(|spawner| spawn(spawner, answer(answered, there, back)))
    })
    .expect("core 1 is started once");
    let agent = AGENTS.begin(name!(node "zero"), ZERO, StampKind::Vector).unwrap();
    let out = agent.outbox(name!("there"), &THERE, ONE, CoreId::ONE).unwrap();
    let back = agent.inbox(name!("back"), &BACK, ONE, CoreId::ONE).unwrap();
    let asked = watch!(agent, "asked").unwrap();
    agent.start().unwrap();
    EXECUTORS[0].init(Executor::new()).run(|spawner| spawn(spawner, ask(agent, asked, out, back)))
}

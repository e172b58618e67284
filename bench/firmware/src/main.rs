//! Runs everything whose instructions are counted, each inside a span that the counting plugin finds by its labels.
//!
//! A span is two labels without an instruction between them and what is measured; [`empty`](run) shows that it costs
//! nothing. Every span runs several times: what matters is that the figure is the same each time, or its maximum.
#![no_std]
#![no_main]
#![expect(named_asm_labels, reason = "each span is in a function that is never inlined, so its labels exist once")]

use core::hint::black_box;
use core::panic::PanicInfo;
use core::sync::atomic::{AtomicU32, Ordering};
use cortex_m_semihosting::debug::{EXIT_FAILURE, EXIT_SUCCESS, exit};
use defmt_rtt as _;
use stillpoint_core::log::{LogRing, LogWriter, Recording};
use stillpoint_core::predicate::{
    Detector, EvalContext, Generation, Op, Outcome, Predicates, Program, ProgramBuilder, Relation, SlotId,
};
use stillpoint_core::{
    Command, Direction, Effects, Event, HaltId, HaltMarker, Input, Node, NodeId, PortId, StampKind, VectorClock,
};

/// Measures `$body` under a name. The labels are those of the first instruction after each of them.
macro_rules! span {
    ($name:literal, $body:expr) => {{
        // SAFETY: labels, and a promise to the compiler that memory may have changed.
        unsafe { core::arch::asm!(concat!(".global span_begin_", $name, "\nspan_begin_", $name, ":")) };
        let result = $body;
        // SAFETY: as above.
        unsafe { core::arch::asm!(concat!(".global span_end_", $name, "\nspan_end_", $name, ":")) };
        black_box(result)
    }};
}

/// The board's free-running counter: what a timestamp costs is a load.
fn counter() -> u32 {
    const DUAL_TIMER: usize = 0x5000_2000;
    // SAFETY: reads a register of the timer, which has no side effect.
    !unsafe { core::ptr::without_provenance::<u32>(DUAL_TIMER + 4).read_volatile() }
}

static RING: LogRing<65536> = LogRing::new();
const OUT: PortId = PortId(0);
const IN: PortId = PortId(1);

fn node<const N: usize>(id: u8) -> Node<N> {
    let mut node = Node::new(NodeId(id), StampKind::Vector).unwrap();
    node.connect(OUT, Direction::Out, NodeId(1 - id)).unwrap();
    node.connect(IN, Direction::In, NodeId(1 - id)).unwrap();
    let _ = node.step(Input::start()).unwrap();
    node
}

#[inline(never)]
fn empty() {
    span!("empty", ());
}

#[inline(never)]
fn merge_4(clock: &mut VectorClock<4>, other: &VectorClock<4>) {
    span!("merge_4", clock.merge(other));
}

#[inline(never)]
fn merge_32(clock: &mut VectorClock<32>, other: &VectorClock<32>) {
    span!("merge_32", clock.merge(other));
}

// As exact as ours: a load.
defmt::timestamp!("{=u32}", counter());

/// What stands beside a tracepoint: a line of the text log, with one number, into the ring of its RTT transport.
#[inline(never)]
fn defmt_record(number: u32) {
    span!("defmt", defmt::info!("answered {=u32}", number));
}

/// What an agent does at a tracepoint: the event that is logged is the one that was told, whose kind is known here.
#[inline(always)]
fn local_event(node: &mut Node<4>, writer: &mut LogWriter<4>, tag: u16) {
    let event = Event::local(tag);
    if let Ok(Effects { log: Some(_), .. }) = node.step(Input::Event(event)) {
        writer.push(&RING, &event, counter(), &node.standing());
    }
}

#[inline(never)]
fn local_record(node: &mut Node<4>, writer: &mut LogWriter<4>, tag: u16) {
    span!("local_record", {
        local_event(node, writer, tag);
    });
}

#[inline(never)]
fn recording_off(node: &mut Node<4>, writer: &mut LogWriter<4>, tag: u16) {
    span!("recording_off", {
        local_event(node, writer, tag);
    });
}

#[inline(never)]
fn one_comparison(node: &mut Node<4>, writer: &mut LogWriter<4>, tag: u16) {
    span!("one_armed", {
        local_event(node, writer, tag);
    });
}

#[inline(never)]
fn four_comparisons(node: &mut Node<4>, writer: &mut LogWriter<4>, tag: u16) {
    span!("four_armed", {
        local_event(node, writer, tag);
    });
}

/// The evaluation alone, without the event around it.
#[inline(never)]
fn evaluation_none(predicates: &mut Predicates, event: &Event, context: &EvalContext<'_>) -> Outcome {
    span!("evaluation_none", predicates.after_event(event, context))
}

#[inline(never)]
fn evaluation_one(predicates: &mut Predicates, event: &Event, context: &EvalContext<'_>) -> Outcome {
    span!("evaluation_one", predicates.after_event(event, context))
}

#[inline(never)]
fn evaluation_four(predicates: &mut Predicates, event: &Event, context: &EvalContext<'_>) -> Outcome {
    span!("evaluation_four", predicates.after_event(event, context))
}

type Evaluation = fn(&mut Predicates, &Event, &EvalContext<'_>) -> Outcome;

/// Evaluates what is armed at `node`, a few times.
fn evaluate(node: &Node<4>, evaluation: Evaluation) {
    let mut predicates = node.predicates().clone();
    let context = EvalContext { count: 5, epoch: 0, clock: &[5, 0, 0, 0] };
    for round in 0..20 {
        let _ = evaluation(black_box(&mut predicates), black_box(&Event::local(round)), black_box(&context));
    }
}

#[inline(never)]
fn send_4(node: &mut Node<4>, bytes: &mut [u8]) -> usize {
    span!("send_4", node.step(Input::Send { port: OUT, stamp: bytes }).map_or(0, |effects| effects.stamp.into()))
}

#[inline(never)]
fn receive_4(node: &mut Node<4>, bytes: &[u8]) -> usize {
    span!("receive_4", node.step(Input::Receive { port: IN, stamp: bytes }).map_or(0, |effects| effects.stamp.into()))
}

#[inline(never)]
fn send_32(node: &mut Node<32>, bytes: &mut [u8]) -> usize {
    span!("send_32", node.step(Input::Send { port: OUT, stamp: bytes }).map_or(0, |effects| effects.stamp.into()))
}

#[inline(never)]
fn receive_32(node: &mut Node<32>, bytes: &[u8]) -> usize {
    span!("receive_32", node.step(Input::Receive { port: IN, stamp: bytes }).map_or(0, |effects| effects.stamp.into()))
}

#[inline(never)]
fn send_record_4(node: &mut Node<4>, writer: &mut LogWriter<4>, bytes: &mut [u8]) -> usize {
    const EVENT: Event = Event::send(OUT);
    span!("send_record_4", {
        let effects = node.step(Input::Send { port: OUT, stamp: bytes }).unwrap_or(Effects::NONE);
        if effects.log.is_some() {
            writer.push(&RING, &EVENT, counter(), &node.standing());
        }
        effects.stamp.into()
    })
}

#[inline(never)]
fn receive_record_4(node: &mut Node<4>, writer: &mut LogWriter<4>, bytes: &[u8]) -> usize {
    const EVENT: Event = Event::receive(IN);
    span!("receive_record_4", {
        let effects = node.step(Input::Receive { port: IN, stamp: bytes }).unwrap_or(Effects::NONE);
        if effects.log.is_some() {
            writer.push(&RING, &EVENT, counter(), &node.standing());
        }
        effects.stamp.into()
    })
}

#[inline(never)]
fn marker_arrives(node: &mut Node<4>, marker: &HaltMarker<4>) -> Effects {
    span!("marker", node.step(Input::Marker { port: IN, marker }).unwrap_or(Effects::NONE))
}

fn arm(node: &mut Node<4>, slot: SlotId) {
    let condition = [Op::WatchCompare { watch: 1, relation: Relation::Equal, constant: 7 }];
    let program: Program = ProgramBuilder::new(1).push_condition_term(1, 1, &condition).finish().unwrap();
    let generation = Generation(1);
    let install = Command::Install { slot, generation, detector: Detector::Causal, program: program.as_bytes() };
    for command in [install, Command::Enable { slot, generation }] {
        let _ = node.step(Input::Command(command)).unwrap();
    }
}

#[inline(never)]
fn clocks() {
    let mut four = VectorClock::from_entries([1, 9, 3, 9]);
    let mut many = VectorClock::<32>::new();
    let other = VectorClock::<32>::from_entries(core::array::from_fn(|entry| entry as u32 % 3));
    for _ in 0..3 {
        merge_4(black_box(&mut four), black_box(&VectorClock::from_entries([5, 2, 7, 4])));
        merge_32(black_box(&mut many), black_box(&other));
    }
}

#[inline(never)]
fn text() {
    for number in 0..20 {
        defmt_record(black_box(number));
    }
}

#[inline(never)]
fn records() {
    let (mut node, mut writer) = (node::<4>(0), LogWriter::new());
    for round in 0..200 {
        local_record(black_box(&mut node), &mut writer, black_box(round & 63));
    }
    evaluate(&node, evaluation_none);
    arm(&mut node, SlotId::ALL[0]);
    evaluate(&node, evaluation_one);
    for round in 0..20 {
        one_comparison(black_box(&mut node), &mut writer, black_box(round));
    }
    SlotId::ALL.into_iter().skip(1).for_each(|slot| arm(&mut node, slot));
    evaluate(&node, evaluation_four);
    for round in 0..20 {
        four_comparisons(black_box(&mut node), &mut writer, black_box(round));
    }
    SlotId::ALL.into_iter().for_each(|slot| {
        let _ = node.step(Input::Command(Command::Remove { slot })).unwrap();
    });
    let _ = node.step(Input::Command(Command::Record(Recording::OFF))).unwrap();
    for round in 0..20 {
        recording_off(black_box(&mut node), &mut writer, black_box(round));
    }
}

/// Four nodes in a ring, so that in the steady state all four entries change between two messages of a channel.
#[inline(never)]
fn messages() {
    let mut nodes: [Node<4>; 4] = core::array::from_fn(|id| {
        let mut node = Node::new(NodeId(id as u8), StampKind::Vector).unwrap();
        node.connect(OUT, Direction::Out, NodeId((id as u8 + 1) % 4)).unwrap();
        node.connect(IN, Direction::In, NodeId((id as u8 + 3) % 4)).unwrap();
        let _ = node.step(Input::start()).unwrap();
        node
    });
    let mut writers: [LogWriter<4>; 4] = core::array::from_fn(|_| LogWriter::new());
    let mut bytes = [0; Node::<4>::STAMP_ROOM];
    for round in 0..40 {
        for from in 0..4 {
            let to = (from + 1) % 4;
            if round < 4 {
                // The first stamps are full ones: warm up unmeasured.
                let sent = nodes[from].step(Input::Send { port: OUT, stamp: &mut bytes }).unwrap().stamp;
                let _ = nodes[to].step(Input::Receive { port: IN, stamp: &bytes[..sent.into()] }).unwrap();
            } else if round < 20 {
                let length = send_4(black_box(&mut nodes[from]), black_box(&mut bytes));
                receive_4(black_box(&mut nodes[to]), black_box(&bytes[..length]));
            } else {
                let length = send_record_4(black_box(&mut nodes[from]), &mut writers[from], black_box(&mut bytes));
                receive_record_4(black_box(&mut nodes[to]), &mut writers[to], black_box(&bytes[..length]));
            }
        }
    }
    let marker = HaltMarker { id: HaltId(1), position: 0, order: Default::default() };
    let _ = marker_arrives(black_box(&mut nodes[0]), black_box(&marker));
}

#[inline(never)]
fn messages_of_32() {
    static BYTES: AtomicU32 = AtomicU32::new(0);
    let mut pair: [Node<32>; 2] = [node(0), node(1)];
    let mut bytes = [0; Node::<32>::STAMP_ROOM];
    for _ in 0..10 {
        for (from, to) in [(0, 1), (1, 0)] {
            let length = send_32(black_box(&mut pair[from]), black_box(&mut bytes));
            receive_32(black_box(&mut pair[to]), black_box(&bytes[..length]));
            BYTES.store(length as u32, Ordering::Relaxed);
        }
    }
}

#[cortex_m_rt::entry]
fn main() -> ! {
    empty();
    clocks();
    text();
    records();
    messages();
    messages_of_32();
    exit(EXIT_SUCCESS);
    loop {
        cortex_m::asm::wfi();
    }
}

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    cortex_m_semihosting::hprintln!("{}", info);
    exit(EXIT_FAILURE);
    loop {
        cortex_m::asm::wfi();
    }
}

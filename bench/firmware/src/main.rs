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
    Detector, EvalContext, Generation, Op, Outcome, Plan, Predicates, Program, ProgramBuilder, Relation, SlotId,
};
use stillpoint_core::time::{Counts, Ticks};
use stillpoint_core::{
    Command, Direction, Effects, Event, HaltId, HaltMarker, Input, MessageStamp, Node, NodeId, PortId, PortSet, Quick,
    StampKind, VectorClock,
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
fn counter() -> Counts<u32> {
    const DUAL_TIMER: usize = 0x5000_2000;
    // SAFETY: reads a register of the timer, which has no side effect.
    Counts(!unsafe { core::ptr::without_provenance::<u32>(DUAL_TIMER + 4).read_volatile() })
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
defmt::timestamp!("{=u32}", counter().0);

/// What stands beside a tracepoint: a line of the text log, with one number, into the ring of its RTT transport.
#[inline(never)]
fn defmt_record(number: u32) {
    span!("defmt", defmt::info!("answered {=u32}", number));
}

/// A log and its time, as an agent has them.
struct Log {
    writer: LogWriter<4>,
    ticks: Ticks<u32>,
}

impl Log {
    const fn new() -> Self {
        Self { writer: LogWriter::new(), ticks: Ticks(0) }
    }

    /// What an agent does with an event that is to be recorded: a short record, or any other in a function of its own.
    #[inline(always)]
    fn record(&mut self, node: &Node<4>, event: &Event) {
        let now = counter().ticks();
        let ticks = Ticks(now.wrapping_since(self.ticks).0 & Ticks::COUNTER_RANGE.0);
        self.ticks = now;
        let short = LogWriter::<4>::short_record(event);
        if !short.is_some_and(|first| self.writer.push_short(&RING, first, ticks, node.number())) {
            self.push(node, *event, ticks);
        }
    }

    #[inline(never)]
    fn push(&mut self, node: &Node<4>, event: Event, ticks: Ticks<u32>) {
        self.writer.push_with_context(&RING, &event, self.writer.time_after(ticks), &node.standing());
    }
}

/// What an agent does at a tracepoint: the quick way, which nothing that is measured here leaves.
#[inline(always)]
fn local_event(node: &mut Node<4>, log: &mut Log, tag: u16) {
    let event = Event::local(tag);
    match node.quick_event(&event) {
        Some(quick) if quick.satisfied.is_empty() => {
            if quick.is_recorded {
                log.record(node, &event);
            }
        }
        _ => not_quick(),
    }
}

/// The same for a message that is sent: where its stamp begins.
#[inline(always)]
fn send<const N: usize>(node: &mut Node<N>, bytes: &mut [u8]) -> Quick {
    match node.quick_send(OUT, bytes) {
        Some(quick) if quick.satisfied.is_empty() => quick,
        _ => not_quick(),
    }
}

/// The same for one that is received, whose stamp is found first.
#[inline(always)]
fn receive<const N: usize>(node: &mut Node<N>, bytes: &[u8]) -> Quick {
    let Some(stamp) = MessageStamp::read::<N>(bytes) else { not_quick() };
    match node.quick_receive(IN, &stamp) {
        Some(quick) if quick.satisfied.is_empty() => quick,
        _ => not_quick(),
    }
}

#[cold]
#[inline(never)]
fn not_quick() -> ! {
    panic!("a usual event took a step")
}

#[inline(never)]
fn local_record(node: &mut Node<4>, log: &mut Log, tag: u16) {
    span!("local_record", {
        local_event(node, log, tag);
    });
}

#[inline(never)]
fn recording_off(node: &mut Node<4>, log: &mut Log, tag: u16) {
    span!("recording_off", {
        local_event(node, log, tag);
    });
}

#[inline(never)]
fn one_comparison(node: &mut Node<4>, log: &mut Log, tag: u16) {
    span!("one_armed", {
        local_event(node, log, tag);
    });
}

#[inline(never)]
fn four_comparisons(node: &mut Node<4>, log: &mut Log, tag: u16) {
    span!("four_armed", {
        local_event(node, log, tag);
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
    span!("send_4", send(node, bytes).begin.into())
}

#[inline(never)]
fn receive_4(node: &mut Node<4>, bytes: &[u8]) -> bool {
    span!("receive_4", receive(node, bytes).is_recorded)
}

#[inline(never)]
fn send_32(node: &mut Node<32>, bytes: &mut [u8]) -> usize {
    span!("send_32", send(node, bytes).begin.into())
}

#[inline(never)]
fn receive_32(node: &mut Node<32>, bytes: &[u8]) -> bool {
    span!("receive_32", receive(node, bytes).is_recorded)
}

#[inline(never)]
fn send_record_4(node: &mut Node<4>, log: &mut Log, bytes: &mut [u8]) -> usize {
    span!("send_record_4", {
        let quick = send(node, bytes);
        if quick.is_recorded {
            log.record(node, &Event::send(OUT));
        }
        quick.begin.into()
    })
}

#[inline(never)]
fn receive_record_4(node: &mut Node<4>, log: &mut Log, bytes: &[u8]) {
    span!("receive_record_4", {
        if receive(node, bytes).is_recorded {
            log.record(node, &Event::receive(IN));
        }
    });
}

/// Messages of a simultaneous event that is armed, on the port that tells of a component.
#[inline(never)]
fn send_carrying(node: &mut Node<4>, bytes: &mut [u8]) -> usize {
    span!("send_carrying", send(node, bytes).begin.into())
}

#[inline(never)]
fn receive_carrying(node: &mut Node<4>, bytes: &[u8]) -> bool {
    span!("receive_carrying", receive(node, bytes).is_recorded)
}

/// The same event, on nodes of it whose ports carry nothing.
#[inline(never)]
fn send_beside(node: &mut Node<4>, bytes: &mut [u8]) -> usize {
    span!("send_beside", send(node, bytes).begin.into())
}

#[inline(never)]
fn receive_beside(node: &mut Node<4>, bytes: &[u8]) -> bool {
    span!("receive_beside", receive(node, bytes).is_recorded)
}

/// A ring of four in which node 0 tells node 1 of its condition, which recognises the event; no other port carries anything.
#[inline(never)]
fn simultaneous() {
    let mut nodes: [Node<4>; 4] = core::array::from_fn(|id| {
        let mut node = Node::new(NodeId(id as u8), StampKind::Vector).unwrap();
        node.connect(OUT, Direction::Out, NodeId((id as u8 + 1) % 4)).unwrap();
        node.connect(IN, Direction::In, NodeId((id as u8 + 3) % 4)).unwrap();
        let _ = node.step(Input::start()).unwrap();
        node
    });
    let (slot, generation, detector) = (SlotId::ALL[0], Generation(1), Detector::Simultaneous);
    let condition = [Op::WatchCompare { watch: 1, relation: Relation::Equal, constant: 7 }];
    let mut plans = [Plan::NOTHING; 4];
    plans[0].own = Some(0);
    plans[0].carriers[0] = PortSet::EMPTY.with(OUT);
    plans[1].needs = 1;
    for (node, plan) in nodes.iter_mut().zip(plans) {
        let has_condition = plan.own.is_some() || plan.needs != 0;
        let builder = ProgramBuilder::new(1);
        let builder = if has_condition { builder.push_condition_term(1, 1, &condition) } else { builder };
        let program: Program = builder.finish().unwrap();
        let install = Command::Install { slot, generation, detector, program: program.as_bytes() };
        let enable = Command::Enable { slot, generation, silent: PortSet::EMPTY };
        for command in [install, Command::Plan { slot, generation, plan }, enable] {
            let _ = node.step(Input::Command(command)).unwrap();
        }
    }
    let mut bytes = [0; Node::<4>::STAMP_ROOM];
    for round in 0..20 {
        for from in 0..4 {
            let to = (from + 1) % 4;
            let (is_first, carries) = (round < 4, from == 0);
            if is_first {
                let sent = nodes[from].step(Input::Send { port: OUT, stamp: &mut bytes }).unwrap().stamp;
                let _ = nodes[to].step(Input::Receive { port: IN, stamp: &bytes[..sent.into()] }).unwrap();
            } else if carries {
                let begin = send_carrying(black_box(&mut nodes[from]), black_box(&mut bytes));
                receive_carrying(black_box(&mut nodes[to]), black_box(&bytes[begin..]));
            } else {
                let begin = send_beside(black_box(&mut nodes[from]), black_box(&mut bytes));
                receive_beside(black_box(&mut nodes[to]), black_box(&bytes[begin..]));
            }
        }
    }
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
    for command in [install, Command::Enable { slot, generation, silent: PortSet::EMPTY }] {
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
    let (mut node, mut log) = (node::<4>(0), Log::new());
    for round in 0..200 {
        local_record(black_box(&mut node), &mut log, black_box(round & 63));
    }
    evaluate(&node, evaluation_none);
    arm(&mut node, SlotId::ALL[0]);
    evaluate(&node, evaluation_one);
    for round in 0..20 {
        one_comparison(black_box(&mut node), &mut log, black_box(round));
    }
    SlotId::ALL.into_iter().skip(1).for_each(|slot| arm(&mut node, slot));
    evaluate(&node, evaluation_four);
    for round in 0..20 {
        four_comparisons(black_box(&mut node), &mut log, black_box(round));
    }
    SlotId::ALL.into_iter().for_each(|slot| {
        let _ = node.step(Input::Command(Command::Remove { slot })).unwrap();
    });
    let _ = node.step(Input::Command(Command::Record(Recording::OFF))).unwrap();
    for round in 0..20 {
        recording_off(black_box(&mut node), &mut log, black_box(round));
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
    let mut logs: [Log; 4] = core::array::from_fn(|_| Log::new());
    let mut bytes = [0; Node::<4>::STAMP_ROOM];
    for round in 0..40 {
        for from in 0..4 {
            let to = (from + 1) % 4;
            if round < 4 {
                // The first stamps are full ones: warm up unmeasured.
                let sent = nodes[from].step(Input::Send { port: OUT, stamp: &mut bytes }).unwrap().stamp;
                let _ = nodes[to].step(Input::Receive { port: IN, stamp: &bytes[..sent.into()] }).unwrap();
            } else if round < 20 {
                let begin = send_4(black_box(&mut nodes[from]), black_box(&mut bytes));
                receive_4(black_box(&mut nodes[to]), black_box(&bytes[begin..]));
            } else {
                let begin = send_record_4(black_box(&mut nodes[from]), &mut logs[from], black_box(&mut bytes));
                receive_record_4(black_box(&mut nodes[to]), &mut logs[to], black_box(&bytes[begin..]));
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
            let begin = send_32(black_box(&mut pair[from]), black_box(&mut bytes));
            receive_32(black_box(&mut pair[to]), black_box(&bytes[begin..]));
            BYTES.store(begin as u32, Ordering::Relaxed);
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
    simultaneous();
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

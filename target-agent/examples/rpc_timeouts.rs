//! Two clients with timeouts call one server; a watchdog on every node; and nobody's timer fires because somebody looked.
//!
//! ```text
//!            mailbox                UART1, between boards             mailbox
//!   A.1 <---------------> A.0 <-------------------------> B.0 <------------------ B.1
//!   client                server                          client    plain port    sensor
//! ```
//! A client asks for the square of a number, waits at most 1.8 s for the answer, rests for 10 ms, and asks again. The
//! server takes 5 ms for each answer. On every node a task feeds a software watchdog every 50 ms; it bites when it
//! was not fed for 1.8 s. B.1 sends B.0 a sample every 50 ms through a plain port, which a delayed halt cannot protect.
//!
//! What you see: the watches `calls`, `timeouts`, `late` and `bites` of each node. Halt all nodes consistently, or stop
//! one of them alone, for as long as you like: `calls` goes on where it was, and the others stay 0.
//!
//! Words (`arguments` of the system file):
//! - `board=A` or `board=B`: which board this is;
//! - `calls=20`: each client makes 20 calls, then each node prints a line; expected output: `rpc_timeouts.out`;
//! - `time=real`: logical time is off, so timers run on while a node stands still. Now halting makes timeouts fire and
//!   watchdogs bite;
//! - `gate=off`: a node that is stopped alone tells nobody, as under a debugger that knows nothing of calls;
//! - `crash=` and `node=`: this node crashes at its tenth call: `calling` (a panic while its call is out), `serving` (a panic
//!   while it has a request), `gate` (a panic inside the gate of calls), `halting` (a fault as it enters the gate while it
//!   halts the system).
#![no_std]
#![no_main]

use core::cell::RefCell;
use core::sync::atomic::{AtomicU32, Ordering};
use core::task::{Context, RawWaker, RawWakerVTable, Waker};
use core::time::Duration;
use critical_section::Mutex;
use embassy_executor::{SpawnToken, Spawner};
use embassy_time::{Instant, Timer};
use heapless::{Deque, String, Vec};
use serde::{Deserialize, Serialize};
use static_cell::StaticCell;
use stillpoint_agent::platform::uart::{UartRx, UartTx};
use stillpoint_agent::platform::{self, Chip, Platform, semihosting, uart, words};
use stillpoint_agent::rpc::CallError;
use stillpoint_agent::{
    Access, Channel, Client, CoreId, Envelope, Executor, Inbox, Line, LinkConfig, NodeId, Outbox, Rpc, Serial, Server,
    StampKind, ThreadId, name, watch,
};

stillpoint_agent::system!(AGENTS of Agent: nodes = 4, ports = 4, log = 16384);

/// What a client asks.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Question {
    number: u32,
}

/// What it is told.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Answer {
    square: u32,
}

/// What the sensor measured.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Sample {
    number: u32,
    reading: Reading,
    unit: String<8>,
    /// Up to four readings before this one, in hundredths.
    before: Vec<u16, 4>,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
enum Reading {
    /// Every tenth time the sensor warms up instead.
    WarmingUp,
    Value {
        hundredths: u16,
    },
}

const SERVER: NodeId = NodeId(0);
const NEIGHBOUR: NodeId = NodeId(1);
const FAR_CLIENT: NodeId = NodeId(2);
const SENSOR: NodeId = NodeId(3);
/// The threads of the two clients.
const NEAR: ThreadId = ThreadId(0);
const FAR: ThreadId = ThreadId(1);

/// Longer than a busy computer keeps an emulated core waiting.
const CALL_LIMIT: Duration = Duration::from_millis(1_800);
const WATCHDOG_LIMIT: u32 = 1_800;

/// On whole 32 bytes, so that a core can be kept from writing to it.
#[repr(C, align(32))]
struct Aligned(Rpc<2, 4>);
static GATES: Aligned = Aligned(Rpc::new());
const RPC: &Rpc<2, 4> = &GATES.0;
/// On board A: between its two cores.
static QUESTIONS: Channel<Envelope<Question>, 4, 96> = Channel::new();
static ANSWERS: Channel<Envelope<Answer>, 4, 96> = Channel::new();
/// On both boards: what goes over the link.
static FAR_QUESTIONS: Channel<Envelope<Question>, 4, 96> = Channel::new();
static FAR_ANSWERS: Channel<Envelope<Answer>, 4, 96> = Channel::new();
/// On board B: from core 1 to core 0.
static SAMPLES: Channel<Sample> = Channel::new();
/// On board B: the last samples that core 0 took.
static RECENT: Mutex<RefCell<Deque<Sample, 4>>> = Mutex::new(RefCell::new(Deque::new()));
static LINK: Serial<UartRx, UartTx> = Serial::new();

/// Who may enter where: each client's thread its home and the server.
fn access() -> Access<2, 4> {
    let mut access = Access::NONE;
    for (thread, home) in [(NEAR, NEIGHBOUR), (FAR, FAR_CLIENT)] {
        access.allow(thread, home).expect("there is such a thread and such a node");
        access.allow(thread, SERVER).expect("there is such a thread and such a node");
    }
    access
}

#[embassy_executor::task]
async fn pump(agent: Agent) {
    agent.pump(&LINK).await;
}

#[embassy_executor::task]
async fn ask(agent: Agent, mut client: Client<Question, Answer>, who: &'static str, limit: Option<u32>) {
    let [calls, timeouts, late] =
        [watch!(agent, "calls"), watch!(agent, "timeouts"), watch!(agent, "late")].map(Result::unwrap);
    let (mut made, mut timed_out, mut sum) = (0, 0, 0);
    while limit != Some(made) {
        trouble(agent, made);
        if crashes(made, b"gate") {
            crash_inside_the_gate(client.call(&Question { number: made }));
        }
        if crashes(made, b"calling") {
            let _pending = embassy_futures::poll_once(client.call(&Question { number: made }));
            panic!("{who} crashed while call {made} was out");
        }
        match client.call_with_timeout(&Question { number: made }, CALL_LIMIT).await {
            Ok(answer) => {
                assert!(answer.square == made.wrapping_mul(made), "{who} asked {made} and was told {}", answer.square);
                sum += u64::from(answer.square);
            }
            Err(CallError::TimedOut) => timed_out += 1,
            Err(error) => panic!("{who} asked {made} and failed: {error:?}"),
        }
        made += 1;
        calls.set(made as i32);
        timeouts.set(timed_out);
        late.set(client.late() as i32);
        Timer::after_millis(10).await;
    }
    let late = client.late();
    say(who, format_args!("{made} calls, {timed_out} timeouts, {late} late replies; the answers add up to {sum}"));
}

#[embassy_executor::task]
async fn answer(agent: Agent, mut server: Server<Question, Answer, 2>, limit: Option<u32>) {
    let calls = watch!(agent, "calls").unwrap();
    let mut answered = 0;
    while limit.is_none_or(|limit| answered < 2 * limit) {
        trouble(agent, answered);
        if crashes(answered, b"gate") {
            crash_inside_the_gate(server.next());
        }
        let request = server.next().await.unwrap();
        if crashes(answered, b"serving") {
            panic!("crashed while it served {}", request.body.number);
        }
        Timer::after_millis(5).await;
        let number = request.body.number;
        request.reply(&Answer { square: number.wrapping_mul(number) }).await.unwrap();
        answered += 1;
        calls.set(answered as i32);
    }
    say("A.0", format_args!("{answered} calls answered, {} of them unfollowed by the gate", RPC.unfollowed()));
}

/// Whether the calling node crashes in this way at this call, by the command line.
fn crashes(call: u32, way: &[u8]) -> bool {
    let me = b'0' + 2 * Chip::board().map_or(0, |board| board.0) + Chip::core().index() as u8;
    let is_me = words::argument("node=", |node| node == [me]) == Some(true);
    call == 10 && is_me && words::argument("crash=", |word| word == way) == Some(true)
}

/// Halts the system and faults meanwhile, at the next use of the gate, if the command line says so.
fn trouble(agent: Agent, call: u32) {
    if crashes(call, b"halting") {
        Chip::masked(|| {
            forbid_writing();
            agent.halt();
        });
    }
}

/// Waits for a call with a waker that panics when it is cloned for the second time: the first clone is for the inbox, the
/// second for the gate, which is held meanwhile.
fn crash_inside_the_gate(call: impl Future) -> ! {
    static CLONES: AtomicU32 = AtomicU32::new(0);
    static WAKER: RawWakerVTable = RawWakerVTable::new(
        |data| match CLONES.fetch_add(1, Ordering::Relaxed) {
            0 => RawWaker::new(data, &WAKER),
            _ => panic!("inside the gate"),
        },
        |_| (),
        |_| (),
        |_| (),
    );
    // SAFETY: the waker has no data, so all of its functions may be called anywhere.
    let waker = unsafe { Waker::from_raw(RawWaker::new(core::ptr::null(), &WAKER)) };
    let _ = core::pin::pin!(call).poll(&mut Context::from_waker(&waker));
    panic!("the gate was not entered");
}

/// Makes the gates read-only for this core. In the handler of the fault that follows, they are not.
fn forbid_writing() {
    let begin = (&raw const GATES).addr() as u32;
    let last = begin + (size_of::<Aligned>() as u32).saturating_sub(32);
    let registers = [(0xE000_ED98, 0), (0xE000_ED9C, begin | 0b101), (0xE000_EDA0, last | 1), (0xE000_ED94, 0b101)];
    for (address, value) in registers {
        // SAFETY: registers of this core's memory protection unit, which nothing else here uses.
        unsafe { core::ptr::with_exposed_provenance_mut::<u32>(address).write_volatile(value) };
    }
    cortex_m::asm::dsb();
    cortex_m::asm::isb();
}

fn say(who: &str, what: core::fmt::Arguments<'_>) {
    semihosting::line(format_args!("{who}: {what}"));
}

/// When each core's watchdog was last fed, in milliseconds of that core's time, and the longest it had to wait.
static FED: [AtomicU32; 2] = [const { AtomicU32::new(0) }; 2];
static HUNGER: [AtomicU32; 2] = [const { AtomicU32::new(0) }; 2];

/// Feeds the watchdog of the calling core. Says how long it had not been fed.
fn feed() -> u32 {
    let (now, core) = (Instant::now().as_millis() as u32, Chip::core().index());
    now.wrapping_sub(FED[core].swap(now, Ordering::Relaxed))
}

#[embassy_executor::task(pool_size = 2)]
async fn feeder() {
    loop {
        HUNGER[Chip::core().index()].fetch_max(feed(), Ordering::Relaxed);
        Timer::after_millis(50).await;
    }
}

#[embassy_executor::task(pool_size = 2)]
async fn watchdog(agent: Agent) {
    let watch = watch!(agent, "bites").unwrap();
    let mut bites = 0;
    loop {
        Timer::after_millis(100).await;
        let core = Chip::core().index();
        let waits = (Instant::now().as_millis() as u32).wrapping_sub(FED[core].load(Ordering::Relaxed));
        if HUNGER[core].swap(0, Ordering::Relaxed).max(waits) > WATCHDOG_LIMIT {
            bites += 1;
            watch.set(bites);
            feed();
        }
    }
}

/// B.1 sends, B.0 takes; nothing depends on it.
#[embassy_executor::task]
async fn sense(mut samples: Outbox<Sample>) {
    let mut before = Vec::new();
    for number in 0.. {
        let hundredths = 2_000 + (number % 100) as u16;
        let reading = if number % 10 == 0 { Reading::WarmingUp } else { Reading::Value { hundredths } };
        let unit = String::try_from("celsius").unwrap();
        samples.send(&Sample { number, reading, unit, before: before.clone() }).await.unwrap();
        if before.push(hundredths).is_err() {
            before.clear();
        }
        Timer::after_millis(50).await;
    }
}

#[embassy_executor::task]
async fn collect(agent: Agent, mut samples: Inbox<Sample>) {
    let watch = watch!(agent, "samples").unwrap();
    loop {
        let sample = samples.recv().await.unwrap();
        watch.set(sample.number as i32 + 1);
        critical_section::with(|section| {
            let mut recent = RECENT.borrow_ref_mut(section);
            if recent.is_full() {
                recent.pop_front();
            }
            let _ = recent.push_back(sample);
        });
    }
}

fn spawn<S>(spawner: Spawner, task: Result<SpawnToken<S>, embassy_executor::SpawnError>) {
    spawner.spawn(task.expect("the task is spawned once"));
}

/// What every node has.
fn spawn_watchdog(spawner: Spawner, agent: Agent) {
    spawn(spawner, feeder());
    spawn(spawner, watchdog(agent));
}

fn line() -> Line<UartRx, UartTx> {
    let (receiver, sender) = uart::open(1, 115_200).expect("UART1 is free");
    Line { receiver: receiver.claim(), sender: sender.claim() }
}

#[cortex_m_rt::entry]
fn main() -> ! {
    platform::init();
    let calls = words::argument("calls=", |word| core::str::from_utf8(word).ok()?.parse().ok()).flatten();
    if words::argument("time=", |word| word == b"real") == Some(true) {
        platform::time().follow_real_time();
    }
    if words::argument("gate=", |word| word == b"off") == Some(true) {
        RPC.leave_unprotected();
    }
    match Chip::board().map(|board| board.0) {
        Some(0) => board_a(calls),
        Some(1) => board_b(calls),
        _ => panic!("start the board with the word board=A or board=B"),
    }
}

static EXECUTORS: [StaticCell<Executor>; 2] = [const { StaticCell::new() }; 2];

fn board_a(calls: Option<u32>) -> ! {
    Chip::start_core1(move || {
        let agent = AGENTS.begin(name!(node "neighbour"), NEIGHBOUR, StampKind::Vector).unwrap();
        RPC.begin(&agent, access()).unwrap();
        let questions = agent.outbox(name!("questions"), &QUESTIONS, SERVER, CoreId::ZERO).unwrap();
        let answers = agent.inbox(name!("answers"), &ANSWERS, SERVER, CoreId::ZERO).unwrap();
        let client = RPC.client(&agent, name!(call "square"), NEAR, questions, answers).unwrap();
        agent.start().unwrap();
        EXECUTORS[1].init(Executor::new()).run(|spawner| {
            spawn_watchdog(spawner, agent);
            spawn(spawner, ask(agent, client, "A.1", calls));
        })
    })
    .expect("core 1 is started once");
    let agent = AGENTS.begin(name!(node "server"), SERVER, StampKind::Vector).unwrap();
    RPC.begin(&agent, access()).unwrap();
    let questions = agent.inbox(name!("questions"), &QUESTIONS, NEIGHBOUR, CoreId::ONE).unwrap();
    let answers = agent.outbox(name!("answers"), &ANSWERS, NEIGHBOUR, CoreId::ONE).unwrap();
    let (out, into) = ((name!("far answers"), &FAR_ANSWERS), (name!("far questions"), &FAR_QUESTIONS));
    let (far_answers, far_questions) =
        agent.serial(&LINK, line(), LinkConfig::BAUD_115200, FAR_CLIENT, out, into).unwrap();
    let clients = [(questions, answers), (far_questions, far_answers)];
    let server = RPC.server(&agent, name!(serve "square"), clients).unwrap();
    agent.start().unwrap();
    EXECUTORS[0].init(Executor::new()).run(|spawner| {
        spawn(spawner, pump(agent));
        spawn_watchdog(spawner, agent);
        spawn(spawner, answer(agent, server, calls));
    })
}

fn board_b(calls: Option<u32>) -> ! {
    Chip::start_core1(move || {
        let agent = AGENTS.begin(name!(node "sensor"), SENSOR, StampKind::Vector).unwrap();
        RPC.begin(&agent, access()).unwrap();
        let samples = agent.outbox(name!("samples"), &SAMPLES, FAR_CLIENT, CoreId::ZERO).unwrap();
        agent.start().unwrap();
        EXECUTORS[1].init(Executor::new()).run(|spawner| {
            spawn_watchdog(spawner, agent);
            spawn(spawner, sense(samples));
        })
    })
    .expect("core 1 is started once");
    let agent = AGENTS.begin(name!(node "far client"), FAR_CLIENT, StampKind::Vector).unwrap();
    RPC.begin(&agent, access()).unwrap();
    let samples = agent.inbox(name!("samples"), &SAMPLES, SENSOR, CoreId::ONE).unwrap();
    let (out, into) = ((name!("far questions"), &FAR_QUESTIONS), (name!("far answers"), &FAR_ANSWERS));
    let (questions, answers) = agent.serial(&LINK, line(), LinkConfig::BAUD_115200, SERVER, out, into).unwrap();
    let client = RPC.client(&agent, name!(call "square"), FAR, questions, answers).unwrap();
    agent.start().unwrap();
    EXECUTORS[0].init(Executor::new()).run(|spawner| {
        spawn(spawner, pump(agent));
        spawn_watchdog(spawner, agent);
        spawn(spawner, collect(agent, samples));
        spawn(spawner, ask(agent, client, "B.0", calls));
    })
}

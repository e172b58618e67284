//! A pipeline of four nodes on two boards, any of which can crash in any way: `left1 -> left0 -> right0 -> right1`.
//!
//! The sink is slow, so every ring is full and every node upstream waits; messages go one way only. When a node crashes the
//! whole pipeline stops at that moment, the producer included, host or no host.
//!
//! Words of the command line: `board=A` or `board=B`; `crash=` one of `panic`, `hardfault`, `overflow`, `declared`,
//! `interrupt` (a panic in an interrupt handler), `section` (a fault in the middle of an event), `lock-panic` and
//! `lock-hardfault` (while holding the cross-core lock), `exit` (a semihosting call that asks for the end of the program),
//! `lockup` (a fault that has no handler, which ends QEMU); `core=1` for the core on which it happens, `core=both` for both
//! cores of board A, else core 0; `lock=busy` has both cores take the cross-core lock all the time; `halt=lock` and
//! `halt=pending` have the core halt the system itself once, holding the lock or with an interrupt pending; `counter=wrap`
//! starts the counter just before its wrap; `watchdog=fed` and `watchdog=starved` start a watchdog of five seconds, which
//! the agent feeds in a park or does not; `links=2` joins the boards by a second link on UART 2, which is busy both ways;
//! `ticks=handler` has a timer's interrupt handler on every core set a watch to its count, 500 times a second.
//! What you see: `host/tests/halts/faults.rs` and `host/tests/halts/resets.rs` read it through the probe.
#![no_std]
#![no_main]

use core::cell::Cell;
use core::sync::atomic::{AtomicU32, Ordering};
use cortex_m::peripheral::syst::SystClkSource;
use embassy_executor::{SpawnToken, Spawner};
use embassy_time::Timer;
use static_cell::StaticCell;
use stillpoint_agent::platform::uart::{UartRx, UartTx};
use stillpoint_agent::platform::watchdog::{self, InPark};
use stillpoint_agent::platform::words::argument;
use stillpoint_agent::platform::{self, BoardId, Chip, Platform, uart};
use stillpoint_agent::{
    Channel, CoreId, Executor, Inbox, Line, LinkConfig, NodeId, Outbox, Serial, StampKind, name, watch,
};

stillpoint_agent::system!(AGENTS of Agent: nodes = 4, ports = 5, log = 65536);

/// Between the cores of this board, on 32 bytes of its own, so that a core can be kept from writing its first words.
#[repr(align(32))]
struct Aligned(Channel<u32, 4, 64>);
static INSIDE: Aligned = Aligned(Channel::new());
static FAR_OUT: Channel<u32, 4, 64> = Channel::new();
static FAR_IN: Channel<u32, 4, 64> = Channel::new();
static LINK: Serial<UartRx, UartTx> = Serial::new();
static SECOND_OUT: Channel<u32, 4, 64> = Channel::new();
static SECOND_IN: Channel<u32, 4, 64> = Channel::new();
static SECOND: Serial<UartRx, UartTx> = Serial::new();

/// Messages a node handles before what its command line asks for happens.
const AFTER: u32 = 20;

#[embassy_executor::task]
async fn pump(agent: Agent) {
    agent.pump(&LINK).await;
}

#[embassy_executor::task]
async fn pump_second(agent: Agent) {
    agent.pump(&SECOND).await;
}

#[embassy_executor::task]
async fn send_second(mut outbox: Outbox<u32>) {
    for number in 1.. {
        outbox.send(&number).await.expect("the node has started");
    }
}

#[embassy_executor::task]
async fn receive_second(agent: Agent, mut inbox: Inbox<u32>) {
    // After the watch of the task that this firmware is about.
    embassy_futures::yield_now().await;
    let second = watch!(agent, "second").expect("a free watch");
    for due in 1.. {
        let number = inbox.recv().await.expect("a message of the second link");
        assert_eq!(number, due, "the second link loses nothing");
        second.set(number as i32);
    }
}

/// Opens the second link, if the command line asks for it.
fn open_second(agent: Agent, peer: NodeId) -> Option<(Outbox<u32>, Inbox<u32>)> {
    has("links=", b"2").then(|| {
        let (receiver, sender) = uart::open(2, 115_200).expect("UART2 is free");
        let line = Line { receiver: receiver.claim(), sender: sender.claim() };
        let (out, into) = ((name!("second out"), &SECOND_OUT), (name!("second in"), &SECOND_IN));
        agent.serial(&SECOND, line, LinkConfig::BAUD_115200, peer, out, into).unwrap()
    })
}

fn spawn_second(spawner: Spawner, agent: Agent, ends: Option<(Outbox<u32>, Inbox<u32>)>) {
    if let Some((out, into)) = ends {
        spawn(spawner, pump_second(agent));
        spawn(spawner, send_second(out));
        spawn(spawner, receive_second(agent, into));
    }
}

#[embassy_executor::task]
async fn produce(agent: Agent, mut outbox: Outbox<u32>) {
    let seen = watch!(agent, "seen").expect("a free watch");
    for number in 1.. {
        seen.set(number as i32);
        trouble(agent, number);
        outbox.send(&number).await.expect("the node has started");
    }
}

#[embassy_executor::task]
async fn relay(agent: Agent, mut inbox: Inbox<u32>, mut outbox: Outbox<u32>) {
    let seen = watch!(agent, "seen").expect("a free watch");
    for count in 1.. {
        let number = inbox.recv().await.expect("a message of the pipeline");
        seen.set(number as i32);
        trouble(agent, count);
        outbox.send(&number).await.expect("the node has started");
    }
}

#[embassy_executor::task]
async fn consume(agent: Agent, mut inbox: Inbox<u32>) {
    let seen = watch!(agent, "seen").expect("a free watch");
    let interrupts = watch!(agent, "interrupts").expect("a free watch");
    for count in 1.. {
        let number = inbox.recv().await.expect("a message of the pipeline");
        seen.set(number as i32);
        interrupts.set(INTERRUPTS.load(Ordering::Relaxed) as i32);
        trouble(agent, count);
        Timer::after_millis(1).await;
    }
}

/// Feeds the watchdog as long as tasks of this core run.
#[embassy_executor::task]
async fn feed() {
    loop {
        watchdog::feed();
        Timer::after_millis(20).await;
    }
}

/// Takes the cross-core lock again and again, for long.
#[embassy_executor::task(pool_size = 2)]
async fn occupy(agent: Agent) {
    // After the watches of the task that this firmware is about.
    embassy_futures::yield_now().await;
    let turns = watch!(agent, "turns").expect("a free watch");
    for turn in 1.. {
        critical_section::with(|_| spin(2_000));
        turns.set(turn);
        embassy_futures::yield_now().await;
    }
}

fn spin(turns: u32) {
    for turn in 0..turns {
        core::hint::black_box(turn);
    }
}

/// What the handler of a core's timer does with its count, and the count.
type Handler = (&'static dyn Fn(i32), i32);
struct Handlers([Cell<Option<Handler>>; 2]);
// SAFETY: each core uses its own entry only: its task `tick` before the timer starts, and the timer's handler from then on.
unsafe impl Sync for Handlers {}
static HANDLERS: Handlers = Handlers([const { Cell::new(None) }; 2]);

/// Has the timer of this core interrupt it, 500 times a second.
#[embassy_executor::task(pool_size = 2)]
async fn tick(agent: Agent) {
    // After the watches of the other tasks.
    embassy_futures::yield_now().await;
    let watch = watch!(agent, "ticks").expect("a free watch");
    let set = |count| watch.set(count);
    // SAFETY: this task never ends, so the closure stays where it is.
    let set = unsafe { core::mem::transmute::<&dyn Fn(i32), &'static dyn Fn(i32)>(&set) };
    HANDLERS.0[Chip::core().index()].set(Some((set, 0)));
    // SAFETY: nothing else here uses the timer of a core.
    let mut timer = unsafe { cortex_m::Peripherals::steal() }.SYST;
    timer.set_clock_source(SystClkSource::Core);
    timer.set_reload(Chip::COUNTER_RATE.0 / 500);
    timer.clear_current();
    timer.enable_interrupt();
    timer.enable_counter();
    core::future::pending::<()>().await;
}

#[cortex_m_rt::exception]
fn SysTick() {
    let handler = &HANDLERS.0[Chip::core().index()];
    if let Some((set, count)) = handler.get() {
        handler.set(Some((set, count + 1)));
        set(count + 1);
    }
}

/// How often the interrupt handler ran that waits for `halt=pending`.
static INTERRUPTS: AtomicU32 = AtomicU32::new(0);

#[cortex_m_rt::exception]
fn PendSV() {
    INTERRUPTS.fetch_add(1, Ordering::Relaxed);
    if has("crash=", b"interrupt") {
        panic!("a handler that nobody tried");
    }
}

fn has(name: &str, value: &[u8]) -> bool {
    argument(name, |found| found == value).unwrap_or(false)
}

/// Does what the command line asks for, if this is the core and the time.
fn trouble(agent: Agent, count: u32) {
    let (is_both, is_core1) = (has("core=", b"both"), Chip::core() == CoreId::ONE);
    // A core that waits for one that crashed would not come so far: the one that is fed comes first.
    let after = if is_both && !is_core1 { AFTER - 2 } else { AFTER };
    if count != after || !is_both && has("core=", b"1") != is_core1 {
        return;
    }
    let pend = cortex_m::peripheral::SCB::set_pendsv;
    let way = argument("crash=", |way| heapless::Vec::<u8, 16>::from_slice(way).unwrap_or_default());
    match way.as_deref() {
        Some(b"panic") => panic!("message {count} was one too many"),
        Some(b"hardfault") => fault(),
        Some(b"overflow") => drop(core::hint::black_box(recurse(0))),
        Some(b"declared") => agent.crash(0xC0DE),
        Some(b"interrupt") => pend(),
        Some(b"section") => forbid_writing(),
        Some(b"lock-panic") => critical_section::with(|_| panic!("holding the lock")),
        Some(b"lock-hardfault") => critical_section::with(|_| fault()),
        Some(b"exit") => exit(),
        Some(b"lockup") => lock_up(),
        _ => {}
    }
    if has("halt=", b"lock") {
        critical_section::with(|_| agent.halt());
    }
    if has("halt=", b"pending") {
        Chip::masked(|| {
            pend();
            agent.halt();
        });
    }
}

/// An instruction that no core has.
fn fault() {
    // SAFETY: it faults, and changes nothing before.
    unsafe { core::arch::asm!("udf #42") };
}

/// `SYS_EXIT`, whether or not a host answers.
fn exit() {
    // SAFETY: a host that answers ends the program; without one it faults, and changes nothing before.
    unsafe { core::arch::asm!("bkpt #0xAB", in("r0") 0x18, in("r1") 0x2_0026) };
}

/// Faults with a vector table where there is no memory.
fn lock_up() {
    const VECTOR_TABLE_OFFSET: usize = 0xE000_ED08;
    // SAFETY: the firmware does not run on: no exception has a handler any more, and the next instruction is one.
    unsafe { core::ptr::with_exposed_provenance_mut::<u32>(VECTOR_TABLE_OFFSET).write_volatile(0xD000_0000) };
    fault();
}

/// Fills the stack.
#[expect(unconditional_recursion, reason = "that is what it is for")]
fn recurse(depth: u32) -> u32 {
    let room = core::hint::black_box([depth; 64]);
    recurse(depth + 1).wrapping_add(room[0])
}

/// Makes the first words of the mailbox read-only for this core: the next message faults in the middle of its event.
fn forbid_writing() {
    let begin = (&raw const INSIDE).addr() as u32;
    // Read-only, for the 32 bytes from there; everything else as it was.
    let registers = [(0xE000_ED98, 0), (0xE000_ED9C, begin | 0b101), (0xE000_EDA0, begin | 1), (0xE000_ED94, 0b101)];
    for (address, value) in registers {
        // SAFETY: registers of this core's memory protection unit, which nothing else here uses.
        unsafe { core::ptr::with_exposed_provenance_mut::<u32>(address).write_volatile(value) };
    }
    cortex_m::asm::dsb();
    cortex_m::asm::isb();
}

fn spawn<S>(spawner: Spawner, task: Result<SpawnToken<S>, embassy_executor::SpawnError>) {
    spawner.spawn(task.expect("the task is spawned once"));
}

#[cortex_m_rt::entry]
fn main() -> ! {
    static EXECUTORS: [StaticCell<Executor>; 2] = [const { StaticCell::new() }; 2];
    if has("counter=", b"wrap") {
        platform::init_at(u64::from(u32::MAX) - 20_000_000);
    } else {
        platform::init();
    }
    let board = Chip::board().expect("start the board with the word board=A or board=B");
    let (is_left, is_busy) = (board == BoardId(0), has("lock=", b"busy"));
    let ticks = has("ticks=", b"handler");
    let (me, neighbour) = (NodeId(board.0 * 2), NodeId(board.0 * 2 + 1));
    let (name0, name1) = match board {
        BoardId(0) => (name!(node "left0"), name!(node "left1")),
        _ => (name!(node "right0"), name!(node "right1")),
    };
    Chip::start_core1(move || {
        let agent = AGENTS.begin(name1, neighbour, StampKind::Vector).unwrap();
        let executor = EXECUTORS[1].init(Executor::new());
        if is_left {
            let outbox = agent.outbox(name!("made"), &INSIDE.0, me, CoreId::ZERO).unwrap();
            agent.start().unwrap();
            executor.run(|spawner| {
                spawn(spawner, produce(agent, outbox));
                is_busy.then(|| spawn(spawner, occupy(agent)));
                ticks.then(|| spawn(spawner, tick(agent)));
            })
        } else {
            let inbox = agent.inbox(name!("to sink"), &INSIDE.0, me, CoreId::ZERO).unwrap();
            agent.start().unwrap();
            executor.run(|spawner| {
                spawn(spawner, consume(agent, inbox));
                is_busy.then(|| spawn(spawner, occupy(agent)));
                ticks.then(|| spawn(spawner, tick(agent)));
            })
        }
    })
    .expect("core 1 is started once");
    let agent = AGENTS.begin(name0, me, StampKind::Vector).unwrap();
    let (receiver, sender) = uart::open(1, 115_200).expect("UART1 is free");
    let line = Line { receiver: receiver.claim(), sender: sender.claim() };
    let peer = NodeId((me.0 + 2) % 4);
    // The other way round on each board, so that the ports of one link differ at its ends.
    let before = if is_left { None } else { open_second(agent, peer) };
    let (out, into) = ((name!("far out"), &FAR_OUT), (name!("far in"), &FAR_IN));
    let (far, from_far) = agent.serial(&LINK, line, LinkConfig::BAUD_115200, peer, out, into).unwrap();
    let second = if is_left { open_second(agent, peer) } else { before };
    let executor = EXECUTORS[0].init(Executor::new());
    if is_left {
        let inbox = agent.inbox(name!("made"), &INSIDE.0, neighbour, CoreId::ONE).unwrap();
        agent.start().unwrap();
        executor.run(|spawner| {
            spawn(spawner, pump(agent));
            spawn(spawner, relay(agent, inbox, far));
            spawn_second(spawner, agent, second);
            is_busy.then(|| spawn(spawner, occupy(agent)));
            ticks.then(|| spawn(spawner, tick(agent)));
        })
    } else {
        let outbox = agent.outbox(name!("to sink"), &INSIDE.0, neighbour, CoreId::ONE).unwrap();
        agent.start().unwrap();
        executor.run(|spawner| {
            spawn(spawner, pump(agent));
            spawn(spawner, relay(agent, from_far, outbox));
            spawn_second(spawner, agent, second);
            let in_park = [(InPark::Fed, b"fed" as &[u8]), (InPark::Starved, b"starved")];
            if let Some((in_park, _)) = in_park.into_iter().find(|(_, word)| has("watchdog=", word)) {
                watchdog::start(5 * Chip::COUNTER_RATE.0, in_park);
                spawn(spawner, feed());
            }
            is_busy.then(|| spawn(spawner, occupy(agent)));
            ticks.then(|| spawn(spawner, tick(agent)));
        })
    }
}

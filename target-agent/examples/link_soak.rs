//! Two boards send each other numbered messages over a line that spoils one byte in a hundred and is cut now and then.
//!
//! ```text
//!   left0  === UART1, faults in both directions ===  right0      Core 0 sends 0, 1, 2 ... to the other board, checks what
//!     |                                                |         comes from there, and hands it to core 1, which checks
//!     v mailbox                                        v         it again. A message that is missing, doubled, out of
//!   left1                                            right1      order or spoiled is counted as wrong.
//! ```
//! Words of the command line: `board=A` or `board=B`; `baud=1M`, else 115200; `calm` for a line without faults.
//! What you see: `host/tests/halts/link_soak.rs` prints the watches of each node: messages received, none of them wrong, and
//! what the line did and the link made good: bytes spoiled, cuts, checksum errors, retransmissions.
#![no_std]
#![no_main]

use core::sync::atomic::{AtomicU32, Ordering};
use embassy_executor::{SpawnToken, Spawner};
use embassy_time::Timer;
use serde::{Deserialize, Serialize};
use static_cell::StaticCell;
use stillpoint_agent::faulty::{FaultPlan, Faults, Faulty};
use stillpoint_agent::platform::uart::{UartRx, UartTx};
use stillpoint_agent::platform::words::argument;
use stillpoint_agent::platform::{self, BoardId, Chip, Platform, uart};
use stillpoint_agent::{
    Channel, CoreId, Executor, Inbox, Line, LinkConfig, NodeId, Outbox, Serial, StampKind, name, watch,
};

stillpoint_agent::system!(AGENTS of Agent: nodes = 4, ports = 3, log = 65536);

/// What goes over the line: a number, and bytes that follow from it.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Message {
    number: u32,
    filling: [u8; 12],
}

impl Message {
    fn new(number: u32) -> Self {
        let byte = |place: usize| (number.wrapping_mul(2_654_435_761) >> (place + 8)) as u8;
        Self { number, filling: core::array::from_fn(byte) }
    }
}

static OUT: Channel<Message, 8> = Channel::new();
static INTO: Channel<Message, 8> = Channel::new();
static CHECKED: Channel<Message, 8> = Channel::new();
static LINK: Serial<Faulty<UartRx>, Faulty<UartTx>> = Serial::new();

/// One byte in a hundred is spoiled where it arrives, some delay the line, and a few cut it where they leave, for longer
/// than the link is patient.
static ARRIVING: FaultPlan = FaultPlan::new(Faults::NONE);
static LEAVING: FaultPlan = FaultPlan::new(Faults::NONE);
const SPOILED: Faults = Faults { delay: 200, delay_length: Chip::COUNTER_RATE.0 / 200, ..Faults::bytes(10_000) };
const CUT: Faults = Faults { cut: 40, cut_length: Chip::COUNTER_RATE.0, ..Faults::NONE };

/// What each core received, and how much of it was not what was due.
static RECEIVED: [AtomicU32; 2] = [const { AtomicU32::new(0) }; 2];
static WRONG: [AtomicU32; 2] = [const { AtomicU32::new(0) }; 2];

/// Checks a message against the number that is due at this core.
fn check(core: usize, message: Message) {
    let due = RECEIVED[core].load(Ordering::Relaxed);
    if message != Message::new(due) {
        WRONG[core].store(WRONG[core].load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }
    RECEIVED[core].store(due + 1, Ordering::Relaxed);
}

#[embassy_executor::task]
async fn pump(agent: Agent) {
    agent.pump(&LINK).await;
}

#[embassy_executor::task]
async fn send(mut outbox: Outbox<Message>) {
    for number in 0.. {
        outbox.send(&Message::new(number)).await.expect("the node has started");
    }
}

#[embassy_executor::task]
async fn receive(mut inbox: Inbox<Message>, mut next: Outbox<Message>) {
    loop {
        match inbox.recv().await {
            Ok(message) => {
                check(0, message);
                next.send(&message).await.expect("the node has started");
            }
            Err(_) => WRONG[0].store(WRONG[0].load(Ordering::Relaxed) + 1, Ordering::Relaxed),
        }
    }
}

#[embassy_executor::task]
async fn receive_again(mut inbox: Inbox<Message>) {
    loop {
        check(1, inbox.recv().await.expect("what core 0 could read, core 1 can read"));
    }
}

/// Shows what this core counted, ten times a second.
#[embassy_executor::task(pool_size = 2)]
async fn show(agent: Agent, core: usize) {
    let received = watch!(agent, "received").expect("a free watch");
    let wrong = watch!(agent, "wrong").expect("a free watch");
    let link = (core == 0).then(|| {
        [
            watch!(agent, "spoiled bytes").expect("a free watch"),
            watch!(agent, "cuts").expect("a free watch"),
            watch!(agent, "checksum errors").expect("a free watch"),
            watch!(agent, "retransmissions").expect("a free watch"),
            watch!(agent, "link downs").expect("a free watch"),
            watch!(agent, "bytes on the line").expect("a free watch"),
        ]
    });
    loop {
        received.set(RECEIVED[core].load(Ordering::Relaxed) as i32);
        wrong.set(WRONG[core].load(Ordering::Relaxed) as i32);
        if let (Some([spoiled, cuts, checksums, repeated, downs, bytes]), Some(report)) = (&link, LINK.report()) {
            let (arriving, leaving) = (ARRIVING.done(), LEAVING.done());
            spoiled.set((arriving.dropped + arriving.flipped + arriving.duplicated) as i32);
            cuts.set(leaving.cuts as i32);
            checksums.set((report.counters.checksum_errors + report.counters.malformed) as i32);
            repeated.set(report.counters.retransmits as i32);
            downs.set(report.counters.downs as i32);
            bytes.set(arriving.bytes as i32);
        }
        Timer::after_millis(100).await;
    }
}

fn spawn<S>(spawner: Spawner, task: Result<SpawnToken<S>, embassy_executor::SpawnError>) {
    spawner.spawn(task.expect("the task is spawned once"));
}

#[cortex_m_rt::entry]
fn main() -> ! {
    static EXECUTORS: [StaticCell<Executor>; 2] = [const { StaticCell::new() }; 2];
    platform::init();
    let board = Chip::board().expect("start the board with the word board=A or board=B");
    let me = NodeId(board.0 * 2);
    let neighbour = NodeId(me.0 + 1);
    let (zero, one) = match board {
        BoardId(0) => (name!(node "left0"), name!(node "left1")),
        _ => (name!(node "right0"), name!(node "right1")),
    };
    if argument("calm", |_| ()).is_none() {
        ARRIVING.set(SPOILED);
        LEAVING.set(CUT);
    }
    Chip::start_core1(move || {
        let agent = AGENTS.begin(one, neighbour, StampKind::Vector).unwrap();
        let inbox = agent.inbox(name!("checked"), &CHECKED, me, CoreId::ZERO).unwrap();
        agent.start().unwrap();
        EXECUTORS[1].init(Executor::new()).run(|spawner| {
            spawn(spawner, receive_again(inbox));
            spawn(spawner, show(agent, 1));
        })
    })
    .expect("core 1 is started once");
    let agent = AGENTS.begin(zero, me, StampKind::Vector).unwrap();
    let checked = agent.outbox(name!("checked"), &CHECKED, neighbour, CoreId::ONE).unwrap();
    let (baud, config) = match argument("baud=", |baud| baud == b"1M") {
        Some(true) => (1_000_000, LinkConfig::BAUD_1M),
        _ => (115_200, LinkConfig::BAUD_115200),
    };
    let (receiver, sender) = uart::open(1, baud).expect("UART1 is free");
    let seed = u64::from(board.0) << 32 | u64::from(baud);
    let line = Line {
        receiver: Faulty::new(receiver.claim(), &ARRIVING, seed, || Chip::counter().0),
        sender: Faulty::new(sender.claim(), &LEAVING, !seed, || Chip::counter().0),
    };
    let peer = NodeId((me.0 + 2) % 4);
    let (out, into) = ((name!("out"), &OUT), (name!("in"), &INTO));
    let (outbox, inbox) = agent.serial(&LINK, line, config, peer, out, into).unwrap();
    agent.start().unwrap();
    EXECUTORS[0].init(Executor::new()).run(|spawner| {
        spawn(spawner, pump(agent));
        spawn(spawner, send(outbox));
        spawn(spawner, receive(inbox, checked));
        spawn(spawner, show(agent, 0));
    })
}

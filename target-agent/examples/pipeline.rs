//! Numbers run down a pipeline over two cores and on to another board, and nothing ever comes back up.
//!
//! ```text
//!   producer --out--> filter ==out==> square --out--> sink          --- mailbox between cores, === UART between boards
//!   A.0               A.1             B.0             B.1
//! ```
//! The producer counts 1, 2, 3 ... as fast as there is room; the filter lets multiples of three pass; square squares them;
//! the sink adds them up. What you see in the logs: the first five numbers as they pass each stage (`pipeline.out`), then
//! they go on in silence. Each node has a watch `count` of what it handled; the sink's watch `sum` is its last sum.
//!
//! Nothing flows towards the producer, so markers that travel with messages would never reach it: this is what the control
//! lane against the stream is for. Words of the command line: `board=A` or `board=B`, and
//! - `halt-at=N`: the sink halts the system when it has handled N numbers. No host is needed; the producer stops, too.
//!
//! Try `sink.count == 5 -> producer:send(out)`: it never fires, for nothing leads from the sink to the producer. The other
//! way round it does: `producer:send(out)^15 -> sink.count == 5`, for the fifth number that passes is 15. With `^16` it never does.
#![no_std]
#![no_main]

use embassy_executor::{SpawnToken, Spawner};
use static_cell::StaticCell;
use stillpoint_agent::platform::uart::{UartRx, UartTx};
use stillpoint_agent::platform::words::argument;
use stillpoint_agent::platform::{self, BoardId, Chip, Platform, uart};
use stillpoint_agent::{
    Channel, CoreId, Executor, Inbox, Line, LinkConfig, NodeId, Outbox, Serial, StampKind, name, watch,
};

stillpoint_agent::system!(AGENTS of Agent: nodes = 4, ports = 3, log = 16384);

const PRODUCER: NodeId = NodeId(0);
const FILTER: NodeId = NodeId(1);
const SQUARE: NodeId = NodeId(2);
const SINK: NodeId = NodeId(3);

/// Numbers of which each node logs that they passed.
const LOGGED: i32 = 5;
/// Numbers that pass before the filter falls silent about those that do not.
const FILTERED: i32 = 2;

/// From core 0 to core 1 of this board.
static ACROSS: Channel<u32> = Channel::new();
static TO_BOARD: Channel<u32> = Channel::new();
static FROM_BOARD: Channel<u32> = Channel::new();
static LINK: Serial<UartRx, UartTx> = Serial::new();

#[embassy_executor::task]
async fn produce(agent: Agent, mut out: Outbox<u32>) {
    let count = watch!(agent, "count").unwrap();
    for number in 1.. {
        out.send(&number).await.unwrap();
        if number as i32 <= LOGGED {
            defmt::info!("made {}", number);
        }
        count.set(number as i32);
    }
}

#[embassy_executor::task]
async fn filter(agent: Agent, mut inbox: Inbox<u32>, mut out: Outbox<u32>) {
    let count = watch!(agent, "count").unwrap();
    let mut passed = 0;
    loop {
        let number = inbox.recv().await.unwrap();
        if number % 3 != 0 {
            if passed < FILTERED {
                defmt::debug!("{} goes no further", number);
            }
        } else {
            passed += 1;
            if passed <= LOGGED {
                defmt::info!("let {} pass", number);
            }
            count.set(passed);
            out.send(&number).await.unwrap();
        }
    }
}

#[embassy_executor::task]
async fn square(agent: Agent, mut inbox: Inbox<u32>, mut out: Outbox<u32>) {
    let count = watch!(agent, "count").unwrap();
    for handled in 1.. {
        let number = inbox.recv().await.unwrap();
        let square = number.wrapping_mul(number);
        if handled <= LOGGED {
            defmt::info!("{} squared is {}", number, square);
        }
        count.set(handled);
        out.send(&square).await.unwrap();
    }
}

#[embassy_executor::task]
async fn sink(agent: Agent, mut inbox: Inbox<u32>, halt_at: Option<i32>) {
    let count = watch!(agent, "count").unwrap();
    let sum = watch!(agent, "sum").unwrap();
    let mut total = 0_u32;
    for handled in 1.. {
        total = total.wrapping_add(inbox.recv().await.unwrap());
        if handled <= LOGGED {
            defmt::info!("{} numbers add up to {}", handled, total);
        }
        sum.set(total as i32);
        count.set(handled);
        if halt_at == Some(handled) {
            defmt::warn!("has handled {} numbers: halts everybody", handled);
            agent.halt();
        }
    }
}

#[embassy_executor::task]
async fn pump(agent: Agent) {
    agent.pump(&LINK).await;
}

fn spawn<S>(spawner: Spawner, task: Result<SpawnToken<S>, embassy_executor::SpawnError>) {
    spawner.spawn(task.expect("the task is spawned once"));
}

/// The calling core's end of the UART between the boards.
fn line() -> Line<UartRx, UartTx> {
    let (receiver, sender) = uart::open(1, 115_200).expect("UART1 is free");
    Line { receiver: receiver.claim(), sender: sender.claim() }
}

/// Producer on core 0, filter on core 1, which has the UART.
fn board_a(executors: &'static [StaticCell<Executor>; 2]) -> ! {
    Chip::start_core1(move || {
        let agent = AGENTS.begin(name!(node "filter"), FILTER, StampKind::Vector).unwrap();
        let inbox = agent.inbox(name!("in"), &ACROSS, PRODUCER, CoreId::ZERO).unwrap();
        let (out, unused) = ((name!("out"), &TO_BOARD), (name!("unused"), &FROM_BOARD));
        let (out, _) = agent.serial(&LINK, line(), LinkConfig::BAUD_115200, SQUARE, out, unused).unwrap();
        agent.start().unwrap();
        let executor = executors[1].init(Executor::new());
        executor.run(|spawner| {
            spawn(spawner, pump(agent));
            spawn(spawner, filter(agent, inbox, out));
        })
    })
    .expect("core 1 is started once");
    let agent = AGENTS.begin(name!(node "producer"), PRODUCER, StampKind::Vector).unwrap();
    let out = agent.outbox(name!("out"), &ACROSS, FILTER, CoreId::ONE).unwrap();
    agent.start().unwrap();
    let executor = executors[0].init(Executor::new());
    executor.run(|spawner| spawn(spawner, produce(agent, out)))
}

/// Square on core 0, which has the UART, sink on core 1.
fn board_b(executors: &'static [StaticCell<Executor>; 2], halt_at: Option<i32>) -> ! {
    Chip::start_core1(move || {
        let agent = AGENTS.begin(name!(node "sink"), SINK, StampKind::Vector).unwrap();
        let inbox = agent.inbox(name!("in"), &ACROSS, SQUARE, CoreId::ZERO).unwrap();
        agent.start().unwrap();
        let executor = executors[1].init(Executor::new());
        executor.run(|spawner| spawn(spawner, sink(agent, inbox, halt_at)))
    })
    .expect("core 1 is started once");
    let agent = AGENTS.begin(name!(node "square"), SQUARE, StampKind::Vector).unwrap();
    let out = agent.outbox(name!("out"), &ACROSS, SINK, CoreId::ONE).unwrap();
    let (unused, into) = ((name!("unused"), &TO_BOARD), (name!("in"), &FROM_BOARD));
    let (_, inbox) = agent.serial(&LINK, line(), LinkConfig::BAUD_115200, FILTER, unused, into).unwrap();
    agent.start().unwrap();
    let executor = executors[0].init(Executor::new());
    executor.run(|spawner| {
        spawn(spawner, pump(agent));
        spawn(spawner, square(agent, inbox, out));
    })
}

#[cortex_m_rt::entry]
fn main() -> ! {
    static EXECUTORS: [StaticCell<Executor>; 2] = [const { StaticCell::new() }; 2];
    platform::init();
    let number = |text: &[u8]| core::str::from_utf8(text).ok().and_then(|text| text.parse().ok());
    let halt_at = argument("halt-at=", number).flatten();
    match Chip::board().expect("start the board with the word board=A or board=B") {
        BoardId(0) => board_a(&EXECUTORS),
        _ => board_b(&EXECUTORS, halt_at),
    }
}

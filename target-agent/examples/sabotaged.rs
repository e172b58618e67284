//! Four nodes on two boards, of which board A's core 0 may do something wrong: no certificate may hold then.
//!
//! ```text
//!           numbers                          Five messages go into each of these channels and three are taken out, so
//!   left0 -----------> left1                 two stay in flight in each. Then nothing moves any more.
//!    | ^ <-----------
//!    | |      back
//!    v | far, over UART1
//!   right0 ---- ... right1
//! ```
//! Words of the command line: `board=A` or `board=B`; `sabotage=` one of `lost-message`, `send-after-stop`,
//! `missing-marker`, `duplicate`, `wrong-count`, `swap`, `repeat`, `lose`, or nothing; `at=far` for the link, else it happens in the mailbox.
//! What you see: `host/tests/halts/sabotage.rs` halts both boards and finds each of them out, and nothing without one.
#![no_std]
#![no_main]

use embassy_executor::{SpawnToken, Spawner};
use static_cell::StaticCell;
use stillpoint_agent::platform::uart::{UartRx, UartTx};
use stillpoint_agent::platform::words::argument;
use stillpoint_agent::platform::{self, BoardId, Chip, Platform, uart};
use stillpoint_agent::sabotage::Sabotage;
use stillpoint_agent::{
    Channel, CoreId, Executor, Inbox, Line, LinkConfig, NodeId, Outbox, Serial, StampKind, name, watch,
};

stillpoint_agent::system!(AGENTS of Agent: nodes = 4, ports = 4, log = 16384);

/// How many messages go into each channel, and how many are taken out.
const SENT: u32 = 5;
const TAKEN: u32 = 3;

static NUMBERS: Channel<u32, 8, 64> = Channel::new();
static BACK: Channel<u32, 8, 64> = Channel::new();
static FAR_OUT: Channel<u32, 8, 64> = Channel::new();
static FAR_IN: Channel<u32, 8, 64> = Channel::new();
static LINK: Serial<UartRx, UartTx> = Serial::new();

#[embassy_executor::task]
async fn pump(agent: Agent) {
    agent.pump(&LINK).await;
}

#[embassy_executor::task(pool_size = 3)]
async fn send(mut outbox: Outbox<u32>) {
    for number in 1..=SENT {
        outbox.send(&number).await.expect("the node has started");
    }
}

#[embassy_executor::task(pool_size = 3)]
async fn take(agent: Agent, mut inbox: Inbox<u32>) {
    let taken = watch!(agent, "taken").expect("a free watch");
    for number in 1..=TAKEN {
        assert!(inbox.recv().await == Ok(number), "message {number} is not what was sent");
        taken.set(number as i32);
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
    Chip::start_core1(move || {
        let agent = AGENTS.begin(one, neighbour, StampKind::Vector).unwrap();
        let inbox = agent.inbox(name!("numbers in"), &NUMBERS, me, CoreId::ZERO).unwrap();
        let back = agent.outbox(name!("back out"), &BACK, me, CoreId::ZERO).unwrap();
        agent.start().unwrap();
        EXECUTORS[1].init(Executor::new()).run(|spawner| {
            spawn(spawner, send(back));
            spawn(spawner, take(agent, inbox));
        })
    })
    .expect("core 1 is started once");
    let agent = AGENTS.begin(zero, me, StampKind::Vector).unwrap();
    let numbers = agent.outbox(name!("numbers out"), &NUMBERS, neighbour, CoreId::ONE).unwrap();
    let back = agent.inbox(name!("back in"), &BACK, neighbour, CoreId::ONE).unwrap();
    let (receiver, sender) = uart::open(1, 115_200).expect("UART1 is free");
    let line = Line { receiver: receiver.claim(), sender: sender.claim() };
    let peer = NodeId((me.0 + 2) % 4);
    let (out, into) = ((name!("far out"), &FAR_OUT), (name!("far in"), &FAR_IN));
    let (far, from_far) = agent.serial(&LINK, line, LinkConfig::BAUD_115200, peer, out, into).unwrap();
    if let Some(sabotage) = argument("sabotage=", Sabotage::by_name).flatten()
        && board == BoardId(0)
    {
        let victim = if argument("at=", |place| place == b"far") == Some(true) { &far } else { &numbers };
        victim.sabotage(sabotage, SENT - 1);
    }
    agent.start().unwrap();
    EXECUTORS[0].init(Executor::new()).run(|spawner| {
        spawn(spawner, pump(agent));
        spawn(spawner, send(numbers));
        spawn(spawner, send(far));
        spawn(spawner, take(agent, from_far));
        spawn(spawner, take(agent, back));
    })
}

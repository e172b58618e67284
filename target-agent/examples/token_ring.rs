//! Four nodes on two boards pass a token: A.0 -> A.1 -> B.0 -> B.1 -> A.0.
#![no_std]
#![no_main]

use embassy_executor::{SpawnToken, Spawner};
use serde::{Deserialize, Serialize};
use static_cell::StaticCell;
use stillpoint_agent::platform::uart::{UartRx, UartTx};
use stillpoint_agent::platform::{self, BoardId, Chip, Platform, uart};
use stillpoint_agent::{
    Channel, CoreId, Executor, Inbox, Line, LinkConfig, NodeId, Outbox, Serial, StampKind, name, trace, watch,
};

stillpoint_agent::system!(AGENTS of Agent: nodes = 4, ports = 6, log = 65536);

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Token {
    lap: u32,
}

/// From core 0 to core 1 of this board, and back. The way back is not used: a token goes on to the other board.
static ACROSS: Channel<Token> = Channel::new();
static TO_BOARD: Channel<Token> = Channel::new();
static FROM_BOARD: Channel<Token> = Channel::new();
static UNUSED_OUT: Channel<Token> = Channel::new();
static LINK: Serial<UartRx, UartTx> = Serial::new();

#[embassy_executor::task]
async fn pump(agent: Agent) {
    agent.pump(&LINK).await;
}

#[embassy_executor::task(pool_size = 2)]
async fn pass(agent: Agent, mut inbox: Inbox<Token>, mut outbox: Outbox<Token>, first: bool) {
    let holding = watch!(agent, "holding").unwrap();
    if first {
        outbox.send(&Token { lap: 0 }).await.unwrap();
    }
    loop {
        let mut token = inbox.recv().await.unwrap();
        holding.set(1);
        trace!(agent, "token taken");
        token.lap += 1;
        if token.lap % 1000 == 0 {
            defmt::info!("lap {}", token.lap);
        }
        holding.set(0);
        outbox.send(&token).await.unwrap();
    }
}

fn spawn<S>(spawner: Spawner, task: Result<SpawnToken<S>, embassy_executor::SpawnError>) {
    spawner.spawn(task.expect("the task is spawned once"));
}

#[cortex_m_rt::entry]
fn main() -> ! {
    static EXECUTORS: [StaticCell<Executor>; 2] = [const { StaticCell::new() }; 2];
    platform::init();
    let board = Chip::board().expect("start QEMU with arg=board=A or arg=board=B in -semihosting-config");
    let me = NodeId(board.0 * 2);
    let neighbour = NodeId(me.0 + 1);
    let (zero, one) = match board {
        BoardId(0) => (name!(node "left0"), name!(node "left1")),
        _ => (name!(node "right0"), name!(node "right1")),
    };
    Chip::start_core1(move || {
        let agent = AGENTS.begin(one, neighbour, StampKind::Vector).unwrap();
        let inbox = agent.inbox(name!("ring"), &ACROSS, me, CoreId::ZERO).unwrap();
        let outbox = agent.outbox(name!("ring"), &TO_BOARD, me, CoreId::ZERO).unwrap();
        agent.start().unwrap();
        let executor = EXECUTORS[1].init(Executor::new());
        executor.run(|spawner| spawn(spawner, pass(agent, inbox, outbox, false)))
    })
    .expect("core 1 is started once");
    let agent = AGENTS.begin(zero, me, StampKind::Vector).unwrap();
    let outbox = agent.outbox(name!("ring"), &ACROSS, neighbour, CoreId::ONE).unwrap();
    let from_one = agent.inbox(name!("hand"), &TO_BOARD, neighbour, CoreId::ONE).unwrap();
    let (receiver, sender) = uart::open(1, 115_200).expect("UART1 is free");
    let line = Line { receiver: receiver.claim(), sender: sender.claim() };
    let peer = NodeId((me.0 + 2) % 4);
    let (to_board, from_board) = agent
        .serial(&LINK, line, LinkConfig::BAUD_115200, peer, (name!("out"), &UNUSED_OUT), (name!("ring"), &FROM_BOARD))
        .unwrap();
    agent.start().unwrap();
    let executor = EXECUTORS[0].init(Executor::new());
    executor.run(|spawner| {
        spawn(spawner, pump(agent));
        spawn(spawner, pass(agent, from_board, outbox, me.0 == 0));
        spawn(spawner, forward(from_one, to_board));
    })
}

/// Core 0 owns the UART, so what core 1 sends to the other board goes through it.
#[embassy_executor::task]
async fn forward(mut from: Inbox<Token>, mut to: Outbox<Token>) {
    loop {
        let token = from.recv().await.unwrap();
        to.send(&token).await.unwrap();
    }
}

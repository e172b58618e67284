//! Two workers on two boards meet at a barrier round after round (Spezialetti & Gupta, section 2: fixed and fuzzy barrier).
//!
//! ```text
//!            arrived                       up, over UART1             arrived
//!   near -------------> gate <============================== wire <------------- far      --- mailbox, === UART
//!   A.1  <------------- A.0  ==============================> B.0  -------------> B.1
//!             go                           down                           go
//! ```
//! A worker sets its watch `phase` to the number of the round, says that it has arrived, and waits until the gate lets it go.
//! The gate opens when both have arrived. With a *fuzzy* barrier a worker that has arrived does other work until it may go, and
//! counts it in its watch `extra`. The wire only passes messages on.
//!
//! What you see with `stillpoint log`: the first three rounds (`barrier.out`), then they go on in silence. Try
//! `stillpoint stable 'near.phase == 4 === far.phase == 4'`: the gate can tell, for a worker that has arrived sets `phase`
//! only after a `go`. And `stillpoint stable 'near.extra == 4 === far.extra == 4'`: nobody can, for a worker sets `extra`
//! after it has arrived. `docs/SIMULTANEOUS.md` works both through.
//!
//! Words of the command line: `board=A` or `board=B`, and for both boards `barrier=fuzzy`; without it the barrier is fixed.
#![no_std]
#![no_main]

use embassy_executor::{SpawnToken, Spawner};
use embassy_futures::yield_now;
use static_cell::StaticCell;
use stillpoint_agent::platform::uart::{UartRx, UartTx};
use stillpoint_agent::platform::words::argument;
use stillpoint_agent::platform::{self, BoardId, Chip, Platform, uart};
use stillpoint_agent::{
    Channel, CoreId, Executor, Inbox, Line, LinkConfig, NodeId, Outbox, Serial, StampKind, name, watch,
};

stillpoint_agent::system!(AGENTS of Agent: nodes = 4, ports = 4, log = 16384);

const GATE: NodeId = NodeId(0);
const NEAR: NodeId = NodeId(1);
const WIRE: NodeId = NodeId(2);
const FAR: NodeId = NodeId(3);

/// Rounds of which each node logs what it does.
const LOGGED: u32 = 3;
/// How often a worker that waits at a fuzzy barrier looks up from its other work.
const EXTRA: u32 = 3;

/// Between the cores of a board: from core 1, and back.
static ARRIVED: Channel<u32> = Channel::new();
static GO: Channel<u32> = Channel::new();
/// Between the boards: from board B, and back.
static UP: Channel<u32> = Channel::new();
static DOWN: Channel<u32> = Channel::new();
static LINK: Serial<UartRx, UartTx> = Serial::new();

#[embassy_executor::task]
async fn work(agent: Agent, is_fuzzy: bool, mut arrived: Outbox<u32>, mut go: Inbox<u32>) {
    let phase = watch!(agent, "phase").unwrap();
    let extra = watch!(agent, "extra").unwrap();
    for round in 1.. {
        phase.set(round as i32);
        if round <= LOGGED {
            defmt::info!("arrives, round {}", round);
        }
        arrived.send(&round).await.unwrap();
        if is_fuzzy {
            for _ in 0..EXTRA {
                yield_now().await;
            }
            extra.set(round as i32);
        }
        let opened = go.recv().await.unwrap();
        assert!(opened == round, "the gate opened for round {opened} instead of {round}");
    }
}

#[embassy_executor::task]
async fn gate(agent: Agent, mut near: (Inbox<u32>, Outbox<u32>), mut far: (Inbox<u32>, Outbox<u32>)) {
    let rounds = watch!(agent, "rounds").unwrap();
    loop {
        let round = near.0.recv().await.unwrap();
        let other = far.0.recv().await.unwrap();
        assert!(round == other, "the workers are in rounds {round} and {other}");
        if round <= LOGGED {
            defmt::info!("opens for round {}", round);
        }
        rounds.set(round as i32);
        near.1.send(&round).await.unwrap();
        far.1.send(&round).await.unwrap();
    }
}

#[embassy_executor::task(pool_size = 2)]
async fn pass_on(mut from: Inbox<u32>, mut to: Outbox<u32>) {
    loop {
        let round = from.recv().await.unwrap();
        to.send(&round).await.unwrap();
    }
}

#[embassy_executor::task]
async fn pump(agent: Agent) {
    agent.pump(&LINK).await;
}

fn spawn<S>(spawner: Spawner, task: Result<SpawnToken<S>, embassy_executor::SpawnError>) {
    spawner.spawn(task.expect("there is room for the task"));
}

/// Core 0's end of the UART between the boards.
fn line() -> Line<UartRx, UartTx> {
    let (receiver, sender) = uart::open(1, 115_200).expect("UART1 is free");
    Line { receiver: receiver.claim(), sender: sender.claim() }
}

#[cortex_m_rt::entry]
fn main() -> ! {
    static EXECUTORS: [StaticCell<Executor>; 2] = [const { StaticCell::new() }; 2];
    platform::init();
    let is_fuzzy = argument("barrier=", |barrier| barrier == b"fuzzy").unwrap_or(false);
    let is_left = Chip::board().expect("start the board with the word board=A or board=B") == BoardId(0);
    let (zero, one) = if is_left { (GATE, NEAR) } else { (WIRE, FAR) };
    let (zero_name, one_name) = match is_left {
        true => (name!(node "gate"), name!(node "near")),
        false => (name!(node "wire"), name!(node "far")),
    };
    Chip::start_core1(move || {
        let agent = AGENTS.begin(one_name, one, StampKind::Vector).unwrap();
        let arrived = agent.outbox(name!("arrived"), &ARRIVED, zero, CoreId::ZERO).unwrap();
        let go = agent.inbox(name!("go"), &GO, zero, CoreId::ZERO).unwrap();
        agent.start().unwrap();
        let executor = EXECUTORS[1].init(Executor::new());
        executor.run(|spawner| spawn(spawner, work(agent, is_fuzzy, arrived, go)))
    })
    .expect("core 1 is started once");
    let agent = AGENTS.begin(zero_name, zero, StampKind::Vector).unwrap();
    let arrived = agent.inbox(name!("arrived"), &ARRIVED, one, CoreId::ONE).unwrap();
    let go = agent.outbox(name!("go"), &GO, one, CoreId::ONE).unwrap();
    let executor = EXECUTORS[0].init(Executor::new());
    if is_left {
        let (out, into) = ((name!("down"), &DOWN), (name!("up"), &UP));
        let (down, up) = agent.serial(&LINK, line(), LinkConfig::BAUD_115200, WIRE, out, into).unwrap();
        agent.start().unwrap();
        executor.run(|spawner| {
            spawn(spawner, pump(agent));
            spawn(spawner, gate(agent, (arrived, go), (up, down)));
        })
    } else {
        let (out, into) = ((name!("up"), &UP), (name!("down"), &DOWN));
        let (up, down) = agent.serial(&LINK, line(), LinkConfig::BAUD_115200, GATE, out, into).unwrap();
        agent.start().unwrap();
        executor.run(|spawner| {
            spawn(spawner, pump(agent));
            spawn(spawner, pass_on(arrived, up));
            spawn(spawner, pass_on(down, go));
        })
    }
}

//! Four nodes on two boards pass a token round. Whoever holds it, holds it alone; unless it is told not to.
//!
//! ```text
//!          ring                 hand, out              ring               hand, out
//!   left0 -----> left1 -----> (left0's UART) -----> right0 -----> right1 -----> (right0's UART) --+
//!     ^                                                                                           |
//!     +-------------------------------------------------------------------------------------------+
//! ```
//! Core 0 of each board owns the UART, so what core 1 sends to the other board goes through its hands.
//!
//! What you see with `stillpoint log`: left0 makes the token, the others wait for it, each node takes it once in each of
//! the first three laps, then it goes on in silence (`token_ring.out`). What a host sees: at most one message in flight in any consistent halt, and the watches
//! `holding` and `lap` of each node. Try `left0:send(ring) -> right1.holding == 1`.
//!
//! Words of the command line: `board=A` (left) or `board=B` (right), and for both boards
//! - `bug=duplicate`: left0 takes a token that is late for a lost one and sends the copy it kept. In lap 5 right1 has
//!   other work for a while, so the token is late, and from then on there are two. The log warns: `lap 5 came twice`.
//! - `late=LAP`, `work=MS`: in which other lap, and for how long.
#![no_std]
#![no_main]

use embassy_executor::{SpawnToken, Spawner};
use embassy_time::{Duration, Timer, with_timeout};
use serde::{Deserialize, Serialize};
use static_cell::StaticCell;
use stillpoint_agent::platform::uart::{UartRx, UartTx};
use stillpoint_agent::platform::words::argument;
use stillpoint_agent::platform::{self, BoardId, Chip, Platform, uart};
use stillpoint_agent::{
    Channel, CoreId, Executor, Inbox, Line, LinkConfig, NodeId, Outbox, Serial, StampKind, name, trace, watch,
};

stillpoint_agent::system!(AGENTS of Agent: nodes = 4, ports = 6, log = 65536);

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Token {
    lap: u32,
}

/// Laps of which every node logs that it took the token.
const LOGGED: u32 = 3;
/// The lap in which right1 has other work, where there is a bug to show, and for how long, unless the command line says it.
const SLOW_LAP: u32 = 5;
const OTHER_WORK_MS: u32 = 400;
/// How long left0 waits for the token before it takes it for lost.
const PATIENCE: Duration = Duration::from_millis(100);

static ACROSS: Channel<Token> = Channel::new();
static BACK: Channel<Token> = Channel::new();
static TO_BOARD: Channel<Token> = Channel::new();
static FROM_BOARD: Channel<Token> = Channel::new();
static LINK: Serial<UartRx, UartTx> = Serial::new();

/// Where a node stands in the ring.
#[derive(Clone, Copy)]
struct Place {
    node: NodeId,
    /// The lap in which the token is late and may be duplicated.
    slow_lap: Option<u32>,
}

impl Place {
    /// left0, which makes the token and counts the laps.
    fn is_first(self) -> bool {
        self.node == NodeId(0)
    }

    fn is_last(self) -> bool {
        self.node == NodeId(3)
    }
}

#[embassy_executor::task(pool_size = 2)]
async fn pass(agent: Agent, place: Place, mut inbox: Inbox<Token>, mut outbox: Outbox<Token>) {
    let holding = watch!(agent, "holding").unwrap();
    let lap = watch!(agent, "lap").unwrap();
    let mut spare = place.slow_lap.filter(|_| place.is_first()).map(|lap| Token { lap });
    let (mut last, mut warned) = (0, false);
    if place.is_first() {
        defmt::info!("makes the token");
        outbox.send(&Token { lap: 1 }).await.unwrap();
    } else {
        defmt::debug!("waits for the token");
    }
    loop {
        let token = match spare {
            Some(copy) if last + 1 == copy.lap => match with_timeout(PATIENCE, inbox.recv()).await {
                Ok(token) => token,
                Err(_) => {
                    trace!(agent, "token given up for lost");
                    defmt::warn!("no token for {} ms: takes it for lost and sends a copy", PATIENCE.as_millis());
                    spare = None;
                    outbox.send(&copy).await.unwrap();
                    continue;
                }
            },
            _ => inbox.recv().await,
        };
        let mut token = token.unwrap();
        holding.set(1);
        lap.set(token.lap as i32);
        trace!(agent, "token taken");
        if token.lap <= last && !warned {
            warned = true;
            defmt::warn!("lap {} came twice", token.lap);
        } else if token.lap <= LOGGED {
            defmt::info!("took the token, lap {}", token.lap);
        }
        last = token.lap;
        if place.is_last() && place.slow_lap == Some(token.lap) {
            defmt::debug!("has other work before it passes the token on");
            Timer::after_millis(number("work=").unwrap_or(OTHER_WORK_MS).into()).await;
        }
        if place.is_first() {
            token.lap += 1;
        }
        holding.set(0);
        outbox.send(&token).await.unwrap();
    }
}

/// What core 1 sends to the other board.
#[embassy_executor::task]
async fn forward(mut from: Inbox<Token>, mut to: Outbox<Token>) {
    loop {
        let token = from.recv().await.unwrap();
        to.send(&token).await.unwrap();
    }
}

#[embassy_executor::task]
async fn pump(agent: Agent) {
    agent.pump(&LINK).await;
}

fn spawn<S>(spawner: Spawner, task: Result<SpawnToken<S>, embassy_executor::SpawnError>) {
    spawner.spawn(task.expect("the task is spawned once"));
}

#[cortex_m_rt::entry]
fn main() -> ! {
    static EXECUTORS: [StaticCell<Executor>; 2] = [const { StaticCell::new() }; 2];
    platform::init();
    let board = Chip::board().expect("start the board with the word board=A or board=B");
    let bug = argument("bug=", |bug| bug == b"duplicate").unwrap_or(false);
    let slow_lap = bug.then(|| number("late=").unwrap_or(SLOW_LAP));
    let (zero, one) = match board {
        BoardId(0) => (name!(node "left0"), name!(node "left1")),
        _ => (name!(node "right0"), name!(node "right1")),
    };
    let me = NodeId(board.0 * 2);
    let neighbour = NodeId(me.0 + 1);
    Chip::start_core1(move || {
        let agent = AGENTS.begin(one, neighbour, StampKind::Vector).unwrap();
        let inbox = agent.inbox(name!("ring"), &ACROSS, me, CoreId::ZERO).unwrap();
        let outbox = agent.outbox(name!("ring"), &BACK, me, CoreId::ZERO).unwrap();
        agent.start().unwrap();
        let place = Place { node: neighbour, slow_lap };
        let executor = EXECUTORS[1].init(Executor::new());
        executor.run(|spawner| spawn(spawner, pass(agent, place, inbox, outbox)))
    })
    .expect("core 1 is started once");
    let agent = AGENTS.begin(zero, me, StampKind::Vector).unwrap();
    let outbox = agent.outbox(name!("ring"), &ACROSS, neighbour, CoreId::ONE).unwrap();
    let from_one = agent.inbox(name!("hand"), &BACK, neighbour, CoreId::ONE).unwrap();
    let (receiver, sender) = uart::open(1, 115_200).expect("UART1 is free");
    let line = Line { receiver: receiver.claim(), sender: sender.claim() };
    let peer = NodeId((me.0 + 2) % 4);
    let (out, into) = ((name!("out"), &TO_BOARD), (name!("ring"), &FROM_BOARD));
    let (to_board, from_board) = agent.serial(&LINK, line, LinkConfig::BAUD_115200, peer, out, into).unwrap();
    agent.start().unwrap();
    let executor = EXECUTORS[0].init(Executor::new());
    executor.run(|spawner| {
        spawn(spawner, pump(agent));
        spawn(spawner, pass(agent, Place { node: me, slow_lap }, from_board, outbox));
        spawn(spawner, forward(from_one, to_board));
    })
}

/// The number behind a word of the command line.
fn number(word: &str) -> Option<u32> {
    argument(word, |digits| core::str::from_utf8(digits).ok()?.parse().ok()).flatten()
}

//! Four nodes on two boards log as fast as they can while messages go round, so that lines of one come before lines of
//! another and a host that follows the log has something to get wrong.
//!
//! ```text
//!   left0 --ring--> left1 --ring--> (left0) --out--> right0 --ring--> right1 --ring--> (right0) --out--> left0
//! ```
//! Core 0 of each board owns the UART; what core 1 sends to the other board goes through its hands, and they log nothing of
//! it. Besides, the two cores of each board throw a ball to each other. Every line begins with its number on its node: a line
//! that is missing is known by it. `#7 sends 12` is logged before message 12 of the ring is sent, `#9 got 12` after it was
//! received; `#8 throws 5` and `#4 caught 5` are the same of the ball; everything else is noise.
//!
//! Words of the command line: `board=A` or `board=B`, and
//! - `pause=US`: so many microseconds between two lines of noise and before each throw and each message, instead of none.
#![no_std]
#![no_main]

use core::cell::Cell;
use embassy_executor::{SpawnToken, Spawner};
use embassy_futures::yield_now;
use embassy_time::{Duration, Timer};
use static_cell::StaticCell;
use stillpoint_agent::platform::uart::{UartRx, UartTx};
use stillpoint_agent::platform::words::argument;
use stillpoint_agent::platform::{self, BoardId, Chip, MAX_CORES, Platform, uart};
use stillpoint_agent::{
    Channel, CoreId, Executor, Inbox, Line, LinkConfig, NodeId, Outbox, PerCore, Serial, StampKind, name,
};

stillpoint_agent::system!(AGENTS of Agent: nodes = 4, ports = 6, log = 16384);

/// Messages that are under way at the same time.
const MESSAGES: u32 = 4;

static ACROSS: Channel<u32> = Channel::new();
static BACK: Channel<u32> = Channel::new();
static TO_BOARD: Channel<u32> = Channel::new();
static FROM_BOARD: Channel<u32> = Channel::new();
static LINK: Serial<UartRx, UartTx> = Serial::new();

static THERE: Channel<u32> = Channel::new();
static AND_BACK: Channel<u32> = Channel::new();

/// The number of the next line of each core.
static LINES: PerCore<Chip, Cell<u32>> = PerCore::new([const { Cell::new(0) }; MAX_CORES]);

fn next_line() -> u32 {
    LINES.with(|lines| lines.replace(lines.get().wrapping_add(1)))
}

#[embassy_executor::task(pool_size = 2)]
async fn talk(pause: u64) {
    loop {
        defmt::debug!("#{} noise", next_line());
        rest(pause).await;
    }
}

/// Lets others run, and time pass.
async fn rest(pause: u64) {
    if pause == 0 {
        yield_now().await;
    } else {
        Timer::after(Duration::from_micros(pause)).await;
    }
}

#[embassy_executor::task(pool_size = 2)]
async fn pass(node: NodeId, pause: u64, mut inbox: Inbox<u32>, mut outbox: Outbox<u32>) {
    let is_first = node == NodeId(0);
    for message in (0..MESSAGES).take_while(|_| is_first) {
        defmt::info!("#{} sends {}", next_line(), message);
        outbox.send(&message).await.unwrap();
    }
    loop {
        let mut message = inbox.recv().await.unwrap();
        defmt::info!("#{} got {}", next_line(), message);
        if is_first {
            message += MESSAGES;
        }
        rest(pause).await;
        defmt::info!("#{} sends {}", next_line(), message);
        outbox.send(&message).await.unwrap();
    }
}

#[embassy_executor::task(pool_size = 2)]
async fn play(node: NodeId, pause: u64, mut inbox: Inbox<u32>, mut outbox: Outbox<u32>) {
    let mut ball = 0;
    loop {
        if !node.0.is_multiple_of(2) || ball != 0 {
            ball = inbox.recv().await.unwrap();
            defmt::info!("#{} caught {}", next_line(), ball);
        }
        ball += 1;
        rest(pause).await;
        defmt::info!("#{} throws {}", next_line(), ball);
        outbox.send(&ball).await.unwrap();
    }
}

/// What core 1 sends to the other board.
#[embassy_executor::task]
async fn forward(mut from: Inbox<u32>, mut to: Outbox<u32>) {
    loop {
        let message = from.recv().await.unwrap();
        to.send(&message).await.unwrap();
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
    let number = |text: &[u8]| core::str::from_utf8(text).ok().and_then(|text| text.parse().ok());
    let pause = argument("pause=", number).flatten().unwrap_or(0);
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
        let there = agent.inbox(name!("there"), &THERE, me, CoreId::ZERO).unwrap();
        let back = agent.outbox(name!("back"), &AND_BACK, me, CoreId::ZERO).unwrap();
        agent.start().unwrap();
        let executor = EXECUTORS[1].init(Executor::new());
        executor.run(|spawner| {
            spawn(spawner, pass(neighbour, pause, inbox, outbox));
            spawn(spawner, play(neighbour, pause, there, back));
            spawn(spawner, talk(pause));
        })
    })
    .expect("core 1 is started once");
    let agent = AGENTS.begin(zero, me, StampKind::Vector).unwrap();
    let outbox = agent.outbox(name!("ring"), &ACROSS, neighbour, CoreId::ONE).unwrap();
    let from_one = agent.inbox(name!("hand"), &BACK, neighbour, CoreId::ONE).unwrap();
    let there = agent.outbox(name!("there"), &THERE, neighbour, CoreId::ONE).unwrap();
    let back = agent.inbox(name!("back"), &AND_BACK, neighbour, CoreId::ONE).unwrap();
    let (receiver, sender) = uart::open(1, 115_200).expect("UART1 is free");
    let line = Line { receiver: receiver.claim(), sender: sender.claim() };
    let peer = NodeId((me.0 + 2) % 4);
    let (out, into) = ((name!("out"), &TO_BOARD), (name!("ring"), &FROM_BOARD));
    let (to_board, from_board) = agent.serial(&LINK, line, LinkConfig::BAUD_115200, peer, out, into).unwrap();
    agent.start().unwrap();
    let executor = EXECUTORS[0].init(Executor::new());
    executor.run(|spawner| {
        spawn(spawner, pump(agent));
        spawn(spawner, pass(me, pause, from_board, outbox));
        spawn(spawner, play(me, pause, back, there));
        spawn(spawner, forward(from_one, to_board));
        spawn(spawner, talk(pause));
    })
}

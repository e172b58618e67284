//! A transaction is committed by all of three stores or by none: two-phase commit over two boards.
//!
//! ```text
//!   store1 <--ask, told--> coordinator <==ask, told==> store2 <--ask, told--> store3
//!   A.1                    A.0                         B.0                    B.1
//! ```
//! The coordinator asks, the stores vote, and it decides: to commit if all said yes. store2 passes on to store3, and its
//! vote is that of both. store1 says no in every fourth round, store3 in every third. What you see in the logs: what became
//! of each of the first rounds, at each node (`two_phase.out`). A round is the span `round` of the coordinator; a store is `prepared`
//! from its vote until it did what was decided, and applies that in the span `apply`, which `show --collapse` draws as one event.
//!
//! Words of the command line: `board=A` or `board=B`, `rounds=N` (12), after which all idle, and
//! - `bug=forget`: the coordinator keeps the last vote only. It so forgets that store1 said no.
#![no_std]
#![no_main]

use embassy_executor::{SpawnToken, Spawner};
use serde::{Deserialize, Serialize};
use static_cell::StaticCell;
use stillpoint_agent::platform::uart::{UartRx, UartTx};
use stillpoint_agent::platform::words::argument;
use stillpoint_agent::platform::{self, BoardId, Chip, Platform, uart};
use stillpoint_agent::{
    Channel, CoreId, Executor, Inbox, Line, LinkConfig, NodeId, Outbox, Serial, StampKind, name, span, trace,
};

stillpoint_agent::system!(AGENTS of Agent: nodes = 4, ports = 4, log = 16384);

const COORDINATOR: NodeId = NodeId(0);
const STORE_1: NodeId = NodeId(1);
const STORE_2: NodeId = NodeId(2);
const STORE_3: NodeId = NodeId(3);

/// Rounds that each node logs.
const LOGGED: u32 = 4;
const ROUNDS: u32 = 12;

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
enum Message {
    /// Can you commit this round?
    Prepare(u32),
    Vote(bool),
    /// Whether to commit.
    Decide(bool),
    Done,
}

static ACROSS: Channel<Message> = Channel::new();
static BACK: Channel<Message> = Channel::new();
static TO_BOARD: Channel<Message> = Channel::new();
static FROM_BOARD: Channel<Message> = Channel::new();
static LINK: Serial<UartRx, UartTx> = Serial::new();

/// Both directions between two nodes.
struct Peer {
    out: Outbox<Message>,
    inbox: Inbox<Message>,
}

impl Peer {
    async fn tell(&mut self, message: Message) {
        self.out.send(&message).await.unwrap();
    }

    async fn vote(&mut self) -> bool {
        match self.inbox.recv().await.unwrap() {
            Message::Vote(vote) => vote,
            other => defmt::panic!("expected a vote, got {}", defmt::Debug2Format(&other)),
        }
    }

    async fn decision(&mut self) -> bool {
        match self.inbox.recv().await.unwrap() {
            Message::Decide(commit) => commit,
            other => defmt::panic!("expected a decision, got {}", defmt::Debug2Format(&other)),
        }
    }

    async fn done(&mut self) {
        match self.inbox.recv().await.unwrap() {
            Message::Done => {}
            other => defmt::panic!("expected an end, got {}", defmt::Debug2Format(&other)),
        }
    }

    /// The next round.
    async fn asked(&mut self) -> u32 {
        match self.inbox.recv().await.unwrap() {
            Message::Prepare(round) => round,
            other => defmt::panic!("expected a question, got {}", defmt::Debug2Format(&other)),
        }
    }
}

#[embassy_executor::task]
async fn coordinate(agent: Agent, mut near: Peer, mut far: Peer, rounds: u32, forgets: bool) {
    for round in 1..=rounds {
        let _round = span!(agent, "round");
        near.tell(Message::Prepare(round)).await;
        far.tell(Message::Prepare(round)).await;
        let first = near.vote().await;
        let last = far.vote().await;
        let commit = if forgets { last } else { first && last };
        match commit {
            true => trace!(agent, "decides to commit"),
            false => trace!(agent, "decides to abort"),
        }
        near.tell(Message::Decide(commit)).await;
        far.tell(Message::Decide(commit)).await;
        near.done().await;
        far.done().await;
        if round <= LOGGED {
            defmt::info!("round {} is {}", round, if commit { "committed" } else { "aborted" });
        }
    }
}

fn vote(agent: &Agent, yes: bool) -> bool {
    match yes {
        true => trace!(agent, "votes yes"),
        false => trace!(agent, "votes no"),
    }
    yes
}

fn act(agent: &Agent, round: u32, commit: bool) {
    let _apply = span!(agent, "apply");
    match commit {
        true => trace!(agent, "commits"),
        false => trace!(agent, "aborts"),
    }
    if round <= LOGGED {
        defmt::info!("{} round {}", if commit { "commits" } else { "aborts" }, round);
    }
}

/// A store at the end of a line.
#[embassy_executor::task]
async fn store(agent: Agent, mut asker: Peer, says_no_every: u32) {
    loop {
        let round = asker.asked().await;
        let _prepared = span!(agent, "prepared");
        asker.tell(Message::Vote(vote(&agent, round % says_no_every != 0))).await;
        let commit = asker.decision().await;
        act(&agent, round, commit);
        asker.tell(Message::Done).await;
    }
}

/// A store with another behind it.
#[embassy_executor::task]
async fn store_between(agent: Agent, mut asker: Peer, mut next: Peer) {
    loop {
        let round = asker.asked().await;
        next.tell(Message::Prepare(round)).await;
        let _prepared = span!(agent, "prepared");
        let own = vote(&agent, true);
        let both = next.vote().await && own;
        asker.tell(Message::Vote(both)).await;
        let commit = asker.decision().await;
        next.tell(Message::Decide(commit)).await;
        act(&agent, round, commit);
        next.done().await;
        asker.tell(Message::Done).await;
    }
}

#[embassy_executor::task]
async fn pump(agent: Agent) {
    agent.pump(&LINK).await;
}

fn spawn<S>(spawner: Spawner, task: Result<SpawnToken<S>, embassy_executor::SpawnError>) {
    spawner.spawn(task.expect("the task is spawned once"));
}

/// Core 1 of either board: a store that core 0 asks.
fn start_core1(executors: &'static [StaticCell<Executor>; 2], board: BoardId) {
    Chip::start_core1(move || {
        let (name, node, asker, says_no_every) = match board {
            BoardId(0) => (name!(node "store1"), STORE_1, COORDINATOR, 4),
            _ => (name!(node "store3"), STORE_3, STORE_2, 3),
        };
        let agent = AGENTS.begin(name, node, StampKind::Vector).unwrap();
        let inbox = agent.inbox(name!("ask"), &ACROSS, asker, CoreId::ZERO).unwrap();
        let out = agent.outbox(name!("told"), &BACK, asker, CoreId::ZERO).unwrap();
        agent.start().unwrap();
        let executor = executors[1].init(Executor::new());
        executor.run(|spawner| spawn(spawner, store(agent, Peer { out, inbox }, says_no_every)))
    })
    .expect("core 1 is started once");
}

/// The two lines of core 0: to core 1 of its board, and to the other board.
fn peers(agent: &Agent, core1: NodeId, board: NodeId) -> (Peer, Peer) {
    let out = agent.outbox(name!("ask"), &ACROSS, core1, CoreId::ONE).unwrap();
    let inbox = agent.inbox(name!("told"), &BACK, core1, CoreId::ONE).unwrap();
    let near = Peer { out, inbox };
    let (receiver, sender) = uart::open(1, 115_200).expect("UART1 is free");
    let line = Line { receiver: receiver.claim(), sender: sender.claim() };
    let (to, from) = ((name!("to_board"), &TO_BOARD), (name!("from_board"), &FROM_BOARD));
    let (out, inbox) = agent.serial(&LINK, line, LinkConfig::BAUD_115200, board, to, from).unwrap();
    (near, Peer { out, inbox })
}

#[cortex_m_rt::entry]
fn main() -> ! {
    static EXECUTORS: [StaticCell<Executor>; 2] = [const { StaticCell::new() }; 2];
    platform::init();
    let number = |text: &[u8]| core::str::from_utf8(text).ok().and_then(|text| text.parse().ok());
    let rounds = argument("rounds=", number).flatten().unwrap_or(ROUNDS);
    let forgets = argument("bug=", |text| text == b"forget").unwrap_or(false);
    let board = Chip::board().expect("start the board with the word board=A or board=B");
    start_core1(&EXECUTORS, board);
    let is_a = board == BoardId(0);
    let (name, node) = if is_a { (name!(node "coordinator"), COORDINATOR) } else { (name!(node "store2"), STORE_2) };
    let agent = AGENTS.begin(name, node, StampKind::Vector).unwrap();
    let (near, far) = if is_a { peers(&agent, STORE_1, STORE_2) } else { peers(&agent, STORE_3, COORDINATOR) };
    agent.start().unwrap();
    let executor = EXECUTORS[0].init(Executor::new());
    executor.run(|spawner| {
        spawn(spawner, pump(agent));
        if is_a {
            spawn(spawner, coordinate(agent, near, far, rounds, forgets));
        } else {
            spawn(spawner, store_between(agent, far, near));
        }
    })
}

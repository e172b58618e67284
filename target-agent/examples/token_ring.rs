//! Two cores pass a token round.
#![no_std]
#![no_main]

use embassy_executor::{SpawnToken, Spawner};
use serde::{Deserialize, Serialize};
use static_cell::StaticCell;
use stillpoint_agent::agent::Agent;
use stillpoint_agent::channel::Channel;
use stillpoint_agent::executor::Executor;
use stillpoint_agent::platform::{self, Chip, CoreId, Platform};
use stillpoint_agent::port::{Inbox, Outbox};
use stillpoint_agent::{name, trace};
use stillpoint_core::{NodeId, StampKind};

stillpoint_agent::system!(AGENTS: nodes = 2, ports = 6, log = 65536);

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Token {
    lap: u32,
}

static THERE: Channel<Token> = Channel::new();
static BACK: Channel<Token> = Channel::new();

type Here = Agent<Chip, 2, 6, 65536>;

#[embassy_executor::task(pool_size = 2)]
async fn pass(agent: Here, mut inbox: Inbox<Chip, Token>, mut outbox: Outbox<Chip, Token>, first: bool) {
    let holding = agent.watch(name!(watch "holding")).unwrap();
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
        if first && token.lap % 5000 == 0 {
            agent.halt();
        }
        outbox.send(&token).await.unwrap();
    }
}

fn spawn<S>(spawner: Spawner, task: Result<SpawnToken<S>, embassy_executor::SpawnError>) {
    spawner.spawn(task.expect("the task is spawned once"));
}

#[cortex_m_rt::entry]
fn main() -> ! {
    static EXECUTORS: [StaticCell<Executor<Chip>>; 2] = [const { StaticCell::new() }; 2];
    platform::init();
    Chip::start_core1(move || {
        let agent = AGENTS.begin(NodeId(1), StampKind::Vector).unwrap();
        let inbox = agent.inbox(name!("from"), &THERE, NodeId(0), CoreId::ZERO).unwrap();
        let outbox = agent.outbox(name!("to"), &BACK, NodeId(0), CoreId::ZERO).unwrap();
        agent.start().unwrap();
        let executor = EXECUTORS[1].init(Executor::new());
        executor.run(|spawner| spawn(spawner, pass(agent, inbox, outbox, false)))
    })
    .expect("core 1 is started once");
    let agent = AGENTS.begin(NodeId(0), StampKind::Vector).unwrap();
    let outbox = agent.outbox(name!("to"), &THERE, NodeId(1), CoreId::ONE).unwrap();
    let inbox = agent.inbox(name!("from"), &BACK, NodeId(1), CoreId::ONE).unwrap();
    agent.start().unwrap();
    let executor = EXECUTORS[0].init(Executor::new());
    executor.run(|spawner| spawn(spawner, pass(agent, inbox, outbox, true)))
}

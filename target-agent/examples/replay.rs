//! Everything that a replay would have to give again, on one board with two cores.
//!
//! Core 0 reads a level every millisecond and pushes it into a channel of two places until that is full; core 1 looks into
//! the channel now and then, and finds it full or empty. Nothing is printed: switch the nodes to `replay` and read their
//! logs, where you will see each poll of a task, each timer, each reading of the clock, each level (`input`), each send that
//! found no room (`send full`) and each look that found nothing (`receive none`). In any other mode these are no events.
#![no_std]
#![no_main]

use embassy_executor::{SpawnToken, Spawner};
use embassy_time::{Duration, Instant, Timer};
use static_cell::StaticCell;
use stillpoint_agent::platform::{self, Chip, Platform};
use stillpoint_agent::{Channel, CoreId, Executor, Inbox, NodeId, Outbox, StampKind, input, name};

stillpoint_agent::system!(AGENTS of Agent: nodes = 2, ports = 2, log = 65536);

static LEVELS: Channel<u32, 2> = Channel::new();

const SENSOR: NodeId = NodeId(0);
const LOGGER: NodeId = NodeId(1);

/// Stands for a converter: what it says follows from nothing inside the system.
fn read_level() -> u32 {
    Chip::counter().0 & 0xFFF
}

#[embassy_executor::task]
async fn sense(agent: Agent, mut out: Outbox<u32>) {
    loop {
        Timer::after(Duration::from_millis(1)).await;
        // One that has ended when it is set fires too.
        Timer::after(Duration::from_ticks(0)).await;
        let level = input!(agent, "level", read_level());
        // Full now and then: the level is then lost, as it would be in a sampling loop.
        let _ = out.try_send(&level);
    }
}

#[embassy_executor::task]
async fn look(mut levels: Inbox<u32>) {
    let mut next = Instant::now();
    loop {
        while levels.try_recv().is_ok() {}
        next += Duration::from_millis(5);
        Timer::at(next).await;
    }
}

fn spawn<S>(spawner: Spawner, task: Result<SpawnToken<S>, embassy_executor::SpawnError>) {
    spawner.spawn(task.expect("the task is spawned once"));
}

#[cortex_m_rt::entry]
fn main() -> ! {
    static EXECUTORS: [StaticCell<Executor>; 2] = [const { StaticCell::new() }; 2];
    platform::init();
    Chip::start_core1(|| {
        let agent = AGENTS.begin(name!(node "logger"), LOGGER, StampKind::Event).unwrap();
        let levels = agent.inbox(name!("levels"), &LEVELS, SENSOR, CoreId::ZERO).unwrap();
        agent.start().unwrap();
        EXECUTORS[1].init(Executor::new()).run(|spawner| spawn(spawner, look(levels)))
    })
    .expect("core 1 is started once");
    let agent = AGENTS.begin(name!(node "sensor"), SENSOR, StampKind::Event).unwrap();
    let out = agent.outbox(name!("levels"), &LEVELS, LOGGER, CoreId::ONE).unwrap();
    agent.start().unwrap();
    EXECUTORS[0].init(Executor::new()).run(|spawner| spawn(spawner, sense(agent, out)))
}

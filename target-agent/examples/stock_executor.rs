//! Two nodes on the cores of one board whose tasks run in embassy's own executor for threads, for the view of tasks.
//!
//! That executor waits for an event (WFE), which QEMU answers at once: both cores poll all the time. It has no number of its
//! core either; the host finds the core by its stack.
//! What you see: `host/tests/looks/print_cli.rs` reads it through the probe.
#![no_std]
#![no_main]

use core::sync::atomic::{AtomicU32, Ordering};
use embassy_executor::{Executor, SpawnToken, Spawner};
use embassy_futures::select::select;
use embassy_time::Timer;
use static_cell::StaticCell;
use stillpoint_agent::platform::{self, Chip, Platform};
use stillpoint_agent::{Channel, CoreId, Inbox, NodeId, Outbox, StampKind, name};

stillpoint_agent::system!(AGENTS of Agent: nodes = 2, ports = 2, log = 16384);

const NEAR: NodeId = NodeId(0);
const FAR: NodeId = NodeId(1);
const HOUR: u64 = 3600;

static NUMBERS: Channel<u32, 4, 64> = Channel::new();
static SUM: AtomicU32 = AtomicU32::new(0);

#[embassy_executor::task]
async fn ticks(mut outbox: Outbox<u32>) {
    for number in 0.. {
        Timer::after_millis(2).await;
        outbox.send(&number).await.unwrap();
    }
}

#[embassy_executor::task]
async fn sums(mut inbox: Inbox<u32>) {
    loop {
        let number = inbox.recv().await.unwrap();
        SUM.fetch_add(number, Ordering::Relaxed);
    }
}

#[embassy_executor::task]
async fn nests() {
    outer(41).await;
}

async fn outer(depth: u32) {
    select(Timer::after_secs(HOUR), inner(depth + 1)).await;
    SUM.fetch_add(depth, Ordering::Relaxed);
}

async fn inner(deepest: u32) {
    core::future::pending::<()>().await;
    SUM.fetch_add(deepest, Ordering::Relaxed);
}

#[embassy_executor::task(pool_size = 3)]
async fn pooled(number: u64) {
    Timer::after_secs(HOUR + number).await;
    SUM.fetch_add(number as u32, Ordering::Relaxed);
}

fn spawn<S>(spawner: Spawner, task: Result<SpawnToken<S>, embassy_executor::SpawnError>) {
    spawner.spawn(task.expect("there is room for the task"));
}

#[cortex_m_rt::entry]
fn main() -> ! {
    // Each is made and stays on its core.
    static NEAR_EXECUTOR: StaticCell<Executor> = StaticCell::new();
    static FAR_EXECUTOR: StaticCell<Executor> = StaticCell::new();
    platform::init();
    Chip::start_core1(|| {
        let agent = AGENTS.begin(name!(node "far"), FAR, StampKind::Vector).unwrap();
        let inbox = agent.inbox(name!("numbers"), &NUMBERS, NEAR, CoreId::ZERO).unwrap();
        agent.start().unwrap();
        FAR_EXECUTOR.init(Executor::new()).run(|spawner| {
            spawn(spawner, sums(inbox));
            spawn(spawner, pooled(1));
        })
    })
    .expect("core 1 is started once");
    let agent = AGENTS.begin(name!(node "near"), NEAR, StampKind::Vector).unwrap();
    let outbox = agent.outbox(name!("numbers"), &NUMBERS, FAR, CoreId::ONE).unwrap();
    agent.start().unwrap();
    NEAR_EXECUTOR.init(Executor::new()).run(|spawner| {
        spawn(spawner, ticks(outbox));
        spawn(spawner, nests());
        spawn(spawner, pooled(0));
    })
}

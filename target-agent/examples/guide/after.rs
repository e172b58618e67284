//! A program on two cores, instrumented: core 0 measures, core 1 averages. See `docs/INSTRUMENT.md`.
//!
//! What you see: core 0 logs the first four averages, then they go on in silence. Halt it from a host for as long as you
//! like: nobody complains.
#![no_std]
#![no_main]

use embassy_executor::{SpawnToken, Spawner};
use embassy_time::{Duration, Timer, with_timeout};
use serde::{Deserialize, Serialize};
use static_cell::StaticCell;
use stillpoint_agent::platform::{self, Chip, Platform};
use stillpoint_agent::{Channel, CoreId, Executor, Inbox, NodeId, Outbox, StampKind, name, trace, watch};

stillpoint_agent::system!(AGENTS of Agent: nodes = 2, ports = 2, log = 8192);

const METER: NodeId = NodeId(0);
const AVERAGER: NodeId = NodeId(1);

#[derive(Clone, Copy, Serialize, Deserialize)]
struct Sample {
    number: u32,
    value: u32,
}

static SAMPLES: Channel<Sample, 4> = Channel::new();
static AVERAGES: Channel<u32, 4> = Channel::new();

/// How long core 0 waits for core 1.
const PATIENCE: Duration = Duration::from_millis(500);

#[embassy_executor::task]
async fn measure(agent: Agent, mut samples: Outbox<Sample>, mut averages: Inbox<u32>) {
    let latest = watch!(agent, "average").unwrap();
    for number in 1.. {
        samples.send(&Sample { number, value: number * 10 }).await.unwrap();
        match with_timeout(PATIENCE, averages.recv()).await {
            Ok(average) => {
                let average = average.unwrap();
                latest.set(average as i32);
                if number <= 4 {
                    defmt::info!("average {}", average);
                }
            }
            Err(_) => {
                trace!(agent, "no answer");
                defmt::warn!("core 1 does not answer");
            }
        }
        Timer::after_millis(2).await;
    }
}

#[embassy_executor::task]
async fn average(mut samples: Inbox<Sample>, mut averages: Outbox<u32>) {
    let mut sum = 0_u32;
    loop {
        let sample = samples.recv().await.unwrap();
        sum = sum.wrapping_add(sample.value);
        averages.send(&(sum / sample.number)).await.unwrap();
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
        let agent = AGENTS.begin(name!(node "averager"), AVERAGER, StampKind::Vector).unwrap();
        let samples = agent.inbox(name!("samples"), &SAMPLES, METER, CoreId::ZERO).unwrap();
        let averages = agent.outbox(name!("averages"), &AVERAGES, METER, CoreId::ZERO).unwrap();
        agent.start().unwrap();
        let executor = EXECUTORS[1].init(Executor::new());
        executor.run(|spawner| spawn(spawner, average(samples, averages)))
    })
    .expect("core 1 is started once");
    let agent = AGENTS.begin(name!(node "meter"), METER, StampKind::Vector).unwrap();
    let samples = agent.outbox(name!("samples"), &SAMPLES, AVERAGER, CoreId::ONE).unwrap();
    let averages = agent.inbox(name!("averages"), &AVERAGES, AVERAGER, CoreId::ONE).unwrap();
    agent.start().unwrap();
    let executor = EXECUTORS[0].init(Executor::new());
    executor.run(|spawner| spawn(spawner, measure(agent, samples, averages)))
}

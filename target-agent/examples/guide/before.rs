//! A program on two cores, before it is instrumented: core 0 measures, core 1 averages. See `docs/INSTRUMENT.md`.
//!
//! What you see: core 0 logs the first four averages, then they go on in silence. Stop one core with a debugger for
//! longer than half a second, and the other one complains.
#![no_std]
#![no_main]

use embassy_executor::{SpawnToken, Spawner};
use embassy_sync::blocking_mutex::raw::CriticalSectionRawMutex;
use embassy_sync::channel::Channel;
use embassy_time::{Duration, Timer, with_timeout};
use static_cell::StaticCell;
use stillpoint_agent::Executor;
use stillpoint_agent::platform::{self, Chip, Platform};

#[derive(Clone, Copy)]
struct Sample {
    number: u32,
    value: u32,
}

static SAMPLES: Channel<CriticalSectionRawMutex, Sample, 4> = Channel::new();
static AVERAGES: Channel<CriticalSectionRawMutex, u32, 4> = Channel::new();

/// How long core 0 waits for core 1.
const PATIENCE: Duration = Duration::from_millis(500);

#[embassy_executor::task]
async fn measure() {
    for number in 1.. {
        SAMPLES.send(Sample { number, value: number * 10 }).await;
        match with_timeout(PATIENCE, AVERAGES.receive()).await {
            Ok(average) if number <= 4 => defmt::info!("average {}", average),
            Ok(_) => {}
            Err(_) => defmt::warn!("core 1 does not answer"),
        }
        Timer::after_millis(2).await;
    }
}

#[embassy_executor::task]
async fn average() {
    let mut sum = 0_u32;
    loop {
        let sample = SAMPLES.receive().await;
        sum = sum.wrapping_add(sample.value);
        AVERAGES.send(sum / sample.number).await;
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
        let executor = EXECUTORS[1].init(Executor::new());
        executor.run(|spawner| spawn(spawner, average()))
    })
    .expect("core 1 is started once");
    let executor = EXECUTORS[0].init(Executor::new());
    executor.run(|spawner| spawn(spawner, measure()))
}

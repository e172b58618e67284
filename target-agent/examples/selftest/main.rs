//! The platform layer proves what it promises: lock, doorbells, time lines, wakes across cores, serial link.
//!
//! Both cores of one board go through the same list of claims together; its UART1 and UART2 are joined outside. What you
//! see is one line `ok <claim>` per claim and `12 passed, 0 failed` at the end. How to run it: `../README.md`.
#![no_std]
#![no_main]

mod bell;
mod link;
mod lock;
mod mail;
mod time;

use embassy_executor::Spawner;
use embassy_sync::blocking_mutex::raw::CriticalSectionRawMutex;
use embassy_sync::channel::{Channel, Receiver, Sender};
use embassy_time::{Duration, with_timeout};
use static_cell::StaticCell;
use stillpoint_agent::executor::Executor;
use stillpoint_agent::platform::semihosting::{exit, line};
use stillpoint_agent::platform::uart::{self, UartRx, UartTx};
use stillpoint_agent::platform::{self, Chip, CoreId, Platform};

/// Whether a claim held on one core; if not, why.
type Verdict = Result<(), &'static str>;

/// How long a claim may take by core 0's clock before it counts as hung: a lost wake-up never ends.
const LIMIT: Duration = Duration::from_secs(120);

#[derive(Clone, Copy)]
enum Claim {
    LockExcludes,
    LockIsReentrant,
    WaiterTakesDoorbell,
    DyingOwnerLetsGo,
    UrgentInterruptsOrdinary,
    LongCounterAgrees,
    OneLineStands,
    TimersFireInOrder,
    ChannelLosesNothing,
    WakesCrossCores,
    LinkCarries64K,
    SlowReaderLosesNothing,
}

impl Claim {
    const ALL: [Self; 12] = [
        Self::LockExcludes,
        Self::LockIsReentrant,
        Self::WaiterTakesDoorbell,
        Self::DyingOwnerLetsGo,
        Self::UrgentInterruptsOrdinary,
        Self::LongCounterAgrees,
        Self::OneLineStands,
        Self::TimersFireInOrder,
        Self::ChannelLosesNothing,
        Self::WakesCrossCores,
        Self::LinkCarries64K,
        Self::SlowReaderLosesNothing,
    ];

    const fn sentence(self) -> &'static str {
        match self {
            Self::LockExcludes => "no increment is lost when both cores increment under the lock",
            Self::LockIsReentrant => {
                "a core that holds the lock can take it again, and holds it until the outermost release"
            }
            Self::WaiterTakesDoorbell => "a core that waits for the lock still takes its urgent doorbell",
            Self::DyingOwnerLetsGo => "a core that dies with the lock does not hang the other",
            Self::UrgentInterruptsOrdinary => "an urgent doorbell interrupts the handler of an ordinary one",
            Self::LongCounterAgrees => "the long counter and the counter tell the same time",
            Self::OneLineStands => "while core 0's time stands, core 1's timers fire and core 0's do not",
            Self::TimersFireInOrder => "timers of both cores fire in order and never early",
            Self::ChannelLosesNothing => "20000 messages each way through channels of one message arrive in order",
            Self::WakesCrossCores => "a task woken from the other core runs, 500 times each way",
            Self::LinkCarries64K => "the serial link carries 64 KiB both ways at once without an overrun",
            Self::SlowReaderLosesNothing => "a slow reader holds the line up and loses nothing",
        }
    }
}

/// What the cores tell each other between claims.
#[derive(Clone, Copy)]
enum Note {
    Here,
    Number(u64),
    Verdict(Verdict),
}

/// One core's means to prove a claim.
struct Side {
    core: CoreId,
    notes_out: Sender<'static, CriticalSectionRawMutex, Note, 4>,
    notes_in: Receiver<'static, CriticalSectionRawMutex, Note, 4>,
    mail_out: Sender<'static, CriticalSectionRawMutex, u32, 1>,
    mail_in: Receiver<'static, CriticalSectionRawMutex, u32, 1>,
    rx: UartRx,
    tx: UartTx,
}

impl Side {
    fn is_first(&self) -> bool {
        self.core == CoreId::ZERO
    }

    /// Waits until the other core is here too.
    async fn meet(&mut self) {
        self.notes_out.send(Note::Here).await;
        let Note::Here = self.notes_in.receive().await else { panic!("the cores are at different claims") };
    }

    async fn tell(&mut self, number: u64) {
        self.notes_out.send(Note::Number(number)).await;
    }

    async fn told(&mut self) -> u64 {
        let Note::Number(number) = self.notes_in.receive().await else { panic!("the cores are at different claims") };
        number
    }

    /// Proves a claim together with the other core; core 0 gets the verdict of both.
    async fn prove(&mut self, claim: Claim) -> Verdict {
        self.meet().await;
        let own = match claim {
            Claim::LockExcludes => lock::excludes(self).await,
            Claim::LockIsReentrant => lock::is_reentrant(self).await,
            Claim::WaiterTakesDoorbell => lock::waiter_takes_doorbell(self).await,
            Claim::DyingOwnerLetsGo => lock::dying_owner_lets_go(self).await,
            Claim::UrgentInterruptsOrdinary => bell::urgent_interrupts_ordinary(self),
            Claim::LongCounterAgrees => time::long_counter_agrees(),
            Claim::OneLineStands => time::one_line_stands(self).await,
            Claim::TimersFireInOrder => time::timers_fire_in_order().await,
            Claim::ChannelLosesNothing => mail::loses_nothing(self).await,
            Claim::WakesCrossCores => mail::wakes_cross_cores(self).await,
            Claim::LinkCarries64K => link::carries_64k(self).await,
            Claim::SlowReaderLosesNothing => link::slow_reader_loses_nothing(self).await,
        };
        if !self.is_first() {
            self.notes_out.send(Note::Verdict(own)).await;
            return own;
        }
        let Note::Verdict(others) = self.notes_in.receive().await else { panic!("the cores are at different claims") };
        own.and(others)
    }
}

/// `Ok` if it holds, else the reason.
fn check(holds: bool, otherwise: &'static str) -> Verdict {
    if holds { Ok(()) } else { Err(otherwise) }
}

#[embassy_executor::task]
async fn first_core(mut side: Side) {
    let (mut passed, mut failed) = (0, 0);
    for claim in Claim::ALL {
        let verdict = with_timeout(LIMIT, side.prove(claim)).await;
        match verdict {
            Ok(Ok(())) => line(format_args!("ok {}", claim.sentence())),
            Ok(Err(why)) => line(format_args!("FAILED {}: {why}", claim.sentence())),
            Err(_) => line(format_args!("FAILED {}: not finished after {} s", claim.sentence(), LIMIT.as_secs())),
        }
        match verdict {
            Ok(Ok(())) => passed += 1,
            _ => failed += 1,
        }
        if verdict.is_err() {
            // The other core is somewhere in the middle of this claim: nothing after it can be trusted.
            break;
        }
    }
    line(format_args!("{passed} passed, {failed} failed"));
    exit(failed == 0)
}

#[embassy_executor::task]
async fn second_core(mut side: Side) {
    for claim in Claim::ALL {
        // Core 0 reports the verdict of both.
        let _ = side.prove(claim).await;
    }
}

fn spawn<S>(spawner: Spawner, task: Result<embassy_executor::SpawnToken<S>, embassy_executor::SpawnError>) {
    spawner.spawn(task.expect("each task is spawned once"));
}

#[cortex_m_rt::entry]
fn main() -> ! {
    static EXECUTORS: [StaticCell<Executor<Chip>>; 2] = [const { StaticCell::new() }; 2];
    // For each core, what the other one sends to it.
    static NOTES: [Channel<CriticalSectionRawMutex, Note, 4>; 2] = [const { Channel::new() }; 2];
    static MAIL: [Channel<CriticalSectionRawMutex, u32, 1>; 2] = [const { Channel::new() }; 2];
    platform::init();
    let (zero, one) = (CoreId::ZERO, CoreId::ONE);
    let (rx1, tx1) = uart::open(1, 115_200).expect("UART1 is free");
    let (rx2, tx2) = uart::open(2, 115_200).expect("UART2 is free");

    Chip::start_core1(move || {
        EXECUTORS[1].init(Executor::new()).run(|spawner| {
            let (rx, tx) = (rx2.claim(), tx2.claim());
            let side = Side {
                core: one,
                notes_out: NOTES[0].sender(),
                notes_in: NOTES[1].receiver(),
                mail_out: MAIL[0].sender(),
                mail_in: MAIL[1].receiver(),
                rx,
                tx,
            };
            spawn(spawner, second_core(side));
        })
    })
    .expect("core 1 is started once");
    EXECUTORS[0].init(Executor::new()).run(|spawner| {
        let (rx, tx) = (rx1.claim(), tx1.claim());
        let side = Side {
            core: zero,
            notes_out: NOTES[1].sender(),
            notes_in: NOTES[0].receiver(),
            mail_out: MAIL[1].sender(),
            mail_in: MAIL[0].receiver(),
            rx,
            tx,
        };
        spawn(spawner, first_core(side));
    })
}

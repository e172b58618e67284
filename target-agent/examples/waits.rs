//! Two nodes on the cores of one board whose tasks wait in every way that there is, for the view of tasks.
//!
//! Words of the command line: `stuck=` one of `wakeup` (a future that never registers its waker), `calls` (two nodes that
//! call each other before they answer) and `unread` (a channel whose receiver does something else for an hour);
//! `executor=raw` runs core 0 in embassy's own executor, which does not say on which core it is; `busy=yes` starts tasks of a
//! pool that compute most of the time; `steps=yes` starts a task on each node that waits in many places, one after the other,
//! and records which comes next.
//! What you see: `host/tests/looks/print_cli.rs` reads it through the probe.
#![no_std]
#![no_main]

use core::cell::RefCell;
use core::future::{Future, poll_fn};
use core::pin::{Pin, pin};
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use core::task::Poll;
use embassy_executor::{SpawnToken, Spawner, raw};
use embassy_futures::join::join;
use embassy_futures::select::select;
use embassy_futures::yield_now;
use embassy_sync::blocking_mutex::{self, raw::CriticalSectionRawMutex};
use embassy_sync::mutex::Mutex;
use embassy_time::Timer;
use serde::{Deserialize, Serialize};
use static_cell::StaticCell;
use stillpoint_agent::platform::words::argument;
use stillpoint_agent::platform::{self, Chip, Platform};
use stillpoint_agent::{
    Access, Channel, Client, CoreId, Envelope, Executor, Inbox, NodeId, Outbox, Rpc, Server, StampKind, ThreadId, name,
    trace,
};

stillpoint_agent::system!(AGENTS of Agent: nodes = 2, ports = 6, log = 16384);

const NEAR: NodeId = NodeId(0);
const FAR: NodeId = NodeId(1);

/// A message and its collections, from the release of heapless before the one that the other demos use.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Letter {
    number: u32,
    text: heapless08::String<12>,
    list: heapless08::Vec<u16, 4>,
    queue: heapless08::Deque<u8, 3>,
    map: heapless08::LinearMap<u8, bool, 2>,
}

impl Letter {
    /// A letter whose collections are full, partly used or empty, by its number.
    fn new(number: u32) -> Self {
        let mut letter = Self {
            number,
            text: heapless08::String::new(),
            list: (0..number % 5).map(|item| (number + item) as u16).collect(),
            queue: heapless08::Deque::new(),
            map: heapless08::LinearMap::new(),
        };
        for item in 0..number % 4 {
            // The newest is in front, so the queue goes round the end of its memory.
            let _has_room = letter.queue.push_front(item as u8);
            let _has_room = letter.text.push_str("äb");
        }
        if number % 2 == 1 {
            let _has_room = letter.map.insert(number as u8, true);
        }
        letter
    }
}

static DATA: Channel<Letter, 4, 64> = Channel::new();
/// The letter that was written last.
static WRITTEN: blocking_mutex::Mutex<CriticalSectionRawMutex, RefCell<Option<Letter>>> =
    blocking_mutex::Mutex::new(RefCell::new(None));
static THERE: Channel<Envelope<u32>, 4, 96> = Channel::new();
static BACK_AGAIN: Channel<Envelope<u32>, 4, 96> = Channel::new();
static HERE: Channel<Envelope<u32>, 4, 96> = Channel::new();
static AND_BACK: Channel<Envelope<u32>, 4, 96> = Channel::new();
static RPC: Rpc<2, 2> = Rpc::new();
static LOCK: Mutex<CriticalSectionRawMutex, u32> = Mutex::new(0);
static IS_DONE: AtomicBool = AtomicBool::new(false);
/// Which task of the pool `spins` computes, counted from 1: 0 while none does.
#[used]
static SPINNING: AtomicU32 = AtomicU32::new(0);
static TURNS: AtomicU32 = AtomicU32::new(0);

const HOUR: u64 = 3600;

#[embassy_executor::task]
async fn selects() {
    let mut rounds = 7u32;
    select(Timer::after_secs(HOUR), core::future::pending::<()>()).await;
    rounds += 1;
    TURNS.store(rounds, Ordering::Relaxed);
}

#[embassy_executor::task]
async fn joins() {
    join(Timer::after_secs(HOUR), async { core::future::pending::<u32>().await }).await;
}

#[embassy_executor::task]
async fn nests() {
    outer(41).await;
}

async fn outer(depth: u32) {
    inner(depth + 1).await;
    TURNS.store(depth, Ordering::Relaxed);
}

async fn inner(deepest: u32) {
    Timer::after_secs(HOUR).await;
    TURNS.store(deepest, Ordering::Relaxed);
}

#[embassy_executor::task(pool_size = 4)]
async fn pooled(number: u64) {
    Timer::after_secs(HOUR + number).await;
    TURNS.store(number as u32, Ordering::Relaxed);
}

#[embassy_executor::task]
async fn boxed() {
    let mut future = pin!(inner(9));
    let object: Pin<&mut dyn Future<Output = ()>> = future.as_mut();
    object.await;
}

#[embassy_executor::task]
async fn ends() {}

#[embassy_executor::task]
async fn holds() {
    let guard = LOCK.lock().await;
    Timer::after_secs(HOUR).await;
    TURNS.store(*guard, Ordering::Relaxed);
}

#[embassy_executor::task]
async fn locks() {
    Timer::after_millis(1).await;
    *LOCK.lock().await += 1;
}

/// Waits without a timer: those of the kit are for tasks of its own executor.
#[embassy_executor::task(pool_size = 4)]
async fn timeless(number: u32) {
    middle(number + 1).await;
}

async fn middle(next: u32) {
    core::future::pending::<()>().await;
    TURNS.store(next, Ordering::Relaxed);
}

/// Computes most of the time, in the middle of a poll.
#[embassy_executor::task(pool_size = 3)]
async fn spins(number: u32) {
    loop {
        SPINNING.store(number + 1, Ordering::SeqCst);
        for _ in 0..2000 {
            TURNS.fetch_add(1, Ordering::Relaxed);
        }
        SPINNING.store(0, Ordering::SeqCst);
        yield_now().await;
    }
}

/// Waits in many places, one after the other. Each event says which comes next.
#[embassy_executor::task(pool_size = 2)]
async fn steps(agent: Agent) {
    for turn in 0u32.. {
        trace!(agent, "timer");
        Timer::after_micros(700).await;
        trace!(agent, "select");
        select(Timer::after_micros(800), core::future::pending::<()>()).await;
        trace!(agent, "join");
        join(Timer::after_micros(500), Timer::after_micros(900)).await;
        if turn.is_multiple_of(2) {
            trace!(agent, "even");
            Timer::after_micros(600).await;
        } else {
            trace!(agent, "odd");
            Timer::after_micros(601).await;
        }
        below(agent, turn).await;
        for part in 0..2 {
            trace!(agent, "part");
            Timer::after_micros(400 + part).await;
        }
        let mut future = pin!(bottom(agent, turn));
        let behind: Pin<&mut dyn Future<Output = ()>> = future.as_mut();
        behind.await;
    }
}

async fn below(agent: Agent, turn: u32) {
    trace!(agent, "below");
    Timer::after_micros(650).await;
    bottom(agent, turn).await;
    trace!(agent, "above");
    Timer::after_micros(750).await;
}

async fn bottom(agent: Agent, turn: u32) {
    if turn % 3 < 2 {
        trace!(agent, "bottom");
        Timer::after_micros(550).await;
    }
    trace!(agent, "last");
    Timer::after_micros(450).await;
}

/// A lost wake-up: nothing polls this again when `IS_DONE` is set.
#[embassy_executor::task]
async fn forgets() {
    poll_fn(|_| if IS_DONE.load(Ordering::Relaxed) { Poll::Ready(()) } else { Poll::Pending }).await;
}

#[embassy_executor::task]
async fn sets() {
    Timer::after_millis(1).await;
    IS_DONE.store(true, Ordering::Relaxed);
}

#[embassy_executor::task]
async fn sends(mut outbox: Outbox<Letter>) {
    for number in 3.. {
        let letter = Letter::new(number);
        WRITTEN.lock(|written| *written.borrow_mut() = Some(letter.clone()));
        outbox.send(&letter).await.unwrap();
    }
}

#[embassy_executor::task]
async fn ignores(mut inbox: Inbox<Letter>) {
    Timer::after_secs(HOUR).await;
    TURNS.store(inbox.recv().await.unwrap().number, Ordering::Relaxed);
}

/// Calls before it answers, and so does the task at the other end.
#[embassy_executor::task(pool_size = 2)]
async fn calls(mut client: Client<u32, u32>, mut server: Server<u32, u32, 1>) {
    let answer = client.call(&1).await.unwrap();
    let request = server.next().await.unwrap();
    request.reply(&answer).await.unwrap();
}

fn spawn<S>(spawner: Spawner, task: Result<SpawnToken<S>, embassy_executor::SpawnError>) {
    spawner.spawn(task.expect("there is room for the task"));
}

fn is_word(word: &str, value: &[u8]) -> bool {
    argument(word, |found| found == value).unwrap_or(false)
}

/// Each node's thread may be at home and at the other.
fn access() -> Access<2, 2> {
    let mut access = Access::NONE;
    for thread in [ThreadId(0), ThreadId(1)] {
        access.allow(thread, NEAR).expect("there is such a node");
        access.allow(thread, FAR).expect("there is such a node");
    }
    access
}

#[cortex_m_rt::entry]
fn main() -> ! {
    static EXECUTORS: [StaticCell<Executor>; 2] = [const { StaticCell::new() }; 2];
    static RAW: StaticCell<raw::Executor> = StaticCell::new();
    platform::init();
    let (unread, crosswise) = (is_word("stuck=", b"unread"), is_word("stuck=", b"calls"));
    let many = is_word("steps=", b"yes");
    Chip::start_core1(move || {
        let agent = AGENTS.begin(name!(node "far"), FAR, StampKind::Vector).unwrap();
        RPC.begin(&agent, access()).unwrap();
        let inbox = agent.inbox(name!("data"), &DATA, NEAR, CoreId::ZERO).unwrap();
        let requests = agent.outbox(name!("here"), &HERE, NEAR, CoreId::ZERO).unwrap();
        let replies = agent.inbox(name!("and back"), &AND_BACK, NEAR, CoreId::ZERO).unwrap();
        let asked = agent.inbox(name!("there"), &THERE, NEAR, CoreId::ZERO).unwrap();
        let answers = agent.outbox(name!("back again"), &BACK_AGAIN, NEAR, CoreId::ZERO).unwrap();
        let client = RPC.client(&agent, name!(call "far"), ThreadId(1), requests, replies).unwrap();
        let server = RPC.server(&agent, name!(serve "far"), [(asked, answers)]).unwrap();
        agent.start().unwrap();
        EXECUTORS[1].init(Executor::new()).run(|spawner| {
            spawn(spawner, ignores(inbox));
            if many {
                spawn(spawner, steps(agent));
            }
            if crosswise {
                spawn(spawner, calls(client, server));
            }
        })
    })
    .expect("core 1 is started once");
    let agent = AGENTS.begin(name!(node "near"), NEAR, StampKind::Vector).unwrap();
    RPC.begin(&agent, access()).unwrap();
    let outbox = agent.outbox(name!("data"), &DATA, FAR, CoreId::ONE).unwrap();
    let requests = agent.outbox(name!("there"), &THERE, FAR, CoreId::ONE).unwrap();
    let replies = agent.inbox(name!("back again"), &BACK_AGAIN, FAR, CoreId::ONE).unwrap();
    let asked = agent.inbox(name!("here"), &HERE, FAR, CoreId::ONE).unwrap();
    let answers = agent.outbox(name!("and back"), &AND_BACK, FAR, CoreId::ONE).unwrap();
    let client = RPC.client(&agent, name!(call "near"), ThreadId(0), requests, replies).unwrap();
    let server = RPC.server(&agent, name!(serve "near"), [(asked, answers)]).unwrap();
    agent.start().unwrap();
    let is_raw = is_word("executor=", b"raw");
    let init = |spawner: Spawner| {
        if is_raw {
            (0..3).for_each(|number| spawn(spawner, timeless(number)));
            return;
        }
        spawn(spawner, selects());
        spawn(spawner, joins());
        spawn(spawner, nests());
        (0..3).for_each(|number| spawn(spawner, pooled(number)));
        spawn(spawner, boxed());
        spawn(spawner, ends());
        spawn(spawner, holds());
        spawn(spawner, locks());
        if is_word("busy=", b"yes") {
            (0..3).for_each(|number| spawn(spawner, spins(number)));
        }
        if is_word("stuck=", b"wakeup") {
            spawn(spawner, forgets());
            spawn(spawner, sets());
        }
        if many {
            spawn(spawner, steps(agent));
        }
        if unread {
            spawn(spawner, sends(outbox));
        }
        if crosswise {
            spawn(spawner, calls(client, server));
        }
    };
    if is_raw {
        // As embassy's own executor for threads does it.
        let executor = RAW.init(raw::Executor::new(usize::MAX as *mut ()));
        init(executor.spawner());
        loop {
            // SAFETY: this loop is the only caller, on the core that spawned the tasks.
            unsafe { executor.poll() };
        }
    }
    EXECUTORS[0].init(Executor::new()).run(init)
}

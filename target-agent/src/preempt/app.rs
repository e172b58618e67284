//! What the three nodes do: every kind of event, each as often as the others.
extern crate std;
use super::line::Uart;
use super::system::{Core, Statics, allow_application, statics};
use super::{Preempt, SEAT, point};
use crate::agent::Watch;
use crate::name::Name;
use crate::platform::{CoreId, Platform};
use crate::serial::Line;
use crate::{Event, LinkConfig};
use core::pin::Pin;
use core::sync::atomic::{AtomicBool, Ordering};
use core::task::{Context, Waker};
use std::boxed::Box;
use std::sync::Arc;
use std::task::Wake;
use std::vec::Vec;
use stillpoint_core::delay::{Access, ThreadId};
use stillpoint_core::{NodeId, Phase, StampKind};

/// What an application did, for the oracle.
#[derive(Debug, Default)]
pub(super) struct Counts {
    pub traces: u32,
    pub watches: u32,
    pub sent: u32,
    pub received: u32,
    pub is_done: bool,
}

type Task = Pin<Box<dyn Future<Output = ()>>>;

struct Flag(AtomicBool);
impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The application may go on only while its node runs.
fn check(core: usize) {
    point();
    let phase = statics().phase(core);
    let runs = matches!(phase, Some(Phase::Running));
    assert!(runs, "the application of node {core} goes on while its node is {phase:?}");
}

fn count(core: usize, change: impl FnOnce(&mut Counts)) {
    change(&mut statics().counts[core].lock().unwrap());
}

fn trace(core: usize, agent: &Core) {
    agent.trace(Name(7));
    count(core, |counts| counts.traces += 1);
    check(core);
}

type CoreWatch = Watch<Preempt, { super::system::NODES }, { super::system::PORTS }, { super::system::LOG }>;

fn set(core: usize, watch: &CoreWatch, value: u32) {
    watch.set(value as i32);
    count(core, |counts| counts.watches += 1);
    check(core);
}

/// Raises an event in the application's interrupt.
fn on_application(core: usize) {
    // Before the node starts nothing is an event.
    if statics().phase(core) == Some(Phase::Starting) {
        return;
    }
    statics().board(core).event(Event::local(9));
    count(core, |counts| counts.traces += 1);
}

async fn exchange(
    core: usize,
    out: &mut crate::port::Outbox<Preempt, u32>,
    into: &mut crate::port::Inbox<Preempt, u32>,
    value: u32,
) {
    out.send(&value).await.expect("an event is not refused");
    count(core, |counts| counts.sent += 1);
    check(core);
    assert_eq!(into.recv().await, Ok(value), "what was sent comes back");
    count(core, |counts| counts.received += 1);
    check(core);
}

async fn echo(
    core: usize,
    agent: Core,
    mut into: crate::port::Inbox<Preempt, u32>,
    mut out: crate::port::Outbox<Preempt, u32>,
) {
    for round in 0..statics().rounds {
        assert_eq!(into.recv().await, Ok(round), "nothing is lost or doubled");
        count(core, |counts| counts.received += 1);
        check(core);
        trace(core, &agent);
        out.send(&round).await.expect("an event is not refused");
        count(core, |counts| counts.sent += 1);
        check(core);
    }
    count(core, |counts| counts.is_done = true);
}

/// Sets a node up and runs its tasks.
pub(super) fn main(statics: &'static Statics, core: usize) {
    let seat = SEAT.get().expect("a thread of a world");
    let agent = statics.board(core).begin(Name(1), NodeId(core as u8), StampKind::Vector).expect("begins once");
    let mut tasks: Vec<Task> = Vec::new();
    let line = || Line { receiver: Uart(seat), sender: Uart(seat) };
    let side = core / 2;
    let serial = |peer| {
        let [out, into] = &statics.link_rings[side];
        let names = ((Name(2), out), (Name(3), into));
        agent.serial(&statics.links[side], line(), LinkConfig::BAUD_1M, NodeId(peer), names.0, names.1).expect("a link")
    };
    let mut access = Access::NONE;
    access.allow(ThreadId(0), NodeId(0)).unwrap();
    access.allow(ThreadId(0), NodeId(1)).unwrap();
    let watch = agent.watch(Name(4)).expect("a watch");
    match core {
        0 => {
            let (mut link_out, mut link_in) = serial(2);
            let mut out = agent.outbox(Name(5), &statics.there, NodeId(1), CoreId::ONE).expect("an end");
            let mut into = agent.inbox(Name(6), &statics.back, NodeId(1), CoreId::ONE).expect("an end");
            let requests = agent.outbox(Name(7), &statics.requests, NodeId(1), CoreId::ONE).expect("an end");
            let replies = agent.inbox(Name(8), &statics.replies, NodeId(1), CoreId::ONE).expect("an end");
            statics.rpc.begin(&agent, access).expect("begins once");
            let mut client = statics.rpc.client(&agent, Name(9), ThreadId(0), requests, replies).expect("a door");
            tasks.push(Box::pin(async move {
                for round in 0..statics.rounds {
                    trace(core, &agent);
                    set(core, &watch, round);
                    exchange(core, &mut out, &mut into, round).await;
                    exchange(core, &mut link_out, &mut link_in, round).await;
                    assert!(statics.links[0].report().is_some(), "a report is never in the way");
                    check(core);
                    assert_eq!(client.call(&round).await, Ok(round + 1), "a call returns");
                    check(core);
                }
                count(core, |counts| counts.is_done = true);
            }));
            tasks.push(Box::pin(async move { agent.pump(&statics.links[0]).await }));
        }
        1 => {
            let into = agent.inbox(Name(5), &statics.there, NodeId(0), CoreId::ZERO).expect("an end");
            let out = agent.outbox(Name(6), &statics.back, NodeId(0), CoreId::ZERO).expect("an end");
            let requests = agent.inbox(Name(7), &statics.requests, NodeId(0), CoreId::ZERO).expect("an end");
            let replies = agent.outbox(Name(8), &statics.replies, NodeId(0), CoreId::ZERO).expect("an end");
            statics.rpc.begin(&agent, access).expect("begins once");
            let mut server = statics.rpc.server(&agent, Name(9), [(requests, replies)]).expect("a door");
            tasks.push(Box::pin(echo(core, agent, into, out)));
            tasks.push(Box::pin(async move {
                loop {
                    let Ok(request) = server.next().await else { panic!("a request is refused") };
                    check(core);
                    let reply = request.body + 1;
                    request.reply(&reply).await.expect("a reply is not refused");
                    check(core);
                    set(core, &watch, reply);
                }
            }));
        }
        _ => {
            let (out, into) = serial(0);
            tasks.push(Box::pin(echo(core, agent, into, out)));
            tasks.push(Box::pin(async move { agent.pump(&statics.links[1]).await }));
        }
    }
    allow_application(core, on_application);
    // The set-up is over when the last core comes here.
    let ready = {
        let mut state = statics.world.lock();
        state.ready += 1;
        state.ready
    };
    if ready == super::world::CORES {
        statics.world.lock().counts = true;
    }
    while !statics.world.lock().counts {
        seat.give_way();
    }
    agent.start().expect("starts once");
    check(core);
    execute(tasks);
}

/// Runs tasks for ever.
fn execute(mut tasks: Vec<Task>) -> ! {
    let flags: Vec<_> = tasks.iter().map(|_| Arc::new(Flag(AtomicBool::new(true)))).collect();
    loop {
        let mut over = Vec::new();
        for (index, (task, flag)) in tasks.iter_mut().zip(&flags).enumerate() {
            let waker: Waker = Arc::clone(flag).into();
            if flag.0.swap(false, Ordering::Relaxed) && task.as_mut().poll(&mut Context::from_waker(&waker)).is_ready()
            {
                over.push(index);
            }
        }
        for index in over {
            tasks[index] = Box::pin(core::future::pending());
        }
        Preempt::masked(|| {
            if !flags.iter().any(|flag| flag.0.load(Ordering::Relaxed)) {
                Preempt::wait_for_interrupt();
            }
        });
    }
}

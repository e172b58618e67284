//! The baton: which core runs, which interrupts are pending, and what the plan says comes in between.
extern crate std;
use super::line::Wire;
use super::{Preempt, SEAT};
use crate::doorbell::Doorbells;
use crate::fault::{Fault, FaultHandlers};
use crate::lock::CoreLock;
use crate::platform::{Bell, CoreId, Platform as _};
use crate::receive_ring::ReceiveRing;
use crate::retained::Retained;
use crate::sync::Mutant;
use crate::sync::atomic::AtomicU32;
use crate::time::TimeLine;
use core::cell::Cell;
use core::task::Waker;
use corosensei::{Coroutine, Yielder};
use std::boxed::Box;
use std::collections::VecDeque;
use std::string::{String, ToString};
use std::sync::{Mutex, MutexGuard};
use std::vec::Vec;
use stillpoint_core::time::Counts;

/// The cores of both boards: core 0 and 1 of board A, core 0 of board B.
pub(super) const CORES: usize = 3;
/// The host, which has no interrupts.
pub(super) const HOST: usize = CORES;

/// An interrupt of a core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Irq {
    /// The urgent bell, above all others.
    Urgent,
    Mailbox,
    /// A byte arrived at the UART.
    Receive,
    /// The UART has sent a byte.
    Send,
    Alarm,
    /// The application's own interrupt, whose handler raises events.
    Application,
}

/// What comes in between.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Act {
    /// An interrupt of a core is raised.
    Raise(usize, Irq),
    /// The core crashes at its next point.
    Crash(usize),
    /// Another core, or the host, goes on.
    Switch(usize),
    /// The host halts the system through this node.
    Halt(usize),
    /// The same, and the command is in the node's block at this very point.
    HaltNow(usize),
    /// The host stops this node alone, and lets it go on after a while.
    Suspend(usize),
    /// The UART of this core overruns: the next byte is lost.
    Lose(usize),
    /// The next byte on the line to this core is read wrong.
    Garble(usize),
}

pub(super) struct CoreState {
    pub masked: bool,
    active: u8,
    pending: u8,
    pub asleep: bool,
    /// When a parked core that sleeps goes on although nothing is pending.
    wakes_at: Option<u64>,
    crash: bool,
    pub crashed: bool,
    pub line: TimeLine,
    pub timers: Vec<(u64, Waker)>,
    /// What the application's interrupt does.
    pub on_application: Option<fn(usize)>,
}

pub(super) struct State {
    current: usize,
    /// Points since the baton was handed over.
    turn: u32,
    pub cores: [CoreState; CORES],
    pub wires: [Wire; CORES],
    plan: VecDeque<(u64, Act)>,
    /// Points since the set-up was over.
    pub points: u64,
    pub counts: bool,
    total: u64,
    pub time: u64,
    jumps: u32,
    pub outcome: Option<Result<(), String>>,
    /// How many cores are set up.
    pub ready: usize,
    /// The halt that the host waits for, for how many turns, and since when.
    waits: (u16, u32, u64),
    /// What the plan asked the host for.
    pub requests: VecDeque<Act>,
    /// The host is writing a command or waits for its answer.
    pub commands: bool,
    /// The core that was rung last for a command, and the command's number.
    pub rung: Option<(usize, u32)>,
}

/// What the cores of a board share.
pub(super) struct Board {
    pub doorbells: Doorbells<Preempt>,
    pub handlers: FaultHandlers<Preempt>,
    pub retained: [Retained; 2],
    pub lock: CoreLock<Preempt>,
}

pub(super) struct World {
    pub state: Mutex<State>,
    /// How each actor lets the others go on.
    yielders: [Cell<*const Yielder<(), ()>>; CORES + 1],
    pub mutant: Option<Mutant>,
    pub boards: [Board; 2],
    pub received: [ReceiveRing<Preempt, 32>; CORES],
    /// What the driver of each UART counted.
    pub overruns: [AtomicU32; CORES],
}

/// The unwinding of a core at the end of its world.
struct TheEnd;

// SAFETY: all actors of a world run on one thread.
unsafe impl Sync for World {}

/// Who a thread is.
#[derive(Clone, Copy)]
pub(super) struct Seat {
    world: &'static World,
    pub actor: usize,
}

impl World {
    pub fn new(plan: &[(u64, Act)], mutant: Option<Mutant>) -> Self {
        let core = || CoreState {
            masked: false,
            active: 0,
            pending: 0,
            asleep: false,
            wakes_at: None,
            crash: false,
            crashed: false,
            line: TimeLine::new(),
            timers: Vec::new(),
            on_application: None,
        };
        let board = || Board {
            doorbells: Doorbells::new(),
            handlers: FaultHandlers::new(),
            retained: [const { Retained::new() }; 2],
            lock: CoreLock::new(),
        };
        let mut plan = plan.to_vec();
        plan.sort_by_key(|(at, _)| *at);
        Self {
            state: Mutex::new(State {
                current: HOST,
                turn: 0,
                cores: [core(), core(), core()],
                wires: [Wire::default(), Wire::default(), Wire::default()],
                plan: plan.into(),
                points: 0,
                counts: false,
                total: 0,
                time: 0,
                jumps: 0,
                outcome: None,
                ready: 0,
                waits: (0, 0, 0),
                requests: VecDeque::new(),
                commands: false,
                rung: None,
            }),
            yielders: [const { Cell::new(core::ptr::null()) }; CORES + 1],
            mutant,
            boards: [board(), board()],
            received: [const { ReceiveRing::new() }; CORES],
            overruns: [const { AtomicU32::new(0) }; CORES],
        }
    }

    pub fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Ends the run. The first outcome counts.
    pub fn finish(&self, outcome: Result<(), String>) {
        self.lock().outcome.get_or_insert(outcome);
    }

    /// Runs all actors, each as a coroutine, until they have ended.
    pub fn run(&'static self, act: impl Fn(usize) + Copy + 'static) {
        let mut actors: Vec<Coroutine<(), (), ()>> = (0..=CORES)
            .map(|actor| {
                Coroutine::new(move |yielder, ()| {
                    self.yielders[actor].set(yielder);
                    SEAT.set(Some(Seat { world: self, actor }));
                    let end = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| act(actor)));
                    self.finish(end.map_err(|payload| said(actor, &*payload)));
                })
            })
            .collect();
        while self.lock().outcome.is_none() {
            let current = self.lock().current;
            actors[current].resume(());
        }
        // Each unwinds at its next point.
        for actor in actors.iter_mut().filter(|actor| actor.started()) {
            while !actor.done() {
                actor.resume(());
            }
        }
        SEAT.set(None);
        // Those that never began have nothing to unwind.
        actors.into_iter().for_each(|actor| {
            if !actor.started() {
                core::mem::drop(actor)
            }
        });
    }
}

/// What a panic says.
fn said(actor: usize, payload: &(dyn core::any::Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().map(ToString::to_string);
    let text = text.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_default();
    std::format!("actor {actor} panicked: {text}")
}

impl CoreState {
    fn is_ready(&self, time: u64) -> bool {
        let wakes = self.wakes_at.is_some_and(|at| at <= time);
        // A parked core sleeps for bells and lines only.
        let pending = if self.wakes_at.is_some() { self.pending & PARK_WAKES } else { self.pending };
        !self.asleep || pending != 0 || wakes || self.crash && !self.crashed
    }

    /// Whether this interrupt is pending.
    pub fn is_pending(&self, irq: Irq) -> bool {
        self.pending >> irq as u8 & 1 != 0
    }

    pub fn unpend(&mut self, irqs: &[Irq]) {
        irqs.iter().for_each(|irq| self.pending &= !(1 << *irq as u8));
    }
}

/// The interrupts that wake a parked core.
const PARK_WAKES: u8 =
    1 << Irq::Urgent as u8 | 1 << Irq::Mailbox as u8 | 1 << Irq::Receive as u8 | 1 << Irq::Send as u8;

impl State {
    fn is_ready(&self, actor: usize) -> bool {
        self.cores.get(actor).is_none_or(|core| core.is_ready(self.time))
    }

    pub fn raise(&mut self, core: usize, irq: Irq) {
        self.cores[core].pending |= 1 << irq as u8;
    }

    /// Whether the host goes on waiting until this halt has reached every node, and how long it has waited.
    pub fn patience(&mut self, halt: u16) -> (bool, u64) {
        let (known, turns, since) = self.waits;
        self.waits = if known == halt { (halt, turns + 1, since) } else { (halt, 0, self.time) };
        // A link that lost a frame asks its peer, which is stopped, more and more rarely, and then sends again.
        (self.waits.1 < 600, self.time - self.waits.2)
    }

    /// Whether every core sleeps.
    pub fn is_settled(&self) -> bool {
        (0..CORES).all(|core| !self.is_ready(core))
    }

    /// Raises the alarm of every core one of whose timers has ended.
    fn ring_alarms(&mut self) {
        let time = self.time;
        for core in 0..CORES {
            let CoreState { line, timers, .. } = &mut self.cores[core];
            let now = line.now(Counts(time as u32)).0;
            if !line.is_frozen() && timers.iter().any(|(at, _)| *at <= now) {
                self.raise(core, Irq::Alarm);
            }
        }
    }

    /// Lets time pass until the next timer ends. False if there is none.
    fn jump(&mut self) -> bool {
        let time = self.time;
        let woken = self.cores.iter().filter(|core| core.asleep).filter_map(|core| core.wakes_at);
        let woken: Vec<u64> = woken.map(|at| at.saturating_sub(time)).collect();
        let next = self.cores.iter_mut().filter(|core| !core.line.is_frozen()).filter_map(|core| {
            let first = core.timers.iter().map(|(at, _)| *at).min()?;
            Some(first.saturating_sub(core.line.now(Counts(time as u32)).0))
        });
        let Some(after) = next.chain(woken).min() else { return false };
        self.jumps += 1;
        self.time += after;
        self.ring_alarms();
        true
    }

    /// The interrupt that the core takes now.
    fn take(&mut self, core: usize) -> Option<Irq> {
        let CoreState { masked, active, pending, .. } = &mut self.cores[core];
        if *masked || *pending == 0 {
            return None;
        }
        let irqs = [Irq::Urgent, Irq::Mailbox, Irq::Receive, Irq::Send, Irq::Alarm, Irq::Application];
        let found = irqs.into_iter().find(|irq| *pending >> *irq as u8 & 1 != 0)?;
        let level = if found == Irq::Urgent { 2 } else { 1 };
        if *active >= level {
            return None;
        }
        *pending &= !(1 << found as u8);
        Some(found)
    }
}

/// So many points a core goes on before another does.
const TURN: u32 = 600;
/// After so many points a run has no end.
const POINTS: u64 = 150_000;
/// So many timers may end before the system has done its work: a lost wake-up hides behind a timer.
const JUMPS: u32 = 400;

impl Seat {
    pub fn world(self) -> &'static World {
        self.world
    }

    pub fn board(self) -> &'static Board {
        &self.world.boards[self.actor / 2 % 2]
    }

    pub fn core(self) -> CoreId {
        if self.actor == 1 { CoreId::ONE } else { CoreId::ZERO }
    }

    /// The actor that is `core` of this board.
    pub fn neighbour(self, core: CoreId) -> usize {
        self.actor / 2 * 2 + core.index()
    }

    fn end() {
        std::panic::resume_unwind(Box::new(TheEnd));
    }

    pub fn point(self) {
        if std::thread::panicking() {
            return;
        }
        let mut state = self.world.lock();
        if state.outcome.is_some() {
            drop(state);
            return Self::end();
        }
        state.total += 1;
        if state.total > POINTS {
            drop(state);
            self.world.finish(Err(std::format!("the run has no end: {}", super::host::describe())));
            return Self::end();
        }
        if state.counts {
            state.points += 1;
            let points = state.points;
            while state.plan.front().is_some_and(|(at, _)| *at <= points)
                && let Some((_, act)) = state.plan.pop_front()
            {
                state = self.act(state, act);
            }
        }
        state.turn += 1;
        if state.turn > TURN {
            // The cores run in parallel: none keeps the others from going on.
            state = self.pass_on(state);
        }
        drop(state);
        self.interrupts();
    }

    /// Lets the next core that is ready go on.
    fn pass_on<'a>(self, mut state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        state.time += if self.actor == HOST { 100_000 } else { 400 };
        state.ring_alarms();
        let mut others = (1..=CORES).map(|step| (self.actor + step) % (CORES + 1));
        match others.find(|actor| state.is_ready(*actor)) {
            Some(next) => self.hand_over(state, next),
            None => state,
        }
    }

    fn act<'a>(self, mut state: MutexGuard<'a, State>, act: Act) -> MutexGuard<'a, State> {
        match act {
            Act::Raise(core, irq) => state.raise(core, irq),
            Act::Crash(core) => state.cores[core].crash = true,
            Act::Switch(to) if to != self.actor && state.is_ready(to) => state = self.hand_over(state, to),
            Act::Switch(_) => {}
            Act::HaltNow(core) if !state.commands => {
                state.rung = Some((core, super::host::halt_now(core)));
                state.raise(core, Irq::Urgent);
            }
            Act::HaltNow(core) => state.requests.push_back(Act::Halt(core)),
            Act::Halt(_) | Act::Suspend(_) => state.requests.push_back(act),
            Act::Lose(core) => state.wires[core].lose(),
            Act::Garble(core) => state.wires[core].garble(),
        }
        state
    }

    fn hand_over<'a>(self, mut state: MutexGuard<'a, State>, to: usize) -> MutexGuard<'a, State> {
        (state.current, state.turn) = (to, 0);
        while state.current != self.actor && state.outcome.is_none() {
            drop(state);
            // SAFETY: the yielder lives as long as its coroutine, which this is.
            unsafe { &*self.world.yielders[self.actor].get() }.suspend(());
            SEAT.set(Some(self));
            state = self.world.lock();
        }
        state
    }

    /// Takes the interrupts that are pending and open, and crashes if the plan says so.
    fn interrupts(self) {
        if self.actor == HOST {
            return;
        }
        loop {
            let mut state = self.world.lock();
            if state.outcome.is_some() {
                drop(state);
                return Self::end();
            }
            let core = &mut state.cores[self.actor];
            if core.crash && !core.crashed {
                (core.crashed, core.masked) = (true, true);
                drop(state);
                Preempt::abandon_lock();
                self.board().handlers.handle(&Fault { cause: 3, ..Fault::default() });
                unreachable!("the agent handles crashes");
            }
            let Some(irq) = state.take(self.actor) else { return };
            let before = state.cores[self.actor].active;
            state.cores[self.actor].active = if irq == Irq::Urgent { 2 } else { 1 };
            drop(state);
            self.handle(irq);
            let mut state = self.world.lock();
            state.cores[self.actor].active = before;
        }
    }

    fn handle(self, irq: Irq) {
        match irq {
            Irq::Urgent => self.board().doorbells.answer_urgent(),
            Irq::Mailbox => self.board().doorbells.answer(),
            Irq::Receive => super::line::on_receive(self),
            Irq::Send => super::line::on_send(self),
            Irq::Alarm => super::platform::on_alarm(self),
            Irq::Application => {
                let handler = self.world.lock().cores[self.actor].on_application;
                if let Some(handler) = handler {
                    handler(self.actor);
                }
            }
        }
    }

    /// Lets the next core that is ready go on: this one waits for another.
    pub fn give_way(self) {
        if std::thread::panicking() {
            return;
        }
        drop(self.pass_on(self.world.lock()));
        self.point();
    }

    /// Sleeps in a park until something that is served there comes in, or so many counts have passed.
    pub fn sleep_parked(self, at_most: Counts<u32>) {
        let mut state = self.world.lock();
        state.cores[self.actor].wakes_at = Some(state.time.saturating_add(at_most.0.into()));
        drop(state);
        self.sleep();
        self.world.lock().cores[self.actor].wakes_at = None;
    }

    /// Silences the bells that have rung at this core, as whoever sleeps with interrupts masked must.
    pub fn silence_bells(self) {
        self.point();
        let mut state = self.world.lock();
        let core = &mut state.cores[self.actor];
        let is_mailbox = core.is_pending(Irq::Mailbox);
        core.unpend(&[Irq::Urgent, Irq::Mailbox]);
        drop(state);
        if is_mailbox {
            self.board().doorbells.answer();
        }
    }

    /// Sleeps until an interrupt is pending.
    pub fn sleep(self) {
        let mut state = self.world.lock();
        state.cores[self.actor].asleep = true;
        while !state.is_ready(self.actor) && state.outcome.is_none() {
            let mut others = (1..=CORES).map(|step| (self.actor + step) % (CORES + 1));
            let next = others.find(|actor| state.is_ready(*actor)).unwrap_or(HOST);
            state = self.hand_over(state, next);
        }
        state.cores[self.actor].asleep = false;
        drop(state);
        self.point();
    }

    /// Whether nothing but a timer can make any core go on; then one has, unless there is none.
    pub fn is_idle(self) -> bool {
        let mut state = self.world.lock();
        if (0..CORES).any(|core| state.is_ready(core)) {
            return false;
        }
        if state.jumps < JUMPS && state.jump() {
            return false;
        }
        true
    }

    pub fn ring(self, core: CoreId, bell: Bell) {
        let mut state = self.world.lock();
        let to = self.neighbour(core);
        match bell {
            Bell::Urgent => state.raise(to, Irq::Urgent),
            // For the executor's bell, having left the sleep is enough.
            Bell::Mailbox | Bell::Executor => state.raise(to, Irq::Mailbox),
        }
    }
}

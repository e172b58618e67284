//! A program run against the shipped gate, event by event.
use super::{Entry, Fragment, Place, Program};
use std::collections::BTreeMap;
use stillpoint_core::NodeId;
use stillpoint_core::delay::{
    Access, Ask, Central, Delay, Effect, NodeSet, Notice, NoticeError, Satellite, Step, Tell, ThreadId, Verdict,
};

/// The most threads a simulated program can have.
pub const THREADS: usize = 8;
/// The most nodes a simulated program can have.
pub const NODES: usize = 8;

/// The table of a simulated system.
pub type Table = Access<THREADS, NODES>;

/// What guards a door: the shipped `Central`, or a faulty one that a test must catch.
pub trait Door {
    /// May this thread enter?
    fn ask(&mut self, ask: Ask, now: u64) -> Vec<Effect>;
    /// A thread is suspended or goes on.
    fn hear(&mut self, notice: Notice, now: u64) -> Result<Vec<Effect>, NoticeError>;
    /// The alarm has rung.
    fn recheck(&mut self, now: u64) -> Vec<Effect>;
    /// When to ring it.
    fn next_alarm(&self) -> Option<u64>;
}

impl Door for Central<THREADS, NODES> {
    fn ask(&mut self, ask: Ask, now: u64) -> Vec<Effect> {
        match self.ask(ask, now).expect("a simulated thread asks once") {
            Verdict::Enter { delay } => vec![Effect::Admit { thread: ask.thread(), server: ask.server(), delay }],
            Verdict::Weighed(effects) => effects.collect(),
        }
    }

    fn hear(&mut self, notice: Notice, now: u64) -> Result<Vec<Effect>, NoticeError> {
        self.hear(notice, now).map(Iterator::collect)
    }

    fn recheck(&mut self, now: u64) -> Vec<Effect> {
        self.recheck(now).expect("simulated time only rises").collect()
    }

    fn next_alarm(&self) -> Option<u64> {
        self.next_alarm()
    }
}

/// Who guards the doors, and how long a notice takes to another node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Every node guards its own door; otherwise one central debugger guards all of them.
    pub door_per_node: bool,
    /// The most ticks until another node hears a notice; a node hears itself at once. The time depends on the two
    /// nodes, so notices between them stay in order, and a thread or a notice by another way can overtake one.
    pub latency: u64,
}

impl Layout {
    fn latency_between(self, from: NodeId, to: NodeId) -> u64 {
        if self.latency == 0 { 0 } else { 1 + (u64::from(from.0) * 3 + u64::from(to.0) * 5) % self.latency }
    }
}

/// What a simulated run showed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// Every call and return, in the order they were let in.
    pub entries: Vec<Entry>,
    /// How many of them had to wait.
    pub held: usize,
    /// How many notices were sent from node to node.
    pub notices: usize,
}

/// Nothing is left that could ever happen, and some threads have not finished.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stuck {
    /// Those threads.
    pub threads: Vec<usize>,
}

/// Runs a program against the shipped gate.
pub fn simulate(program: &Program, layout: Layout) -> Result<Run, Stuck> {
    simulate_with(program, layout, |guarded, access| Box::new(Central::new(guarded, access)))
}

/// Runs a program against a gate made by `door`.
pub fn simulate_with(
    program: &Program,
    layout: Layout,
    door: impl Fn(NodeSet, Table) -> Box<dyn Door>,
) -> Result<Run, Stuck> {
    let mut access = Table::NONE;
    for place in program.places() {
        access.allow(ThreadId(place.thread as u8), NodeId(program.node(place))).expect("a small program");
    }
    let all = NodeSet::first(NODES);
    let doors = if layout.door_per_node {
        all.iter().map(|node| door(NodeSet::EMPTY.with(node), access)).collect()
    } else {
        vec![door(all, access)]
    };
    let mut system = System {
        program,
        layout,
        satellites: all.iter().map(|node| Satellite::new(node, access)).collect(),
        doors,
        threads: Vec::new(),
        post: BTreeMap::new(),
        now: 0,
        run: Run { entries: Vec::new(), held: 0, notices: 0 },
    };
    system.start();
    while system.tick() {}
    let unfinished: Vec<_> = (0..system.threads.len()).filter(|&i| system.threads[i].doing != Doing::Done).collect();
    if unfinished.is_empty() { Ok(system.run) } else { Err(Stuck { threads: unfinished }) }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Doing {
    Running { until: u64 },
    Stopped { until: u64 },
    AtDoor,
    Done,
}

struct Thread {
    fragment: usize,
    /// The nodes whose calls are open, the caller of all at the bottom.
    callers: Vec<u8>,
    doing: Doing,
}

struct System<'a> {
    program: &'a Program,
    layout: Layout,
    satellites: Vec<Satellite<THREADS, NODES>>,
    doors: Vec<Box<dyn Door>>,
    threads: Vec<Thread>,
    /// Notices under way, by when they arrive and then in the order they were sent.
    post: BTreeMap<(u64, usize), (NodeId, Notice)>,
    now: u64,
    run: Run,
}

impl System<'_> {
    fn start(&mut self) {
        for (i, row) in self.program.threads.iter().enumerate() {
            let first = row[0];
            let satellite = &mut self.satellites[usize::from(first.node)];
            let notices = satellite.start(ThreadId(i as u8), Delay::default(), 0).expect("its home");
            assert_eq!(notices.count(), 0, "nobody is stopped yet");
            let doing = Doing::Running { until: first.run };
            self.threads.push(Thread { fragment: 0, callers: Vec::new(), doing });
        }
    }

    /// Goes to the next time at which something happens, and lets it happen.
    fn tick(&mut self) -> bool {
        let waking = self.threads.iter().filter_map(|thread| match thread.doing {
            Doing::Running { until } | Doing::Stopped { until } => Some(until),
            Doing::AtDoor | Doing::Done => None,
        });
        let alarms = self.doors.iter().filter_map(|door| door.next_alarm());
        let arrivals = self.post.keys().map(|&(at, _)| at);
        let Some(next) = waking.chain(alarms).chain(arrivals).min() else { return false };
        self.now = self.now.max(next);
        self.deliver_what_is_due();
        for i in 0..self.threads.len() {
            match self.threads[i].doing {
                Doing::Running { until } if until <= self.now => self.end_of_run(i),
                Doing::Stopped { until } if until <= self.now => self.end_of_stop(i),
                _ => {}
            }
            self.deliver_what_is_due();
        }
        for door in 0..self.doors.len() {
            if self.doors[door].next_alarm().is_some_and(|at| at <= self.now) {
                let effects = self.doors[door].recheck(self.now);
                assert!(!effects.is_empty(), "an alarm that was due at {} lets somebody in", self.now);
                self.perform(door, effects);
                self.deliver_what_is_due();
            }
        }
        true
    }

    fn deliver_what_is_due(&mut self) {
        while let Some(entry) = self.post.first_entry().filter(|entry| entry.key().0 <= self.now) {
            let (node, notice) = entry.remove();
            self.deliver(node, notice);
        }
    }

    fn end_of_run(&mut self, i: usize) {
        let Fragment { node, stop, .. } = self.program.threads[i][self.threads[i].fragment];
        if stop == 0 {
            return self.advance(i);
        }
        let told = self.satellites[usize::from(node)].stop(ThreadId(i as u8), self.now).expect("it is here").collect();
        self.tell(NodeId(node), told);
        self.threads[i].doing = Doing::Stopped { until: self.now + stop };
    }

    fn end_of_stop(&mut self, i: usize) {
        let node = self.program.threads[i][self.threads[i].fragment].node;
        let told =
            self.satellites[usize::from(node)].resume(ThreadId(i as u8), self.now).expect("it is here").collect();
        self.tell(NodeId(node), told);
        self.advance(i);
    }

    /// On to the thread's next fragment, through a door if it is on another node.
    fn advance(&mut self, i: usize) {
        self.deliver_what_is_due();
        let row = &self.program.threads[i];
        let thread = &mut self.threads[i];
        let (id, from) = (ThreadId(i as u8), row[thread.fragment].node);
        thread.fragment += 1;
        let Some(next) = row.get(thread.fragment) else {
            thread.doing = Doing::Done;
            let told = self.satellites[usize::from(from)].end(id, self.now).expect("it is here").collect();
            return self.tell(NodeId(from), told);
        };
        if next.node == from {
            thread.doing = Doing::Running { until: self.now + next.run };
            return;
        }
        let step = if thread.callers.last() == Some(&next.node) {
            thread.callers.pop();
            Step::Return
        } else {
            thread.callers.push(from);
            Step::Call
        };
        thread.doing = Doing::AtDoor;
        let passage = self.satellites[usize::from(from)].leave(id, step, self.now).expect("it runs here");
        let ask = self.satellites[usize::from(next.node)].arrive(passage, self.now).expect("it may enter there");
        let door = self.door_of(NodeId(next.node));
        let effects = self.doors[door].ask(ask, self.now);
        self.perform(door, effects);
        self.run.held += usize::from(self.threads[i].doing == Doing::AtDoor);
    }

    fn perform(&mut self, door: usize, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::Tell(tell) => self.tell(NodeId(door as u8), vec![tell]),
                Effect::Admit { thread, server, delay } => {
                    let i = usize::from(thread.0);
                    let satellite = &mut self.satellites[usize::from(server.0)];
                    let told = satellite.admit(thread, delay, self.now).expect("it waits at the door").collect();
                    let place = Place { thread: i, fragment: self.threads[i].fragment };
                    self.run.entries.push(Entry { place, at: self.now, delay: delay.ticks });
                    let run = self.program.threads[i][place.fragment].run;
                    self.threads[i].doing = Doing::Running { until: self.now + run };
                    self.tell(server, told);
                }
            }
        }
    }

    fn tell(&mut self, from: NodeId, told: Vec<Tell>) {
        for Tell { to, notice } in told {
            let (own, others): (Vec<_>, Vec<_>) = to.iter().partition(|&node| node == from);
            for node in own {
                self.deliver(node, notice);
            }
            for node in others {
                self.run.notices += 1;
                let at = self.now + self.layout.latency_between(from, node);
                self.post.insert((at, self.run.notices), (node, notice));
            }
        }
    }

    fn deliver(&mut self, node: NodeId, notice: Notice) {
        let door = self.door_of(node);
        match self.doors[door].hear(notice, self.now) {
            Ok(effects) => self.perform(door, effects),
            Err(error) => self.only_if_overtaken(error),
        }
        match self.satellites[usize::from(node.0)].hear(notice, self.now).map(Iterator::collect) {
            Ok(told) => self.tell(node, told),
            Err(error) => self.only_if_overtaken(error),
        }
    }

    /// A notice that takes time can be overtaken by the thread it is about; nothing else is ever refused.
    fn only_if_overtaken(&self, error: NoticeError) {
        assert!(self.layout.latency > 0 && matches!(error, NoticeError::Stale { .. }), "{error}");
    }

    fn door_of(&self, node: NodeId) -> usize {
        if self.layout.door_per_node { usize::from(node.0) } else { 0 }
    }
}

//! Three nodes on two boards: mailboxes and calls between the cores of board A, a serial link between the boards.
extern crate std;
use super::app::{self, Counts};
use super::line::Uart;
use super::reference::Stopped;
use super::world::{Act, CORES, HOST, Irq, World};
use super::{Preempt, SEAT, host, reference};
use crate::agent::{Agent, Agents, Locals, Shared};
use crate::channel::Channel;
use crate::rpc::{Envelope, Rpc};
use crate::serial::Serial;
use crate::sync::Mutant;
use std::boxed::Box;
use std::string::String;
use std::sync::Mutex;
use stillpoint_core::Phase;

pub(super) const NODES: usize = 3;
pub(super) const PORTS: usize = 6;
pub(super) const LOG: usize = 4096;

pub(super) type Board = Agents<Preempt, NODES, PORTS, LOG>;
pub(super) type Core = Agent<Preempt, NODES, PORTS, LOG>;
pub(super) type Link = Serial<Preempt, Uart, Uart>;

/// Everything that is a static in firmware.
pub(super) struct Statics {
    pub world: World,
    /// How often the applications do everything.
    pub rounds: u32,
    blocks: [Shared<NODES, PORTS, LOG>; 2],
    locals: [Locals<Preempt, NODES, PORTS>; 2],
    pub agents: [Option<Board>; 2],
    pub there: Channel<u32, 2, 64>,
    pub back: Channel<u32, 2, 64>,
    pub requests: Channel<Envelope<u32>, 2, 64>,
    pub replies: Channel<Envelope<u32>, 2, 64>,
    pub link_rings: [[Channel<u32, 2, 64>; 2]; 2],
    pub links: [Link; 2],
    pub rpc: Rpc<Preempt, 1, NODES, 2>,
    pub counts: [Mutex<Counts>; CORES],
    /// The control blocks as they were when their revisions were stored.
    pub published: Mutex<std::vec::Vec<host::Snapshot>>,
    /// What each node's state was when it stopped for its last halt.
    pub stopped: [Mutex<Option<Stopped>>; CORES],
}

std::thread_local! {
    static STATICS: core::cell::Cell<Option<&'static Statics>> = const { core::cell::Cell::new(None) };
}

/// The statics of the world of this thread.
pub(super) fn statics() -> &'static Statics {
    STATICS.get().expect("a thread of a world")
}

impl Statics {
    fn new(plan: &[(u64, Act)], rounds: u32, mutant: Option<Mutant>) -> Self {
        Self {
            rounds,
            world: World::new(plan, mutant),
            blocks: [Shared::new(), Shared::new()],
            locals: [Locals::new(), Locals::new()],
            agents: [None, None],
            there: Channel::new(),
            back: Channel::new(),
            requests: Channel::new(),
            replies: Channel::new(),
            link_rings: [const { [const { Channel::new() }; 2] }; 2],
            links: [const { Serial::new() }; 2],
            rpc: Rpc::new(),
            counts: Default::default(),
            published: Mutex::default(),
            stopped: Default::default(),
        }
    }

    pub fn board(&'static self, core: usize) -> &'static Board {
        self.agents[core / 2].as_ref().expect("made before the threads")
    }

    /// The control block of a core.
    pub fn block(&'static self, core: usize) -> &'static stillpoint_core::control::ControlBlock<NODES, PORTS> {
        self.board(core).block(core % 2)
    }

    /// The phase of a core's node, unless it is just changing.
    pub fn phase(&'static self, core: usize) -> Option<Phase> {
        self.board(core).peek(core % 2).map(|(phase, _)| phase)
    }
}

/// What a run came to.
pub(super) struct Run {
    pub outcome: Result<(), String>,
    /// How many points there were once the set-up was over.
    pub points: u64,
}

/// Runs the system with this plan.
pub(super) fn run(plan: &[(u64, Act)], rounds: u32, mutant: Option<Mutant>) -> Run {
    let owned = Box::into_raw(Box::new(Statics::new(plan, rounds, mutant)));
    // SAFETY: the memory is freed below, after every thread that uses it has ended.
    let statics: &'static Statics = unsafe {
        for board in 0..2 {
            let (blocks, locals) = (&raw const (*owned).blocks[board], &raw const (*owned).locals[board]);
            (*owned).agents[board] = Some(Agents::new(&*blocks, &*locals));
        }
        &*owned
    };
    STATICS.set(Some(statics));
    statics.world.run(move |actor| if actor == HOST { host::main(statics) } else { app::main(statics, actor) });
    STATICS.set(None);
    let mut state = statics.world.lock();
    let run = Run { outcome: state.outcome.take().unwrap_or(Ok(())), points: state.points };
    drop(state);
    // SAFETY: the threads have ended, and nothing refers to the memory any more.
    drop(unsafe { Box::from_raw(owned) });
    run
}

/// A control block was written whole.
pub(crate) fn published<const N: usize, const P: usize>(block: &stillpoint_core::control::ControlBlock<N, P>) {
    if SEAT.get().is_some()
        && let Some(statics) = STATICS.get()
    {
        let place = core::ptr::from_ref(block).addr();
        let core = (0..CORES).find(|core| core::ptr::from_ref(statics.block(*core)).addr() == place);
        if let Some(core) = core {
            host::note(statics, core);
            reference::note(statics, core);
        }
    }
}

/// Whether an interrupt of the application may be raised at a core: it has begun.
pub(super) fn allow_application(core: usize, handler: fn(usize)) {
    statics().world.lock().cores[core].on_application = Some(handler);
    let _ = Irq::Application;
}

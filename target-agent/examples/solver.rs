//! A system of equations, solved block by block on four cores (Hyder, 1.2.1), with the bug of section 1.2.2 to find.
//!
//! `A x = b`, where A is lower triangular and cut into four by four blocks. Once block j of x is known, the other blocks of b
//! are reduced by column j side by side, `b[i] -= a[i][j] * x[j]`; and a block of b that was reduced by all columns
//! before its own can be solved:
//! ```text
//!   solve  s1          s2          s3          s4            s_j solves block j; m^k_j is the j-th execution of mult k,
//!            \        /  \        /  \        /              which reduces block k+1 by column j
//!   mult1     \- m1_1     \      /    \      /
//!   mult2     |- m2_1 ---- m2_2-/      \    /                A.0 solve   A.1 mult1     mailboxes between cores,
//!   mult3     |- m3_1 ---- m3_2 ------- m3_3                 B.0 mult2   B.1 mult3     a UART from A.0 to B.0
//! ```
//! Blocks of x lie in memory that the two cores of a board share, one `Shared` each; a message says when one can be read. Mult
//! k keeps its block of b to itself and sends it to solve when it is done: in its k-th execution.
//!
//! What you see in the logs: who did what in the first round, and that the solution is right (`solver.out`). Tracepoints
//! `dist`, `solve`, `mult` and `gath` are the actions; the watch `races` counts what a node found, solve's `solved` the rounds.
//!
//! Words of the command line: `board=A` or `board=B`, `rounds=N` (systems to solve, 1 if not given, 0 for no end),
//! `stamps=event`, and for both boards
//! - `bug=sequence`: a mult sends its block in its first execution, whichever it is. The solution is wrong.
//! - `bug=race`: mult2 tells mult3 of a block before it has written it. The solution may be wrong.
#![no_std]
#![no_main]

use embassy_executor::{SpawnToken, Spawner};
use embassy_futures::select::{Either, select};
use serde::{Deserialize, Serialize};
use static_cell::StaticCell;
use stillpoint_agent::platform::uart::{UartRx, UartTx};
use stillpoint_agent::platform::words::argument;
use stillpoint_agent::platform::{self, BoardId, Chip, Platform, uart};
use stillpoint_agent::{
    Channel, CoreId, Executor, Inbox, Line, LinkConfig, NodeId, Outbox, Serial, Shared, SharedHandle, StampKind, here,
    name, trace, watch,
};

stillpoint_agent::system!(AGENTS of Agent: nodes = 4, ports = 4, log = 16384);

const SOLVE: NodeId = NodeId(0);
const MULT: [NodeId; 3] = [NodeId(1), NodeId(2), NodeId(3)];

const BLOCKS: usize = 4;
const SIZE: usize = 2;
type Block = [i32; SIZE];

/// The blocks of x, for the cores of this board.
static X: [Shared<Block>; BLOCKS] = [const { Shared::new([0; SIZE]) }; BLOCKS];

/// What a mult is told.
#[derive(Clone, Copy, Serialize, Deserialize)]
enum Work {
    /// Its block of b.
    Segment { block: u8, b: Block },
    /// A block of x is known; `x` where the teller does not share memory with who is told.
    Column { column: u8, x: Option<Block> },
}

/// A block of b that can be solved.
#[derive(Clone, Copy, Serialize, Deserialize)]
struct Reduced {
    block: u8,
    b: Block,
}

/// From core 0 to core 1 of a board, and back.
static TO_CORE_1: Channel<Work> = Channel::new();
static FROM_CORE_1: Channel<Reduced> = Channel::new();
/// From board A to board B, and back.
static TO_B: Channel<Work> = Channel::new();
static FROM_B: Channel<Reduced> = Channel::new();
static LINK: Serial<UartRx, UartTx> = Serial::new();

/// What the command line asks for.
#[derive(Clone, Copy)]
struct Wanted {
    rounds: u32,
    stamps: StampKind,
    sequence_bug: bool,
    race_bug: bool,
}

/// An element of A.
const fn a(row: usize, column: usize) -> i32 {
    if row == column {
        1
    } else if row > column {
        ((3 * row + 5 * column) % 4) as i32 + 1
    } else {
        0
    }
}

/// The solution of a round, from which its b is made.
fn solution(round: u32) -> [Block; BLOCKS] {
    core::array::from_fn(|block| core::array::from_fn(|row| (SIZE * block + row + 1) as i32 + round as i32))
}

fn right_hand_side(x: &[Block; BLOCKS]) -> [Block; BLOCKS] {
    let mut b = [[0; SIZE]; BLOCKS];
    for (block, b) in b.iter_mut().enumerate() {
        for (column, x) in x.iter().enumerate() {
            reduce(b, block, column, x.map(|x| -x));
        }
    }
    b
}

/// Takes a column of blocks off a block of b: the work of a mult.
fn reduce(b: &mut Block, block: usize, column: usize, x: Block) {
    for (row, b) in b.iter_mut().enumerate() {
        *b -= (0..SIZE).map(|at| a(SIZE * block + row, SIZE * column + at) * x[at]).sum::<i32>();
    }
}

/// Solves one block: the work of solve.
fn substitute(mut b: Block, block: usize) -> Block {
    for row in 0..SIZE {
        for before in 0..row {
            b[row] -= a(SIZE * block + row, SIZE * block + before) * b[before];
        }
    }
    b
}

/// The ends of solve's channels.
struct Around {
    to_mult1: Outbox<Work>,
    from_mult1: Inbox<Reduced>,
    to_b: Outbox<Work>,
    from_b: Inbox<Reduced>,
}

#[embassy_executor::task]
async fn solve(agent: Agent, mut around: Around, x: [SharedHandle<Block>; BLOCKS], wanted: Wanted) {
    let solved_so_far = watch!(agent, "solved").unwrap();
    let mut round = 0;
    while wanted.rounds == 0 || round < wanted.rounds {
        let expected = solution(round);
        let mut b = right_hand_side(&expected);
        trace!(agent, "dist");
        around.to_mult1.send(&Work::Segment { block: 1, b: b[1] }).await.unwrap();
        for block in [2, 3] {
            around.to_b.send(&Work::Segment { block, b: b[usize::from(block)] }).await.unwrap();
        }
        for column in 0..BLOCKS as u8 {
            let block = usize::from(column);
            b[block] = match column {
                0 => b[0],
                1 => around.from_mult1.recv().await.unwrap().b,
                _ => reduced(&mut around.from_b, column).await,
            };
            trace!(agent, "solve");
            let solved = substitute(b[block], block);
            x[block].write(here!(), |x| *x = solved);
            if round == 0 {
                defmt::info!("block {} is {}", column + 1, solved);
            }
            if column == 0 {
                around.to_mult1.send(&Work::Column { column, x: None }).await.unwrap();
            }
            if column < 3 {
                around.to_b.send(&Work::Column { column, x: Some(solved) }).await.unwrap();
            }
        }
        trace!(agent, "gath");
        let found = x.map(|x| x.read(here!(), |x| *x));
        if round == 0 {
            defmt::info!("the solution is {}", if found == expected { "right" } else { "wrong" });
        }
        round += 1;
        solved_so_far.set(round as i32);
    }
}

/// A block that comes from board B, where two mults work.
async fn reduced(from: &mut Inbox<Reduced>, block: u8) -> Block {
    loop {
        let reduced = from.recv().await.unwrap();
        if reduced.block == block {
            return reduced.b;
        }
    }
}

/// What a mult knows.
struct Mult {
    agent: Agent,
    /// Which mult: it works on the block of b after as many columns.
    index: u8,
    b: Block,
    executions: u8,
    /// The execution in which it sends its block.
    due: u8,
    logs: bool,
}

impl Mult {
    fn new(agent: Agent, index: u8, wanted: Wanted) -> Self {
        // The bug of 1.2.2: the block is sent without a look at the number of the execution.
        let due = if wanted.sequence_bug { 1 } else { index };
        Self { agent, index, b: [0; SIZE], executions: 0, due, logs: true }
    }

    fn begin(&mut self, b: Block) {
        (self.b, self.executions) = (b, 0);
    }

    /// One execution. What it sends then, if anything.
    fn execute(&mut self, column: u8, x: Block) -> Option<Reduced> {
        trace!(self.agent, "mult");
        reduce(&mut self.b, self.index.into(), column.into(), x);
        self.executions += 1;
        if self.logs {
            defmt::info!("execution {} by column {}", self.executions, column + 1);
        }
        self.logs &= self.executions < self.index;
        (self.executions == self.due).then_some(Reduced { block: self.index, b: self.b })
    }
}

/// Mult 1 or 3, on core 1: reads x from the memory that it shares with core 0.
#[embassy_executor::task]
async fn mult_of_core_1(
    mut mult: Mult,
    mut work: Inbox<Work>,
    mut done: Outbox<Reduced>,
    x: [SharedHandle<Block>; BLOCKS],
) {
    loop {
        match work.recv().await.unwrap() {
            Work::Segment { b, .. } => mult.begin(b),
            Work::Column { column, .. } => {
                let x = x[usize::from(column)].read(here!(), |x| *x);
                if let Some(reduced) = mult.execute(column, x) {
                    done.send(&reduced).await.unwrap();
                }
            }
        }
    }
}

/// The ends of mult 2's channels.
struct Between {
    work: Inbox<Work>,
    to_mult3: Outbox<Work>,
    from_mult3: Inbox<Reduced>,
    done: Outbox<Reduced>,
}

/// Mult 2, on core 0 of board B: hands mult 3 its work, and sends on what mult 3 is done with.
#[embassy_executor::task]
async fn mult_2(mut mult: Mult, between: Between, x: [SharedHandle<Block>; BLOCKS], wanted: Wanted) {
    let Between { mut work, mut to_mult3, mut from_mult3, mut done } = between;
    loop {
        let work = match select(work.recv(), from_mult3.recv()).await {
            Either::First(work) => work.unwrap(),
            Either::Second(reduced) => {
                done.send(&reduced.unwrap()).await.unwrap();
                continue;
            }
        };
        match work {
            Work::Segment { block: 2, b } => mult.begin(b),
            Work::Segment { .. } => to_mult3.send(&work).await.unwrap(),
            Work::Column { x: None, .. } => {}
            Work::Column { column, x: Some(value) } => {
                let (shared, news) = (&x[usize::from(column)], Work::Column { column, x: None });
                if wanted.race_bug {
                    to_mult3.send(&news).await.unwrap();
                    shared.write(here!(), |x| *x = value);
                } else {
                    shared.write(here!(), |x| *x = value);
                    to_mult3.send(&news).await.unwrap();
                }
                if column < mult.index
                    && let Some(reduced) = mult.execute(column, value)
                {
                    done.send(&reduced).await.unwrap();
                }
            }
        }
    }
}

#[embassy_executor::task]
async fn pump(agent: Agent) {
    agent.pump(&LINK).await;
}

fn spawn<S>(spawner: Spawner, task: Result<SpawnToken<S>, embassy_executor::SpawnError>) {
    spawner.spawn(task.expect("the task is spawned once"));
}

/// The calling core's end of the UART between the boards.
fn line() -> Line<UartRx, UartTx> {
    let (receiver, sender) = uart::open(1, 115_200).expect("UART1 is free");
    Line { receiver: receiver.claim(), sender: sender.claim() }
}

fn share_x(agent: Agent) -> [SharedHandle<Block>; BLOCKS] {
    agent.watch_races(name!(watch "races")).unwrap();
    let names = [name!(shared "x1"), name!(shared "x2"), name!(shared "x3"), name!(shared "x4")];
    core::array::from_fn(|block| agent.share(names[block], &X[block]))
}

/// Core 1 of either board: a mult between two channels.
fn core_1(executor: &'static StaticCell<Executor>, index: u8, peer: NodeId, wanted: Wanted) -> ! {
    let name = match index {
        1 => name!(node "mult1"),
        _ => name!(node "mult3"),
    };
    let agent = AGENTS.begin(name, MULT[usize::from(index) - 1], wanted.stamps).unwrap();
    let work = agent.inbox(name!("work"), &TO_CORE_1, peer, CoreId::ZERO).unwrap();
    let done = agent.outbox(name!("done"), &FROM_CORE_1, peer, CoreId::ZERO).unwrap();
    let x = share_x(agent);
    agent.start().unwrap();
    let executor = executor.init(Executor::new());
    executor.run(|spawner| spawn(spawner, mult_of_core_1(Mult::new(agent, index, wanted), work, done, x)))
}

/// Solve on core 0, which has the UART, mult1 on core 1.
fn board_a(executors: &'static [StaticCell<Executor>; 2], wanted: Wanted) -> ! {
    Chip::start_core1(move || core_1(&executors[1], 1, SOLVE, wanted)).expect("core 1 is started once");
    let agent = AGENTS.begin(name!(node "solve"), SOLVE, wanted.stamps).unwrap();
    let to_mult1 = agent.outbox(name!("to_mult1"), &TO_CORE_1, MULT[0], CoreId::ONE).unwrap();
    let from_mult1 = agent.inbox(name!("from_mult1"), &FROM_CORE_1, MULT[0], CoreId::ONE).unwrap();
    let (out, into) = ((name!("to_b"), &TO_B), (name!("from_b"), &FROM_B));
    let (to_b, from_b) = agent.serial(&LINK, line(), LinkConfig::BAUD_115200, MULT[1], out, into).unwrap();
    let x = share_x(agent);
    agent.start().unwrap();
    let executor = executors[0].init(Executor::new());
    executor.run(|spawner| {
        spawn(spawner, pump(agent));
        spawn(spawner, solve(agent, Around { to_mult1, from_mult1, to_b, from_b }, x, wanted));
    })
}

/// Mult2 on core 0, which has the UART, mult3 on core 1.
fn board_b(executors: &'static [StaticCell<Executor>; 2], wanted: Wanted) -> ! {
    Chip::start_core1(move || core_1(&executors[1], 3, MULT[1], wanted)).expect("core 1 is started once");
    let agent = AGENTS.begin(name!(node "mult2"), MULT[1], wanted.stamps).unwrap();
    let to_mult3 = agent.outbox(name!("to_mult3"), &TO_CORE_1, MULT[2], CoreId::ONE).unwrap();
    let from_mult3 = agent.inbox(name!("from_mult3"), &FROM_CORE_1, MULT[2], CoreId::ONE).unwrap();
    let (out, into) = ((name!("done"), &FROM_B), (name!("work"), &TO_B));
    let (done, work) = agent.serial(&LINK, line(), LinkConfig::BAUD_115200, SOLVE, out, into).unwrap();
    let x = share_x(agent);
    agent.start().unwrap();
    let executor = executors[0].init(Executor::new());
    executor.run(|spawner| {
        spawn(spawner, pump(agent));
        let mult = Mult::new(agent, 2, wanted);
        spawn(spawner, mult_2(mult, Between { work, to_mult3, from_mult3, done }, x, wanted));
    })
}

#[cortex_m_rt::entry]
fn main() -> ! {
    static EXECUTORS: [StaticCell<Executor>; 2] = [const { StaticCell::new() }; 2];
    platform::init();
    let number = |text: &[u8]| core::str::from_utf8(text).ok().and_then(|text| text.parse().ok());
    let bug = |name: &'static [u8]| argument("bug=", |bug| bug == name).unwrap_or(false);
    let by_event = argument("stamps=", |stamps| stamps == b"event").unwrap_or(false);
    let wanted = Wanted {
        rounds: argument("rounds=", number).flatten().unwrap_or(1),
        stamps: if by_event { StampKind::Event } else { StampKind::Vector },
        sequence_bug: bug(b"sequence"),
        race_bug: bug(b"race"),
    };
    match Chip::board().expect("start the board with the word board=A or board=B") {
        BoardId(0) => board_a(&EXECUTORS, wanted),
        _ => board_b(&EXECUTORS, wanted),
    }
}

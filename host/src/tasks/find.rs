//! The tasks of every board of a halted system.
use super::chain::Follower;
use super::function_name::function_name;
use super::link::{Link, LinkKind};
use super::storage::{Header, Pool, Storage, header, pender_context, pools};
use super::{Task, TaskReport, TaskState};
use crate::backtrace::{Backtrace, FrameKind};
use crate::debug_info::DebugInfo;
use crate::dwarf::{DebugTypes, FutureIndex, Line, Place, Type};
use crate::{Board, Cut, MemoryError, NodeAddress, System, SystemError};

/// A task that was found, and what its header says.
pub(super) struct Seen {
    pub task: Task,
    pub place: Place,
    pub header: Header,
    pub core: Option<usize>,
}

impl System {
    /// The tasks of every board. Boards stay as they are, and no core is stopped if the agent of each has saved its registers.
    ///
    /// Only for a system that is halted: the storage of a task changes while its core runs.
    ///
    /// # Errors
    /// A board could not be reached.
    pub fn tasks(&mut self, debug: &mut DebugInfo) -> Result<TaskReport, SystemError> {
        self.while_frozen(|system| {
            let addresses = system.addresses().into_iter();
            let backtraces: Vec<_> = addresses.map(|at| (at, system.stack_of(at, debug).ok())).collect();
            let cut = system.read_cut()?;
            system.tasks_with(&backtraces, &cut, debug)
        })
    }

    /// Where the core of a node stands, or why that is not known. Only for a system that is halted.
    ///
    /// # Errors
    /// A board could not be reached.
    pub fn core_backtrace(
        &mut self,
        at: NodeAddress,
        debug: &mut DebugInfo,
    ) -> Result<Result<Backtrace, String>, SystemError> {
        self.while_frozen(|system| Ok(system.stack_of(at, debug)))
    }

    /// The backtrace of a core that stands still.
    pub(crate) fn stack_of(&mut self, at: NodeAddress, debug: &mut DebugInfo) -> Result<Backtrace, String> {
        let board = &mut self.boards()[at.board];
        let path = board.firmware().path.clone();
        let unwinder = debug.unwinder(&path).map_err(str::to_owned)?;
        board.backtrace(at.core, unwinder).map_err(|error| error.to_string())
    }

    /// The same with backtraces of the cores that somebody has already.
    pub(crate) fn tasks_with(
        &mut self,
        backtraces: &[(NodeAddress, Option<Backtrace>)],
        cut: &Cut,
        debug: &mut DebugInfo,
    ) -> Result<TaskReport, SystemError> {
        let mut report = TaskReport::default();
        for number in 0..self.boards().len() {
            let board = &mut self.boards()[number];
            let (name, path) = (board.name().to_owned(), board.firmware().path.clone());
            let Some((types, index)) = debug.async_code(&path) else {
                report.notes.push(format!(
                    "board {name}: {} has no debug information of types; build with `debug = 2`",
                    path.display()
                ));
                continue;
            };
            let own = backtraces.iter().filter(|(at, _)| at.board == number);
            let own: Vec<_> = own.map(|(at, backtrace)| (at.core, backtrace.as_ref())).collect();
            let look = Look { types, index, board: number };
            let found = look.tasks(board, &own, &mut report.notes);
            let fail = |source| SystemError::Board { board: name.clone(), source: crate::BoardError::Memory(source) };
            report.tasks.extend(found.map_err(fail)?);
        }
        let order = |task: &Task| (task.on, task.at.map_or(usize::MAX, |at| at.core), task.address);
        report.tasks.sort_by_key(order);
        self.explain_waits(&mut report.tasks, cut, debug);
        Ok(report)
    }
}

/// The debug information that one board is looked at with.
pub(super) struct Look<'a> {
    pub types: &'a DebugTypes,
    pub index: &'a FutureIndex,
    pub board: usize,
}

impl Look<'_> {
    /// The compiler that built the firmware, with its version.
    fn compiler(&self) -> Option<&str> {
        self.index.producers.iter().find(|name| name.contains("rustc")).map(String::as_str)
    }

    /// A note on what is not understood, with the compiler that it may be due to.
    fn with_compiler(&self, note: &str) -> String {
        match self.compiler() {
            Some(name) => format!("{note}; the firmware was built by {name}"),
            None => note.to_owned(),
        }
    }

    fn tasks(
        &self,
        board: &mut Board,
        backtraces: &[(usize, Option<&Backtrace>)],
        notes: &mut Vec<String>,
    ) -> Result<Vec<Task>, MemoryError> {
        let pools = pools(self.types, self.index);
        if pools.is_empty() {
            let path = board.firmware().path.display();
            let why = match self.compiler() {
                Some(_) if !self.types.has_types() => format!(
                    "{path} has debug information of lines only; set `debug = 2` in the profile that it is built with"
                ),
                Some(name) => format!("the debug information of {name} has no task of embassy-executor"),
                None => format!("{path} has no debug information; build it with `debug = 2`"),
            };
            notes.push(format!("board {}: {why}", board.name()));
        }
        let mut seen = Vec::new();
        for pool in &pools {
            self.pool(board, pool, &mut seen)?;
        }
        self.place_executors(board, backtraces, &mut seen);
        self.mark_running(board, backtraces, &mut seen);
        for seen in &mut seen {
            self.describe(board, seen, backtraces);
        }
        Ok(seen.into_iter().map(|seen| seen.task).collect())
    }

    fn pool(&self, board: &mut Board, pool: &Pool, seen: &mut Vec<Seen>) -> Result<(), MemoryError> {
        let (name, cores) = (board.name().to_owned(), board.cores());
        let names: Vec<String> = (0..cores).map(|core| board.node_name(core)).collect();
        let mut follower = Follower::new(self.types, self.index, board.memory());
        let reader = &mut follower.reader;
        let task = |index, of, address| Task {
            node: None,
            board: name.clone(),
            name: pool.path.rsplit("::").next().unwrap_or(&pool.path).to_owned(),
            path: pool.path.clone(),
            instance: (index, of),
            address,
            state: TaskState::NeverSpawned,
            woken: false,
            line: None,
            chain: None,
            backtrace: None,
            waits: Vec::new(),
            note: None,
            at: None,
            on: self.board,
            stale: None,
        };
        // Every header has the same form, so any type of storage will do to read one of a future that is not known.
        let Some(any) = pool.storage.or_else(|| self.index.storages.values().next().copied()) else {
            let mut unknown = task(0, 1, pool.address);
            unknown.state = TaskState::Unknown;
            unknown.note = Some(self.with_compiler("the debug information does not describe its storage"));
            let place = Place { address: pool.address, ty: pool.holder };
            seen.push(Seen { task: unknown, place, header: Header::UNKNOWN, core: None });
            return Ok(());
        };
        let first = header(reader, Place { address: pool.address, ty: any })?;
        let told = first.and_then(|first| self.index.pollers.iter().find(|poller| poller.code.start == first.poll));
        let Some(storage) = pool.storage.or(told.map(|poller| poller.storage)) else {
            let mut unknown = task(0, 1, pool.address);
            if first.is_some_and(|first| first.is_spawned) {
                unknown.state = TaskState::Unknown;
                unknown.note = Some(self.with_compiler("the debug information does not say which future it is"));
            }
            let place = Place { address: pool.address, ty: any };
            seen.push(Seen { task: unknown, place, header: Header::UNKNOWN, core: None });
            return Ok(());
        };
        for Storage { place, index, of } in pool.places(self.types, storage) {
            let Some(header) = header(reader, place)? else { continue };
            let mut task = task(index, of, place.address);
            task.state = match header {
                Header { is_spawned: false, poll: 0, .. } => TaskState::NeverSpawned,
                Header { is_spawned: false, .. } => TaskState::Ended,
                Header { is_queued: true, .. } => TaskState::Ready,
                Header { .. } => TaskState::Waiting,
            };
            let context = match header.executor {
                0 => None,
                executor => pender_context(reader, place, executor).unwrap_or_else(|error| {
                    task.note = Some(format!("damaged: its executor cannot be read: {error}"));
                    None
                }),
            };
            let core = context.and_then(|context| usize::try_from(context).ok()).filter(|core| *core < cores);
            // Embassy's own executor does not say where it runs.
            let core = core.or((header.executor != 0 && cores == 1).then_some(0));
            task.node = core.map(|core| names[core].clone());
            task.at = core.map(|core| NodeAddress { board: self.board, core });
            seen.push(Seen { task, place, header, core });
        }
        Ok(())
    }

    fn describe(&self, board: &mut Board, seen: &mut Seen, backtraces: &[(usize, Option<&Backtrace>)]) {
        let Some(future) = self.types.field(seen.place, "future") else { return };
        match seen.task.state {
            TaskState::Ended | TaskState::NeverSpawned | TaskState::Unknown => {}
            TaskState::Running => {
                seen.task.note = seen.core.and_then(|core| crash(board, core)).or(seen.task.note.take());
                let backtrace = backtraces.iter().find(|(core, _)| Some(*core) == seen.core).and_then(|(_, of)| *of);
                seen.task.backtrace = backtrace.cloned();
                seen.task.line = backtrace.and_then(|of| running_line(of, &seen.task.path));
                let mut follower = Follower::new(self.types, self.index, board.memory());
                seen.task.stale = Some(follower.chain(inside(self.types, future)));
            }
            TaskState::Ready | TaskState::Waiting => {
                let mut follower = Follower::new(self.types, self.index, board.memory());
                let chain = follower.chain(inside(self.types, future));
                seen.task.line = chain.line.clone();
                let unclear = unclear(&chain).or_else(|| {
                    let is_enum = matches!(self.types.get(inside(self.types, future).ty), Type::Choice(_));
                    (is_enum && chain.kind == LinkKind::Future).then_some("the debug information does not say its line")
                });
                seen.task.note = unclear.map(|note| self.with_compiler(note)).or(seen.task.note.take());
                seen.task.chain = Some(chain);
            }
        }
    }
}

/// What a core has crashed with, if it has: the task that it was polling will not go on.
fn crash(board: &mut Board, core: usize) -> Option<String> {
    let fault = board.node(core).ok()?.fault?;
    let what = fault.describe(board.memory()).unwrap_or_else(|error| error.to_string());
    Some(format!("its core has crashed: {what}"))
}

/// What is wrong with a chain of futures, if anything is: memory is damaged, or another compiler describes it differently.
fn unclear(chain: &Link) -> Option<&str> {
    let mut notes = chain.walk().into_iter().filter_map(|(_, link)| link.note.as_deref());
    notes.find(|note| note.starts_with("damaged") || note.starts_with("the debug information does not"))
}

/// The future in its cell, through what is around it.
fn inside(types: &DebugTypes, cell: Place) -> Place {
    let Type::Struct { parameters, .. } = types.get(cell.ty) else { return cell };
    match parameters.first() {
        // The cell holds nothing else, so it begins where the future does.
        Some((_, future)) => Place { address: cell.address, ty: *future },
        None => cell,
    }
}

/// The line of a task's own function that runs: the innermost frame of it, or of user code.
fn running_line(backtrace: &Backtrace, path: &str) -> Option<Line> {
    let frames = backtrace.past_the_agent();
    let own = frames.iter().find(|frame| function_name(&frame.function).starts_with(path));
    let frame = own.or_else(|| frames.iter().find(|frame| frame.kind == FrameKind::User))?;
    Some(Line { file: frame.file.clone()?, line: frame.line? })
}

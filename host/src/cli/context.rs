//! What every command works with.
use super::{CliError, Output, Source};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use stillpoint::config::{BoardConfig, SystemFile, find_system_file};
use stillpoint::dump::{Dump, DumpError};
use stillpoint::owner::{self, Control};
use stillpoint::{Board, OpenError, Session, StateDir, System, did_you_mean};

/// The system file, the boards once they are attached, the way to the user, and Ctrl-C.
///
/// A shell keeps one for all its commands, so that boards are attached to once.
pub struct Context {
    source: Source,
    dump: Option<Arc<Dump>>,
    out: Output,
    interrupted: Arc<AtomicBool>,
    file: Option<Arc<SystemFile>>,
    system: Option<System>,
    /// The probe has stopped cores, and they shall stay so.
    keeps_halted: bool,
    /// The command that runs changes what the boards do.
    wants_control: bool,
    control: Option<Control>,
}

impl Context {
    pub(super) fn new(source: Source, out: Output) -> Result<Self, CliError> {
        let interrupted = Arc::new(AtomicBool::new(false));
        let flag = interrupted.clone();
        // The process must not end between two accesses to a board: a machine may just be stopped for one.
        ctrlc::set_handler(move || flag.store(true, Ordering::Relaxed))
            .map_err(|error| CliError::Usage(format!("cannot listen for Ctrl-C: {error}")))?;
        stillpoint::owner::interrupt_by(interrupted.clone());
        if let Ok(program) = std::env::current_exe() {
            stillpoint::owner::start_by(program);
        }
        // Nothing is stopped yet while a board is being connected to.
        #[cfg(feature = "qemu")]
        qemu_probe::interrupt_connecting_by(interrupted.clone());
        Ok(Self::with(source, out, interrupted))
    }

    fn with(source: Source, out: Output, interrupted: Arc<AtomicBool>) -> Self {
        Self {
            source,
            dump: None,
            out,
            interrupted,
            file: None,
            system: None,
            keeps_halted: false,
            wants_control: false,
            control: None,
        }
    }

    /// The same for one command that works on something else.
    pub(super) fn beside(&self, source: Source, out: Output) -> Self {
        Self::with(source, out, self.interrupted.clone())
    }

    /// The same for one command that looks at a dump.
    pub(super) fn beside_dump(&self, from: PathBuf) -> Self {
        self.beside(Source { system: self.source.system.clone(), from: Some(from) }, self.out)
    }

    /// Where results go.
    #[must_use]
    pub fn out(&self) -> Output {
        self.out
    }

    pub(super) fn set_out(&mut self, out: Output) {
        self.out = out;
    }

    /// The system file that the user named.
    pub(super) fn named_file(&self) -> Option<&Path> {
        self.source.system.as_deref()
    }

    /// The system file, read once.
    pub fn file(&mut self) -> Result<Arc<SystemFile>, CliError> {
        if let Some(file) = &self.file {
            return Ok(file.clone());
        }
        let path = match &self.source.system {
            Some(path) => path.clone(),
            None if self.is_dump() => {
                let saved = self.dump()?.map(|dump| dump.system_file().map_err(DumpError::SystemFile));
                let file = Arc::new(saved.ok_or_else(|| CliError::Usage("there is no dump".into()))??);
                self.file = Some(file.clone());
                return Ok(file);
            }
            None => {
                let here = std::env::current_dir()
                    .map_err(|error| CliError::Usage(format!("cannot tell the current folder: {error}")))?;
                find_system_file(&here)?
            }
        };
        let file = Arc::new(SystemFile::read(&path)?);
        self.file = Some(file.clone());
        Ok(file)
    }

    /// Whether a dump is looked at instead of boards.
    #[must_use]
    pub fn is_dump(&self) -> bool {
        self.source.from.is_some()
    }

    /// The dump that is looked at, read once. What is damaged in it is said then.
    pub fn dump(&mut self) -> Result<Option<Arc<Dump>>, CliError> {
        if let (None, Some(path)) = (&self.dump, &self.source.from) {
            let dump = Dump::open(path)?;
            for damage in &dump.damage {
                self.out.say("damaged", format!("{}: {damage}", path.display()));
            }
            self.dump = Some(Arc::new(dump));
        }
        Ok(self.dump.clone())
    }

    /// Whether a dump was looked at that is damaged.
    pub(super) fn saw_damage(&self) -> bool {
        self.dump.as_ref().is_some_and(|dump| !dump.damage.is_empty())
    }

    /// The system in the dump, if one is looked at. What of its memory is lost is said.
    fn saved_system(&mut self) -> Result<Option<System>, CliError> {
        let Some(dump) = self.dump()? else { return Ok(None) };
        // A system file that was asked for says which ELF files to read the dump with.
        let chosen = if self.source.system.is_some() { Some(self.file()?) } else { None };
        let mut system = dump.system(chosen.as_deref())?;
        for board in system.boards() {
            for (start, length) in board.dumped().map(|saved| saved.missing()).unwrap_or_default() {
                let (name, end) = (board.name(), u64::from(start) + u64::from(length));
                self.out.say("missing", format!("board {name}: memory from {start:#010x} to {end:#010x}"));
            }
        }
        Ok(Some(system))
    }

    /// The boards of these names; all if there are none.
    pub fn chosen_boards(&mut self, names: &[String]) -> Result<Vec<BoardConfig>, CliError> {
        let file = self.file()?;
        if names.is_empty() {
            return Ok(file.boards.clone());
        }
        let find = |name: &String| {
            let all = || file.boards.iter().map(|board| board.name.as_str());
            let found = file.board(name).map(|(_, board)| board.clone());
            found.ok_or_else(|| CliError::Usage(format!("there is no board {name}{}", did_you_mean(name, all()))))
        };
        names.iter().map(find).collect()
    }

    /// Does something that changes what the boards do: no other process does so meanwhile.
    pub fn controlled<R>(&mut self, work: impl FnOnce(&mut Self) -> Result<R, CliError>) -> Result<R, CliError> {
        let wanted_before = std::mem::replace(&mut self.wants_control, true);
        let done = self.take_control().and_then(|()| work(self));
        self.wants_control = wanted_before;
        if !wanted_before {
            self.control = None;
        }
        done
    }

    /// Takes control if the command that runs needs it and has it not yet. Boards are opened before, while their owner starts.
    fn take_control(&mut self) -> Result<(), CliError> {
        if self.wants_control && self.control.is_none() && !self.is_dump() && self.system.is_some() {
            self.claim_control()?;
        }
        Ok(())
    }

    /// Takes control before boards are opened.
    fn claim_control(&mut self) -> Result<(), CliError> {
        if self.wants_control && self.control.is_none() {
            let state = StateDir::of(self.file()?.as_ref()).map_err(|error| CliError::Usage(error.to_string()))?;
            self.control = Some(owner::control(&state, false)?);
        }
        Ok(())
    }

    /// Says which cores of a board a killed debugger had left stopped; attaching has let them run.
    fn tell_released(&self, board: &str, released: &[usize]) {
        for core in released {
            let what =
                format!("core {core} of board {board} was left stopped by a debugger that was killed; it runs again");
            self.out.say("released", what);
        }
    }

    /// Says that the cores of a board behind a real probe were stopped, if they were and nobody was told.
    fn tell_stopped(&self, board: &str, session: &mut Session) {
        if let Some(why) = session.take_stopped() {
            let what = "its cores were stopped for a moment, one after another, while a debugger attached";
            self.out.say("stopped", format!("board {board}: {what}: {why}"));
        }
    }

    /// The same for all boards that are attached.
    pub(super) fn tell_all_stopped(&mut self) {
        let Some(mut system) = self.system.take() else { return };
        for board in system.boards() {
            let name = board.name().to_owned();
            if let Some(session) = board.attached_session() {
                self.tell_stopped(&name, session);
            }
        }
        self.system = Some(system);
    }

    /// Opens the probes of these boards, all at the same time; the sessions are in their order.
    pub(super) fn sessions(&mut self, boards: &[BoardConfig]) -> Result<Vec<Session>, CliError> {
        let opened = self.on_each(boards, Session::open)?;
        self.check_opened(opened.iter().all(Result::is_ok))?;
        let opened = boards.iter().zip(opened).map(|(board, session)| {
            let mut session = session.map_err(|source| CliError::Session { board: board.name.clone(), source })?;
            self.tell_released(&board.name, session.released());
            self.tell_stopped(&board.name, &mut session);
            Ok(session)
        });
        opened.collect()
    }

    /// All boards, attached when first asked for. Every one must be there: [`Context::present`] is for those who can do with
    /// less.
    pub fn system(&mut self) -> Result<&mut System, CliError> {
        let system = match self.attached() {
            Some(system) => system,
            None => match self.saved_system()? {
                Some(system) => match system.missing().first() {
                    Some(lost) => return Err(CliError::Bad(format!("board {} is missing: {}", lost.board, lost.why))),
                    None => system,
                },
                None => self.attach(System::open)?,
            },
        };
        self.system = Some(system);
        self.take_control()?;
        self.attached_now()
    }

    /// Attaches to boards.
    fn attach(&mut self, open: impl FnOnce(&SystemFile) -> Result<System, OpenError>) -> Result<System, CliError> {
        let opened = open(self.file()?.as_ref());
        self.check_opened(opened.as_ref().is_ok_and(|system| system.missing().is_empty()))?;
        let mut system = opened?.interrupted_by(self.interrupted.clone());
        self.tell_released_of(system.boards());
        Ok(system)
    }

    /// A board that could not be opened after Ctrl-C was given up for it.
    fn check_opened(&self, is_whole: bool) -> Result<(), CliError> {
        if is_whole { Ok(()) } else { self.check_interrupt("nothing was changed") }
    }

    fn tell_released_of<'a>(&self, boards: impl IntoIterator<Item = &'a mut Board>) {
        for board in boards {
            let name = board.name().to_owned();
            self.tell_released(&name, board.released());
            if let Some(session) = board.attached_session() {
                self.tell_stopped(&name, session);
            }
        }
    }

    /// The boards that are there, attached when first asked for; [`System::missing`] tells of the others.
    pub fn present(&mut self) -> Result<&mut System, CliError> {
        let system = match self.attached() {
            Some(system) => system,
            None => match self.saved_system()? {
                Some(system) => system,
                None => self.attach(System::open_some)?,
            },
        };
        self.system = Some(system);
        self.take_control()?;
        self.attached_now()
    }

    fn attached_now(&mut self) -> Result<&mut System, CliError> {
        self.system.as_mut().ok_or_else(|| CliError::Usage("no board is attached".into()))
    }

    /// Does something with every board of the system file, whatever became of the others: those that are attached, or all
    /// that can be. They stay attached if they are all there.
    pub(super) fn on_boards<R>(
        &mut self,
        work: impl FnOnce(&SystemFile, &mut [Result<Board, OpenError>]) -> R,
    ) -> Result<R, CliError> {
        let file = self.file()?;
        let mut boards = match self.attached() {
            Some(system) => system.into_boards().into_iter().map(Ok).collect(),
            None => {
                let mut boards = System::open_each(&file);
                self.check_opened(boards.iter().all(Result::is_ok))?;
                self.tell_released_of(boards.iter_mut().flatten());
                boards
            }
        };
        let result = work(&file, &mut boards);
        if let Ok(boards) = boards.into_iter().collect::<Result<Vec<Board>, OpenError>>() {
            self.system = Some(System::new(boards).interrupted_by(self.interrupted.clone()));
        }
        Ok(result)
    }

    /// What is attached, if it is all of the system: a board that was missing may be there by now.
    fn attached(&mut self) -> Option<System> {
        self.system.take().filter(|system| system.missing().is_empty())
    }

    /// The boards, if they are attached.
    pub(super) fn if_attached(&mut self) -> Option<&mut System> {
        self.system.as_mut()
    }

    /// Cores that the probe has stopped stay so when the boards are let go of.
    pub fn leave_halted(&mut self) {
        self.keeps_halted = true;
    }

    /// Lets go of the boards, for those who reach them by themselves. Whoever asks for the system next attaches again.
    pub fn detach(&mut self) -> Result<(), CliError> {
        match self.system.take() {
            Some(system) if self.keeps_halted => Ok(system.leave_halted()?),
            _ => Ok(()),
        }
    }

    /// Does something with each of these boards, all at the same time; the results are in their order.
    pub fn on_each<R: Send>(
        &mut self,
        boards: &[BoardConfig],
        work: impl Fn(&SystemFile, &BoardConfig) -> R + Sync,
    ) -> Result<Vec<R>, CliError> {
        let file = self.file()?;
        self.detach()?;
        self.claim_control()?;
        Ok(std::thread::scope(|scope| {
            let threads: Vec<_> = boards.iter().map(|board| scope.spawn(|| work(&file, board))).collect();
            threads.into_iter().map(|thread| thread.join().expect("work on a board does not panic")).collect()
        }))
    }

    /// Fails once Ctrl-C was pressed, saying how things stand. Long waits ask this; a command that waits for boards ends
    /// with them detached in order.
    pub fn check_interrupt(&self, how_things_stand: &'static str) -> Result<(), CliError> {
        if self.interrupted.load(Ordering::Relaxed) { Err(CliError::Interrupted(how_things_stand)) } else { Ok(()) }
    }

    /// Ctrl-C was answered.
    pub(super) fn clear_interrupt(&self) {
        self.interrupted.store(false, Ordering::Relaxed);
    }

    /// Set once Ctrl-C was pressed.
    #[must_use]
    pub fn interrupt_flag(&self) -> Arc<AtomicBool> {
        self.interrupted.clone()
    }
}

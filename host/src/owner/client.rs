//! Using boards through their owner.
use super::wire::{self, BoardName, Failure, Hello, Holder, Reply, Request};
use super::{OwnerError, Place};
use crate::config::BoardConfig;
use crate::lock::LockError;
use crate::quiet::LiveBoard;
use crate::session::SessionError;
use crate::state::StateDir;
use crate::{Memory, MemoryError};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::cell::RefCell;
use std::io::{self, Read, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// How long an owner may take to start, or to end.
const START_LIMIT: Duration = Duration::from_secs(20);
/// How long an owner may take to answer: it waits for other clients, but not longer than it says.
const ANSWER_LIMIT: Duration = Duration::from_secs(60);
/// How long an answer is waited for after the user has cancelled.
const PATIENCE: Duration = Duration::from_secs(1);
/// How often a wait looks whether the user has cancelled.
const LOOK_EVERY: Duration = Duration::from_millis(100);

static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
static INTERRUPT: OnceLock<Arc<AtomicBool>> = OnceLock::new();
static LOST: AtomicBool = AtomicBool::new(false);

/// Has this program be started as an owner, with `owner` and the folder of the system as arguments, where boards are needed
/// and nobody owns them.
pub fn start_by(program: PathBuf) {
    let _ = PROGRAM.set(program);
}

/// Has every wait for another client end once this is set.
pub fn interrupt_by(flag: Arc<AtomicBool>) {
    let _ = INTERRUPT.set(flag);
}

/// Whether an owner has ended while this process used its boards.
#[must_use]
pub fn is_lost() -> bool {
    LOST.load(Ordering::Relaxed)
}

fn is_interrupted() -> bool {
    INTERRUPT.get().is_some_and(|flag| flag.load(Ordering::Relaxed))
}

pub(super) fn first_bytes() -> [u8; 12] {
    let mut bytes = [0; 12];
    bytes[..8].copy_from_slice(&wire::MAGIC);
    bytes[8..].copy_from_slice(&wire::VERSION.to_le_bytes());
    bytes
}

/// A conversation with an owner.
#[derive(Debug)]
struct Connection {
    stream: UnixStream,
    log: PathBuf,
    process: u32,
}

/// Reads from a socket until the user cancels.
struct Patient<'a> {
    stream: &'a UnixStream,
    since: Instant,
}

impl Read for Patient<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.stream.read(into) {
                Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                    let limit = if is_interrupted() { PATIENCE } else { ANSWER_LIMIT };
                    if self.since.elapsed() > limit {
                        return Err(io::ErrorKind::TimedOut.into());
                    }
                }
                done => return done,
            }
        }
    }
}

/// What became of connecting.
enum Connected {
    Yes(Connection),
    /// Nobody listens.
    Nobody,
    /// Somebody did and ends, or is of another version and was asked to.
    Ends,
}

impl Connection {
    fn try_connect(place: &Place) -> Result<Connected, OwnerError> {
        let Some(path) = place.socket() else { return Ok(Connected::Nobody) };
        let stream = match UnixStream::connect(&path) {
            Ok(stream) => stream,
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused) => {
                return Ok(Connected::Nobody);
            }
            Err(error) => return Err(OwnerError::io("connect to", &path)(error)),
        };
        stream.set_read_timeout(Some(LOOK_EVERY)).map_err(OwnerError::io("use", &path))?;
        let process = super::owner_process(place.folder()).unwrap_or_default();
        let mut connection = Self { stream, log: place.log(), process };
        match connection.greet() {
            Ok(true) => Ok(Connected::Yes(connection)),
            Ok(false) => Ok(Connected::Ends),
            Err(error) if error.kind() == io::ErrorKind::TimedOut => Err(connection.silent()),
            Err(_) => Ok(Connected::Ends),
        }
    }

    fn silent(&self) -> OwnerError {
        if is_interrupted() {
            return OwnerError::Interrupted;
        }
        OwnerError::Silent { log: self.log.clone(), process: self.process.to_string() }
    }

    /// Says hello; false if the owner is of another version, which is asked to end.
    fn greet(&mut self) -> io::Result<bool> {
        self.stream.write_all(&first_bytes())?;
        let mut theirs = [0; 12];
        Patient { stream: &self.stream, since: Instant::now() }.read_exact(&mut theirs)?;
        if theirs != first_bytes() {
            self.stream.write_all(&wire::END)?;
            return Ok(false);
        }
        let words = std::env::args_os().enumerate().take(4);
        // The name of the program without its folder, then what it was asked.
        let word = |(index, word): (usize, std::ffi::OsString)| match index {
            0 => PathBuf::from(word).file_name().unwrap_or_default().to_string_lossy().into_owned(),
            _ => word.to_string_lossy().into_owned(),
        };
        let command = words.map(word).collect::<Vec<_>>().join(" ");
        wire::send(&mut self.stream, &Hello { process: std::process::id(), command }, &[])?;
        Ok(true)
    }

    /// Connects to the owner, which is started where there is a program for it; `None` where there is none.
    fn open(state: &StateDir) -> Result<Option<Self>, OwnerError> {
        let place = Place::of(state);
        let until = Instant::now() + START_LIMIT;
        let mut started = None;
        loop {
            match Self::try_connect(&place)? {
                Connected::Yes(connection) => return Ok(Some(connection)),
                Connected::Nobody => match PROGRAM.get() {
                    // It may be about to listen.
                    Some(_) if started.is_some_and(|at: Instant| at.elapsed() < Duration::from_secs(1)) => {}
                    Some(program) => {
                        start(program, &place)?;
                        started = Some(Instant::now());
                    }
                    None => return Ok(None),
                },
                Connected::Ends => {}
            }
            if is_interrupted() {
                return Err(OwnerError::Interrupted);
            }
            if Instant::now() > until {
                let process = super::owner_process(place.folder()).unwrap_or_default().to_string();
                return Err(OwnerError::Silent { log: place.log(), process });
            }
            std::thread::sleep(Duration::from_micros(300));
        }
    }

    /// Whether the owner has ended.
    fn is_closed(&self) -> bool {
        // It says nothing without being asked.
        let mut fds = [PollFd::new(self.stream.as_fd(), PollFlags::POLLIN)];
        !matches!(poll(&mut fds, PollTimeout::ZERO), Ok(0) | Err(nix::errno::Errno::EINTR))
    }

    fn ask(&mut self, request: &Request, body: &[u32]) -> Result<(Reply, Vec<u32>), OwnerError> {
        let mut ask = || {
            wire::send(&mut self.stream, request, body)?;
            wire::receive(&mut Patient { stream: &self.stream, since: Instant::now() })
        };
        ask().map_err(|error| match error.kind() {
            io::ErrorKind::TimedOut => self.silent(),
            _ => {
                LOST.store(true, Ordering::Relaxed);
                OwnerError::Lost
            }
        })
    }
}

fn busy(Holder { hello, milliseconds }: Holder) -> OwnerError {
    let since = Duration::from_millis(milliseconds);
    OwnerError::Busy { process: hello.process, command: hello.command, since }
}

fn unexpected(reply: &Reply) -> OwnerError {
    let source = io::Error::new(io::ErrorKind::InvalidData, format!("{reply:?}"));
    OwnerError::File { what: "understand the answer of", path: "the boards' owner".into(), source }
}

/// Starts an owner. If there are two, one of them sees that it is not needed.
fn start(program: &PathBuf, place: &Place) -> Result<(), OwnerError> {
    // Boards are opened by several threads: one owner is enough.
    static STARTED: Mutex<Option<Instant>> = Mutex::new(None);
    let mut started = STARTED.lock().unwrap_or_else(PoisonError::into_inner);
    if started.is_some_and(|at| at.elapsed() < Duration::from_secs(1)) {
        return Ok(());
    }
    let log = place.log();
    let log = std::fs::File::create(&log).map_err(OwnerError::io("write", &log))?;
    let mut command = Command::new(program);
    command.arg("owner").arg(place.folder()).current_dir("/");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
    let mut child = command.spawn().map_err(|source| OwnerError::Start { program: program.clone(), source })?;
    *started = Some(Instant::now());
    // A shell outlives owners, and shall leave no zombie.
    std::thread::spawn(move || child.wait());
    Ok(())
}

/// Starts an owner where one is needed, without waiting for it.
pub(crate) fn ensure(state: &StateDir) {
    let place = Place::of(state);
    let listens = || place.socket().is_some_and(|path| UnixStream::connect(path).is_ok());
    if let Some(program) = PROGRAM.get()
        && !listens()
    {
        // Whoever needs it says why it could not be started.
        let _ = start(program, &place);
    }
}

/// The right to halt, resume, arm, reset and flash. Other processes are refused it until this is dropped.
#[derive(Debug, Default)]
pub struct Control {
    _connection: Option<Connection>,
}

/// Takes control of the boards of a system. Where they have no owner, there is nobody to ask.
///
/// Others wait for control that is `brief`; a brief one does not wait itself.
///
/// # Errors
/// [`OwnerError::Busy`]: another process has it.
pub fn control(state: &StateDir, brief: bool) -> Result<Control, OwnerError> {
    Connection::open(state)?.map_or(Ok(Control::default()), |connection| take_control(connection, brief))
}

/// Takes control of the boards of a system that have an owner; none is started.
///
/// # Errors
/// [`OwnerError::Busy`]: another process has it.
pub fn control_if_owned(state: &StateDir) -> Result<Control, OwnerError> {
    match Connection::try_connect(&Place::of(state))? {
        Connected::Yes(connection) => take_control(connection, false),
        Connected::Nobody | Connected::Ends => Ok(Control::default()),
    }
}

fn take_control(mut connection: Connection, brief: bool) -> Result<Control, OwnerError> {
    match connection.ask(&Request::Control { brief }, &[])?.0 {
        Reply::Done => Ok(Control { _connection: Some(connection) }),
        Reply::Busy(holder) => Err(busy(holder)),
        other => Err(unexpected(&other)),
    }
}

/// Ends the owner of a system, if there is one.
///
/// # Errors
/// It does not end.
pub fn end(state: &StateDir) -> Result<(), OwnerError> {
    let place = Place::of(state);
    let until = Instant::now() + START_LIMIT;
    loop {
        match Connection::try_connect(&place)? {
            Connected::Nobody => return Ok(()),
            Connected::Ends => {}
            Connected::Yes(mut connection) => {
                // Its answer, or the end of the connection.
                let _ = connection.ask(&Request::End, &[]);
                let mut rest = [0];
                let _ = Patient { stream: &connection.stream, since: Instant::now() }.read(&mut rest);
                LOST.store(false, Ordering::Relaxed);
            }
        }
        if Instant::now() > until {
            let process = super::owner_process(place.folder()).unwrap_or_default().to_string();
            return Err(OwnerError::Silent { log: place.log(), process });
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn name_of(board: &BoardConfig) -> BoardName {
    BoardName { name: board.name.clone(), chip: board.chip.clone(), probe: board.probe.clone() }
}

fn session_error(failure: Failure) -> SessionError {
    match failure {
        Failure::InUse(holder) => LockError::InUse { holder }.into(),
        Failure::Down(why) => SessionError::Down(why),
        Failure::Ended(why) => SessionError::Ended(why),
        Failure::Chip(why) => SessionError::Chip(why),
        Failure::NoProbe { selector, found } => SessionError::NoProbe { selector, found },
        Failure::Other(why) => SessionError::Emulator(why),
    }
}

fn in_use(Holder { hello, milliseconds }: Holder) -> LockError {
    let since = super::seconds(Duration::from_millis(milliseconds));
    LockError::InUse { holder: format!("process {} (`{}`), for {since}", hello.process, hello.command) }
}

/// A board that was opened.
pub(crate) enum Opened {
    /// Through its owner: whether a debugger has halted each core, and which cores a killed debugger had left stopped.
    Board(Box<dyn LiveBoard>, Vec<bool>, Vec<usize>),
    /// It has an owner, which cannot reach it without a debugger.
    NeedsDebugger,
    /// It has no owner.
    NoOwner,
}

/// Opens a board through its owner.
pub(crate) fn open(state: &StateDir, board: &BoardConfig) -> Result<Opened, SessionError> {
    let Some(mut connection) = Connection::open(state)? else { return Ok(Opened::NoOwner) };
    match connection.ask(&Request::Open(name_of(board)), &[])?.0 {
        Reply::Opened { cores, halted, released } => {
            let connection = RefCell::new(connection);
            // Where it cannot be reached from here, its owner reaches it.
            let direct = crate::session::live(state, board).ok().flatten();
            let direct = direct.map(|live| Direct { live, away: super::away(&state.lock(board)) });
            let board = RemoteBoard { connection, direct, cores: cores as usize, commands: 0 };
            Ok(Opened::Board(Box::new(board), halted, released.into_iter().map(|core| core as usize).collect()))
        }
        Reply::NeedsDebugger => Ok(Opened::NeedsDebugger),
        Reply::Busy(holder) => Err(in_use(holder).into()),
        Reply::Failed(failure) => Err(session_error(failure)),
        other => Err(unexpected(&other).into()),
    }
}

/// A board that its owner has closed for this process. The owner opens it again when this is dropped.
#[derive(Debug)]
pub(crate) struct HandedOver {
    _connection: Option<Connection>,
    /// The cores that a killed debugger had left stopped and that run again, as far as no client was told of them.
    pub released: Vec<usize>,
}

/// Has the owner of a board close it, so that a debugger can attach.
pub(crate) fn hand_over(state: &StateDir, board: &BoardConfig) -> Result<HandedOver, SessionError> {
    let Some(mut connection) = Connection::open(state)? else {
        return Ok(HandedOver { _connection: None, released: Vec::new() });
    };
    match connection.ask(&Request::HandOver(name_of(board)), &[])?.0 {
        Reply::HandedOver { released } => {
            let released = released.into_iter().map(|core| core as usize).collect();
            Ok(HandedOver { _connection: Some(connection), released })
        }
        Reply::Busy(holder) => Err(in_use(holder).into()),
        other => Err(unexpected(&other).into()),
    }
}

/// A board whose memory several processes can use at the same time, as that of an emulated board. The owner keeps what only one
/// may do: commanding nodes, control, debuggers.
struct Direct {
    live: Box<dyn LiveBoard>,
    /// A file that is there while a debugger has the board.
    away: PathBuf,
}

/// The memory of a board, through its owner or beside it.
struct RemoteBoard {
    connection: RefCell<Connection>,
    direct: Option<Direct>,
    cores: usize,
    /// Commands that are not answered yet.
    commands: usize,
}

impl RemoteBoard {
    /// The board itself, while no debugger has it.
    fn direct(&mut self) -> Result<Option<&mut dyn LiveBoard>, MemoryError> {
        let Some(Direct { live, away }) = &mut self.direct else { return Ok(None) };
        // Without its owner it may be anybody's.
        if self.connection.get_mut().is_closed() {
            LOST.store(true, Ordering::Relaxed);
            return Err(MemoryError::Owner(OwnerError::Lost));
        }
        Ok((!away.exists()).then_some(live.as_mut()))
    }

    fn ask(&self, request: &Request, body: &[u32]) -> Result<(Reply, Vec<u32>), MemoryError> {
        let (reply, words) = self.connection.borrow_mut().ask(request, body).map_err(MemoryError::Owner)?;
        match reply {
            Reply::Busy(holder) => Err(MemoryError::Remote(in_use(holder).to_string())),
            Reply::Failed(failure) => Err(MemoryError::Remote(session_error(failure).to_string())),
            reply => Ok((reply, words)),
        }
    }
}

impl Memory for RemoteBoard {
    fn read(&mut self, address: u32, into: &mut [u32]) -> Result<(), MemoryError> {
        if let Some(live) = self.direct()? {
            return live.read(address, into);
        }
        let (reply, words) = self.ask(&Request::Read { address, words: into.len() as u32 }, &[])?;
        if words.len() != into.len() {
            return Err(MemoryError::Owner(unexpected(&reply)));
        }
        into.copy_from_slice(&words);
        Ok(())
    }

    fn write(&mut self, address: u32, from: &[u32]) -> Result<(), MemoryError> {
        if let Some(live) = self.direct()? {
            return live.write(address, from);
        }
        self.ask(&Request::Write { address }, from).map(drop)
    }
}

impl LiveBoard for RemoteBoard {
    fn cores(&self) -> usize {
        self.cores
    }

    fn halted(&self) -> Option<Vec<bool>> {
        if let Some(Direct { live, away }) = &self.direct
            && !self.connection.borrow().is_closed()
            && !away.exists()
        {
            return live.halted();
        }
        match self.ask(&Request::Halted, &[]) {
            Ok((Reply::Halted(halted), _)) => halted,
            // What cannot be asked says so when it is read.
            _ => Some(vec![false; self.cores]),
        }
    }

    fn begin_command(&mut self) -> Result<(), MemoryError> {
        if self.commands == 0 {
            self.ask(&Request::Command, &[])?;
        }
        self.commands += 1;
        Ok(())
    }

    fn end_command(&mut self) {
        if self.commands == 1 {
            // An owner that has gone has forgotten it, too.
            let _ = wire::send(&mut self.connection.get_mut().stream, &Request::Commanded, &[]);
        }
        self.commands = self.commands.saturating_sub(1);
    }
}

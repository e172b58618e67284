//! The owner: takes the locks of boards and serves their memory to clients.
use super::tokens::{Connection, Tokens};
use super::wire::{self, BoardName, Failure, Hello, Reply, Request};
use super::{OwnerError, Place};
use crate::config::BoardConfig;
use crate::lock::{BoardLock, LockError};
use crate::quiet::LiveBoard;
use crate::session::{Claim, SessionError};
use crate::state::StateDir;
use crate::{MemoryError, Session};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::collections::HashMap;
use std::fs::{File, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long a request waits for a process that has what it needs.
const WAIT_LIMIT: Duration = Duration::from_secs(10);
/// How long the lock of a board may stay taken after its client has gone: a process that dies closes its files one by one.
const LOCK_LIMIT: Duration = Duration::from_secs(2);
/// How often the owner looks whether it is still needed, in milliseconds.
const LOOK_EVERY: u8 = 200;

/// Owns the boards of the system with this folder until no client was there for `idle`, one asks it to end, or
/// `interrupt` is set.
///
/// # Errors
/// It cannot listen. If another owner listens already, this one is not needed, and there is no error.
pub fn serve(folder: &Path, idle: Duration, interrupt: &AtomicBool) -> Result<(), OwnerError> {
    let state = StateDir::at(folder);
    let place = Place::of(&state);
    let Some(lock) = alone(&place)? else { return Ok(()) };
    let path = place.socket_to_make()?;
    match std::fs::remove_file(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(OwnerError::io("remove", &path)(error)),
        _ => {}
    }
    let listener = UnixListener::bind(&path).map_err(OwnerError::io("listen on", &path))?;
    let private = std::fs::Permissions::from_mode(0o600);
    std::fs::set_permissions(&path, private).map_err(OwnerError::io("protect", &path))?;
    listener.set_nonblocking(true).map_err(OwnerError::io("listen on", &path))?;
    let (tokens, boards) = (Tokens::default(), Mutex::default());
    let owner = Arc::new(Owner { state, socket: path.clone(), tokens, boards, _lock: lock });
    owner.tokens.start();
    let mut next: Connection = 0;
    loop {
        let mut fds = [PollFd::new(listener.as_fd(), PollFlags::POLLIN)];
        let _ = poll(&mut fds, PollTimeout::from(LOOK_EVERY));
        match listener.accept() {
            Ok((stream, _)) => {
                next += 1;
                let (owner, connection) = (owner.clone(), next);
                owner.tokens.enter();
                std::thread::spawn(move || owner.serve(stream, connection));
            }
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {}
            Err(error) => return Err(OwnerError::io("listen on", &path)(error)),
        }
        if owner.tokens.is_idle_for(idle) || !path.exists() || interrupt.load(Ordering::Relaxed) {
            owner.close();
            return Ok(());
        }
    }
}

/// Waits until no other owner of this system is there; `None` if one is and listens.
fn alone(place: &Place) -> Result<Option<File>, OwnerError> {
    let path = place.lock();
    let fail = OwnerError::io("open", &path);
    let mut file = File::options().read(true).write(true).create(true).truncate(false).open(&path).map_err(fail)?;
    loop {
        match file.try_lock() {
            Ok(()) => break,
            Err(TryLockError::Error(error)) => return Err(OwnerError::io("lock", &path)(error)),
            Err(TryLockError::WouldBlock) if place.socket().is_some_and(|path| UnixStream::connect(path).is_ok()) => {
                return Ok(None);
            }
            // It has just started, or just ends.
            Err(TryLockError::WouldBlock) => std::thread::sleep(Duration::from_millis(1)),
        }
    }
    let number = std::process::id().to_string();
    let written = file.set_len(0).and_then(|()| file.write_all(number.as_bytes()));
    written.map(|()| Some(file)).map_err(OwnerError::io("write", &path))
}

/// A board that is open, if it is.
type Slot = Arc<Mutex<Option<Open>>>;

struct Open {
    name: BoardName,
    board: Box<dyn LiveBoard>,
    /// What a killed debugger left stopped and what nobody was told of.
    released: Vec<usize>,
    // Free when the board is.
    _lock: BoardLock,
}

struct Owner {
    state: StateDir,
    socket: PathBuf,
    tokens: Tokens,
    /// By the path of their locks.
    boards: Mutex<HashMap<PathBuf, Slot>>,
    _lock: File,
}

/// What the board of a connection is.
struct Chosen {
    name: BoardName,
    path: PathBuf,
    slot: Slot,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Owner {
    /// Closes every board, so that its probe is left in order.
    fn close(&self) {
        let _ = std::fs::remove_file(&self.socket);
        for slot in lock(&self.boards).values() {
            *lock(slot) = None;
        }
    }

    fn serve(&self, mut stream: UnixStream, connection: Connection) {
        let mut chosen = None;
        // An error is a client that has gone.
        let _ = self.talk(&mut stream, connection, &mut chosen);
        if self.tokens.has_board(connection)
            && let Some(chosen) = chosen
        {
            // Before others get at it: the client may have died with cores stopped and breakpoints set.
            let _ = self.take_back(&chosen);
        }
        self.tokens.leave(connection);
    }

    fn talk(&self, stream: &mut UnixStream, connection: Connection, chosen: &mut Option<Chosen>) -> io::Result<()> {
        let Some(hello) = self.greet(stream)? else { return Ok(()) };
        loop {
            let (request, words): (Request, Vec<u32>) = wire::receive(stream)?;
            let (reply, body) = match request {
                Request::Commanded => {
                    self.tokens.commanded(connection);
                    continue;
                }
                Request::End => {
                    self.close();
                    wire::send(stream, &Reply::Done, &[])?;
                    std::process::exit(0);
                }
                Request::Control { brief } => {
                    (done(self.tokens.control(&hello, connection, brief, WAIT_LIMIT)), Vec::new())
                }
                Request::Command => (done(self.tokens.command(&hello, connection, WAIT_LIMIT)), Vec::new()),
                Request::Open(name) => {
                    let of = chosen.insert(self.choose(name));
                    (self.open(of), Vec::new())
                }
                Request::HandOver(name) => {
                    let of = chosen.insert(self.choose(name));
                    (self.hand_over(&hello, connection, of), Vec::new())
                }
                Request::Read { address, words } => self.read(chosen.as_ref(), address, words),
                Request::Write { address } => {
                    let written = self.on(chosen.as_ref(), |board| board.write(address, &words));
                    (written.map_or_else(|reply| reply, |()| Reply::Done), Vec::new())
                }
                Request::Halted => {
                    let halted = self.on(chosen.as_ref(), |board| Ok(board.halted()));
                    (halted.map_or_else(|reply| reply, Reply::Halted), Vec::new())
                }
            };
            wire::send(stream, &reply, &body)?;
        }
    }

    /// The first words of a connection; `None` if this is no client of ours.
    fn greet(&self, stream: &mut UnixStream) -> io::Result<Option<Hello>> {
        let mut first = [0; 12];
        stream.read_exact(&mut first)?;
        stream.write_all(&super::client::first_bytes())?;
        if first != super::client::first_bytes() {
            let mut word = [0; 8];
            stream.read_exact(&mut word)?;
            if word == wire::END {
                self.close();
                std::process::exit(0);
            }
            return Ok(None);
        }
        Ok(Some(wire::receive(stream)?.0))
    }

    fn choose(&self, name: BoardName) -> Chosen {
        let path = self.state.lock(&config_of(&name));
        let slot = lock(&self.boards).entry(path.clone()).or_default().clone();
        Chosen { name, path, slot }
    }

    /// Opens a board, unless it is open.
    fn open(&self, chosen: &Chosen) -> Reply {
        let mut slot = match self.slot(chosen) {
            Ok(slot) => slot,
            Err(holder) => return Reply::Busy(holder),
        };
        // A machine that has ended is looked for anew, as is one that the system file describes otherwise now.
        let is_usable =
            |open: &Open| open.name == chosen.name && open.board.is_there() && open.board.halted().is_some();
        if !slot.as_ref().is_some_and(is_usable) {
            *slot = None;
            match self.open_now(&chosen.name) {
                Ok(Some(open)) => *slot = Some(open),
                Ok(None) => return Reply::NeedsDebugger,
                Err(error) => return Reply::Failed(failure(error)),
            }
        }
        let Some(open) = slot.as_mut() else { return Reply::NeedsDebugger };
        Reply::Opened {
            cores: open.board.cores() as u32,
            halted: open.board.halted().unwrap_or_default(),
            released: std::mem::take(&mut open.released).into_iter().map(|core| core as u32).collect(),
        }
    }

    /// Opens a board; `None` if that needs a debugger. What a killed debugger left is put right first.
    fn open_now(&self, name: &BoardName) -> Result<Option<Open>, SessionError> {
        let config = config_of(name);
        let path = self.state.lock(&config);
        let mut lock = BoardLock::take(&path)?;
        let mut released = Vec::new();
        let board = match crate::session::live(&self.state, &config)? {
            Some(board) => board,
            None if !crate::session::can_be_live(&config) => return Ok(None),
            None => {
                let session = Session::attach(&self.state, &config, Claim::locked(lock))?;
                released = session.released().to_vec();
                drop(session);
                lock = BoardLock::take(&path)?;
                match crate::session::live(&self.state, &config)? {
                    Some(board) => board,
                    None => return Ok(None),
                }
            }
        };
        let _ = std::fs::remove_file(super::away(&path));
        Ok(Some(Open { name: name.clone(), board, released, _lock: lock }))
    }

    /// Closes a board, so that a client can attach a debugger.
    fn hand_over(&self, hello: &Hello, connection: Connection, chosen: &Chosen) -> Reply {
        if let Err(holder) = self.tokens.hand_over(hello, connection, &chosen.path, WAIT_LIMIT) {
            return Reply::Busy(holder);
        }
        // Clients that use the board beside its owner ask the owner from now on. One that misses this goes on for a moment.
        let _ = std::fs::write(super::away(&chosen.path), []);
        let open = lock(&chosen.slot).take();
        let released = open.map_or_else(Vec::new, |open| open.released);
        Reply::HandedOver { released: released.into_iter().map(|core| core as u32).collect() }
    }

    /// Opens a board again that a client had.
    fn take_back(&self, chosen: &Chosen) -> Result<(), SessionError> {
        let mut slot = lock(&chosen.slot);
        let until = Instant::now() + LOCK_LIMIT;
        loop {
            match self.open_now(&chosen.name) {
                Err(SessionError::Lock(LockError::InUse { .. })) if Instant::now() < until => {
                    std::thread::sleep(Duration::from_millis(1));
                }
                opened => {
                    *slot = opened?;
                    return Ok(());
                }
            }
        }
    }

    fn read(&self, chosen: Option<&Chosen>, address: u32, words: u32) -> (Reply, Vec<u32>) {
        if words > 1 << 24 {
            return (Reply::Failed(Failure::Other("so much memory cannot be read at once".into())), Vec::new());
        }
        let mut body = vec![0; words as usize];
        match self.on(chosen, |board| board.read(address, &mut body)) {
            Ok(()) => (Reply::Words, body),
            Err(reply) => (reply, Vec::new()),
        }
    }

    /// Does something with the board of a connection, as soon as nobody else has it.
    fn on<R>(
        &self,
        chosen: Option<&Chosen>,
        work: impl FnOnce(&mut dyn LiveBoard) -> Result<R, MemoryError>,
    ) -> Result<R, Reply> {
        let other = |text: String| Reply::Failed(Failure::Other(text));
        let chosen = chosen.ok_or_else(|| other("no board was opened".into()))?;
        let mut slot = self.slot(chosen).map_err(Reply::Busy)?;
        if slot.is_none() {
            *slot = self.open_now(&chosen.name).map_err(|error| Reply::Failed(failure(error)))?;
        }
        let open = slot.as_mut().ok_or_else(|| other("the board needs a debugger now".into()))?;
        work(open.board.as_mut()).map_err(|error| other(error.to_string()))
    }

    /// A board that nobody has, as soon as that is so. While this is kept, the board is not handed over.
    fn slot<'a>(&self, chosen: &'a Chosen) -> Result<MutexGuard<'a, Option<Open>>, wire::Holder> {
        loop {
            self.tokens.await_board(&chosen.path, WAIT_LIMIT)?;
            let slot = lock(&chosen.slot);
            if self.tokens.await_board(&chosen.path, Duration::ZERO).is_ok() {
                return Ok(slot);
            }
        }
    }
}

fn done(taken: Result<(), wire::Holder>) -> Reply {
    taken.map_or_else(Reply::Busy, |()| Reply::Done)
}

fn config_of(name: &BoardName) -> BoardConfig {
    BoardConfig::bare(name.name.clone(), name.chip.clone(), name.probe.clone())
}

fn failure(error: SessionError) -> Failure {
    match error {
        SessionError::Lock(LockError::InUse { holder }) => Failure::InUse(holder),
        SessionError::Down(why) => Failure::Down(why),
        SessionError::Ended(why) => Failure::Ended(why),
        SessionError::Chip(why) => Failure::Chip(why),
        SessionError::NoProbe { selector, found } => Failure::NoProbe { selector, found },
        other => Failure::Other(other.to_string()),
    }
}

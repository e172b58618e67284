//! The thread that owns the sockets of a board.
//!
//! A breakpoint stops the whole machine, and somebody must let the other cores go on at once, whether or not anybody is
//! asking for a status. That is this thread: it waits for QEMU and for requests at the same time, and nobody else touches the
//! sockets.

use super::{Board, BoardError, Journal};
use crate::machine::{Debuggable, Machine, MachineError};
use rustix::event::{PollFd, PollFlags, poll};
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, mpsc};
use std::time::{Duration, Instant};

/// Work on the board; what it returns is called after the outcome was published, and tells whoever waits.
type Request = Box<dyn FnOnce(&mut Board) -> Box<dyn FnOnce()> + Send>;

/// How a core stands, as far as a debugger is concerned.
///
/// ```no_run
/// # fn f(cores: &qemu_probe::GroupHandle) -> Result<(), qemu_probe::BoardError> {
/// use qemu_probe::CoreView;
/// let halted = cores.status()?.iter().filter(|core| **core == CoreView::Halted).count();
/// # let _ = halted;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CoreView {
    /// It runs, or sleeps, or is held in reset: it is not halted for debugging.
    Running,
    /// It is halted.
    Halted,
}

/// What the thread publishes after each change.
#[derive(Debug)]
struct Published {
    cores: Mutex<Result<Vec<CoreView>, BoardError>>,
    changed: Condvar,
    any_running: AtomicBool,
}

/// A connection to the thread. The board is let go when the last clone is dropped.
#[derive(Clone, Debug)]
pub(crate) struct BoardHandle(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    requests: mpsc::Sender<Request>,
    wake: UnixStream,
    published: Arc<Published>,
    thread: Option<std::thread::JoinHandle<()>>,
    cores: usize,
    released: Vec<usize>,
}

impl BoardHandle {
    /// Attaches to a machine.
    pub(crate) fn attach(machine: &Machine) -> Result<Self, MachineError> {
        Self::attach_to(&machine.debuggable()?)
    }

    /// Attaches to a machine that was to be debugged later.
    pub(crate) fn attach_to(machine: &Debuggable) -> Result<Self, MachineError> {
        let (ports, run_dir) = (machine.ports.clone(), machine.run_dir.clone());
        let journal = Journal::of(run_dir.clone());
        let attachment = machine.attachment().map_err(|error| machine.why_it_is_silent(error))?;
        let released = attachment.released.clone();
        let board = match Board::connect(machine.kind, attachment, journal) {
            Ok(board) => board,
            Err(error) => {
                ports.give_back(run_dir.as_ref(), None);
                return Err(machine.why_it_is_silent(error));
            }
        };
        let cores = board.cores.len();
        let (requests, inbox) = mpsc::channel();
        let (wake, woken) = UnixStream::pair().map_err(MachineError::io("making a socket pair"))?;
        woken.set_nonblocking(true).map_err(MachineError::io("preparing a socket"))?;
        let (nothing, changed, any_running) = (Mutex::new(Ok(Vec::new())), Condvar::new(), AtomicBool::new(false));
        let published = Arc::new(Published { cores: nothing, changed, any_running });
        published.update(&board);
        let thread = std::thread::Builder::new()
            .name("qemu-board".into())
            .spawn({
                let published = published.clone();
                move || {
                    let board = serve(board, &inbox, woken, &published);
                    let returned = board.disconnect().map(|(gdb, qmp, state)| (gdb.into_stream(), qmp, state));
                    ports.give_back(run_dir.as_ref(), returned);
                }
            })
            .map_err(MachineError::io("starting a thread"))?;
        Ok(Self(Arc::new(Inner { requests, wake, published, thread: Some(thread), cores, released })))
    }

    /// How many cores there are.
    pub(crate) fn cores(&self) -> usize {
        self.0.cores
    }

    /// The cores that a killed debugger had left stopped and that run again since this one attached.
    pub(crate) fn released(&self) -> &[usize] {
        &self.0.released
    }

    /// Has the thread do something with the board, and waits for it.
    pub(crate) fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Board) -> Result<T, BoardError> + Send + 'static,
    ) -> Result<T, BoardError> {
        let (reply, answer) = mpsc::sync_channel(1);
        let request: Request = Box::new(move |board| {
            let result = work(board);
            Box::new(move || {
                // Nobody waits any more only if the asking thread has died.
                let _ = reply.send(result);
            })
        });
        let gone = || BoardError::Lost { during: "ask the board", reason: "Its thread has ended.".into() };
        self.0.requests.send(request).map_err(|_| gone())?;
        (&self.0.wake).write_all(&[1]).map_err(|_| gone())?;
        answer.recv().map_err(|_| gone())?
    }

    /// Whether any core runs, as last published.
    pub(crate) fn any_running(&self) -> bool {
        self.0.published.any_running.load(Ordering::Acquire)
    }

    /// How the cores stand, as last published.
    pub(crate) fn views(&self) -> Result<Vec<CoreView>, BoardError> {
        self.0.published.lock().clone()
    }

    /// Waits until the cores stand as `wanted`; `false` after `limit`.
    pub(crate) fn wait_until(&self, limit: Duration, wanted: impl Fn(&[CoreView]) -> bool) -> Result<bool, BoardError> {
        let end = Instant::now() + limit;
        let mut views = self.0.published.lock();
        loop {
            match &*views {
                Ok(cores) if wanted(cores) => return Ok(true),
                Ok(_) => {}
                Err(lost) => return Err(lost.clone()),
            }
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(false);
            }
            let waited = self.0.published.changed.wait_timeout(views, left);
            views = waited.unwrap_or_else(|poisoned| poisoned.into_inner()).0;
        }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        // Ends the thread's loop; then wait, so that the machine is free for the next debugger when this returns.
        let _ = self.wake.shutdown(std::net::Shutdown::Both);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Published {
    fn lock(&self) -> std::sync::MutexGuard<'_, Result<Vec<CoreView>, BoardError>> {
        self.cores.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn update(&self, board: &Board) {
        let view = |halted| if halted { CoreView::Halted } else { CoreView::Running };
        let now = match &board.lost {
            Some(lost) => Err(lost.clone()),
            None => Ok(board.cores.iter().map(|core| view(core.is_halted())).collect()),
        };
        self.any_running.store(board.vm_running && board.lost.is_none(), Ordering::Release);
        let mut cores = self.lock();
        if *cores != now {
            *cores = now;
            self.changed.notify_all();
        }
    }
}

/// Serves QEMU and requests until nobody can ask any more.
fn serve(mut board: Board, inbox: &mpsc::Receiver<Request>, mut woken: UnixStream, published: &Published) -> Board {
    loop {
        let [gdb, qmp, request] = {
            let mut fds = vec![PollFd::new(&woken, PollFlags::IN)];
            // A closed socket is always ready: do not ask it again.
            if board.lost.is_none() {
                fds.push(PollFd::new(&board.gdb, PollFlags::IN));
                fds.push(PollFd::new(&board.qmp, PollFlags::IN));
            }
            match poll(&mut fds, None) {
                Ok(_) => [1, 2, 0].map(|index| fds.get(index).is_some_and(|fd: &PollFd<'_>| !fd.revents().is_empty())),
                Err(_) => [false; 3],
            }
        };
        if gdb {
            // A failure is kept in the board and told to whoever asks next.
            let _ = board.operate("watch the cores", |board| board.serve_stop().map(|_| ()));
        }
        if qmp {
            let _ = board.operate("watch for a reset", Board::serve_events);
        }
        if request {
            let mut wakes = [0; 64];
            let gone = matches!(woken.read(&mut wakes), Ok(0));
            for request in inbox.try_iter() {
                let tell = request(&mut board);
                published.update(&board);
                tell();
            }
            if gone {
                return board;
            }
        }
        published.update(&board);
    }
}

//! One board behind its probe: opened, locked, and let go as it should be.
use crate::config::{BoardConfig, ProbeConfig, SystemFile};
use crate::hardware::Look;
use crate::lock::{BoardLock, LockError};
use crate::owner::{HandedOver, Opened, OwnerError};
use crate::quiet::{LiveBoard, Quiet};
use crate::state::{StateDir, StateError};
use crate::{Memory, MemoryError, ProbeMemory};
use probe_rs::MemoryInterface as _;
use std::time::Duration;

/// Why a board could not be opened, or not be stopped or started.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// There is nowhere to keep locks and machines.
    #[error(transparent)]
    State(#[from] StateError),
    /// Somebody else has it.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// The process that owns it could not be asked.
    #[error(transparent)]
    Owner(#[from] OwnerError),
    /// The selector is none, or there is no such probe.
    #[error("no probe {selector} is connected; {found}")]
    NoProbe {
        /// What was looked for.
        selector: String,
        /// What is there instead.
        found: String,
    },
    /// This build cannot.
    #[error("this build cannot reach it: it was built without the feature `{0}`")]
    NotBuiltIn(&'static str),
    /// probe-rs does not know the chip.
    #[error("{0}")]
    Chip(String),
    /// The emulated board is not there.
    #[error("it is not up ({0}); start it with `stillpoint up`")]
    Down(String),
    /// The machine of an emulated board has ended: why, as far as known.
    #[error("it is not up ({0}); run `stillpoint down`, then `stillpoint up`")]
    Ended(String),
    /// The emulator failed.
    #[error("{0}")]
    Emulator(String),
    /// probe-rs could not.
    #[error("cannot {what}: {}", crate::memory::causes(source))]
    Probe {
        /// What was tried.
        what: &'static str,
        /// Why.
        source: probe_rs::Error,
    },
    /// The firmware could not be written.
    #[error("cannot write the firmware: {0}")]
    Flash(String),
    /// It was not opened through a probe.
    #[error("its registers cannot be read: the board is not behind a probe")]
    NoRegisters,
    /// Its registers can be read only while it is halted.
    #[error("the core runs; its registers can be read only while it is halted")]
    Running,
    /// Neither the probe nor the chip has such an operation.
    #[error(
        "neither its probe nor a cross trigger of its chip can halt all cores as one; a consistent halt needs no such help: leave \
             --group out"
    )]
    NoGroup,
}

impl SessionError {
    pub(crate) fn probe(what: &'static str) -> impl FnOnce(probe_rs::Error) -> Self {
        move |source| Self::Probe { what, source }
    }
}

/// What can be done with all cores of a board at once: by the emulator, or by the cross trigger of a chip.
pub(crate) trait Group: Send {
    /// Halts all cores as one.
    fn halt(&self, session: &mut probe_rs::Session) -> Result<(), SessionError>;
    /// Resumes all cores, as one where that can be done.
    fn resume(&self, session: &mut probe_rs::Session) -> Result<(), SessionError>;
    /// Whether all halts are to be done so, and not only those that were asked for so.
    fn is_usual(&self) -> bool;
    /// Keeps the cores that are halted now halted when the session ends. Returns whether that can be done.
    fn keep_halted(&self) -> Result<bool, SessionError>;
    /// The cores that a killed debugger had left stopped and that run again since this session attached.
    fn released(&self) -> &[usize];
}

/// A board that this process alone may use. Its owner, if it has one, has closed it.
pub(crate) struct Claim {
    // In this order they are dropped: the owner takes the lock back.
    _lock: BoardLock,
    from: Option<HandedOver>,
}

impl Claim {
    /// Takes a board, from its owner if it has one.
    pub(crate) fn take(state: &StateDir, board: &BoardConfig) -> Result<Self, SessionError> {
        let from = crate::owner::hand_over(state, board)?;
        Ok(Self { _lock: BoardLock::take(&state.lock(board))?, from: Some(from) })
    }

    /// A board that has no owner and is locked.
    pub(crate) fn locked(lock: BoardLock) -> Self {
        Self { _lock: lock, from: None }
    }
}

/// Whether the memory of a board can be used without a debugger.
pub(crate) fn can_be_live(board: &BoardConfig) -> bool {
    board.probe == ProbeConfig::Qemu
}

/// The memory of a board that is locked already, without a debugger; `None` if that cannot be, or if a debugger has to put
/// something right first.
pub(crate) fn live(state: &StateDir, board: &BoardConfig) -> Result<Option<Box<dyn LiveBoard>>, SessionError> {
    if !can_be_live(board) {
        return Ok(None);
    }
    Ok(crate::emulated::live(state, board)?.filter(|live| live.halted().is_some()))
}

/// A board that was opened, and whether a debugger has halted each of its cores.
pub(crate) enum Attached {
    /// Without stopping its cores.
    Quiet(Quiet, Vec<bool>),
    /// With a debugger.
    Session(Session),
}

/// A board behind its probe. Cores run on when it is dropped, unless [`Session::leave_halted`] was called.
pub struct Session {
    // In this order they are dropped: the lock is free when the probe is.
    memory: ProbeMemory,
    group: Option<Box<dyn Group>>,
    released: Vec<usize>,
    /// Why cores were stopped to attach to the board, until the user is told.
    stopped: Option<String>,
    _claim: Claim,
}

/// How long a core may take to halt.
pub(crate) const HALT_LIMIT: Duration = Duration::from_secs(2);

/// Why a debugger attaches where nothing stands in the way of doing without.
const ASKED_FOR: &str = "what was asked for needs one";

impl Session {
    /// Opens the board of a system file. This stops its cores for a moment, one after another.
    pub fn open(file: &SystemFile, board: &BoardConfig) -> Result<Self, SessionError> {
        let state = StateDir::of(file)?;
        let claim = Claim::take(&state, board)?;
        Self::attach(&state, board, claim)
    }

    /// Opens the board of a system file without stopping its cores, where that can be done. A debugger attaches where it
    /// cannot, or where one that was killed has left something to put right.
    pub(crate) fn open_quietly(file: &SystemFile, board: &BoardConfig) -> Result<Attached, SessionError> {
        let state = StateDir::of(file)?;
        if let Opened::Board(live, halted, released) = crate::owner::open(&state, board)? {
            return Ok(Attached::Quiet(Quiet::owned(live, state, board.clone(), released), halted));
        }
        let claim = Claim::take(&state, board)?;
        let (live, why) = match &board.probe {
            ProbeConfig::Qemu => (live(&state, board)?, None),
            ProbeConfig::Probe { .. } => match crate::hardware::look(board)? {
                Look::Quiet(live) => (Some(live), None),
                Look::BySession(why) => (None, Some(why)),
            },
        };
        if let Some(live) = live
            && let Some(halted) = live.halted()
        {
            return Ok(Attached::Quiet(Quiet::new(live, state, board.clone(), claim), halted));
        }
        let mut session = Self::attach(&state, board, claim)?;
        session.stopped = session.stopped.and(why.or(Some(ASKED_FOR.into())));
        Ok(Attached::Session(session))
    }

    /// Attaches to a board that is locked already.
    pub(crate) fn attach(state: &StateDir, board: &BoardConfig, claim: Claim) -> Result<Self, SessionError> {
        let ((session, group), stopped) = match &board.probe {
            ProbeConfig::Qemu => (crate::emulated::open(state, board)?, None),
            ProbeConfig::Probe { .. } => (crate::hardware::open(board)?, Some(ASKED_FOR.into())),
        };
        let mut released = claim.from.as_ref().map_or_else(Vec::new, |from| from.released.clone());
        released.extend(group.iter().flat_map(|group| group.released()));
        let mut session = Self { memory: ProbeMemory(session), group, released, stopped, _claim: claim };
        session.clear_breakpoints()?;
        Ok(session)
    }

    /// Removes the hardware breakpoints that a killed debugger left in the cores; this program leaves none.
    fn clear_breakpoints(&mut self) -> Result<(), SessionError> {
        let fail = SessionError::probe;
        (0..self.cores()).try_for_each(|core| {
            let mut core = self.memory.0.core(core).map_err(fail("reach a core"))?;
            core.clear_all_hw_breakpoints().map_err(fail("remove the breakpoints of a core"))
        })
    }

    /// The cores that a killed debugger had left stopped and that run again since this session attached.
    #[must_use]
    pub fn released(&self) -> &[usize] {
        &self.released
    }

    /// Notes why cores had to be stopped to attach to the board.
    pub(crate) fn was_attached_for(&mut self, why: &str) {
        self.stopped = Some(why.to_owned());
    }

    /// Returns why the cores of the board were stopped for a moment, once.
    pub fn take_stopped(&mut self) -> Option<String> {
        self.stopped.take()
    }

    /// Writes to the doorbell of a core, which may be a register that only the core's own access port reaches.
    pub(crate) fn ring(&mut self, core: usize, address: u32, value: u32) -> Result<(), MemoryError> {
        if !crate::hardware::PRIVATE.contains(&address) {
            return self.memory.write(address, &[value]);
        }
        let fail = |source| MemoryError::Probe { address, source };
        let mut core = self.memory.0.core(core).map_err(fail)?;
        core.write_word_32(address.into(), value).and_then(|()| core.flush()).map_err(fail)
    }

    /// How many cores the chip has.
    #[must_use]
    pub fn cores(&self) -> usize {
        self.memory.0.list_cores().len()
    }

    /// The RAM of the chip.
    #[must_use]
    pub fn ram(&self) -> Vec<std::ops::Range<u64>> {
        crate::chip::ram(self.memory.0.target())
    }

    /// The session of probe-rs.
    pub fn probe(&mut self) -> &mut probe_rs::Session {
        &mut self.memory.0
    }

    /// Whether each core is halted for debugging, as opposed to parked by its agent.
    pub fn halted(&mut self) -> Result<Vec<bool>, SessionError> {
        let fail = SessionError::probe;
        let cores = 0..self.cores();
        let halted = |core| {
            let mut core = self.memory.0.core(core).map_err(fail("reach a core"))?;
            core.core_halted().map_err(fail("ask whether a core is halted"))
        };
        cores.map(halted).collect()
    }

    /// Halts one core; the others run on.
    pub fn halt_core(&mut self, core: usize) -> Result<(), SessionError> {
        let mut core = self.memory.0.core(core).map_err(SessionError::probe("reach a core"))?;
        core.halt(HALT_LIMIT).map_err(SessionError::probe("halt a core")).map(drop)
    }

    /// Halts all cores as one, where the probe can.
    pub fn halt_group(&mut self) -> Result<(), SessionError> {
        self.group.as_ref().ok_or(SessionError::NoGroup)?.halt(&mut self.memory.0)
    }

    /// Lets every halted core run.
    pub fn run(&mut self) -> Result<(), SessionError> {
        if let Some(group) = &self.group {
            return group.resume(&mut self.memory.0);
        }
        run_each(&mut self.memory.0)
    }

    /// Halts all cores, as one where the probe can, else one after the other.
    pub fn halt(&mut self) -> Result<(), SessionError> {
        match &self.group {
            Some(group) if group.is_usual() => group.halt(&mut self.memory.0),
            _ => (0..self.cores()).try_for_each(|core| self.halt_core(core)),
        }
    }

    /// Resets the board and keeps it halted before its first instruction. [`Session::run`] starts it.
    ///
    /// Boards that are joined are all reset before any of them starts, see [`start_together`]: what a board sends to one that
    /// is not reset yet is lost.
    pub fn reset_and_halt(&mut self) -> Result<(), SessionError> {
        let fail = SessionError::probe;
        self.halt()?;
        let mut core = self.memory.0.core(0).map_err(fail("reach a core"))?;
        core.reset_and_halt(HALT_LIMIT).map_err(fail("reset the board")).map(drop)
    }

    /// Lets go of the board and leaves halted cores halted.
    pub fn leave_halted(self) -> Result<(), SessionError> {
        let is_kept = self.group.as_ref().map_or(Ok(false), |group| group.keep_halted())?;
        if !is_kept {
            // Ended in order, a session lets the cores run on. The system takes the probe back all the same.
            std::mem::forget(self.memory);
        }
        Ok(())
    }
}

/// Lets every halted core run, one after the other.
pub(crate) fn run_each(session: &mut probe_rs::Session) -> Result<(), SessionError> {
    for core in 0..session.list_cores().len() {
        let mut core = session.core(core).map_err(SessionError::probe("reach a core"))?;
        if core.core_halted().map_err(SessionError::probe("ask whether a core is halted"))? {
            core.run().map_err(SessionError::probe("let a core run"))?;
        }
    }
    Ok(())
}

/// Lets these boards run at the same time. The results are in their order.
#[must_use]
pub fn start_together(sessions: &mut [Session]) -> Vec<Result<(), SessionError>> {
    std::thread::scope(|scope| {
        let threads: Vec<_> = sessions.iter_mut().map(|session| scope.spawn(|| session.run())).collect();
        threads.into_iter().map(|thread| thread.join().expect("starting a board does not panic")).collect()
    })
}

/// How many cores the chip of a board has, without asking it.
pub(crate) fn cores_of(board: &BoardConfig) -> Option<usize> {
    match &board.probe {
        ProbeConfig::Qemu => crate::emulated::cores(board),
        ProbeConfig::Probe { .. } => crate::hardware::cores(board),
    }
}

impl Memory for Session {
    fn read(&mut self, address: u32, into: &mut [u32]) -> Result<(), MemoryError> {
        self.memory.read(address, into)
    }

    fn write(&mut self, address: u32, from: &[u32]) -> Result<(), MemoryError> {
        self.memory.write(address, from)
    }
}

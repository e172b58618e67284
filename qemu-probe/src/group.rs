use crate::board::{BoardError, BoardHandle, CoreView};
use std::time::Duration;

/// All cores of a machine as one: what probe-rs, which knows one core at a time, has no words for.
///
/// Halting cores one after the other lets the later ones run on for an uncontrolled time. A group halt is one stop of the
/// machine: no core executes an instruction after any other has stopped.
///
/// ```no_run
/// # use qemu_probe::{CoreView, Machine, MachineKind, QemuProbe};
/// let machine = Machine::builder(MachineKind::Mps2An521).elf("firmware.elf").start()?;
/// let (probe, cores) = QemuProbe::attach(&machine)?;
/// cores.halt()?;
/// assert_eq!(cores.status()?, [CoreView::Halted, CoreView::Halted]);
/// cores.resume()?;
/// # drop(probe);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// A [`probe_rs::Core`] learns of a group halt or resume when its `status()` is next asked for.
#[derive(Clone, Debug)]
pub struct GroupHandle(BoardHandle);

impl GroupHandle {
    pub(crate) fn new(board: BoardHandle) -> Self {
        Self(board)
    }

    /// Halts all cores as one stop. Cores that are halted already stay as they are.
    pub fn halt(&self) -> Result<(), BoardError> {
        self.0.run(|board| board.halt_all())
    }

    /// Resumes all cores as one, each stepped over a breakpoint it stands at.
    pub fn resume(&self) -> Result<(), BoardError> {
        self.0.run(|board| board.resume_all())
    }

    /// Returns the cores that a killed debugger had left stopped and that run again since this one attached.
    ///
    /// A debugger that is killed in the middle of an access leaves cores stopped that it would have let run. Only a machine
    /// that outlives its debuggers (see [`MachineBuilder::detached`](crate::machine::MachineBuilder::detached)) can be found like this.
    #[must_use]
    pub fn released(&self) -> &[usize] {
        self.0.released()
    }

    /// How each core stands. Costs nothing: the machine is not asked.
    pub fn status(&self) -> Result<Vec<CoreView>, BoardError> {
        self.0.views()
    }

    /// Waits, without polling, until `core` is halted; `false` after `limit`.
    pub fn wait_for_halt(&self, core: usize, limit: Duration) -> Result<bool, BoardError> {
        if core >= self.0.cores() {
            return Err(BoardError::NoSuchCore(core));
        }
        self.0.wait_until(limit, |cores| cores.get(core) == Some(&CoreView::Halted))
    }

    /// Waits, without polling, until any core is halted; `false` after `limit`.
    pub fn wait_for_any_halt(&self, limit: Duration) -> Result<bool, BoardError> {
        self.0.wait_until(limit, |cores| cores.contains(&CoreView::Halted))
    }

    /// Keeps the cores that are halted now halted when the debugger leaves. Without this they run on then, as on silicon.
    pub fn keep_halted(&self) -> Result<(), BoardError> {
        self.0.run(|board| {
            board.hold();
            Ok(())
        })
    }
}

//! What is needed to attach a debugger to a machine.

use super::detached::RunDir;
use super::irq::IrqLines;
use super::ports::{Attachment, DebugPorts, DebuggerState};
use super::process::Process;
use super::stops::StopCount;
use super::{MachineError, MachineKind};
use std::fs::File;
use std::sync::Arc;

/// A machine to which a debugger can be attached, now or later. Nothing is stopped by holding it.
#[derive(Debug)]
pub(crate) struct Debuggable {
    pub(crate) kind: MachineKind,
    pub(crate) ports: DebugPorts,
    pub(crate) run_dir: Option<RunDir>,
    pub(super) irqs: Arc<IrqLines>,
    pub(super) stops: StopCount,
    pub(super) process: Process,
    pub(super) stderr: File,
}

impl Debuggable {
    /// Everything a debugger needs, for one debugger at a time.
    pub(crate) fn attachment(&self) -> Result<Attachment, MachineError> {
        let (cores, stderr) = (self.kind.cores(), self.stderr.try_clone().ok());
        self.ports.take(cores, self.run_dir.as_ref(), self.irqs.clone(), self.stops.clone(), stderr)
    }

    /// A better explanation of an error, if there is one.
    pub(crate) fn why_it_is_silent(&self, error: MachineError) -> MachineError {
        self.process.why_it_is_silent(error)
    }

    /// Whether its QEMU has not ended.
    pub(crate) fn is_alive(&self) -> bool {
        self.process.is_alive()
    }

    /// The last lines that QEMU has written.
    pub(crate) fn last_words(&self) -> String {
        super::running::last_words(&self.stderr)
    }

    /// Whether a debugger has halted each core, as far as that is known without attaching one.
    pub(crate) fn halted(&self) -> Option<Vec<bool>> {
        match &self.run_dir {
            Some(run_dir) => match DebuggerState::of(run_dir) {
                DebuggerState::Left(halted) => Some(halted),
                DebuggerState::Never | DebuggerState::Attached | DebuggerState::Killed => None,
            },
            None => self.ports.halted(self.kind.cores()),
        }
    }

    /// Pulses an interrupt line of a core.
    pub(crate) fn pulse(&self, core: usize, irq: u16) -> Result<(), MachineError> {
        self.irqs.pulse(self.kind, core, irq)
    }
}

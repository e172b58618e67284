//! The board: a QEMU machine, with the debug registers that QEMU does not emulate put in front of it.
//!
//! - `debug_block`: the debug registers of one core; `cross_trigger`: its cross trigger interface
//! - `control`: stopping and resuming the machine so that each core halts and runs on its own
//! - `memory`, `registers`, `inject` with its `journal`, `cpu_state`: reaching memory, devices and core registers
//! - `catch`: breakpoints and vector catch; `bkpt`: BKPT instructions; `reset`: resets, by us or by the firmware
//! - `owner`: the thread that owns the sockets

mod bkpt;
mod catch;
mod control;
mod cpu_state;
mod cross_trigger;
mod debug_block;
mod error;
mod inject;
mod journal;
mod memory;
mod owner;
mod registers;
mod reset;

pub(crate) use debug_block::{NVIC_ISPR, at_rest};
pub use error::BoardError;
pub(crate) use journal::Journal;
pub(crate) use owner::BoardHandle;
pub use owner::CoreView;

use crate::gdb::{Gdb, GdbError};
use crate::machine::{Attachment, DebugState, IrqLines, MachineError, MachineKind, Qmp, StopCount};
use debug_block::DebugBlock;
use serde_json::json;
use std::collections::{BTreeSet, HashMap};
use std::fs::File;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long any operation may take. The death of QEMU is noticed at once; this is for a QEMU that hangs, and long enough for
/// one on a busy computer.
pub(crate) const LIMIT: Duration = Duration::from_secs(5);

/// A machine under debug. Lives in its own thread; see [`BoardHandle`].
#[derive(Debug)]
pub(crate) struct Board {
    kind: MachineKind,
    gdb: Gdb,
    qmp: Qmp,
    cores: Vec<DebugBlock>,
    /// Whether the machine was told to run and has not reported a stop.
    vm_running: bool,
    /// The core that register and memory packets are about.
    selected: Option<usize>,
    /// Breakpoints QEMU knows at the moment. They are global to all cores there.
    inserted: BTreeSet<u32>,
    /// Where the debugger has written a BKPT instruction.
    patched: BTreeSet<u32>,
    /// Registers that never change, by core and address: probe-rs reads some at every access to a core.
    constants: HashMap<(usize, u32), u32>,
    /// Where devices are, once somebody has written to one.
    devices: Option<Vec<crate::machine::Region>>,
    /// Code memory written by the debugger: QEMU restores the image it was started with at a reset, flash would not.
    flashed: Vec<crate::machine::Region>,
    /// How a core that sleeps is woken.
    irqs: Arc<IrqLines>,
    /// Counts how often the machine is stopped.
    stops: StopCount,
    /// The firmware has asked for a reset, and QEMU has told so on its control socket.
    reset_asked: bool,
    /// Where QEMU saves the state of its cores on request.
    state_file: File,
    /// What the next debugger must put back, if this one cannot.
    journal: Journal,
    /// What QEMU said last, for the error when it has died.
    stderr: Option<File>,
    /// The error that ended the connection.
    lost: Option<BoardError>,
}

impl Board {
    /// Takes over a machine, running or stopped, and leaves each core as it was found.
    pub(crate) fn connect(kind: MachineKind, attachment: Attachment, journal: Journal) -> Result<Self, MachineError> {
        let Attachment { gdb, mut qmp, found, released: _, irqs, stops, stderr } = attachment;
        let state_file = tempfile::tempfile().map_err(MachineError::io("making a file for the state of the cores"))?;
        // A reset by the firmware shall stop the machine first, or halted cores would run on after it.
        qmp.execute("set-action", json!({ "reboot": "shutdown", "shutdown": "pause" }))?;
        let cores = found.halted.iter().map(|halted| DebugBlock::found(*halted)).collect();
        let mut board = Self {
            kind,
            gdb: Gdb::new(gdb),
            qmp,
            cores,
            vm_running: found.vm_running,
            selected: None,
            inserted: BTreeSet::new(),
            patched: BTreeSet::new(),
            constants: HashMap::new(),
            devices: None,
            flashed: Vec::new(),
            irqs,
            stops,
            reset_asked: false,
            state_file,
            journal,
            stderr,
            lost: None,
        };
        board.operate("attach", Self::greet).map_err(|error| match error {
            BoardError::Silent { limit, .. } => MachineError::Silent { what: "attach".into(), limit },
            other => MachineError::Refused { what: "attach".into(), reason: other.to_string() },
        })?;
        Ok(board)
    }

    fn greet(&mut self) -> Result<(), BoardError> {
        self.stop_vm()?;
        self.gdb.send(b"qSupported:multiprocess+;vContSupported+")?;
        // Connecting stops the machine, and the stub may have said so before it heard us.
        let features = loop {
            let reply = self.gdb.receive()?;
            if reply.starts_with(b"PacketSize") {
                break String::from_utf8_lossy(&reply).into_owned();
            }
        };
        if !features.contains("multiprocess+") {
            return Err(GdbError::Refused { packet: "multiprocess".into(), reply: features }.into());
        }
        // Without having sent a description the stub answers nothing to register packets.
        self.gdb.ask("qXfer:features:read:target.xml:0,ff0")?;
        for process in 1..=self.cores.len() {
            self.gdb.ask(&format!("vAttach;{process}"))?;
            // Removes breakpoints that a killed debugger left in QEMU, and does so for this core only.
            self.gdb.ask("?")?;
        }
        self.settle()
    }

    /// Runs one operation: within [`LIMIT`], with every core that should run running afterwards.
    pub(crate) fn operate<T>(
        &mut self,
        doing: &'static str,
        operation: impl FnOnce(&mut Self) -> Result<T, BoardError>,
    ) -> Result<T, BoardError> {
        if let Some(lost) = &self.lost {
            return Err(lost.clone());
        }
        self.gdb.deadline = Instant::now() + LIMIT;
        let mut result = operation(self);
        if !result.as_ref().is_err_and(BoardError::is_fatal) {
            self.cross_trigger();
            // An operation that failed must not leave the other cores frozen.
            let resumed = self.resume();
            result = result.and_then(|value| resumed.map(|()| value));
            self.note();
        }
        result.map_err(|error| {
            let mut error = error.during(doing, LIMIT);
            if let (BoardError::Lost { reason, .. }, Some(stderr)) = (&mut error, &self.stderr) {
                let said = crate::machine::last_words(stderr);
                *reason = if said.is_empty() { "It said nothing.".into() } else { format!("It said: {said}") };
            }
            if error.is_fatal() {
                self.lost = Some(error.clone());
            }
            error
        })
    }

    /// Notes which cores the next debugger shall keep halted, should this one be killed.
    fn note(&mut self) {
        // Half an image must not run.
        let has_written = !self.flashed.is_empty();
        let stays = |core: &DebugBlock| core.is_held() || core.is_halted() && has_written;
        let halted = self.cores.iter().map(stays).collect();
        self.journal.note(halted, self.cores.iter().map(DebugBlock::is_halted).collect());
    }

    /// Whether a core exists.
    pub(crate) fn check_core(&self, core: usize) -> Result<(), BoardError> {
        if core < self.cores.len() { Ok(()) } else { Err(BoardError::NoSuchCore(core)) }
    }

    /// Lets go: no breakpoint stays, running cores run, halted cores stay halted.
    pub(crate) fn disconnect(mut self) -> Option<(Gdb, Qmp, DebugState)> {
        self.operate("detach", |board| {
            board.stop_vm()?;
            for core in &mut board.cores {
                *core = DebugBlock::found(core.is_halted());
            }
            board.insert_breakpoints()
        })
        .ok()?;
        self.qmp.execute("set-action", json!({ "reboot": "reset", "shutdown": "poweroff" })).ok()?;
        let halted = self.cores.iter().map(DebugBlock::is_halted).collect();
        Some((
            self.gdb,
            self.qmp,
            DebugState { vm_running: self.vm_running, halted, stopped: Vec::new(), at_work: false },
        ))
    }
}

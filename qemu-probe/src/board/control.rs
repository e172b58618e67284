//! Stopping and resuming.
//!
//! QEMU stops and resumes the whole machine; a core that shall stay halted is simply left out when the machine is resumed.
//! For each resume there is exactly one stop reply: a breakpoint and our interrupt at the same moment give one, because the
//! stub ignores an interrupt when the machine has stopped already.

use super::debug_block::{DFSR_BKPT, DFSR_HALTED, DFSR_VCATCH, DebugBlock};
use super::inject::IT_BITS;
use super::{Board, BoardError};
use crate::gdb::GdbError;
use crate::gdb::packet::{StopReply, unhex};

const SIGINT: u8 = 2;
const SIGQUIT: u8 = 3;
const SIGTRAP: u8 = 5;

const WFI: [u8; 2] = [0x30, 0xBF];

/// How often a step is tried again that left the program counter where it was.
const STEP_AGAIN: usize = 4;

pub(super) const PC: u32 = 15;
pub(super) const XPSR: u32 = 25;

impl Board {
    /// Stops the machine; no core executes anything until [`Board::resume`].
    pub(super) fn stop_vm(&mut self) -> Result<(), BoardError> {
        if self.vm_running {
            self.gdb.interrupt()?;
            let reply = self.gdb.receive()?;
            self.on_stop(&reply)?;
        }
        Ok(())
    }

    /// Takes a stop that happened by itself, and lets the other cores go on.
    pub(super) fn serve_stop(&mut self) -> Result<bool, BoardError> {
        match self.gdb.try_receive()? {
            Some(reply) if self.vm_running => self.on_stop(&reply).map(|()| true),
            _ => Ok(false),
        }
    }

    fn on_stop(&mut self, reply: &[u8]) -> Result<(), BoardError> {
        let stop = StopReply::parse(reply).ok_or_else(|| GdbError::Refused {
            packet: "vCont".into(),
            reply: String::from_utf8_lossy(reply).into_owned(),
        })?;
        self.vm_running = false;
        self.selected = None;
        self.count_stop()?;
        match (stop.signal, stop.core) {
            (SIGTRAP, Some(core)) if core < self.cores.len() => self.on_trap(core),
            (SIGQUIT, _) => self.after_reset_by_firmware(),
            // An interrupt asked for by us, or a stop whose cause is gone already.
            (SIGINT, _) | (_, _) => Ok(()),
        }
    }

    fn count_stop(&self) -> Result<(), BoardError> {
        let failed = |error| BoardError::Refused { during: "", reason: format!("the stop cannot be counted: {error}") };
        self.stops.add().map_err(failed)
    }

    /// A core came to an address QEMU has a breakpoint at. Is it a breakpoint of this core?
    fn on_trap(&mut self, core: usize) -> Result<(), BoardError> {
        let pc = self.core_register(core, PC)?;
        let own = self.cores[core].breakpoints().any(|address| address == pc);
        if own || self.patched.contains(&pc) && self.cores[core].halts_at_bkpt() {
            self.cores[core].halt(DFSR_BKPT);
        } else if let Some(exception) = self.caught(core, pc)? {
            let bkpt = self.undo_bkpt_fault(core, exception)?;
            self.cores[core].halt(if bkpt { DFSR_BKPT } else { DFSR_VCATCH });
        } else if self.inserted.contains(&pc) {
            // It is for another core: carry this one over it, alone.
            self.step_over(core, true)?;
        }
        Ok(())
    }

    /// Lets exactly the cores run that are not halted.
    pub(super) fn resume(&mut self) -> Result<(), BoardError> {
        if self.vm_running || self.cores.iter().all(|core| core.is_halted()) {
            return Ok(());
        }
        self.insert_breakpoints()?;
        let mut packet = String::from("vCont");
        for (index, _) in self.cores.iter().enumerate().filter(|(_, core)| !core.is_halted()) {
            packet.push_str(&format!(";c:{}", thread(index)));
        }
        self.gdb.send(packet.as_bytes())?;
        self.vm_running = true;
        Ok(())
    }

    /// Whether a core executes instructions: not if it sleeps in WFI or is held in reset.
    pub(super) fn is_awake(&mut self, core: usize) -> Result<bool, BoardError> {
        let info = self.gdb.ask(&format!("qThreadExtraInfo,{}", thread(core)))?;
        let text = unhex(&info).unwrap_or_default();
        Ok(!String::from_utf8_lossy(&text).contains("[halted"))
    }

    /// Executes one instruction on one core while all others stand still. A core that sleeps or is held does not move, as
    /// QEMU would wait for it for ever. Breakpoints do not stop a step.
    pub(super) fn step_over(&mut self, core: usize, mask_interrupts: bool) -> Result<bool, BoardError> {
        if !self.is_awake(core)? {
            return Ok(false);
        }
        self.step_awake(core, mask_interrupts)?;
        Ok(true)
    }

    /// The same for a core that is known to execute.
    pub(super) fn step_awake(&mut self, core: usize, mask_interrupts: bool) -> Result<(), BoardError> {
        if !mask_interrupts {
            self.gdb.order("Qqemu.sstep=1")?;
        }
        let before = self.core_register(core, PC)?;
        if self.is_at_wfi(core, before)? {
            // QEMU never reports the end of this step. A core may leave WFI at any time, and a debug event makes it.
            self.set_core_register(core, PC, before.wrapping_add(2))?;
            return Ok(());
        }
        let mut reset = self.step_once(core)?;
        // A stop that was under way already can end a step before it has begun. To repeat it is harmless even if the core
        // did step: only a branch to itself leaves the program counter where it was.
        for _ in 0..STEP_AGAIN {
            if reset || self.core_register(core, PC)? != before {
                break;
            }
            reset = self.step_once(core)?;
        }
        if !mask_interrupts {
            self.gdb.order("Qqemu.sstep=7")?;
        }
        if reset {
            self.after_reset_by_firmware()?;
        }
        Ok(())
    }

    /// Whether a core is about to execute WFI, unconditionally.
    fn is_at_wfi(&mut self, core: usize, pc: u32) -> Result<bool, BoardError> {
        Ok(self.code_at(core, pc)? == Some(WFI) && self.core_register(core, XPSR)? & IT_BITS == 0)
    }

    /// The first two bytes of the instruction at `pc`; `None` if nothing can be read there, which the core meets as a fault.
    pub(super) fn code_at(&mut self, core: usize, pc: u32) -> Result<Option<[u8; 2]>, BoardError> {
        self.select(core)?;
        let mut code = [0; 2];
        match self.gdb.read(pc, &mut code) {
            Ok(()) => Ok(Some(code)),
            Err(GdbError::Refused { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Returns whether the instruction was one that resets the machine.
    fn step_once(&mut self, core: usize) -> Result<bool, BoardError> {
        self.gdb.send(format!("vCont;s:{}", thread(core)).as_bytes())?;
        let reply = self.gdb.receive()?;
        self.selected = None;
        self.count_stop()?;
        Ok(StopReply::parse(&reply).is_some_and(|stop| stop.signal == SIGQUIT))
    }

    /// Halts one core; the others do not notice.
    pub(super) fn halt_core(&mut self, core: usize) -> Result<(), BoardError> {
        self.stop_vm()?;
        // It may have come to a breakpoint in the meantime: that is then the true reason.
        if !self.cores[core].is_halted() {
            self.cores[core].halt(DFSR_HALTED);
        }
        Ok(())
    }

    /// Halts all cores with one stop of the machine, so that none executes anything after another has stopped.
    pub(crate) fn halt_all(&mut self) -> Result<(), BoardError> {
        self.operate("halt all cores", |board| {
            board.stop_vm()?;
            for core in board.cores.iter_mut().filter(|core| !core.is_halted()) {
                core.halt(DFSR_HALTED);
            }
            Ok(())
        })
    }

    /// Lets cores follow the halts of others, as far as their cross triggers are set so. The machine stands meanwhile, so they
    /// execute nothing after the first has halted.
    pub(super) fn cross_trigger(&mut self) {
        if self.vm_running {
            return;
        }
        // A core that follows tells the others of its own halt, too.
        for index in (0..self.cores.len()).chain(0..self.cores.len()) {
            let channels = self.cores[index].take_untold();
            let others = self.cores.iter_mut().enumerate().filter(|(other, _)| *other != index);
            others.for_each(|(_, core)| core.follow(channels));
        }
    }

    /// Lets all cores run with one resume of the machine.
    pub(crate) fn resume_all(&mut self) -> Result<(), BoardError> {
        self.operate("resume all cores", |board| {
            board.stop_vm()?;
            for core in 0..board.cores.len() {
                if board.cores[core].is_halted() {
                    // Or it would stop where it stands.
                    let pc = board.core_register(core, PC)?;
                    if board.cores[core].breakpoints().any(|address| address == pc) && !board.is_at_bkpt(core, pc)? {
                        board.step_over(core, true)?;
                    }
                    board.cores[core].run();
                }
            }
            Ok(())
        })
    }

    /// Ends what a debugger has left behind: breakpoints and catches go, and cores that it halted run on.
    pub(crate) fn release(&mut self) -> Result<(), BoardError> {
        // A tool that has only looked shall not stop the machine by leaving.
        if self.cores.iter().all(DebugBlock::is_at_rest) {
            self.cores.iter_mut().for_each(DebugBlock::release);
            return Ok(());
        }
        self.operate("let the cores go", |board| {
            board.stop_vm()?;
            board.cores.iter_mut().for_each(DebugBlock::release);
            Ok(())
        })
    }

    /// Keeps halted cores halted when the debugger leaves.
    pub(crate) fn hold(&mut self) {
        self.cores.iter_mut().for_each(|core| core.hold());
        self.note();
    }
}

/// A core as the stub names it: each core is a process of its own with one thread.
pub(super) fn thread(core: usize) -> String {
    format!("p{:x}.{:x}", core + 1, core + 1)
}

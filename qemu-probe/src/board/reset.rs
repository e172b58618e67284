//! Resets: asked for by the debugger, or by the firmware.
//!
//! While a debugger is attached, a reset by the firmware first stops the machine (QEMU's `reboot=shutdown`), so that both
//! kinds end here, with the machine stopped: no core executes anything before its debug block has decided whether it may.

use super::{Board, BoardError, LIMIT};
use serde_json::{Value, json};
use std::time::Instant;

impl Board {
    /// Resets the machine for a debugger that asked through `core`.
    pub(super) fn reset(&mut self, core: usize) -> Result<(), BoardError> {
        self.stop_vm()?;
        self.reset_machine()?;
        for (index, block) in self.cores.iter_mut().enumerate() {
            block.reset(index == core);
        }
        Ok(())
    }

    /// Resets the machine as its reset pin would: every core starts, unless it shall be caught.
    pub(crate) fn reset_by_pin(&mut self) -> Result<(), BoardError> {
        self.operate("reset the machine", |board| {
            board.stop_vm()?;
            board.reset_machine()?;
            board.cores.iter_mut().for_each(|core| core.reset(true));
            Ok(())
        })
    }

    /// Looks whether the firmware has asked for a reset that was not served yet.
    ///
    /// QEMU says so on its control socket and stops the machine; but if it was being stopped already, by a breakpoint or by
    /// us, then the control socket is the only place where it says so.
    pub(super) fn serve_events(&mut self) -> Result<(), BoardError> {
        while let Some(event) = self.qmp.poll_event()? {
            self.reset_asked |= is_reset_by_firmware(&event);
        }
        if self.reset_asked {
            // May meet the stop that QEMU made for it, which is served at once.
            self.stop_vm()?;
        }
        if self.reset_asked { self.after_reset_by_firmware() } else { Ok(()) }
    }

    /// The firmware asked for a reset, and the machine has stopped.
    pub(super) fn after_reset_by_firmware(&mut self) -> Result<(), BoardError> {
        let end = Instant::now() + LIMIT;
        while !self.reset_asked {
            // Not to be taken for another one later.
            let data = self.qmp.wait_for("SHUTDOWN", end.saturating_duration_since(Instant::now()))?;
            self.reset_asked = data["reason"] == "guest-reset";
        }
        self.reset_asked = false;
        self.reset_machine()?;
        for block in &mut self.cores {
            block.reset(false);
        }
        Ok(())
    }

    fn reset_machine(&mut self) -> Result<(), BoardError> {
        // QEMU restores the image it was started with; what the debugger has loaded since must survive, as in flash.
        let mut kept = Vec::new();
        for region in self.flashed.clone() {
            let mut bytes = vec![0; region.len as usize];
            self.select(0)?;
            self.gdb.read(region.base, &mut bytes)?;
            kept.push((region.base, bytes));
        }
        while self.qmp.poll_event()?.is_some() {}
        // Our own reset would be taken for one by the firmware and only stop the machine again.
        self.qmp.execute("set-action", json!({ "reboot": "reset" }))?;
        self.qmp.execute("system_reset", json!({}))?;
        self.qmp.wait_for("RESET", LIMIT)?;
        self.qmp.execute("set-action", json!({ "reboot": "shutdown" }))?;
        self.selected = None;
        self.constants.clear();
        for (address, bytes) in kept {
            self.select(0)?;
            self.gdb.write(address, &bytes)?;
        }
        Ok(())
    }
}

fn is_reset_by_firmware(event: &Value) -> bool {
    event["event"] == "SHUTDOWN" && event["data"]["reason"] == "guest-reset"
}

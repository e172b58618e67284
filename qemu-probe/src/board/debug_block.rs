//! The debug registers of one Cortex-M core, as a debugger sees them: DHCSR, DFSR, DEMCR and the breakpoint unit.
//!
//! Pure bookkeeping. What a write *asks* of the machine comes back as [`Ask`]; the board does it.

use super::cross_trigger::CrossTrigger;

/// Comparators of the breakpoint unit. QEMU has no limit; this is what a Cortex-M33 has at most.
pub(crate) const BREAKPOINTS: usize = 8;

pub(crate) const DHCSR: u32 = 0xE000_EDF0;
pub(crate) const DCRSR: u32 = 0xE000_EDF4;
pub(crate) const DCRDR: u32 = 0xE000_EDF8;
pub(crate) const DEMCR: u32 = 0xE000_EDFC;
pub(crate) const DFSR: u32 = 0xE000_ED30;
pub(crate) const AIRCR: u32 = 0xE000_ED0C;
/// Sets interrupts pending.
pub(crate) const NVIC_ISPR: u32 = 0xE000_E200;
const FP_CTRL: u32 = 0xE000_2000;
const FP_COMP: u32 = 0xE000_2008;
const FP_COMP_LAST: u32 = FP_COMP + 4 * (BREAKPOINTS as u32 - 1);

pub(crate) const DFSR_HALTED: u32 = 1 << 0;
pub(crate) const DFSR_BKPT: u32 = 1 << 1;
pub(crate) const DFSR_VCATCH: u32 = 1 << 3;
const DFSR_EXTERNAL: u32 = 1 << 4;

const C_DEBUGEN: u32 = 1 << 0;
const C_HALT: u32 = 1 << 1;
const C_STEP: u32 = 1 << 2;
const C_MASKINTS: u32 = 1 << 3;
const VC_CORERESET: u32 = 1 << 0;
/// Trace units are on: nothing that stops a core.
const TRCENA: u32 = 1 << 24;

/// What a register write asks the board to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ask {
    /// Nothing beyond remembering the value.
    Nothing,
    /// Stop this core.
    Halt,
    /// Let this core run.
    Run,
    /// Let this core execute one instruction.
    Step {
        /// Without taking an interrupt.
        mask_interrupts: bool,
    },
    /// Move a core register to DCRDR.
    ReadRegister(u32),
    /// Move DCRDR to a core register.
    WriteRegister(u32),
    /// Other breakpoints are wanted.
    Breakpoints,
    /// Reset the machine.
    Reset,
}

/// The debug registers of one core.
#[derive(Clone, Debug, Default)]
pub(crate) struct DebugBlock {
    halted: bool,
    /// Found stopped and never let run: leaving must not let it run, there may be nothing to run.
    held: bool,
    control: u32,
    was_reset: bool,
    fault_status: u32,
    exception_control: u32,
    pub(crate) data: u32,
    breakpoints_on: bool,
    breakpoints: [u32; BREAKPOINTS],
    cross_trigger: CrossTrigger,
    /// It has halted since the other cores were last told.
    untold: bool,
}

/// The value of a debug register of a core to which no debugger was attached since it was left halted, or running.
pub(crate) fn at_rest(halted: bool, address: u32) -> Option<u32> {
    DebugBlock::found(halted).read(address)
}

impl DebugBlock {
    /// A core that was found halted, or running.
    pub(crate) fn found(halted: bool) -> Self {
        let control = if halted { C_DEBUGEN | C_HALT } else { 0 };
        let fault_status = if halted { DFSR_HALTED } else { 0 };
        Self { halted, held: halted, control, fault_status, ..Self::default() }
    }

    pub(crate) fn is_halted(&self) -> bool {
        self.halted
    }

    /// Whether the core stays halted when the debugger leaves.
    pub(crate) fn is_held(&self) -> bool {
        self.held
    }

    /// The core stopped for a reason of DFSR.
    pub(crate) fn halt(&mut self, reason: u32) {
        self.untold |= !self.halted;
        self.halted = true;
        self.control |= C_DEBUGEN | C_HALT;
        self.fault_status |= reason;
    }

    /// The channels of the cross trigger on which to tell other cores that this one has halted; once per halt.
    pub(crate) fn take_untold(&mut self) -> u32 {
        if std::mem::take(&mut self.untold) { self.cross_trigger.sent() } else { 0 }
    }

    /// Another core has halted and told so on these channels. Halts this one if it follows, or if it was to follow before and
    /// nobody has acknowledged that.
    pub(crate) fn follow(&mut self, channels: u32) {
        self.cross_trigger.receive(channels);
        if self.cross_trigger.requests_halt() && !self.halted && self.control & C_DEBUGEN != 0 {
            self.halt(DFSR_EXTERNAL);
        }
    }

    /// Whether a BKPT instruction halts the core; without halting debug it is a fault.
    pub(crate) fn halts_at_bkpt(&self) -> bool {
        self.control & C_DEBUGEN != 0
    }

    /// Whether a debugger has changed nothing that it would have to put back.
    pub(crate) fn is_at_rest(&self) -> bool {
        let stands = self.halted && !self.held || self.control & (C_STEP | C_MASKINTS) != 0;
        let catches = self.exception_control & !TRCENA != 0 || self.breakpoints().next().is_some();
        !stands && !catches && self.cross_trigger.is_at_rest()
    }

    /// The debugger is gone: its breakpoints and catches go with it, and what it halted runs on.
    pub(crate) fn release(&mut self) {
        let held = self.held;
        *self = Self::found(self.halted && held);
    }

    pub(crate) fn run(&mut self) {
        (self.halted, self.held) = (false, false);
        self.control &= !(C_HALT | C_STEP);
    }

    /// A halted core shall stay halted when the debugger leaves.
    pub(crate) fn hold(&mut self) {
        self.held = self.halted;
    }

    /// The machine was reset. `by_us`: a debugger reset it through this core, so the core starts unless it shall be caught.
    pub(crate) fn reset(&mut self, by_us: bool) {
        self.was_reset = true;
        if self.exception_control & VC_CORERESET != 0 {
            self.halt(DFSR_VCATCH);
        } else if by_us {
            self.run();
        }
    }

    /// Which exceptions shall stop the core at their handler.
    pub(crate) fn vector_catch(&self) -> u32 {
        if self.control & C_DEBUGEN == 0 { 0 } else { self.exception_control & 0x0FF0 }
    }

    /// The addresses the core shall stop at.
    pub(crate) fn breakpoints(&self) -> impl Iterator<Item = u32> {
        let on = self.breakpoints_on;
        self.breakpoints.iter().filter(move |value| on && *value & 1 == 1).map(|value| value & !1)
    }

    /// The value of a debug register, or `None` if it is not one of this block. Reading may clear status bits.
    pub(crate) fn read(&mut self, address: u32) -> Option<u32> {
        Some(match address {
            DHCSR => {
                let reset = std::mem::take(&mut self.was_reset);
                self.control & 0xF | 1 << 16 | u32::from(self.halted) << 17 | u32::from(reset) << 25
            }
            DCRSR => 0,
            DCRDR => self.data,
            DEMCR => self.exception_control,
            DFSR => self.fault_status,
            FP_CTRL => 1 << 28 | (BREAKPOINTS as u32) << 4 | u32::from(self.breakpoints_on),
            FP_COMP..=FP_COMP_LAST if address.is_multiple_of(4) => self.breakpoints[comparator(address)],
            _ => return self.cross_trigger.read(address),
        })
    }

    /// Takes a write, or returns `None` if the address is not of this block.
    pub(crate) fn write(&mut self, address: u32, value: u32) -> Option<Ask> {
        Some(match address {
            DHCSR if value >> 16 == 0xA05F => self.write_control(value & 0xF),
            DHCSR => Ask::Nothing,
            DCRSR if value & 1 << 16 == 0 => Ask::ReadRegister(value & 0x7F),
            DCRSR => Ask::WriteRegister(value & 0x7F),
            DCRDR => {
                self.data = value;
                Ask::Nothing
            }
            DEMCR => {
                self.exception_control = value;
                Ask::Breakpoints
            }
            DFSR => {
                self.fault_status &= !value;
                Ask::Nothing
            }
            FP_CTRL if value & 2 != 0 => {
                self.breakpoints_on = value & 1 != 0;
                Ask::Breakpoints
            }
            FP_CTRL => Ask::Nothing,
            FP_COMP..=FP_COMP_LAST if address.is_multiple_of(4) => {
                self.breakpoints[comparator(address)] = value;
                Ask::Breakpoints
            }
            AIRCR if value >> 16 == 0x05FA && value & 1 << 2 != 0 => Ask::Reset,
            _ => return self.cross_trigger.write(address, value).map(|()| Ask::Nothing),
        })
    }

    fn write_control(&mut self, value: u32) -> Ask {
        let enabled = value & C_DEBUGEN != 0;
        if !enabled && self.held {
            return Ask::Nothing;
        }
        self.control = value;
        match (enabled && value & C_HALT != 0, enabled && value & C_STEP != 0, self.halted) {
            (true, _, false) => Ask::Halt,
            (true, _, true) => Ask::Nothing,
            // A running core executes one more instruction, then halts.
            (false, true, _) => Ask::Step { mask_interrupts: value & C_MASKINTS != 0 },
            (false, false, true) => Ask::Run,
            (false, false, false) => Ask::Nothing,
        }
    }
}

fn comparator(address: u32) -> usize {
    ((address - FP_COMP) / 4) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: u32 = 0xA05F_0000;

    #[test]
    fn control_needs_its_key() {
        let mut block = DebugBlock::found(false);
        assert_eq!(block.write(DHCSR, C_DEBUGEN | C_HALT), Some(Ask::Nothing));
        assert_eq!(block.write(DHCSR, KEY | C_DEBUGEN | C_HALT), Some(Ask::Halt));
    }

    #[test]
    fn a_running_core_is_let_go_and_a_core_found_stopped_is_kept() {
        let mut running = DebugBlock::found(false);
        running.write(DHCSR, KEY | C_DEBUGEN | C_HALT);
        running.halt(DFSR_HALTED);
        assert_eq!(running.write(DHCSR, KEY), Some(Ask::Run), "halted by the debugger, left by the debugger");
        let mut stopped = DebugBlock::found(true);
        assert_eq!(stopped.write(DHCSR, KEY), Some(Ask::Nothing));
        assert!(stopped.is_halted());
        assert_eq!(stopped.read(DHCSR).map(|v| v & C_DEBUGEN), Some(C_DEBUGEN), "or attaching would let it run");
    }

    #[test]
    fn the_reset_bit_is_seen_once() {
        let mut block = DebugBlock::found(false);
        block.reset(true);
        assert_eq!(block.read(DHCSR).map(|v| v >> 25 & 1), Some(1));
        assert_eq!(block.read(DHCSR).map(|v| v >> 25 & 1), Some(0));
    }

    #[test]
    fn reset_catch_halts_with_the_reason_vector_catch() {
        let mut block = DebugBlock::found(false);
        block.write(DEMCR, VC_CORERESET);
        block.reset(true);
        assert!(block.is_halted());
        assert_eq!(block.read(DFSR), Some(DFSR_VCATCH));
        block.write(DFSR, 0x1F);
        assert_eq!(block.read(DFSR), Some(0));
    }

    #[test]
    fn breakpoints_count_only_when_the_unit_and_the_comparator_are_on() {
        let mut block = DebugBlock::found(false);
        block.write(FP_COMP, 0x1000_0101);
        block.write(FP_COMP + 4, 0x1000_0200);
        assert_eq!(block.breakpoints().count(), 0);
        block.write(FP_CTRL, 3);
        assert_eq!(block.breakpoints().collect::<Vec<_>>(), [0x1000_0100]);
        assert_eq!(block.read(FP_CTRL).map(|v| v >> 4 & 0xF), Some(BREAKPOINTS as u32));
    }

    #[test]
    fn other_addresses_are_not_of_this_block() {
        let mut block = DebugBlock::found(false);
        assert_eq!(block.read(0xE000_ED00), None);
        assert_eq!(block.write(AIRCR, 0x05FA_0000), None, "a write that does not reset goes to the machine");
        assert_eq!(block.write(FP_COMP_LAST + 4, 1), None);
    }
}

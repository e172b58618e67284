//! The cross trigger interface (CTI) of one core: which halts it tells the other cores of, and which it follows.
//!
//! Each core of an Arm chip may have one, joined to the others by a matrix of four channels. QEMU has none, so this is the
//! part of it that debuggers use to halt cores together: trigger input 0 is "the core has halted", trigger output 0 is "halt
//! the core". An output stays asserted until it is acknowledged: until then its core halts again as soon as it runs.

use crate::machine::Region;

/// Where a Cortex-M33 has it.
const CTI: Region = Region { base: 0xE004_2000, len: 0x1000 };

const CONTROL: u32 = 0x000;
const INTACK: u32 = 0x010;
const INEN0: u32 = 0x020;
const OUTEN0: u32 = 0x0A0;
const TRIGOUTSTATUS: u32 = 0x134;
const GATE: u32 = 0x140;
const LAR: u32 = 0xFB0;
const LSR: u32 = 0xFB4;
const DEVTYPE: u32 = 0xFCC;

const KEY: u32 = 0xC5AC_CE55;
const CHANNELS: u32 = 0xF;
/// Trigger output 0: halt the core.
const DEBUG_REQUEST: u32 = 1 << 0;

/// The registers of one core's interface.
#[derive(Clone, Debug)]
pub(super) struct CrossTrigger {
    unlocked: bool,
    enabled: bool,
    /// Channels that a halt of the core is sent to.
    halted: u32,
    /// Channels that halt the core.
    request: u32,
    /// Channels that lead to other cores.
    gate: u32,
    requested: bool,
}

impl Default for CrossTrigger {
    fn default() -> Self {
        Self { unlocked: false, enabled: false, halted: 0, request: 0, gate: CHANNELS, requested: false }
    }
}

impl CrossTrigger {
    /// The value of a register; `None` if the address is none of its.
    pub(super) fn read(&self, address: u32) -> Option<u32> {
        let register = register(address)?;
        Some(match register {
            CONTROL => u32::from(self.enabled),
            INEN0 => self.halted,
            OUTEN0 => self.request,
            TRIGOUTSTATUS => u32::from(self.requested),
            GATE => self.gate,
            LSR => 1 | u32::from(!self.unlocked) << 1,
            DEVTYPE => 0x14,
            _ => 0,
        })
    }

    /// Takes a write; `None` if the address is none of its.
    pub(super) fn write(&mut self, address: u32, value: u32) -> Option<()> {
        let register = register(address)?;
        match register {
            LAR => self.unlocked = value == KEY,
            _ if !self.unlocked => {}
            CONTROL => self.enabled = value & 1 != 0,
            INTACK if value & DEBUG_REQUEST != 0 => self.requested = false,
            INEN0 => self.halted = value & CHANNELS,
            OUTEN0 => self.request = value & CHANNELS,
            GATE => self.gate = value & CHANNELS,
            _ => {}
        }
        Some(())
    }

    /// The channels to which a halt of the core goes out.
    pub(super) fn sent(&self) -> u32 {
        if self.enabled { self.halted & self.gate } else { 0 }
    }

    /// Another core has halted and told so on these channels.
    pub(super) fn receive(&mut self, channels: u32) {
        self.requested |= self.enabled && channels & self.gate & self.request != 0;
    }

    /// Whether the core is to halt.
    pub(super) fn requests_halt(&self) -> bool {
        self.requested
    }

    /// Whether it does anything.
    pub(super) fn is_at_rest(&self) -> bool {
        !self.enabled && !self.requested
    }
}

fn register(address: u32) -> Option<u32> {
    CTI.contains(address, 4).then(|| address - CTI.base)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn routed() -> CrossTrigger {
        let mut cti = CrossTrigger::default();
        for (register, value) in [(LAR, KEY), (INEN0, 1), (OUTEN0, 1), (CONTROL, 1)] {
            cti.write(CTI.base + register, value).unwrap();
        }
        cti
    }

    #[test]
    fn nothing_is_written_while_it_is_locked() {
        let mut cti = CrossTrigger::default();
        cti.write(CTI.base + CONTROL, 1).unwrap();
        assert_eq!((cti.read(CTI.base + CONTROL), cti.read(CTI.base + LSR)), (Some(0), Some(3)));
        assert_eq!(routed().read(CTI.base + LSR), Some(1));
    }

    #[test]
    fn a_halt_reaches_another_core_by_a_channel_that_both_have_enabled_and_not_gated() {
        let (from, mut to) = (routed(), routed());
        assert_eq!(from.sent(), 1);
        to.receive(from.sent());
        assert!(to.requests_halt());
        for (register, value) in [(CONTROL, 0), (OUTEN0, 2), (GATE, 0xE)] {
            let mut deaf = routed();
            deaf.write(CTI.base + register, value).unwrap();
            deaf.receive(from.sent());
            assert!(!deaf.requests_halt(), "{register:#x}");
        }
        for (register, value) in [(CONTROL, 0), (INEN0, 0), (GATE, 0)] {
            let mut silent = routed();
            silent.write(CTI.base + register, value).unwrap();
            assert_eq!(silent.sent(), 0, "{register:#x}");
        }
    }

    #[test]
    fn a_request_stays_until_it_is_acknowledged() {
        let mut cti = routed();
        cti.receive(1);
        cti.write(CTI.base + OUTEN0, 0).unwrap();
        assert!(cti.requests_halt());
        assert_eq!(cti.read(CTI.base + TRIGOUTSTATUS), Some(1));
        cti.write(CTI.base + INTACK, DEBUG_REQUEST).unwrap();
        assert!(!cti.requests_halt());
    }
}

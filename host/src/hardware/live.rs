//! The memory of a board behind a probe, without a session: no core is stopped.
//!
//! RAM is reached through the access port of the first core, registers that each core has for itself through its own.
use super::sequence::StayPowered;
use crate::quiet::LiveBoard;
use crate::{Memory, MemoryError};
use probe_rs::Permissions;
use probe_rs::architecture::arm::dp::DpAddress;
use probe_rs::architecture::arm::{ApV2Address, ArmDebugInterface, ArmError, FullyQualifiedApAddress};
use probe_rs::config::{Core, DebugSequence, Target};
use probe_rs::probe::{Probe, WireProtocol};
use probe_rs_target::{ApAddress, CoreAccessOptions};
use std::sync::{Arc, Mutex, MutexGuard};

/// The registers of a core that begin here are its own: another core's access port does not reach them.
pub(crate) const PRIVATE: std::ops::Range<u32> = 0xE000_0000..0xE010_0000;

const DHCSR: u32 = 0xE000_EDF0;
const C_DEBUGEN: u32 = 1 << 0;
const S_HALT: u32 = 1 << 17;
const FP_CTRL: u32 = 0xE000_2000;
const FP_COMP: u32 = 0xE000_2008;

/// A board behind a probe that is used while it runs.
pub(super) struct LiveProbe {
    // Whether cores are halted is asked of a shared board.
    interface: Mutex<Box<dyn ArmDebugInterface>>,
    ports: Vec<FullyQualifiedApAddress>,
}

impl LiveProbe {
    /// Connects to the debug port. The error says why the chip needs a session.
    pub(super) fn open(mut probe: Probe, target: &Target) -> Result<Self, String> {
        let DebugSequence::Arm(sequence) = &target.debug_sequence else {
            return Err("only Arm cores can be looked at without it".into());
        };
        let ports: Vec<_> = target.cores.iter().filter_map(access_port).collect();
        if ports.is_empty() || ports.len() < target.cores.len() {
            return Err("not every core has an access port of its own".into());
        }
        let failed = |error: &dyn std::error::Error| format!("memory alone is not accessible: {error}");
        probe.attach_to_unspecified().map_err(|error| failed(&error))?;
        if probe.protocol() == Some(WireProtocol::Jtag) {
            return Err("the probe uses JTAG; memory alone is accessible by SWD".into());
        }
        let interface = probe.try_into_arm_debug_interface(Arc::new(StayPowered(sequence.clone())));
        let mut interface = interface.map_err(|(_, error)| failed(&error))?;
        interface.select_debug_port(ports[0].dp()).map_err(|error| failed(&error))?;
        if unlocks_harmlessly(target) {
            let unlocked = sequence.debug_device_unlock(&mut *interface, &ports[0], &Permissions::default());
            unlocked.map_err(|error| failed(&error))?;
        }
        let live = Self { interface: Mutex::new(interface), ports };
        live.word(0, DHCSR).map_err(|error| failed(&error))?;
        for core in 0..live.ports.len() {
            // A core that is not powered, or not released yet, has no debugger's leavings either.
            if has_breakpoints(|address| live.word(core, address)).unwrap_or(false) {
                return Err(format!("a debugger that was killed has left breakpoints in core {core}"));
            }
        }
        Ok(live)
    }

    fn lock(&self) -> MutexGuard<'_, Box<dyn ArmDebugInterface>> {
        self.interface.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn word(&self, core: usize, address: u32) -> Result<u32, ArmError> {
        self.lock().memory_interface(&self.ports[core])?.read_word_32(address.into())
    }

    fn write_by(&mut self, core: usize, address: u32, from: &[u32]) -> Result<(), MemoryError> {
        let mut interface = self.lock();
        let mut write = || {
            let mut memory = interface.memory_interface(&self.ports[core])?;
            memory.write_32(address.into(), from)?;
            memory.flush()
        };
        write().map_err(|error: ArmError| MemoryError::Probe { address, source: error.into() })
    }
}

impl LiveBoard for LiveProbe {
    fn cores(&self) -> usize {
        self.ports.len()
    }

    fn halted(&self) -> Option<Vec<bool>> {
        // A core whose registers do not answer is off, or not released yet: it is not halted by a debugger.
        let halted = |core| self.word(core, DHCSR).is_ok_and(|value| value & S_HALT != 0);
        Some((0..self.ports.len()).map(halted).collect())
    }

    fn ring(&mut self, core: usize, address: u32, value: u32) -> Result<(), MemoryError> {
        let by = if PRIVATE.contains(&address) { core } else { 0 };
        self.write_by(by, address, &[value])
    }
}

impl Memory for LiveProbe {
    fn read(&mut self, address: u32, into: &mut [u32]) -> Result<(), MemoryError> {
        let mut interface = self.lock();
        let mut read = || interface.memory_interface(&self.ports[0])?.read_32(address.into(), into);
        read().map_err(|error: ArmError| MemoryError::Probe { address, source: error.into() })
    }

    fn write(&mut self, address: u32, from: &[u32]) -> Result<(), MemoryError> {
        self.write_by(0, address, from)
    }
}

/// The access port of a core.
fn access_port(core: &Core) -> Option<FullyQualifiedApAddress> {
    let CoreAccessOptions::Arm(options) = &core.core_access_options else { return None };
    let dp = options.targetsel.map_or(DpAddress::Default, DpAddress::Multidrop);
    Some(match &options.ap {
        ApAddress::V1(ap) => FullyQualifiedApAddress::v1_with_dp(dp, *ap),
        ApAddress::V2(base) => FullyQualifiedApAddress::v2_with_dp(dp, ApV2Address::new(*base)),
    })
}

/// Whether unlocking the debug port of this chip changes no more than debug clocks. That of other chips may erase their
/// flash or start a core.
fn unlocks_harmlessly(target: &Target) -> bool {
    target.name.to_ascii_uppercase().starts_with("STM32H7")
}

/// Whether a running core has breakpoints of a debugger that did not remove them.
fn has_breakpoints(mut word: impl FnMut(u32) -> Result<u32, ArmError>) -> Result<bool, ArmError> {
    let control = word(DHCSR)?;
    if control & C_DEBUGEN == 0 || control & S_HALT != 0 {
        return Ok(false);
    }
    let unit = word(FP_CTRL)?;
    let comparators = unit >> 4 & 0xF | (unit >> 12 & 7) << 4;
    for index in 0..comparators {
        if unit & 1 != 0 && word(FP_COMP + 4 * index)? & 1 != 0 {
            return Ok(true);
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A core with these registers, and two comparators.
    fn found(control: u32, unit: u32, comparators: [u32; 2]) -> bool {
        has_breakpoints(|address| {
            Ok(match address {
                DHCSR => control,
                FP_CTRL => 2 << 4 | unit,
                other => comparators[((other - FP_COMP) / 4) as usize],
            })
        })
        .unwrap()
    }

    #[test]
    fn breakpoints_count_only_where_a_debugger_has_left_them_armed_in_a_running_core() {
        assert!(found(C_DEBUGEN, 1, [0, 0x1000_0101]));
        assert!(!found(C_DEBUGEN, 1, [0, 0x1000_0100]), "the comparator is off");
        assert!(!found(C_DEBUGEN, 0, [1, 1]), "the unit is off");
        assert!(!found(0, 1, [1, 1]), "no debugger is enabled, so that they do nothing");
        assert!(!found(C_DEBUGEN | S_HALT, 1, [1, 1]), "a halted core was left so on purpose");
    }

    #[test]
    #[cfg(feature = "hardware")]
    fn access_ports_are_those_of_the_chip_descriptions() {
        let registry = probe_rs::config::Registry::from_builtin_families();
        let ports = |chip: &str| -> Vec<_> {
            registry.get_target_by_name(chip).unwrap().cores.iter().filter_map(access_port).collect()
        };
        let [v1, v2] = [FullyQualifiedApAddress::v1_with_dp, |dp, ap: u8| {
            FullyQualifiedApAddress::v2_with_dp(dp, ApV2Address::new(u64::from(ap) << 8))
        }];
        let core = |number: u32| DpAddress::Multidrop(number << 28 | 0x0100_2927);
        assert_eq!(ports("STM32H745ZITx"), [v1(DpAddress::Default, 0), v1(DpAddress::Default, 3)]);
        assert_eq!(ports("RP2040"), [v1(core(0), 0), v1(core(1), 0)]);
        assert_eq!(ports("RP235x"), [v2(DpAddress::Default, 0x20), v2(DpAddress::Default, 0x40)]);
    }

    #[test]
    #[cfg(feature = "hardware")]
    fn only_the_port_of_a_chip_is_unlocked_that_loses_nothing_by_it() {
        let registry = probe_rs::config::Registry::from_builtin_families();
        let unlocks = |chip: &str| unlocks_harmlessly(&registry.get_target_by_name(chip).unwrap());
        assert!(unlocks("STM32H745ZITx"));
        assert!(!unlocks("nRF5340_xxAA"), "it may erase, and starts the network core");
    }
}

//! The debug probe as probe-rs sees it.

mod arm;
pub(crate) mod memory;

use crate::board::{BoardError, BoardHandle};
use crate::group::GroupHandle;
use crate::machine::{Machine, MachineError, SharedRam};
use arm::QemuArm;
use probe_rs::architecture::arm::sequences::ArmDebugSequence;
use probe_rs::architecture::arm::{ArmDebugInterface, ArmError};
use probe_rs::probe::{DebugProbe, DebugProbeError, Probe, ProbeError, WireProtocol};
use std::sync::Arc;

impl ProbeError for BoardError {}

impl BoardError {
    /// The error of this crate inside one of probe-rs, if there is one.
    ///
    /// ```no_run
    /// # fn f(core: &mut probe_rs::Core<'_>) {
    /// use probe_rs::MemoryInterface;
    /// use qemu_probe::BoardError;
    /// if let Err(error) = core.read_word_32(0xF000_0000) {
    ///     assert!(matches!(BoardError::inside(&error), Some(BoardError::Unmapped { .. })));
    /// }
    /// # }
    /// ```
    pub fn inside(error: &probe_rs::Error) -> Option<&Self> {
        match error {
            probe_rs::Error::Arm(ArmError::Probe(DebugProbeError::ProbeSpecific(inner)))
            | probe_rs::Error::Probe(DebugProbeError::ProbeSpecific(inner)) => inner.downcast_ref(),
            _ => None,
        }
    }
}

/// A debug probe whose target is a QEMU machine.
///
/// ```no_run
/// use probe_rs::Permissions;
/// use qemu_probe::{Machine, MachineKind, QemuProbe};
///
/// let machine = Machine::builder(MachineKind::Mps2An521).elf("firmware.elf").start()?;
/// let (probe, cores) = QemuProbe::attach(&machine)?;
/// let mut session = probe.attach_with_registry("mps2-an521", Permissions::default(), &qemu_probe::registry())?;
/// session.core(1)?.halt(std::time::Duration::from_millis(100))?; // core 0 runs on
/// cores.halt()?; // both, as one stop
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct QemuProbe {
    board: BoardHandle,
    shared_ram: Option<SharedRam>,
}

impl QemuProbe {
    /// Attaches to a machine: the probe for probe-rs, and a handle for what probe-rs has no words for.
    ///
    /// The machine is let go when both, and everything made from them, are dropped: running cores run on, cores that were
    /// found stopped and never run stay stopped.
    pub fn attach(machine: &Machine) -> Result<(Probe, GroupHandle), MachineError> {
        let board = BoardHandle::attach(machine)?;
        let probe = Self { board: board.clone(), shared_ram: machine.shared_ram().cloned() };
        Ok((Probe::from_specific_probe(Box::new(probe)), GroupHandle::new(board)))
    }
}

impl DebugProbe for QemuProbe {
    fn get_name(&self) -> &str {
        "QEMU"
    }

    fn speed_khz(&self) -> u32 {
        0
    }

    fn set_speed(&mut self, speed_khz: u32) -> Result<u32, DebugProbeError> {
        Ok(speed_khz)
    }

    fn attach(&mut self) -> Result<(), DebugProbeError> {
        self.board.views().map(|_| ()).map_err(Into::into)
    }

    fn detach(&mut self) -> Result<(), probe_rs::Error> {
        Ok(())
    }

    fn target_reset(&mut self) -> Result<(), DebugProbeError> {
        self.board.run(|board| board.reset_by_pin()).map_err(Into::into)
    }

    fn target_reset_assert(&mut self) -> Result<(), DebugProbeError> {
        Err(DebugProbeError::CommandNotSupportedByProbe { command_name: "target_reset_assert" })
    }

    fn target_reset_deassert(&mut self) -> Result<(), DebugProbeError> {
        Ok(())
    }

    fn select_protocol(&mut self, protocol: WireProtocol) -> Result<(), DebugProbeError> {
        match protocol {
            WireProtocol::Swd => Ok(()),
            other => Err(DebugProbeError::UnsupportedProtocol(other)),
        }
    }

    fn active_protocol(&self) -> Option<WireProtocol> {
        Some(WireProtocol::Swd)
    }

    fn has_arm_interface(&self) -> bool {
        true
    }

    fn try_get_arm_debug_interface<'probe>(
        self: Box<Self>,
        _sequence: Arc<dyn ArmDebugSequence>,
    ) -> Result<Box<dyn ArmDebugInterface + 'probe>, (Box<dyn DebugProbe>, ArmError)> {
        Ok(Box::new(QemuArm::new(self)))
    }

    fn into_probe(self: Box<Self>) -> Box<dyn DebugProbe> {
        self
    }
}

//! The debug sequence of a chip, but for its end.
use probe_rs::CoreType;
use probe_rs::architecture::arm::dp::DpAddress;
use probe_rs::architecture::arm::memory::ArmMemoryInterface;
use probe_rs::architecture::arm::sequences::{ArmDebugSequence, DebugEraseSequence};
use probe_rs::architecture::arm::{ArmDebugInterface, ArmError, DapAccess, DapProbe, FullyQualifiedApAddress};
use std::sync::Arc;

/// Does what the sequence of the chip does, and leaves the debug ports powered at the end.
///
/// An interface that is dropped powers every debug port down. A core that a debugger has left halted would run on, and a
/// core in debug state may not even see its debug registers kept.
#[derive(Debug)]
pub(super) struct StayPowered(pub(super) Arc<dyn ArmDebugSequence>);

impl ArmDebugSequence for StayPowered {
    fn debug_port_stop(&self, _: &mut dyn DapProbe, _: DpAddress) -> Result<(), ArmError> {
        Ok(())
    }

    fn debug_port_setup(&self, interface: &mut dyn DapProbe, dp: DpAddress) -> Result<(), ArmError> {
        self.0.debug_port_setup(interface, dp)
    }

    fn debug_port_start(&self, interface: &mut dyn DapAccess, dp: DpAddress) -> Result<(), ArmError> {
        self.0.debug_port_start(interface, dp)
    }

    fn debug_port_connect(&self, interface: &mut dyn DapProbe, dp: DpAddress) -> Result<(), ArmError> {
        self.0.debug_port_connect(interface, dp)
    }

    fn debug_device_unlock(
        &self,
        interface: &mut dyn ArmDebugInterface,
        default_ap: &FullyQualifiedApAddress,
        permissions: &probe_rs::Permissions,
    ) -> Result<(), ArmError> {
        self.0.debug_device_unlock(interface, default_ap, permissions)
    }

    fn recover_support_start(&self, interface: &mut dyn ArmMemoryInterface) -> Result<(), ArmError> {
        self.0.recover_support_start(interface)
    }

    fn reset_hardware_assert(&self, interface: &mut dyn DapProbe) -> Result<(), ArmError> {
        self.0.reset_hardware_assert(interface)
    }

    fn reset_hardware_deassert(
        &self,
        probe: &mut dyn ArmDebugInterface,
        default_ap: &FullyQualifiedApAddress,
    ) -> Result<(), ArmError> {
        self.0.reset_hardware_deassert(probe, default_ap)
    }

    fn reset_system(
        &self,
        interface: &mut dyn ArmMemoryInterface,
        core_type: CoreType,
        debug_base: Option<u64>,
    ) -> Result<(), ArmError> {
        self.0.reset_system(interface, core_type, debug_base)
    }

    fn reset_catch_set(
        &self,
        core: &mut dyn ArmMemoryInterface,
        core_type: CoreType,
        debug_base: Option<u64>,
    ) -> Result<(), ArmError> {
        self.0.reset_catch_set(core, core_type, debug_base)
    }

    fn reset_catch_clear(
        &self,
        core: &mut dyn ArmMemoryInterface,
        core_type: CoreType,
        debug_base: Option<u64>,
    ) -> Result<(), ArmError> {
        self.0.reset_catch_clear(core, core_type, debug_base)
    }

    fn debug_core_start(
        &self,
        interface: &mut dyn ArmDebugInterface,
        core_ap: &FullyQualifiedApAddress,
        core_type: CoreType,
        debug_base: Option<u64>,
        cti_base: Option<u64>,
    ) -> Result<(), ArmError> {
        self.0.debug_core_start(interface, core_ap, core_type, debug_base, cti_base)
    }

    fn debug_core_stop(&self, interface: &mut dyn ArmMemoryInterface, core_type: CoreType) -> Result<(), ArmError> {
        self.0.debug_core_stop(interface, core_type)
    }

    fn on_attach(
        &self,
        interface: &mut dyn ArmDebugInterface,
        ap: &FullyQualifiedApAddress,
        core_type: CoreType,
    ) -> Result<(), ArmError> {
        self.0.on_attach(interface, ap, core_type)
    }

    fn debug_erase_sequence(&self) -> Option<Arc<dyn DebugEraseSequence>> {
        self.0.debug_erase_sequence()
    }

    fn allowed_access_ports(&self) -> Vec<u8> {
        self.0.allowed_access_ports()
    }
}

use super::QemuProbe;
use super::memory::CoreMemory;
use probe_rs::architecture::arm::dp::{DpAddress, DpRegisterAddress};
use probe_rs::architecture::arm::memory::ArmMemoryInterface;
use probe_rs::architecture::arm::{
    ArmDebugInterface, ArmError, DapAccess, DapProbe, FullyQualifiedApAddress, SwdSequence, SwoAccess, SwoConfig,
};
use probe_rs::probe::{DebugProbeError, Probe};
use std::collections::BTreeSet;
use std::time::Duration;

/// A debug port with one memory access port per core. Access is by memory only: there are no raw port registers.
pub(crate) struct QemuArm {
    probe: Box<QemuProbe>,
    port: Option<DpAddress>,
}

impl QemuArm {
    pub(crate) fn new(probe: Box<QemuProbe>) -> Self {
        Self { probe, port: None }
    }
}

impl ArmDebugInterface for QemuArm {
    fn reinitialize(&mut self) -> Result<(), ArmError> {
        Ok(())
    }

    fn access_ports(&mut self, dp: DpAddress) -> Result<BTreeSet<FullyQualifiedApAddress>, ArmError> {
        let cores = u8::try_from(self.probe.board.cores()).unwrap_or(u8::MAX);
        Ok((0..cores).map(|core| FullyQualifiedApAddress::v1_with_dp(dp, core)).collect())
    }

    fn close(self: Box<Self>) -> Probe {
        Probe::from_specific_probe(self.probe)
    }

    fn select_debug_port(&mut self, dp: DpAddress) -> Result<(), ArmError> {
        self.port = Some(dp);
        Ok(())
    }

    fn current_debug_port(&self) -> Option<DpAddress> {
        self.port
    }

    fn memory_interface(
        &mut self,
        access_port: &FullyQualifiedApAddress,
    ) -> Result<Box<dyn ArmMemoryInterface + '_>, ArmError> {
        let core = usize::from(access_port.ap_v1()?);
        if core >= self.probe.board.cores() {
            return Err(ArmError::ApDoesNotExist(access_port.clone()));
        }
        let (board, shared_ram) = (self.probe.board.clone(), self.probe.shared_ram.clone());
        Ok(Box::new(CoreMemory { arm: self, port: access_port.clone(), core, board, shared_ram }))
    }
}

impl SwdSequence for QemuArm {
    fn swj_sequence(&mut self, _bit_len: u8, _bits: u64) -> Result<(), DebugProbeError> {
        Ok(())
    }

    fn swj_pins(&mut self, _out: u32, _select: u32, _wait: u32) -> Result<u32, DebugProbeError> {
        Err(DebugProbeError::CommandNotSupportedByProbe { command_name: "swj_pins" })
    }
}

impl SwoAccess for QemuArm {
    fn enable_swo(&mut self, _config: &SwoConfig) -> Result<(), ArmError> {
        Err(ArmError::NotImplemented("SWO: QEMU has no trace port"))
    }

    fn disable_swo(&mut self) -> Result<(), ArmError> {
        Ok(())
    }

    fn read_swo_timeout(&mut self, _timeout: Duration) -> Result<Vec<u8>, ArmError> {
        Err(ArmError::NotImplemented("SWO: QEMU has no trace port"))
    }
}

const NO_RAW_PORT: ArmError = ArmError::NotImplemented("raw debug port registers: access is by memory only");

impl DapAccess for QemuArm {
    fn read_raw_dp_register(&mut self, _dp: DpAddress, _address: DpRegisterAddress) -> Result<u32, ArmError> {
        Err(NO_RAW_PORT)
    }

    fn write_raw_dp_register(
        &mut self,
        _dp: DpAddress,
        _address: DpRegisterAddress,
        _value: u32,
    ) -> Result<(), ArmError> {
        Err(NO_RAW_PORT)
    }

    fn read_raw_ap_register(&mut self, _ap: &FullyQualifiedApAddress, _address: u64) -> Result<u32, ArmError> {
        Err(NO_RAW_PORT)
    }

    fn write_raw_ap_register(
        &mut self,
        _ap: &FullyQualifiedApAddress,
        _address: u64,
        _value: u32,
    ) -> Result<(), ArmError> {
        Err(NO_RAW_PORT)
    }

    fn try_dap_probe(&self) -> Option<&dyn DapProbe> {
        None
    }

    fn try_dap_probe_mut(&mut self) -> Option<&mut dyn DapProbe> {
        None
    }
}

use super::arm::QemuArm;
use crate::board::{BoardError, BoardHandle};
use crate::machine::SharedRam;
use probe_rs::MemoryInterface;
use probe_rs::architecture::arm::ap::CSW;
use probe_rs::architecture::arm::memory::ArmMemoryInterface;
use probe_rs::architecture::arm::{ArmDebugInterface, ArmError, FullyQualifiedApAddress};
use probe_rs::probe::DebugProbeError;

/// Memory as one core sees it. What lies in shared RAM is reached without stopping the machine.
pub(super) struct CoreMemory<'probe> {
    pub(super) arm: &'probe mut QemuArm,
    pub(super) port: FullyQualifiedApAddress,
    pub(super) core: usize,
    pub(super) board: BoardHandle,
    pub(super) shared_ram: Option<SharedRam>,
}

impl CoreMemory<'_> {
    fn read_bytes(&self, address: u64, width: usize, len: usize) -> Result<Vec<u8>, ArmError> {
        let address = checked(address, width)?;
        read(&self.board, self.shared_ram.as_ref(), self.core, address, len).map_err(to_arm)
    }

    fn write_bytes(&self, address: u64, width: usize, bytes: Vec<u8>) -> Result<(), ArmError> {
        let address = checked(address, width)?;
        write(&self.board, self.shared_ram.as_ref(), self.core, address, bytes, width.min(4)).map_err(to_arm)
    }
}

/// Reads as a debug port would: live if possible.
pub(crate) fn read(
    board: &BoardHandle,
    shared_ram: Option<&SharedRam>,
    core: usize,
    address: u32,
    len: usize,
) -> Result<Vec<u8>, BoardError> {
    if let Some(ram) = shared_ram.filter(|ram| ram.contains(address, len)) {
        board.views()?;
        let mut bytes = vec![0; len];
        let failed = |_| BoardError::Unmapped { address, len };
        return ram.read(address, &mut bytes).map(|()| bytes).map_err(failed);
    }
    board.run(move |board| {
        let mut bytes = vec![0; len];
        board.read(core, address, &mut bytes).map(|()| bytes)
    })
}

/// Writes as a debug port would: live if possible.
pub(crate) fn write(
    board: &BoardHandle,
    shared_ram: Option<&SharedRam>,
    core: usize,
    address: u32,
    bytes: Vec<u8>,
    width: usize,
) -> Result<(), BoardError> {
    let len = bytes.len();
    // While nothing runs the write goes through QEMU, which then also notices that code may have changed.
    if let Some(ram) = shared_ram.filter(|ram| board.any_running() && ram.contains(address, len)) {
        board.views()?;
        return ram.write(address, &bytes).map_err(|_| BoardError::Unmapped { address, len });
    }
    board.run(move |board| board.write(core, address, &bytes, width))
}

fn checked(address: u64, width: usize) -> Result<u32, ArmError> {
    if !address.is_multiple_of(width as u64) {
        return Err(ArmError::alignment_error(address, width));
    }
    u32::try_from(address).map_err(|_| ArmError::AddressOutOf32BitAddressSpace)
}

fn to_arm(error: BoardError) -> ArmError {
    ArmError::Probe(DebugProbeError::from(error))
}

macro_rules! access {
    ($read:ident, $write:ident, $word:ty) => {
        fn $read(&mut self, address: u64, data: &mut [$word]) -> Result<(), ArmError> {
            const WIDTH: usize = size_of::<$word>();
            let bytes = self.read_bytes(address, WIDTH, data.len() * WIDTH)?;
            for (word, bytes) in data.iter_mut().zip(bytes.as_chunks::<WIDTH>().0) {
                *word = <$word>::from_le_bytes(*bytes);
            }
            Ok(())
        }

        fn $write(&mut self, address: u64, data: &[$word]) -> Result<(), ArmError> {
            let bytes = data.iter().flat_map(|word| word.to_le_bytes()).collect();
            self.write_bytes(address, size_of::<$word>(), bytes)
        }
    };
}

impl MemoryInterface<ArmError> for CoreMemory<'_> {
    fn supports_native_64bit_access(&mut self) -> bool {
        false
    }

    access!(read_64, write_64, u64);
    access!(read_32, write_32, u32);
    access!(read_16, write_16, u16);
    access!(read_8, write_8, u8);

    fn supports_8bit_transfers(&self) -> Result<bool, ArmError> {
        Ok(true)
    }

    fn flush(&mut self) -> Result<(), ArmError> {
        Ok(())
    }
}

impl ArmMemoryInterface for CoreMemory<'_> {
    fn fully_qualified_address(&self) -> FullyQualifiedApAddress {
        self.port.clone()
    }

    fn base_address(&mut self) -> Result<u64, ArmError> {
        Ok(0xE00F_F000)
    }

    fn get_arm_debug_interface(&mut self) -> Result<&mut dyn ArmDebugInterface, DebugProbeError> {
        Ok(self.arm)
    }

    fn generic_status(&mut self) -> Result<CSW, ArmError> {
        Ok(CSW::from_raw(0x2300_0052))
    }
}

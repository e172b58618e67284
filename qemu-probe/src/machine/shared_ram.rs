use super::Region;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

/// RAM of a machine that the host reads and writes while the cores run, as a real debug port does.
///
/// The machine maps a file; this type reads and writes that file. Both see the same pages at once, so no mapping (and no
/// `unsafe`) is needed here. An aligned word read or written alone was never seen torn (tests try it), but no standard promises
/// that; longer accesses are not atomic.
///
/// ```no_run
/// use qemu_probe::{Machine, MachineKind};
/// let board = Machine::builder(MachineKind::Mps2An521).elf("firmware.elf").shared_ram(true).start()?;
/// let ram = board.shared_ram().expect("asked for above");
/// let mut word = [0; 4];
/// ram.read(0x8000_0000, &mut word)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct SharedRam {
    file: Arc<File>,
    region: Region,
}

/// An access that does not lie in the shared RAM.
///
/// ```
/// use qemu_probe::machine::{OutsideSharedRam, Region};
/// let error = OutsideSharedRam { address: 0x10, len: 4, region: Region { base: 0x8000_0000, len: 0x100 } };
/// assert_eq!(error.to_string(), "4 bytes at 0x00000010 are not in the shared RAM 0x80000000..0x80000100");
/// ```
#[derive(Debug, thiserror::Error)]
#[error("{len} bytes at {address:#010x} are not in the shared RAM {:#010x}..{:#010x}", region.base, u64::from(region.base) + u64::from(region.len))]
pub struct OutsideSharedRam {
    /// The first address asked for.
    pub address: u32,
    /// How many bytes.
    pub len: usize,
    /// Where the shared RAM is.
    pub region: Region,
}

impl SharedRam {
    pub(crate) fn new(file: File, region: Region) -> Self {
        Self { file: Arc::new(file), region }
    }

    /// Where it is in the machine's address space.
    pub fn region(&self) -> Region {
        self.region
    }

    /// Whether `len` bytes at `address` lie inside.
    pub fn contains(&self, address: u32, len: usize) -> bool {
        u32::try_from(len).is_ok_and(|len| self.region.contains(address, len))
    }

    /// Reads without stopping the machine.
    pub fn read(&self, address: u32, into: &mut [u8]) -> io::Result<()> {
        self.file.read_exact_at(into, self.offset(address, into.len())?)
    }

    /// Writes without stopping the machine.
    pub fn write(&self, address: u32, from: &[u8]) -> io::Result<()> {
        self.file.write_all_at(from, self.offset(address, from.len())?)
    }

    fn offset(&self, address: u32, len: usize) -> io::Result<u64> {
        if self.contains(address, len) {
            Ok(u64::from(address - self.region.base))
        } else {
            Err(io::Error::new(io::ErrorKind::InvalidInput, OutsideSharedRam { address, len, region: self.region }))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_access_over_the_edge_is_refused_and_changes_nothing() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(16).unwrap();
        let ram = SharedRam::new(file, Region { base: 0x100, len: 16 });
        ram.write(0x10C, &[1, 2, 3, 4]).unwrap();
        assert!(ram.write(0x10D, &[9; 4]).is_err());
        assert!(ram.read(0xFF, &mut [0; 4]).is_err());
        let mut end = [0; 4];
        ram.read(0x10C, &mut end).unwrap();
        assert_eq!(end, [1, 2, 3, 4]);
    }
}

//! A look at an image before QEMU sees it: given anything that is not an ELF, QEMU loads the bytes as they are and the
//! cores lock up on them.

use super::{ElfError, MachineKind};

const ARM: u16 = 40;
const PT_LOAD: u32 = 1;

/// Checks that `image` is an ELF whose loaded parts all lie in memory of `kind`.
pub(crate) fn check(image: &[u8], kind: MachineKind) -> Result<(), ElfError> {
    if image.get(..4) != Some(b"\x7fELF") {
        return Err(ElfError::NotElf);
    }
    let class = *image.get(4).ok_or(ElfError::Truncated)?;
    let order = *image.get(5).ok_or(ElfError::Truncated)?;
    let machine = half(image, 18)?;
    if (class, order, machine) != (1, 1, ARM) {
        let bits = if class == 2 { "64-bit" } else { "32-bit" };
        let order = if order == 2 { "big-endian" } else { "little-endian" };
        return Err(ElfError::OtherProcessor(format!("{bits} {order}, ELF machine number {machine}")));
    }
    let (table, entry_len, entries) = (word(image, 28)? as usize, half(image, 42)? as usize, half(image, 44)? as usize);
    for entry in 0..entries {
        let header = table.checked_add(entry * entry_len).ok_or(ElfError::Truncated)?;
        let field = |n: usize| word(image, header.checked_add(4 * n).ok_or(ElfError::Truncated)?);
        let (segment, offset, address, file_len, len) = (field(0)?, field(1)?, field(3)?, field(4)?, field(5)?);
        if segment != PT_LOAD || len == 0 {
            continue;
        }
        if u64::from(offset) + u64::from(file_len) > image.len() as u64 {
            return Err(ElfError::Truncated);
        }
        // Only what is loaded from the file counts: `len` alone is zeroed memory at a virtual address.
        if file_len > 0 && !kind.memory().iter().any(|region| region.contains(address, file_len)) {
            return Err(ElfError::OutsideMemory { address, len: file_len, machine: kind });
        }
    }
    Ok(())
}

fn half(image: &[u8], at: usize) -> Result<u16, ElfError> {
    let bytes = image.get(at..at.saturating_add(2)).ok_or(ElfError::Truncated)?;
    Ok(u16::from_le_bytes([bytes[0], bytes[1]]))
}

fn word(image: &[u8], at: usize) -> Result<u32, ElfError> {
    let bytes = image.get(at..at.saturating_add(4)).ok_or(ElfError::Truncated)?;
    Ok(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The smallest ELF that loads 4 bytes at `address`.
    fn elf(address: u32) -> Vec<u8> {
        let mut image = vec![0; 52];
        image[..6].copy_from_slice(b"\x7fELF\x01\x01");
        image[18] = ARM as u8;
        image[28] = 52;
        image[42] = 32;
        image[44] = 1;
        for field in [PT_LOAD, 84, address, address, 4, 4, 5, 4] {
            image.extend_from_slice(&field.to_le_bytes());
        }
        image.extend_from_slice(&[1, 2, 3, 4]);
        image
    }

    #[test]
    fn an_elf_inside_the_memory_is_accepted() {
        assert_eq!(check(&elf(0x1000_0000), MachineKind::Mps2An521), Ok(()));
    }

    #[test]
    fn an_elf_for_another_machine_is_refused() {
        let error = check(&elf(0x0800_0000), MachineKind::Mps2An521).unwrap_err();
        assert_eq!(error, ElfError::OutsideMemory { address: 0x0800_0000, len: 4, machine: MachineKind::Mps2An521 });
    }

    #[test]
    fn an_elf_for_another_processor_is_refused() {
        let mut image = elf(0x1000_0000);
        image[18] = 243;
        assert!(matches!(check(&image, MachineKind::Mps2An521), Err(ElfError::OtherProcessor(_))));
    }

    #[test]
    fn every_shortened_elf_is_refused_without_a_panic() {
        let image = elf(0x1000_0000);
        for len in 0..image.len() {
            assert!(check(&image[..len], MachineKind::Mps2An521).is_err(), "{len} bytes");
        }
    }
}

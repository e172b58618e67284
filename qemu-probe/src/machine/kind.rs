use std::fmt;

/// A piece of memory of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    /// First address.
    pub base: u32,
    /// Length in bytes.
    pub len: u32,
}

impl Region {
    /// Whether `len` bytes from `address` on lie inside.
    ///
    /// ```
    /// let ram = qemu_probe::machine::Region { base: 0x8000_0000, len: 0x100 };
    /// assert!(ram.contains(0x8000_00FC, 4));
    /// assert!(!ram.contains(0x8000_00FD, 4));
    /// ```
    pub const fn contains(&self, address: u32, len: u32) -> bool {
        address >= self.base && len <= self.len && address - self.base <= self.len - len
    }
}

/// The machines this crate knows.
///
/// ```
/// use qemu_probe::MachineKind;
/// assert_eq!(MachineKind::Mps2An521.to_string(), "mps2-an521");
/// assert_eq!(MachineKind::Mps2An521.cores(), 2);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[non_exhaustive]
pub enum MachineKind {
    /// Arm MPS2 with the AN521 image: two Cortex-M33, 16 MiB of RAM that can be shared with the host.
    #[serde(rename = "mps2-an521")]
    Mps2An521,
    /// Arm MPS3 with the AN524 image: two Cortex-M33, 2 GiB of RAM that can be shared with the host.
    #[serde(rename = "mps3-an524")]
    Mps3An524,
}

const fn at(base: u32, len: u32) -> Region {
    Region { base, len }
}

impl MachineKind {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Mps2An521, Self::Mps3An524];

    /// QEMU's name of the machine.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Mps2An521 => "mps2-an521",
            Self::Mps3An524 => "mps3-an524",
        }
    }

    /// How many cores it has.
    pub const fn cores(self) -> usize {
        2
    }

    /// How many interrupt lines each core has.
    pub const fn interrupts(self) -> u16 {
        match self {
            Self::Mps2An521 => 32 + 92,
            Self::Mps3An524 => 32 + 95,
        }
    }

    /// Where QEMU keeps the interrupt inputs of a core.
    pub(crate) fn interrupt_controller(self, core: usize) -> String {
        // Both machines are built around the same subsystem.
        format!("/machine/iotkit/cluster{core}/armv7m{core}")
    }

    /// The core and the interrupt line behind a doorbell register that sets bits, if this is the address of one.
    pub(crate) const fn doorbell(self, address: u32) -> Option<(usize, u16)> {
        // Message handling unit 1 of the subsystem, secure alias; both machines have it.
        match address {
            0x5000_4004 => Some((0, 7)),
            0x5000_4014 => Some((1, 7)),
            _ => None,
        }
    }

    /// Where images may be loaded, secure and non-secure aliases apart.
    pub const fn memory(self) -> &'static [Region] {
        const MB: u32 = 1 << 20;
        const AN521: &[Region] = &[
            at(0x0000_0000, 4 * MB),
            at(0x1000_0000, 4 * MB),
            at(0x2000_0000, MB / 8),
            at(0x2800_0000, 2 * MB),
            at(0x3000_0000, MB / 8),
            at(0x3800_0000, 2 * MB),
            at(0x8000_0000, 16 * MB),
        ];
        const AN524: &[Region] = &[
            at(0x0000_0000, MB / 2),
            at(0x1000_0000, MB / 2),
            at(0x2000_0000, MB / 8),
            at(0x3000_0000, MB / 8),
            at(0x6000_0000, 2048 * MB),
        ];
        match self {
            Self::Mps2An521 => AN521,
            Self::Mps3An524 => AN524,
        }
    }

    /// The RAM that can be shared with the host.
    pub const fn shareable_ram(self) -> Option<Region> {
        match self {
            Self::Mps2An521 => Some(at(0x8000_0000, 16 << 20)),
            Self::Mps3An524 => Some(at(0x6000_0000, 2048 << 20)),
        }
    }
}

impl fmt::Display for MachineKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_region_knows_its_edges_and_never_overflows() {
        let last = at(0xFFFF_FF00, 0x100);
        assert!(last.contains(0xFFFF_FFFC, 4));
        assert!(!last.contains(0xFFFF_FFFE, 4));
        assert!(!last.contains(0, 4));
        assert!(!last.contains(0xFFFF_FF00, u32::MAX));
    }
}

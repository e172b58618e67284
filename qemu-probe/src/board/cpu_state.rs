//! What the gdbstub of QEMU 7.2 does not show: stack pointers, CONTROL, the masks.
//!
//! QEMU saves the state of its devices and cores to a file on request, without the RAM (about 40 KB, 1 ms). The layout is
//! that of migration, which QEMU keeps stable: a core is a section `cpu`, its parts are named subsections with a version,
//! numbers are big-endian. Reading it does not disturb the core, and works for a core that sleeps.

/// The special registers of one core. Arrays are by security state: non-secure, secure.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct CpuState {
    secure: usize,
    exception: u32,
    /// The stack pointer that is not in R13, of the current security state.
    other_sp: u32,
    /// Stack pointers of the other security state.
    other_state: StackPointers,
    control: [u32; 2],
    faultmask: [u32; 2],
    basepri: [u32; 2],
    primask: [u32; 2],
    /// MSPLIM and PSPLIM.
    limits: [StackPointers; 2],
}

/// Main and process stack pointer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct StackPointers {
    pub(crate) main: u32,
    pub(crate) process: u32,
}

impl CpuState {
    /// Finds core `core` in a saved state.
    pub(crate) fn parse(saved: &[u8], core: usize) -> Option<Self> {
        let section = section(saved, core)?;
        let mut state = Self::default();

        let [_vtor, basepri, control, _ccr, _cfsr, _hfsr, _dfsr, _mmfar, _bfar, _mpu, exception] =
            words(subsection(section, "cpu/m", 4)?)?;
        (state.basepri[0], state.control[0], state.exception) = (basepri, control, exception);
        [state.faultmask[0], state.primask[0]] = words(subsection(section, "cpu/m/faultmask-primask", 1)?)?;
        [state.other_sp] = words(subsection(section, "cpu/m/other-sp", 1)?)?;
        // Only from version 8 of the architecture on.
        if let Some(part) = subsection(section, "cpu/m/v8m", 1) {
            let [main_ns, main_s, process_ns, process_s] = words(part)?;
            state.limits = [
                StackPointers { main: main_ns, process: process_ns },
                StackPointers { main: main_s, process: process_s },
            ];
        }
        // Only with the security extension.
        if let Some(part) = subsection(section, "cpu/m-security", 1) {
            let [secure, main, process, basepri, primask, faultmask, control] = words(part)?;
            state.secure = usize::from(secure != 0);
            state.other_state = StackPointers { main, process };
            (state.basepri[1], state.primask[1]) = (basepri, primask);
            (state.faultmask[1], state.control[1]) = (faultmask, control);
        }
        Some(state)
    }

    /// The stack pointers of the current security state, given R13.
    pub(crate) fn stack_pointers(&self, r13: u32) -> StackPointers {
        let process_in_use = self.exception == 0 && self.control[self.secure] & 2 != 0;
        if process_in_use {
            StackPointers { main: self.other_sp, process: r13 }
        } else {
            StackPointers { main: r13, process: self.other_sp }
        }
    }

    /// The stack pointers of a security state (0 is non-secure), given R13.
    pub(crate) fn stack_pointers_of(&self, security: usize, r13: u32) -> StackPointers {
        if security == self.secure { self.stack_pointers(r13) } else { self.other_state }
    }

    pub(crate) fn limits_of(&self, security: usize) -> StackPointers {
        self.limits[security]
    }

    /// The current security state: 0 is non-secure, 1 is secure.
    pub(crate) fn security(&self) -> usize {
        self.secure
    }

    /// CONTROL, FAULTMASK, BASEPRI and PRIMASK of a security state (0 is non-secure) in one word, as DCRSR packs them.
    pub(crate) fn masks_of(&self, bank: usize) -> u32 {
        let bytes = [self.primask[bank], self.basepri[bank], self.faultmask[bank], self.control[bank]];
        u32::from_le_bytes(bytes.map(|word| word as u8))
    }
}

/// The bytes from the start of section `cpu` of this core to the end of the file.
fn section(saved: &[u8], core: usize) -> Option<&[u8]> {
    let mut header = b"\x03cpu".to_vec();
    header.extend_from_slice(&u32::try_from(core).ok()?.to_be_bytes());
    let start = find(saved, &header)? + header.len();
    // Up to the next core, whose parts have the same names.
    let next = u32::try_from(core + 1).ok()?.to_be_bytes();
    let end = find(&saved[start..], &[b"\x03cpu".as_slice(), &next].concat()).map_or(saved.len(), |len| start + len);
    saved.get(start..end)
}

/// The fields of a subsection.
fn subsection<'a>(section: &'a [u8], name: &str, version: u32) -> Option<&'a [u8]> {
    let mut header = vec![5, u8::try_from(name.len()).ok()?];
    header.extend_from_slice(name.as_bytes());
    header.extend_from_slice(&version.to_be_bytes());
    section.get(find(section, &header)? + header.len()..)
}

fn words<const N: usize>(bytes: &[u8]) -> Option<[u32; N]> {
    let mut words = [0; N];
    for (word, bytes) in words.iter_mut().zip(bytes.get(..4 * N)?.chunks_exact(4)) {
        *word = u32::from_be_bytes(bytes.try_into().ok()?);
    }
    Some(words)
}

fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    haystack.windows(needle.len()).position(|window| window == needle)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(name: &str, version: u32, fields: &[u32]) -> Vec<u8> {
        let mut bytes = vec![5, name.len() as u8];
        bytes.extend_from_slice(name.as_bytes());
        for word in [version].iter().chain(fields) {
            bytes.extend_from_slice(&word.to_be_bytes());
        }
        bytes
    }

    fn core(index: u32, control: u32, exception: u32, other_sp: u32) -> Vec<u8> {
        let mut bytes = vec![4, 0, 0, 0, index as u8, 3];
        bytes.extend_from_slice(b"cpu");
        bytes.extend_from_slice(&index.to_be_bytes());
        bytes.extend_from_slice(&[0, 0, 0, 22]);
        bytes.extend(part("cpu/m", 4, &[0, 0x40, control, 0, 0, 0, 0, 0, 0, 0, exception]));
        bytes.extend(part("cpu/m/faultmask-primask", 1, &[0, 1]));
        bytes.extend(part("cpu/m/other-sp", 1, &[other_sp]));
        bytes
    }

    #[test]
    fn each_core_is_found_by_its_own_number() {
        let saved = [core(0, 0, 0, 0xAAAA), core(1, 2, 0, 0xBBBB)].concat();
        let pointers = |index| CpuState::parse(&saved, index).unwrap().stack_pointers(0x1000);
        assert_eq!(pointers(0), StackPointers { main: 0x1000, process: 0xAAAA });
        assert_eq!(pointers(1), StackPointers { main: 0xBBBB, process: 0x1000 });
        assert_eq!(CpuState::parse(&saved, 2), None);
    }

    #[test]
    fn a_handler_always_uses_the_main_stack() {
        let state = CpuState::parse(&core(0, 2, 11, 0xAAAA), 0).unwrap();
        assert_eq!(state.stack_pointers(0x1000), StackPointers { main: 0x1000, process: 0xAAAA });
    }

    #[test]
    fn the_masks_are_packed_as_the_debug_port_packs_them() {
        assert_eq!(CpuState::parse(&core(0, 3, 0, 0), 0).unwrap().masks_of(0), 0x0300_4001);
    }

    #[test]
    fn the_masks_of_the_two_security_states_are_kept_apart() {
        let mut saved = core(0, 3, 0, 0);
        saved.extend(part("cpu/m-security", 1, &[1, 0, 0, 0x60, 1, 1, 2]));
        let state = CpuState::parse(&saved, 0).unwrap();
        assert_eq!((state.security(), state.masks_of(0), state.masks_of(1)), (1, 0x0300_4001, 0x0201_6001));
    }

    #[test]
    fn a_cut_off_file_is_refused_without_a_panic() {
        let saved = core(0, 2, 0, 0xAAAA);
        for len in 0..saved.len() {
            assert_eq!(CpuState::parse(&saved[..len], 0), None, "{len} bytes");
        }
    }
}

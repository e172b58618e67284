//! The registers of a core that stands still, as far as its stack is unwound by them.

/// The registers of an Arm core that its agent saved when it stopped the core.
///
/// They are those of the frame that saved them, which does not return while the core stands. A debugger that unwinds from
/// them finds what the application was doing, without halting the core. Registers that a call does not preserve are not
/// among them: no caller's frame is unwound by them.
///
/// # Example: nothing was saved yet
/// ```
/// use stillpoint_core::control::SavedRegisters;
/// assert_eq!(SavedRegisters::from_words([0; SavedRegisters::WORDS]), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SavedRegisters {
    /// r4 to r11.
    pub preserved: [u32; 8],
    /// The stack pointer.
    pub sp: u32,
    /// Where the registers were saved.
    pub pc: u32,
    /// The status register; it has the number of the exception that the core handles.
    pub xpsr: u32,
    /// The process stack pointer.
    pub psp: u32,
}

impl SavedRegisters {
    /// How many words they take in a control block.
    pub const WORDS: usize = 12;
    /// Which of them is the stack pointer; 0 there says that nothing is saved.
    pub const SP: usize = 8;

    /// Reads them from the words of a control block; `None` if nothing was saved.
    #[must_use]
    pub const fn from_words([r4, r5, r6, r7, r8, r9, r10, r11, sp, pc, xpsr, psp]: [u32; Self::WORDS]) -> Option<Self> {
        if sp == 0 {
            return None;
        }
        Some(Self { preserved: [r4, r5, r6, r7, r8, r9, r10, r11], sp, pc, xpsr, psp })
    }
}

#[cfg(any(test, on_target))]
mod tests {
    use super::*;
    use stillpoint_test::test;
    #[test]
    fn saved_registers_are_the_words_in_order() {
        let words = core::array::from_fn(|index| 100 + index as u32);
        let saved = SavedRegisters::from_words(words).unwrap();
        assert_eq!(saved.preserved, [100, 101, 102, 103, 104, 105, 106, 107]);
        assert_eq!([saved.sp, saved.pc, saved.xpsr, saved.psp], [108, 109, 110, 111]);
    }
}

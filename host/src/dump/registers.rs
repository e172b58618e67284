//! The registers of a core, as they are saved.
use crate::{Fault, Session, SessionError};
use probe_rs::{CoreDump, CoreType, InstructionSet, MemoryInterface as _, RegisterId, RegisterRole, RegisterValue};
use probe_rs_debug::DebugRegisters;
use serde::{Deserialize, Serialize};
use stillpoint_core::control::SavedRegisters;

/// The registers of a core that stood still.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Registers {
    core_type: CoreType,
    instruction_set: InstructionSet,
    floating_point: bool,
    floating_point_registers: Option<usize>,
    /// Each register that could be read, by probe-rs's number for it.
    values: Vec<(RegisterId, RegisterValue)>,
    /// Words of the core's own control space, by address: what an exception is about is read there.
    control: Vec<(u32, u32)>,
}

/// Words of the System Control Block of a Cortex-M that can be read without an effect: who it is, its vectors, its faults.
const CORTEX_M_CONTROL: [u32; 14] = [
    0xE000_ED00, // CPUID
    0xE000_ED04, // ICSR
    0xE000_ED08, // VTOR
    0xE000_ED0C, // AIRCR
    0xE000_ED14, // CCR
    0xE000_ED24, // SHCSR
    0xE000_ED28, // CFSR
    0xE000_ED2C, // HFSR
    0xE000_ED30, // DFSR
    0xE000_ED34, // MMFAR
    0xE000_ED38, // BFAR
    0xE000_ED44, // ID_PFR1
    0xE000_EDE4, // SFSR
    0xE000_EDE8, // SFAR
];

/// The number of a HardFault among exceptions.
const HARD_FAULT: u32 = 3;
/// In HFSR: the fault is another one that has no handler of its own.
const FORCED: u32 = 1 << 30;

impl Registers {
    /// The registers that the agent of a core saved where it keeps the core, with what the core's control space says of the
    /// fault that brought it there.
    pub(crate) fn saved(core_type: CoreType, saved: &SavedRegisters, fault: Option<&Fault>) -> Self {
        const XPSR: u16 = 16;
        const MSP: u16 = 17;
        const PSP: u16 = 18;
        let SavedRegisters { preserved, sp, pc, xpsr, psp } = *saved;
        let mut values: Vec<(u16, u32)> = (4..).zip(preserved).collect();
        values.extend([(13, sp), (15, pc), (XPSR, xpsr), (PSP, psp)]);
        // One of the two is the stack pointer, and a handler always uses the main stack.
        values.extend((sp != psp).then_some((MSP, sp)));
        let values = values.into_iter().map(|(id, value)| (RegisterId(id), RegisterValue::U32(value))).collect();
        let [status, address] = fault.map_or([0; 2], |fault| fault.status);
        let forced = fault.filter(|fault| fault.cause == HARD_FAULT).map_or(0, |_| FORCED);
        let word = |at| match at {
            0xE000_ED28 => status,
            0xE000_ED2C => forced,
            0xE000_ED34 | 0xE000_ED38 => address,
            // It has one process stack pointer, as far as anybody asked.
            _ => 0,
        };
        let asked = [0xE000_ED28, 0xE000_ED2C, 0xE000_ED34, 0xE000_ED38, 0xE000_ED44, 0xE000_EDE4, 0xE000_EDE8];
        Self {
            core_type,
            instruction_set: InstructionSet::Thumb2,
            floating_point: false,
            floating_point_registers: None,
            values,
            control: asked.into_iter().map(|at| (at, word(at))).collect(),
        }
    }

    /// Reads the registers of a core that is halted.
    pub(crate) fn capture(session: &mut Session, core: usize) -> Result<Self, SessionError> {
        let fail = |what| move |source| SessionError::Probe { what, source };
        let mut core = session.probe().core(core).map_err(fail("reach a core"))?;
        if !core.core_halted().map_err(fail("ask whether a core is halted"))? {
            return Err(SessionError::Running);
        }
        core.spill_registers().map_err(fail("read the registers of a core"))?;
        let mut values = Vec::new();
        for register in core.registers().all_registers() {
            // Not every chip has every register; what is there is worth having.
            match core.read_core_reg(register.id()) {
                // JSON has no numbers of this size, and no frame is unwound by them.
                Ok(RegisterValue::U128(_)) | Err(_) => {}
                Ok(value) => values.push((register.id(), value)),
            }
        }
        let is_cortex_m =
            matches!(core.core_type(), CoreType::Armv6m | CoreType::Armv7m | CoreType::Armv7em | CoreType::Armv8m);
        let addresses = if is_cortex_m { &CORTEX_M_CONTROL[..] } else { &[] };
        let mut word = |at: &u32| core.read_word_32(u64::from(*at)).ok().map(|word| (*at, word));
        let control = addresses.iter().filter_map(&mut word).collect();
        Ok(Self {
            core_type: core.core_type(),
            instruction_set: core.instruction_set().map_err(fail("ask a core for its instructions"))?,
            floating_point: core.fpu_support().unwrap_or(false),
            floating_point_registers: core.floating_point_register_count().ok(),
            values,
            control,
        })
    }

    /// A word of the core's own control space.
    pub(crate) fn control(&self, address: u64) -> Option<u32> {
        self.control.iter().find(|(at, _)| u64::from(*at) == address).map(|(_, word)| *word)
    }

    pub(crate) fn core_type(&self) -> CoreType {
        self.core_type
    }

    pub(crate) fn instruction_set(&self) -> InstructionSet {
        self.instruction_set
    }

    /// Every register that points to a stack.
    pub(crate) fn stack_pointers(&self) -> Vec<u64> {
        let roles = [RegisterRole::StackPointer, RegisterRole::MainStackPointer, RegisterRole::ProcessStackPointer];
        let registers = self.for_debug();
        let value = |role| registers.get_register_by_role(role).ok().and_then(|of| of.value?.try_into().ok());
        // A pointer that was never set is no stack, though there may be memory at 0.
        roles.iter().filter_map(value).filter(|pointer: &u64| *pointer != 0).collect()
    }

    /// As the unwinder takes them.
    pub(crate) fn for_debug(&self) -> DebugRegisters {
        DebugRegisters::from_coredump(&CoreDump {
            registers: self.values.iter().copied().collect(),
            data: Vec::new(),
            instruction_set: self.instruction_set,
            supports_native_64bit_access: false,
            core_type: self.core_type,
            fpu_support: self.floating_point,
            floating_point_register_count: self.floating_point_registers,
        })
    }
}

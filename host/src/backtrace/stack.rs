//! The registers and the stack of a halted core.
use crate::dump::Registers;
use crate::{Memory, Session, SessionError};
use probe_rs::{MemoryInterface, RegisterRole, RegisterValue};
use probe_rs_debug::DebugRegisters;

/// How much of the stack is read at once: more than most stacks are deep.
const PIECE: usize = 4096;

/// A piece of the stack.
#[derive(Default)]
pub(super) struct Stack {
    base: u64,
    bytes: Vec<u8>,
}

/// Reads the registers and the stack of a core that is halted.
pub(super) fn capture(session: &mut Session, core: usize) -> Result<(DebugRegisters, Stack), SessionError> {
    let fail = |what| move |source| SessionError::Probe { what, source };
    let mut core = session.probe().core(core).map_err(fail("reach a core"))?;
    if !core.core_halted().map_err(fail("ask whether a core is halted"))? {
        return Err(SessionError::Running);
    }
    let registers = DebugRegisters::from_core(&mut core);
    let pointer = registers.get_register_by_role(&RegisterRole::StackPointer).ok().and_then(|of| of.value);
    let base = pointer.and_then(|value: RegisterValue| value.try_into().ok()).unwrap_or(0u64) & !3;
    let mut words = vec![0u32; PIECE / 4];
    // Near the end of memory there is less than that, and then each word is read when it is asked for.
    let read = core.read_32(base, &mut words);
    let bytes = if read.is_ok() { words.into_iter().flat_map(u32::to_le_bytes).collect() } else { Vec::new() };
    Ok((registers, Stack { base, bytes }))
}

/// Reads the stack of a core whose registers were saved.
pub(super) fn read(memory: &mut dyn Memory, registers: &Registers) -> Stack {
    let Some(base) = registers.stack_pointers().first().and_then(|at| u32::try_from(at & !3).ok()) else {
        return Stack::default();
    };
    // Near the end of memory there is less than that, and then each word is read when it is asked for.
    let bytes = crate::memory::read_bytes(memory, base, PIECE).unwrap_or_default();
    Stack { base: base.into(), bytes }
}

/// Reads bytes from an address on.
pub(super) type ReadBytes<'p> = dyn FnMut(u64, &mut [u8]) -> Result<(), probe_rs::Error> + 'p;

/// The piece of the stack that was read, and memory itself everywhere else.
pub(super) struct StackMemory<'p> {
    pub stack: Stack,
    pub deep: &'p mut ReadBytes<'p>,
}

impl StackMemory<'_> {
    fn get(&mut self, address: u64, into: &mut [u8]) -> Result<(), probe_rs::Error> {
        let start = address.checked_sub(self.stack.base).and_then(|start| usize::try_from(start).ok());
        let held = start.and_then(|start| self.stack.bytes.get(start..start.checked_add(into.len())?));
        match held {
            Some(held) => {
                into.copy_from_slice(held);
                Ok(())
            }
            None => (self.deep)(address, into),
        }
    }

    fn numbers<T, const N: usize>(
        &mut self,
        address: u64,
        into: &mut [T],
        from: impl Fn([u8; N]) -> T,
    ) -> Result<(), probe_rs::Error> {
        let mut bytes = vec![0; into.len() * N];
        self.get(address, &mut bytes)?;
        for (number, bytes) in into.iter_mut().zip(bytes.as_chunks().0) {
            *number = from(*bytes);
        }
        Ok(())
    }
}

/// Nothing that only looks writes.
fn refuse() -> Result<(), probe_rs::Error> {
    Err(probe_rs::Error::NotImplemented("writing to the stack of a parked core"))
}

impl MemoryInterface for StackMemory<'_> {
    fn supports_native_64bit_access(&mut self) -> bool {
        false
    }
    fn read_64(&mut self, address: u64, data: &mut [u64]) -> Result<(), probe_rs::Error> {
        self.numbers(address, data, u64::from_le_bytes)
    }
    fn read_32(&mut self, address: u64, data: &mut [u32]) -> Result<(), probe_rs::Error> {
        self.numbers(address, data, u32::from_le_bytes)
    }
    fn read_16(&mut self, address: u64, data: &mut [u16]) -> Result<(), probe_rs::Error> {
        self.numbers(address, data, u16::from_le_bytes)
    }
    fn read_8(&mut self, address: u64, data: &mut [u8]) -> Result<(), probe_rs::Error> {
        self.get(address, data)
    }
    fn write_64(&mut self, _: u64, _: &[u64]) -> Result<(), probe_rs::Error> {
        refuse()
    }
    fn write_32(&mut self, _: u64, _: &[u32]) -> Result<(), probe_rs::Error> {
        refuse()
    }
    fn write_16(&mut self, _: u64, _: &[u16]) -> Result<(), probe_rs::Error> {
        refuse()
    }
    fn write_8(&mut self, _: u64, _: &[u8]) -> Result<(), probe_rs::Error> {
        refuse()
    }
    fn supports_8bit_transfers(&self) -> Result<bool, probe_rs::Error> {
        Ok(true)
    }
    fn flush(&mut self) -> Result<(), probe_rs::Error> {
        Ok(())
    }
}

//! From registers and a stack to frames with names.
use super::frame::{Frame, FrameKind, kind_of, tidy};
use super::stack::StackMemory;
use super::{Backtrace, RawFrame};
use crate::SessionError;
use crate::dwarf::Registers;
use probe_rs::{CoreType, InstructionSet, RegisterValue};
use probe_rs_debug::{DebugInfo, DebugRegisters, StackFrame, exception_handler_for_core};
use std::path::{Path, PathBuf};

/// No backtrace is longer.
const MOST_FRAMES: usize = 64;

/// The return address of a core that comes out of its reset.
const AT_RESET: u32 = 0xFFFF_FFFF;

/// What the unwinder calls an exception that is none.
const NOT_AN_EXCEPTION: &str = "<No active exception>";

/// Why a firmware's stacks cannot be unwound.
#[derive(Debug, thiserror::Error)]
pub enum UnwinderError {
    /// It has no debug information, or it is damaged.
    #[error("{path} has no usable debug information: {cause}; build the firmware with `debug = 2`", path = path.display())]
    DebugInfo {
        /// Which file.
        path: PathBuf,
        /// Why.
        cause: String,
    },
}

/// Unwinds the stacks of one firmware.
pub struct Unwinder {
    info: DebugInfo,
    names: addr2line::Loader,
}

impl Unwinder {
    /// Reads the debug information of an ELF file.
    pub fn read(path: &Path) -> Result<Self, UnwinderError> {
        let fail = |cause: String| UnwinderError::DebugInfo { path: path.to_owned(), cause };
        let info = DebugInfo::from_file(path).map_err(|error| fail(error.to_string()))?;
        let names = addr2line::Loader::new(path).map_err(|error| fail(error.to_string()))?;
        Ok(Self { info, names })
    }

    pub(super) fn unwind(
        &self,
        memory: &mut StackMemory<'_>,
        core_type: CoreType,
        set: Option<InstructionSet>,
        registers: DebugRegisters,
    ) -> Result<Backtrace, SessionError> {
        let handler = exception_handler_for_core(core_type);
        let raw = self.info.unwind(memory, registers, &*handler, set, MOST_FRAMES);
        let fail = |source| SessionError::Probe { what: "unwind the stack of a core", source };
        Ok(self.name(&raw.map_err(fail)?))
    }

    /// Names what was unwound. The unwinder's own names have no paths, so only its registers are used.
    fn name(&self, raw: &[StackFrame]) -> Backtrace {
        let (mut frames, mut physical) = (Vec::new(), Vec::new());
        for (index, frame) in raw.iter().enumerate() {
            let next = raw.get(index + 1);
            let Some(address) = program_counter(&frame.registers) else { continue };
            if frame.local_variables.is_none() && next.is_some_and(|next| next.registers == frame.registers) {
                if frame.function_name == NOT_AN_EXCEPTION {
                    // A return address as the core had it at its reset: this is where it began.
                    break;
                }
                frames.push(exception(frame.function_name.clone(), address));
                continue;
            }
            if next.is_some_and(|next| next.registers == frame.registers) {
                // An inlined function: the last one at this address stands for all.
                continue;
            }
            let again = frames.last().is_some_and(|last: &Frame| last.address == address);
            if again && return_address(&frame.registers) == Some(AT_RESET) {
                // The same, where a dump has no memory that looks like an exception: the last frame comes twice.
                break;
            }
            // Of a caller the unwinder gives the call itself, not where it will go on.
            frames.extend(self.at(address));
            physical.push(RawFrame { address, registers: registers(frame) });
        }
        Backtrace { frames, raw: physical }
    }

    /// The function at an address, and those inlined into it, innermost first.
    fn at(&self, address: u32) -> Vec<Frame> {
        let probe = u64::from(address);
        let mut frames = Vec::new();
        if let Ok(mut found) = self.names.find_frames(probe) {
            while let Ok(Some(frame)) = found.next() {
                let name = frame.function.as_ref().and_then(|name| name.demangle().ok().map(|name| name.into_owned()));
                let Some(function) = name else { continue };
                let place = frame.location;
                let file = place.as_ref().and_then(|place| place.file).map(str::to_owned);
                let line = place.and_then(|place| place.line);
                let kind = kind_of(&function, file.as_deref());
                frames.push(Frame { function: tidy(&function), file, line, address, inlined: true, kind });
            }
        }
        match frames.last_mut() {
            Some(outermost) => outermost.inlined = false,
            None => {
                let symbol = self.names.find_symbol(probe).map_or_else(|| "unknown function".into(), str::to_owned);
                let kind = FrameKind::Unknown;
                frames.push(Frame { function: symbol, file: None, line: None, address, inlined: false, kind });
            }
        }
        frames
    }
}

/// The registers of a frame as far as they are known.
fn registers(frame: &StackFrame) -> Registers {
    let value = |of: &probe_rs_debug::DebugRegister| {
        let value: u32 = of.value?.try_into().ok()?;
        Some((of.dwarf_id?, value))
    };
    Registers { values: frame.registers.0.iter().filter_map(value).collect(), cfa: frame.canonical_frame_address }
}

fn exception(description: String, address: u32) -> Frame {
    Frame { function: description, file: None, line: None, address, inlined: false, kind: FrameKind::Exception }
}

fn return_address(registers: &DebugRegisters) -> Option<u32> {
    registers.get_return_address()?.value?.try_into().ok()
}

fn program_counter(registers: &DebugRegisters) -> Option<u32> {
    let value: RegisterValue = registers.get_program_counter()?.value?;
    let address: u32 = value.try_into().ok()?;
    Some(address & !1)
}

//! Local variables of a function at one instruction: which there are, and where each of them is.
use super::{DebugTypes, Entry, Slice, TypeId};
use gimli::{AttributeValue, EvaluationResult, Location, Value};

/// The registers of a frame, by their DWARF numbers, and where its caller's stack ends.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Registers {
    /// The values that are known.
    pub values: Vec<(u16, u32)>,
    /// The stack pointer of the caller before it called.
    pub cfa: Option<u64>,
}

impl Registers {
    fn get(&self, number: u16) -> Option<u32> {
        self.values.iter().find(|(of, _)| *of == number).map(|(_, value)| *value)
    }
}

/// Where a variable is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Whereabouts {
    /// In memory.
    Memory(u64),
    /// In no memory; these are its first bytes.
    Bytes(Vec<u8>),
    /// Nowhere at this instruction: the compiler has dropped it or keeps it in a way that cannot be followed.
    Gone,
}

/// A local variable or an argument.
#[derive(Clone, Debug)]
pub struct Local {
    /// Its name.
    pub name: String,
    /// Its type.
    pub ty: TypeId,
    /// Where it is.
    pub at: Whereabouts,
    /// How many inlined functions are around it: 0 for a variable of the function itself.
    pub depth: usize,
}

/// Reads a word of the board's memory.
type Word<'m> = dyn FnMut(u64) -> Option<u32> + 'm;

impl DebugTypes {
    /// The variables that are in scope at an instruction, those of inlined functions too.
    pub fn locals(&self, instruction: u64, registers: &Registers, word: &mut Word<'_>) -> Vec<Local> {
        let mut found = Vec::new();
        for unit in 0..self.units.len() {
            let _ = self.locals_in(unit, instruction, registers, word, &mut found);
        }
        found
    }

    fn locals_in(
        &self,
        unit: usize,
        pc: u64,
        registers: &Registers,
        word: &mut Word<'_>,
        found: &mut Vec<Local>,
    ) -> Result<(), gimli::Error> {
        if !self.covers(unit, self.units[unit].entries().next_dfs()?, pc) {
            return Ok(());
        }
        // The depth of the innermost scope that is known to cover the instruction, and the inlined functions on the way.
        let mut scopes: Vec<(isize, bool)> = Vec::new();
        let mut base = None;
        let mut entries = self.units[unit].entries();
        while let Some(entry) = entries.next_dfs()? {
            let depth = entry.depth();
            scopes.retain(|(of, _)| *of < depth);
            match entry.tag() {
                gimli::DW_TAG_subprogram if self.covers(unit, Some(entry), pc) => {
                    scopes = vec![(depth, false)];
                    base = entry.attr_value(gimli::DW_AT_frame_base);
                }
                gimli::DW_TAG_lexical_block | gimli::DW_TAG_inlined_subroutine
                    if scopes.last().is_some_and(|(of, _)| *of == depth - 1) && self.covers(unit, Some(entry), pc) =>
                {
                    scopes.push((depth, entry.tag() == gimli::DW_TAG_inlined_subroutine));
                }
                gimli::DW_TAG_variable | gimli::DW_TAG_formal_parameter
                    if scopes.last().is_some_and(|(of, _)| *of == depth - 1) =>
                {
                    let inlined = scopes.iter().filter(|(_, inlined)| *inlined).count();
                    let context = (pc, registers, base.as_ref());
                    found.extend(self.local(unit, entry, context, word, inlined));
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn covers(&self, unit: usize, entry: Option<&Entry>, pc: u64) -> bool {
        let Some(entry) = entry else { return false };
        let Ok(mut ranges) = self.dwarf.die_ranges(&self.units[unit], entry) else { return false };
        while let Ok(Some(range)) = ranges.next() {
            if range.begin > 0 && (range.begin..range.end).contains(&pc) {
                return true;
            }
        }
        false
    }

    fn local(
        &self,
        unit: usize,
        entry: &Entry,
        (pc, registers, base): (u64, &Registers, Option<&AttributeValue<Slice>>),
        word: &mut Word<'_>,
        depth: usize,
    ) -> Option<Local> {
        let origin = self.reference(unit, entry, gimli::DW_AT_abstract_origin);
        let origin = origin.and_then(|of| Some((of.unit, self.units[of.unit].entry(of.offset).ok()?)));
        let of_origin = || origin.as_ref().and_then(|(unit, entry)| self.name(*unit, entry));
        let name = self.name(unit, entry).or_else(of_origin)?;
        let ty_of_origin = || origin.as_ref().and_then(|(unit, entry)| self.type_of(*unit, entry));
        let ty = self.type_of(unit, entry).or_else(ty_of_origin)?;
        let expression = entry.attr_value(gimli::DW_AT_location).and_then(|value| self.expression(unit, value, pc));
        let size = self.size(ty).unwrap_or(4);
        let base = base.and_then(|base| self.frame_base(unit, base.clone(), registers, word));
        let at = expression.and_then(|of| self.evaluate(unit, of, (registers, base), word, size));
        Some(Local { name, ty, at: at.unwrap_or(Whereabouts::Gone), depth })
    }

    /// The expression that tells where something is at an instruction.
    fn expression(&self, unit: usize, value: AttributeValue<Slice>, pc: u64) -> Option<gimli::Expression<Slice>> {
        if let AttributeValue::Exprloc(expression) = value {
            return Some(expression);
        }
        let mut list = self.dwarf.attr_locations(&self.units[unit], value).ok()??;
        while let Ok(Some(entry)) = list.next() {
            if (entry.range.begin..entry.range.end).contains(&pc) {
                return Some(entry.data);
            }
        }
        None
    }

    fn frame_base(
        &self,
        unit: usize,
        base: AttributeValue<Slice>,
        registers: &Registers,
        word: &mut Word<'_>,
    ) -> Option<u64> {
        let AttributeValue::Exprloc(expression) = base else { return None };
        // A register is the base itself, not the place of it.
        let mut operations = expression.clone().operations(self.units[unit].encoding());
        if let Ok(Some(gimli::Operation::Register { register })) = operations.next() {
            return registers.get(register.0).map(u64::from);
        }
        match self.evaluate(unit, expression, (registers, None), word, 4)? {
            Whereabouts::Memory(address) => Some(address),
            _ => None,
        }
    }

    fn evaluate(
        &self,
        unit: usize,
        expression: gimli::Expression<Slice>,
        (registers, base): (&Registers, Option<u64>),
        word: &mut Word<'_>,
        size: u64,
    ) -> Option<Whereabouts> {
        let mut evaluation = expression.evaluation(self.units[unit].encoding());
        evaluation.set_max_iterations(1000);
        let mut step = evaluation.evaluate().ok()?;
        loop {
            step = match step {
                EvaluationResult::Complete => break,
                EvaluationResult::RequiresRegister { register, .. } => {
                    evaluation.resume_with_register(Value::Generic(registers.get(register.0)?.into())).ok()?
                }
                EvaluationResult::RequiresFrameBase => evaluation.resume_with_frame_base(base?).ok()?,
                EvaluationResult::RequiresCallFrameCfa => evaluation.resume_with_call_frame_cfa(registers.cfa?).ok()?,
                EvaluationResult::RequiresMemory { address, .. } => {
                    evaluation.resume_with_memory(Value::Generic(word(address)?.into())).ok()?
                }
                EvaluationResult::RequiresRelocatedAddress(address) => {
                    evaluation.resume_with_relocated_address(address).ok()?
                }
                _ => return None,
            };
        }
        let pieces = evaluation.result();
        if let [piece] = pieces.as_slice()
            && piece.size_in_bits.is_none()
            && let Location::Address { address } = piece.location
        {
            return Some(Whereabouts::Memory(address));
        }
        // Anything else is put together byte by byte.
        let mut bytes = Vec::new();
        for piece in &pieces {
            let length = piece.size_in_bits.map_or(size.min(8), |bits| bits / 8) as usize;
            let value = match &piece.location {
                Location::Register { register } => registers.get(register.0)?.to_le_bytes().to_vec(),
                Location::Value { value } => value.to_u64(u64::MAX).ok()?.to_le_bytes().to_vec(),
                Location::Bytes { value } => gimli::Reader::to_slice(value).ok()?.to_vec(),
                Location::Address { address } => {
                    let words = (0..length.div_ceil(4) as u64).map(|index| word(address + 4 * index));
                    words.collect::<Option<Vec<u32>>>()?.into_iter().flat_map(u32::to_le_bytes).collect()
                }
                _ => return None,
            };
            bytes.extend(value.iter().copied().chain(std::iter::repeat(0)).take(length));
        }
        (bytes.len() as u64 >= size && size > 0).then_some(Whereabouts::Bytes(bytes))
    }
}

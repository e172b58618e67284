//! Variables of tasks: what lives across an `.await` in each future of a chain, and what the frames of a core hold.
use super::{Task, TaskState, read_word};
use crate::backtrace::{Backtrace, Frame, FrameKind, RawFrame};
use crate::debug_info::DebugInfo;
use crate::dwarf::{DebugTypes, Place, Whereabouts};
use crate::payload::Value;
use crate::print::{Limits, PrintError, Read, TaskQuery};
use crate::{Memory, MemoryError, NodeAddress, System};
use serde::Serialize;

/// A variable of a task or of a frame.
#[derive(Clone, Debug, Serialize)]
pub struct TaskVariable {
    /// The function that it is in.
    pub function: String,
    /// Its name.
    pub name: String,
    /// Its type.
    pub r#type: String,
    /// Where it lies; none if it is in registers.
    pub address: Option<u64>,
    /// Its value, if there is one.
    pub value: Option<Value>,
    /// Why there is none, or why it may be wrong.
    pub note: Option<String>,
}

impl System {
    /// The variables of a task that was found by [`System::tasks`]: all, or what a query asks for.
    ///
    /// # Errors
    /// Nothing is there of what the query asks for.
    pub fn task_variables(
        &mut self,
        task: &Task,
        query: Option<&TaskQuery>,
        limits: Limits,
        debug: &mut DebugInfo,
    ) -> Result<Vec<TaskVariable>, PrintError> {
        if let (TaskState::Running, Some(backtrace), Some(at)) = (task.state, &task.backtrace, task.at) {
            return self.frame_variables(at, backtrace, query, limits, debug);
        }
        let board = &mut self.boards()[task.on];
        let path = board.firmware().path.clone();
        let Some(types) = debug.types(&path) else { return Ok(Vec::new()) };
        let mut list = List { types, query, limits, found: Vec::new(), wrong: None, is_users: false, of_user: 0 };
        for (_, link) in task.chain.iter().flat_map(|chain| chain.walk()) {
            for variable in &link.variables {
                let note = variable.is_shadowed.then(|| {
                    "several variables of this name are alive, and this may be the value of another".to_owned()
                });
                list.add(link.short_name(), &variable.name, Spot::Memory(variable.place), note, board.memory())?;
            }
        }
        list.finish()
    }

    /// The variables of the frames of a core, as far as the debug information says where they are.
    ///
    /// # Errors
    /// Nothing is there of what the query asks for.
    pub fn frame_variables(
        &mut self,
        at: NodeAddress,
        backtrace: &Backtrace,
        query: Option<&TaskQuery>,
        limits: Limits,
        debug: &mut DebugInfo,
    ) -> Result<Vec<TaskVariable>, PrintError> {
        let board = &mut self.boards()[at.board];
        let path = board.firmware().path.clone();
        let Some(types) = debug.types(&path) else { return Ok(Vec::new()) };
        let mut list = List { types, query, limits, found: Vec::new(), wrong: None, is_users: false, of_user: 0 };
        for frame in user_frames(backtrace) {
            let names: Vec<&Frame> = backtrace.frames.iter().filter(|of| of.address == frame.address).collect();
            let mut word = |address: u64| read_word(board.memory(), address);
            for local in types.locals(frame.address.into(), &frame.registers, &mut word) {
                let function = names.len().checked_sub(1 + local.depth).and_then(|index| names.get(index));
                list.is_users = function.is_some_and(|frame| frame.kind == FrameKind::User);
                let function = function.map_or("?", |frame| frame.function.as_str());
                let spot = match local.at {
                    Whereabouts::Memory(address) => Spot::Memory(Place { address, ty: local.ty }),
                    Whereabouts::Bytes(bytes) => Spot::Bytes(local.ty, bytes),
                    Whereabouts::Gone => Spot::Gone(local.ty),
                };
                list.add(function, &local.name, spot, None, board.memory())?;
            }
        }
        list.finish()
    }
}

/// The frames past those in which the kit keeps the core.
fn user_frames(backtrace: &Backtrace) -> impl Iterator<Item = &RawFrame> {
    let first = backtrace.past_the_agent().first().map(|frame| frame.address);
    let raw = backtrace.raw.iter();
    raw.skip_while(move |frame| first.is_some_and(|first| frame.address != first))
}

/// Where a variable is.
enum Spot {
    Memory(Place),
    Bytes(crate::dwarf::TypeId, Vec<u8>),
    Gone(crate::dwarf::TypeId),
}

/// Variables as they are found.
struct List<'a> {
    types: &'a DebugTypes,
    query: Option<&'a TaskQuery>,
    limits: Limits,
    found: Vec<TaskVariable>,
    /// What was wrong with a variable of the right name.
    wrong: Option<PrintError>,
    /// Whether what is added is of the user's own code.
    is_users: bool,
    /// How many of those found are; they come first.
    of_user: usize,
}

impl List<'_> {
    fn add(
        &mut self,
        function: &str,
        name: &str,
        spot: Spot,
        note: Option<String>,
        memory: &mut dyn Memory,
    ) -> Result<(), PrintError> {
        let wanted = self.query.and_then(|query| query.variable.as_ref());
        if wanted.is_some_and(|wanted| wanted.text != name) {
            return Ok(());
        }
        let ty = match &spot {
            Spot::Memory(place) => place.ty,
            Spot::Bytes(ty, _) | Spot::Gone(ty) => *ty,
        };
        let mut variable = TaskVariable {
            function: function.to_owned(),
            name: name.to_owned(),
            r#type: self.types.type_name(ty),
            address: None,
            value: None,
            note,
        };
        let read = match spot {
            Spot::Memory(place) => {
                variable.address = Some(place.address);
                self.read(place, memory)
            }
            Spot::Bytes(ty, bytes) => {
                let mut memory = Overlay { under: memory, bytes };
                self.read(Place { address: OVERLAY.into(), ty }, &mut memory)
            }
            Spot::Gone(_) => {
                variable.note = Some("not available: the compiler keeps it nowhere at this instruction".into());
                self.put(variable);
                return Ok(());
            }
        };
        match read {
            Ok(read) => {
                variable.r#type = read.ty;
                variable.address = variable.address.map(|_| read.address);
                variable.value = Some(read.value);
                self.put(variable);
            }
            Err(error) if wanted.is_some() => self.wrong = Some(error),
            Err(error) => {
                variable.note = Some(error.to_string());
                self.put(variable);
            }
        }
        Ok(())
    }

    fn read(&self, place: Place, memory: &mut dyn Memory) -> Result<Read, PrintError> {
        match self.query {
            Some(query) => query.read(place, self.types, memory, self.limits),
            None => {
                let value = crate::print::Reader::new(self.types, memory, self.limits).whole(place)?;
                Ok(Read { address: place.address, ty: self.types.type_name(place.ty), value })
            }
        }
    }

    /// Variables of libraries are told only where the user's own code has none.
    fn put(&mut self, variable: TaskVariable) {
        if self.is_users {
            self.found.insert(self.of_user, variable);
            self.of_user += 1;
        } else {
            self.found.push(variable);
        }
    }

    fn finish(mut self) -> Result<Vec<TaskVariable>, PrintError> {
        if self.of_user > 0 {
            self.found.truncate(self.of_user);
        }
        match self.wrong {
            Some(wrong) if self.found.is_empty() => Err(wrong),
            _ => Ok(self.found),
        }
    }
}

/// Where bytes that are in no memory are read from: no chip has memory there.
const OVERLAY: u32 = 0xFFFF_F000;

/// Bytes that are in registers, in front of memory.
struct Overlay<'m> {
    under: &'m mut dyn Memory,
    bytes: Vec<u8>,
}

impl Memory for Overlay<'_> {
    fn read(&mut self, address: u32, into: &mut [u32]) -> Result<(), MemoryError> {
        if address < OVERLAY {
            return self.under.read(address, into);
        }
        for (index, word) in into.iter_mut().enumerate() {
            let at = (address - OVERLAY) as usize + 4 * index;
            let byte = |offset: usize| self.bytes.get(at + offset).copied().unwrap_or(0);
            *word = u32::from_le_bytes([byte(0), byte(1), byte(2), byte(3)]);
        }
        Ok(())
    }

    fn write(&mut self, address: u32, _: &[u32]) -> Result<(), MemoryError> {
        Err(MemoryError::IsADump { address })
    }
}

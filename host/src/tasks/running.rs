//! Which tasks a core is in the middle of polling. What such a task's storage says is old: it is written when it suspends.
use crate::backtrace::{Backtrace, RawFrame};
use crate::dwarf::{DebugTypes, FutureIndex, Place, Type, Whereabouts};
use crate::memory::read_bytes;
use crate::{Memory, MemoryError};

/// A task that may be the one that a frame polls.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    pub place: Place,
    /// The function that polls it.
    pub poll: u64,
    pub size: u64,
}

/// What a frame that polls a task tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Polled {
    /// This one, by its place in the list of candidates.
    One(usize),
    /// One of these; nothing tells which.
    OneOf(Vec<usize>),
}

/// The tasks that a core is polling, the innermost first: several where an interrupt's executor has preempted another.
pub(super) fn polled(
    types: &DebugTypes,
    index: &FutureIndex,
    backtrace: &Backtrace,
    candidates: &[Candidate],
    memory: &mut dyn Memory,
) -> Vec<Polled> {
    let mut found: Vec<Polled> = Vec::new();
    for (number, frame) in backtrace.raw.iter().enumerate() {
        let address = u64::from(frame.address);
        let Some(poller) = index.pollers.iter().find(|poller| poller.code.contains(&address)) else { continue };
        let fits = |of: &Candidate| of.poll == poller.code.start;
        let of_frame: Vec<usize> = (0..candidates.len()).filter(|of| fits(&candidates[*of])).collect();
        found.extend(match of_frame.as_slice() {
            [] => None,
            [one] => Some(Polled::One(*one)),
            several => Some(which(types, frame, backtrace.raw.get(number + 1), several, candidates, memory)),
        });
    }
    found
}

/// Which of several tasks a frame polls: the variables of the frame tell, or its registers if they point to one of them only.
fn which(
    types: &DebugTypes,
    frame: &RawFrame,
    caller: Option<&RawFrame>,
    of: &[usize],
    candidates: &[Candidate],
    memory: &mut dyn Memory,
) -> Polled {
    let starts_at = |value: u64| of.iter().copied().find(|of| candidates[*of].place.address == value);
    for name in ["p", "this", "waker", "task"] {
        let words = variable_words(types, frame, name, memory).unwrap_or_default();
        let mut named: Vec<usize> = words.into_iter().filter_map(|word| starts_at(word.into())).collect();
        named.sort_unstable();
        named.dedup();
        if let [one] = named[..] {
            return Polled::One(one);
        }
    }
    let within = |value: u64| {
        let holds = |of: &usize| {
            let Candidate { place, size, .. } = candidates[*of];
            (place.address..place.address + size).contains(&value)
        };
        of.iter().copied().find(holds)
    };
    // What a function keeps for its caller: registers 4 to 11.
    let kept = |frame: &RawFrame| {
        let values = frame.registers.values.iter().filter(|(number, _)| (4..=11).contains(number));
        values.map(|(_, value)| u64::from(*value)).collect::<Vec<u64>>()
    };
    for frame in std::iter::once(frame).chain(caller) {
        let mut named: Vec<usize> = kept(frame).into_iter().filter_map(within).collect();
        named.sort_unstable();
        named.dedup();
        if let [one] = named[..] {
            return Polled::One(one);
        }
    }
    Polled::OneOf(of.to_vec())
}

/// The first words of a variable of a frame.
fn variable_words(
    types: &DebugTypes,
    frame: &RawFrame,
    name: &str,
    memory: &mut dyn Memory,
) -> Result<Vec<u32>, MemoryError> {
    let mut word = |address: u64| read_word(memory, address);
    let locals = types.locals(frame.address.into(), &frame.registers, &mut word);
    let mut words = Vec::new();
    for local in locals.into_iter().filter(|local| local.name == name) {
        let size = types.size(local.ty).unwrap_or(0).min(16) as usize;
        let bytes = match local.at {
            Whereabouts::Memory(address) => match (u32::try_from(address), types.get(local.ty)) {
                (Ok(address), Type::Struct { .. } | Type::Pointer(_)) => read_bytes(memory, address, size)?,
                _ => continue,
            },
            Whereabouts::Bytes(bytes) => bytes,
            Whereabouts::Gone => continue,
        };
        words.extend(bytes.as_chunks().0.iter().map(|bytes| u32::from_le_bytes(*bytes)));
    }
    Ok(words)
}

/// A word of memory, if it can be read.
pub(super) fn read_word(memory: &mut dyn Memory, address: u64) -> Option<u32> {
    let bytes = read_bytes(memory, u32::try_from(address).ok()?, 4).ok()?;
    Some(u32::from_le_bytes(bytes.try_into().ok()?))
}

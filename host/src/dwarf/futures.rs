//! What the debug information says of async code: tasks of embassy, the functions that poll them, futures and vtables.
//!
//! This is a second pass over all entries, so it is made only when tasks are asked for.
use super::parse::declared;
use super::{DebugTypes, Entry, Line, Type, TypeId};
use std::collections::{HashMap, HashSet};
use std::ops::Range;

/// A function that polls the tasks of one future: an instance of `TaskStorage<F>::poll`.
#[derive(Clone, Debug)]
pub struct Poller {
    /// Its instructions.
    pub code: Range<u64>,
    /// The `TaskStorage<F>` that it polls.
    pub storage: TypeId,
}

/// Async code of a firmware.
#[derive(Default)]
pub struct FutureIndex {
    /// `TaskStorage<F>` by the path of `F`.
    pub(crate) storages: HashMap<String, TypeId>,
    /// The functions that poll tasks. Identical ones are merged by the linker, so that two may have the same code.
    pub(crate) pollers: Vec<Poller>,
    /// The paths of all types that are polled anywhere: each `T` of a `Pin<&mut T>`.
    pub(crate) polled: HashSet<String>,
    /// The line of each closure, by its path without parameters.
    pub(crate) closures: HashMap<String, Line>,
    /// What the first closure in each function returns, by the path of the function: a task's macro makes one that returns the
    /// future of the task.
    pub(crate) made: HashMap<String, TypeId>,
    /// The types behind trait objects, by the address of the vtable.
    pub(crate) vtables: HashMap<u64, Vec<TypeId>>,
    /// The compilers of the firmware, as they name themselves.
    pub(crate) producers: Vec<String>,
}

/// An entry that encloses the present one.
struct Outer {
    tag: gimli::DwTag,
    name: Option<String>,
    at: TypeId,
}

/// What is gathered before declarations and definitions are joined.
#[derive(Default)]
struct Gathered {
    /// Declarations of `TaskStorage<F>::poll`, and their `TaskStorage<F>`.
    polls: HashMap<TypeId, TypeId>,
    /// Functions that define or instantiate a declaration.
    origins: HashMap<TypeId, TypeId>,
    code: Vec<(TypeId, Range<u64>)>,
}

impl DebugTypes {
    /// Looks for async code.
    #[must_use]
    pub fn futures(&self) -> FutureIndex {
        let mut index = FutureIndex::default();
        let mut gathered = Gathered::default();
        for unit in 0..self.units.len() {
            // A unit that is damaged says no more; the others do.
            let _ = self.gather(unit, &mut index, &mut gathered);
        }
        for (function, code) in gathered.code {
            let mut at = function;
            let declaration = std::iter::from_fn(|| {
                at = *gathered.origins.get(&at)?;
                Some(at)
            });
            let storage = std::iter::once(function).chain(declaration.take(4)).find_map(|at| gathered.polls.get(&at));
            index.pollers.extend(storage.map(|storage| Poller { code, storage: *storage }));
        }
        for of in self.statics().iter().filter(|of| of.name.ends_with("::{vtable}")) {
            if let Some(behind) = self.containing_type(of.place.ty) {
                index.vtables.entry(of.place.address).or_default().push(behind);
            }
        }
        index
    }

    fn gather(&self, unit: usize, index: &mut FutureIndex, found: &mut Gathered) -> Result<(), gimli::Error> {
        let mut around: Vec<Outer> = Vec::new();
        let mut entries = self.units[unit].entries();
        while let Some(entry) = entries.next_dfs()? {
            around.truncate(usize::try_from(entry.depth()).unwrap_or(0));
            let at = TypeId { unit, offset: entry.offset() };
            let tag = entry.tag();
            let is_named = [
                gimli::DW_TAG_namespace,
                gimli::DW_TAG_subprogram,
                gimli::DW_TAG_structure_type,
                gimli::DW_TAG_union_type,
                gimli::DW_TAG_enumeration_type,
            ];
            let name = if is_named.contains(&tag) { self.name(unit, entry) } else { None };
            match tag {
                gimli::DW_TAG_compile_unit => {
                    let producer = self.text(unit, entry, gimli::DW_AT_producer).unwrap_or_default();
                    if !index.producers.contains(&producer) {
                        index.producers.push(producer);
                    }
                }
                gimli::DW_TAG_structure_type => self.note_type(at, name.as_deref().unwrap_or_default(), index),
                gimli::DW_TAG_subprogram => {
                    self.note_function(at, entry, name.as_deref().unwrap_or_default(), &around, index, found);
                }
                _ => {}
            }
            around.push(Outer { tag, name, at });
        }
        Ok(())
    }

    fn note_type(&self, at: TypeId, name: &str, index: &mut FutureIndex) {
        if name.starts_with("TaskStorage<") {
            let Type::Struct { parameters, .. } = self.get(at) else { return };
            if let Some((_, future)) = parameters.first() {
                index.storages.entry(self.type_path(*future)).or_insert(at);
            }
        } else if name.starts_with("Pin<&mut ")
            && let Type::Struct { members, .. } = self.get(at)
            && let Some(pointer) = members.first()
            && let Type::Pointer(Some(to)) = self.get(pointer.ty)
        {
            index.polled.insert(self.type_path(to));
        }
    }

    fn note_function(
        &self,
        at: TypeId,
        entry: &Entry,
        name: &str,
        around: &[Outer],
        index: &mut FutureIndex,
        found: &mut Gathered,
    ) {
        let unit = at.unit;
        for attribute in [gimli::DW_AT_specification, gimli::DW_AT_abstract_origin] {
            if let Some(origin) = self.reference(unit, entry, attribute) {
                found.origins.insert(at, origin);
            }
        }
        if let Some(code) = self.code(unit, entry) {
            found.code.push((at, code));
        }
        let Some(outer) = around.last() else { return };
        if name.starts_with("poll<")
            && outer.tag == gimli::DW_TAG_structure_type
            && outer.name.as_deref().is_some_and(|name| name.starts_with("TaskStorage<"))
        {
            found.polls.insert(at, outer.at);
        }
        if name.starts_with("{closure#") {
            let names = around.iter().filter_map(|outer| outer.name.as_deref());
            let outside = names.collect::<Vec<_>>().join("::");
            if let Some(line) = declared(entry).and_then(|declared| self.line(unit, declared)) {
                index.closures.entry(without_parameters(&format!("{outside}::{name}"))).or_insert(line);
            }
            if name == "{closure#0}"
                && let Some(ty) = self.type_of(unit, entry)
            {
                index.made.entry(outside).or_insert(ty);
            }
        }
    }

    /// The instructions of a function that has them in one piece.
    fn code(&self, unit: usize, entry: &Entry) -> Option<Range<u64>> {
        let address = |value| self.dwarf.attr_address(&self.units[unit], value).ok().flatten();
        let low = address(entry.attr_value(gimli::DW_AT_low_pc)?)?;
        let high = entry.attr_value(gimli::DW_AT_high_pc)?;
        let high = address(high.clone()).or_else(|| low.checked_add(high.udata_value()?))?;
        (low > 0 && high > low).then_some(low..high)
    }

    /// The type whose vtable a vtable's type describes.
    fn containing_type(&self, vtable: TypeId) -> Option<TypeId> {
        let entry = self.units[vtable.unit].entry(vtable.offset).ok()?;
        self.reference(vtable.unit, &entry, gimli::DW_AT_containing_type)
    }
}

/// A path without what stands between angle brackets, but with `{impl#0}` and the like.
pub(crate) fn without_parameters(path: &str) -> String {
    let (mut text, mut depth) = (String::new(), 0u32);
    let mut before = ' ';
    for letter in path.chars() {
        match letter {
            '<' => depth += 1,
            // The arrow of a function's type closes nothing.
            '>' if before != '-' => depth = depth.saturating_sub(1),
            _ if depth == 0 => text.push(letter),
            _ => {}
        }
        before = letter;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::without_parameters;

    #[test]
    fn parameters_are_left_out_and_the_rest_stays() {
        let path = "a::{impl#2}::recv<P, Option<fn() -> T>>::{async_fn_env#0}<P>";
        assert_eq!(without_parameters(path), "a::{impl#2}::recv::{async_fn_env#0}");
        assert_eq!(without_parameters("plain"), "plain");
        assert_eq!(without_parameters("a>b"), "ab");
    }
}

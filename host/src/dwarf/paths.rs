//! The modules that types are defined in, and the types whose `serde::Serialize` is written by hand.
use super::{DebugTypes, Entry, Type, TypeId};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// The entries around an entry, from the outside: their names, and whether each is a module.
pub(super) type Around = Vec<(Option<String>, bool)>;

/// Gathered while the statics are.
#[derive(Default)]
pub(super) struct Paths {
    modules: HashMap<TypeId, Arc<str>>,
    last: Option<Arc<str>>,
    /// Types with an implementation of `serde::Serialize` that no derive wrote, by their paths.
    by_hand: HashSet<TypeId>,
    /// The implementation that is being read: its depth, the type, and whether a derive wrote it.
    serialize: Option<(isize, Option<TypeId>, bool)>,
}

impl Paths {
    /// Takes notice of one entry. Entries come in the order of the file.
    pub fn note(&mut self, types: &DebugTypes, unit: usize, entry: &Entry, around: &Around) {
        self.note_serialize(types, unit, entry, around);
        let is_type = [gimli::DW_TAG_structure_type, gimli::DW_TAG_enumeration_type, gimli::DW_TAG_union_type];
        if !is_type.contains(&entry.tag()) {
            return;
        }
        let names = around.iter().filter_map(|(name, _)| name.as_deref());
        let module = names.collect::<Vec<_>>().join("::");
        // Types of one module lie together.
        let module = match &self.last {
            Some(last) if **last == *module => last.clone(),
            _ => Arc::from(module),
        };
        self.last = Some(module.clone());
        self.modules.insert(TypeId { unit, offset: entry.offset() }, module);
    }

    /// `serde_derive` calls the type parameter of the function that it writes `__S`.
    fn note_serialize(&mut self, types: &DebugTypes, unit: usize, entry: &Entry, around: &Around) {
        let depth = entry.depth();
        if self.serialize.is_some_and(|(outer, ..)| depth <= outer) {
            self.end_serialize(types);
        }
        match (&mut self.serialize, entry.tag()) {
            (None, gimli::DW_TAG_subprogram) => {
                let is_method = around.iter().rev().find_map(|(name, _)| name.as_deref());
                let symbol = || types.text(unit, entry, gimli::DW_AT_linkage_name);
                if is_method.is_some_and(|name| name.starts_with("{impl#"))
                    && types.name(unit, entry).is_some_and(|name| name.starts_with("serialize<"))
                    && symbol().is_some_and(|symbol| symbol.contains("Serialize"))
                {
                    self.serialize = Some((depth, None, false));
                }
            }
            (Some((outer, _, derived)), gimli::DW_TAG_template_type_parameter) if depth == *outer + 1 => {
                *derived |= types.name(unit, entry).as_deref() == Some("__S");
            }
            (Some((outer, of @ None, _)), gimli::DW_TAG_formal_parameter) if depth == *outer + 1 => {
                *of = types.type_of(unit, entry);
            }
            _ => {}
        }
    }

    /// No implementation goes on in the next unit.
    pub fn finish(&mut self, types: &DebugTypes) {
        self.end_serialize(types);
    }

    fn end_serialize(&mut self, types: &DebugTypes) {
        if let Some((_, Some(this), false)) = self.serialize.take()
            && let Type::Pointer(Some(of)) = types.get(this)
        {
            self.by_hand.insert(of);
        }
    }

    pub fn extend(&mut self, other: Self) {
        self.modules.extend(other.modules);
        self.by_hand.extend(other.by_hand);
    }
}

impl DebugTypes {
    /// Whether any type is described: `debug = 1` describes lines only.
    #[must_use]
    pub fn has_types(&self) -> bool {
        !self.paths.modules.is_empty()
    }

    /// The name of a type with the modules that it is in, as in `core::option::Option<u32>`. Types of the language itself, such
    /// as numbers and tuples, are in no module.
    #[must_use]
    pub fn type_path(&self, id: TypeId) -> String {
        match self.paths.modules.get(&id).filter(|module| !module.is_empty()) {
            Some(module) => format!("{module}::{}", self.type_name(id)),
            None => self.type_name(id),
        }
    }

    /// The types of this path, without parameters; a type may be described several times.
    #[must_use]
    pub fn types_at(&self, path: &str) -> Vec<TypeId> {
        let (module, _) = path.rsplit_once("::").unwrap_or(("", path));
        let in_module = self.paths.modules.iter().filter(|(_, own)| ***own == *module);
        in_module.map(|(id, _)| *id).filter(|id| self.type_path(*id).split('<').next() == Some(path)).collect()
    }

    /// Whether the firmware serialises a type by a function that was written by hand, of which the debug information says
    /// nothing but that it is there.
    #[must_use]
    pub fn is_serialized_by_hand(&self, id: TypeId) -> bool {
        // A type is described in each unit that uses it.
        let of = &self.paths.by_hand;
        of.contains(&id) || {
            let path = self.type_path(id);
            of.iter().any(|other| self.type_path(*other) == path)
        }
    }
}

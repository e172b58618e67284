//! Types of libraries that are around a value so that it can be shared, changed or set later.
use super::read::Reader;
use crate::MemoryError;
use crate::dwarf::{DebugTypes, Member, Place, Type, TypeId};
use crate::payload::form::{crate_of, split};

/// Types that hold one value and are shown as that value.
const TRANSPARENT: [&str; 14] = [
    "UnsafeCell",
    "SyncUnsafeCell",
    "UnsafePinned",
    "Cell",
    "Atomic",
    "ManuallyDrop",
    "MaybeDangling",
    "NonZero",
    "Wrapping",
    "Saturating",
    "Unique",
    "Mutex",
    "BinaryHeap",
    "BinaryHeapInner",
];

/// Types that hold a value and a note about it.
const WITH_A_NOTE: [&str; 6] = ["RefCell", "Mutex", "OnceCell", "LazyCell", "StaticCell", "ConstStaticCell"];

fn is_transparent(name: &str) -> bool {
    let is_atomic = name.strip_prefix("Atomic").is_some_and(|of| {
        of == "Bool" || of == "Ptr" || of.trim_start_matches(['U', 'I']).parse::<u8>().is_ok() || of.ends_with("size")
    });
    TRANSPARENT.contains(&name) || is_atomic || name.starts_with("NonZero") && name.ends_with("Inner")
}

/// Whether a crate is one whose types are around those of the user.
fn is_library(name: &str) -> bool {
    let names = ["core", "alloc", "std", "heapless", "critical_section", "static_cell", "portable_atomic"];
    names.contains(&name) || name.starts_with("embassy_")
}

impl DebugTypes {
    /// Whether a struct is there for the sake of the one value in it, so that it does not count as a level.
    pub(super) fn is_wrapper(&self, ty: TypeId, members: &[Member]) -> bool {
        let path = self.type_path(ty);
        is_library(crate_of(&path)) && (self.only(members).is_some() || WITH_A_NOTE.contains(&split(&path).1))
    }

    /// The member that has bytes, if only one has.
    fn only<'m>(&self, members: &'m [Member]) -> Option<&'m Member> {
        let mut sized = members.iter().filter(|of| self.size(of.ty).is_some_and(|size| size > 0));
        sized.next().filter(|_| sized.next().is_none())
    }

    /// The value in memory that may not be set.
    pub(super) fn maybe_uninit(&self, at: Place) -> Option<Place> {
        let Type::Union(members) = self.get(at.ty) else { return None };
        let of_core = self.type_path(at.ty).starts_with("core::mem::maybe_uninit::MaybeUninit<");
        let mut value = members.iter().find(|of| of_core && of.name == "value")?.ty;
        // Within it there is a wrapper so that it is not dropped.
        while let Type::Struct { members, .. } = self.get(value)
            && let Some(only) = self.only(&members)
            && is_transparent(split(&self.type_path(value)).1)
            && self.type_path(value).starts_with("core::mem::")
        {
            value = only.ty;
        }
        Some(Place { address: at.address, ty: value })
    }
}

impl Reader<'_> {
    /// What is in a wrapper, if it is shown as that.
    fn within(&mut self, at: Place) -> Result<Option<Place>, MemoryError> {
        let Type::Struct { members, .. } = self.types.get(at.ty) else { return Ok(None) };
        let path = self.types.type_path(at.ty);
        if !is_library(crate_of(&path)) {
            return Ok(None);
        }
        let name = split(&path).1;
        if name == "RefCell" {
            // One that is borrowed says so.
            let Some(borrow) = self.types.field(at, "borrow") else { return Ok(None) };
            let is_free = self.number(borrow.address, self.size(borrow)?)? == 0;
            return Ok(self.types.field(at, "value").filter(|_| is_free));
        }
        let only = self.types.only(&members).filter(|_| is_transparent(name));
        Ok(only.map(|only| Place { address: at.address + only.offset, ty: only.ty }))
    }

    /// What a type holds that is only there to be shared or changed.
    pub(super) fn through(&mut self, at: Place) -> Result<Place, MemoryError> {
        Ok(self.layers(at)?.pop().unwrap_or(at))
    }

    /// A place and what is in each of the wrappers around its value, from the outside.
    pub(super) fn layers(&mut self, at: Place) -> Result<Vec<Place>, MemoryError> {
        let mut layers = vec![at];
        while let Some(&last) = layers.last()
            && layers.len() <= 16
            && let Some(inner) = self.within(last)?
        {
            layers.push(inner);
        }
        Ok(layers)
    }
}

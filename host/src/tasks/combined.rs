//! Futures that are no async code: those that combine others, such as `select` and `join`, and those behind pointers.
use super::chain::Follower;
use super::function_name::is_async;
use super::link::{Link, LinkKind};
use crate::MemoryError;
use crate::dwarf::{DebugTypes, FutureIndex, Member, Place, Type, TypeId};

/// Of an array so many futures are followed.
const ELEMENTS: u64 = 32;

impl Follower<'_> {
    /// Anything that is no async code: what of it can be polled is followed.
    pub(super) fn other(&mut self, at: Place, name: &str, link: &mut Link, depth: u32) -> Result<(), MemoryError> {
        if name.starts_with("PollFn<") {
            self.poll_fn(at, link);
            return Ok(());
        }
        match self.types.get(at.ty) {
            Type::Pointer(Some(to)) => {
                let address = self.reader.number(at.address, 4)? as u64;
                let field = std::mem::take(&mut link.field);
                *link = self.follow(Place { address, ty: to }, field, depth);
            }
            Type::Array { element, count } => {
                let size = self.types.size(element).unwrap_or(0);
                for index in 0..count.min(ELEMENTS) {
                    let place = Place { address: at.address + index * size, ty: element };
                    link.awaits.push(self.follow(place, format!("[{index}]"), depth));
                }
                link.name = format!("array of {count}");
            }
            Type::Choice(choice) => {
                let Some((variant, content)) = self.state(at, &choice, link)? else { return Ok(()) };
                link.name = format!("{}::{}", link.name, variant.name);
                let place = Place { address: at.address + content.offset, ty: content.ty };
                self.members(place, link, depth);
            }
            Type::Struct { members, .. } => {
                if let (Some(pointer), Some(vtable)) = (member(&members, "pointer"), member(&members, "vtable")) {
                    return self.trait_object(at, pointer, vtable, link, depth);
                }
                // A pin or a box is shown as what it holds.
                let is_wrapper = ["Pin<", "Box<", "&mut ", "Unique<", "NonNull<", "ManuallyDrop<", "MaybeUninit<"];
                if is_wrapper.iter().any(|wrapper| name.starts_with(wrapper))
                    && let Some(inner) = members.iter().find(|of| self.types.size(of.ty).unwrap_or(0) > 0)
                {
                    let place = Place { address: at.address + inner.offset, ty: inner.ty };
                    let field = std::mem::take(&mut link.field);
                    *link = self.follow(place, field, depth);
                    return Ok(());
                }
                self.members(at, link, depth);
            }
            Type::Union(_) => self.members(at, link, depth),
            _ => {
                link.kind = LinkKind::Unknown;
                link.note = Some("its type is not known".into());
            }
        }
        Ok(())
    }

    /// The parts of a struct that can be polled.
    fn members(&mut self, at: Place, link: &mut Link, depth: u32) {
        let (Type::Struct { members, .. } | Type::Union(members)) = self.types.get(at.ty) else { return };
        for member in members {
            if self.holds_future(member.ty, 6) {
                let place = Place { address: at.address + member.offset, ty: member.ty };
                let field = member.name.trim_start_matches("__").to_owned();
                link.awaits.push(self.follow(place, field, depth));
            }
        }
    }

    fn trait_object(
        &mut self,
        at: Place,
        pointer: &Member,
        vtable: &Member,
        link: &mut Link,
        depth: u32,
    ) -> Result<(), MemoryError> {
        let data = self.reader.number(at.address + pointer.offset, 4)? as u64;
        let table = self.reader.number(at.address + vtable.offset, 4)? as u64;
        let mut behind = self.index.vtables.get(&table).cloned().unwrap_or_default();
        behind.sort_by_key(|ty| self.types.type_path(*ty));
        behind.dedup_by_key(|ty| self.types.type_path(*ty));
        match behind.as_slice() {
            [ty] => {
                let field = std::mem::take(&mut link.field);
                *link = self.follow(Place { address: data, ty: *ty }, field, depth);
            }
            several => {
                link.kind = LinkKind::Unknown;
                let types = if several.is_empty() { "no type".into() } else { format!("{} types", several.len()) };
                link.note = Some(format!("a trait object whose vtable at {table:#010x} belongs to {types}"));
            }
        }
        Ok(())
    }

    /// Whether a type is polled anywhere, or a part of it is.
    fn holds_future(&mut self, ty: TypeId, depth: u32) -> bool {
        if let Some(known) = self.holds.get(&ty) {
            return *known;
        }
        let Some(depth) = depth.checked_sub(1) else { return false };
        // A type that contains itself behind a pointer ends here.
        self.holds.insert(ty, false);
        let holds = self.types.futures_in(ty, self.index, &mut |ty| self.holds_future(ty, depth));
        self.holds.insert(ty, holds);
        holds
    }
}

impl DebugTypes {
    fn futures_in(&self, ty: TypeId, index: &FutureIndex, holds: &mut dyn FnMut(TypeId) -> bool) -> bool {
        if is_async(&self.type_name(ty)) || index.polled.contains(&self.type_path(ty)) {
            return true;
        }
        match self.get(ty) {
            Type::Struct { members, .. } | Type::Union(members) => {
                // Of a fat pointer the vtable is none, and what the pointer points to is not known yet.
                let is_dyn = member(&members, "vtable").is_some() && self.type_name(ty).contains("Future");
                is_dyn || members.iter().any(|of| holds(of.ty))
            }
            Type::Choice(choice) => choice.variants.iter().filter_map(|of| of.content.as_ref()).any(|of| holds(of.ty)),
            Type::Array { element, .. } => holds(element),
            Type::Pointer(Some(to)) => holds(to),
            _ => false,
        }
    }
}

pub(super) fn member<'m>(members: &'m [Member], name: &str) -> Option<&'m Member> {
    members.iter().find(|member| member.name == name)
}

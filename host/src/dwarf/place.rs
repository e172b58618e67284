//! Parts of statics: where they lie in the memory of a board.
use super::{DebugTypes, Type, TypeId};

/// An address and what lies there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Where.
    pub address: u64,
    /// As what.
    pub ty: TypeId,
}

impl DebugTypes {
    /// A field of a struct.
    #[must_use]
    pub fn field(&self, of: Place, name: &str) -> Option<Place> {
        let (Type::Struct { members, .. } | Type::Union(members)) = self.get(of.ty) else { return None };
        let member = members.into_iter().find(|member| member.name == name)?;
        Some(Place { address: of.address + member.offset, ty: member.ty })
    }

    /// What a variant of an enum holds, whether or not the enum is in that variant now.
    #[must_use]
    pub fn variant(&self, of: Place, name: &str) -> Option<Place> {
        let Type::Choice(choice) = self.get(of.ty) else { return None };
        let content = choice.variants.into_iter().find(|variant| variant.name == name)?.content?;
        Some(Place { address: of.address + content.offset, ty: content.ty })
    }

    /// An element of an array.
    #[must_use]
    pub fn element(&self, of: Place, index: u64) -> Option<Place> {
        let Type::Array { element, count } = self.get(of.ty) else { return None };
        (index < count).then_some(())?;
        Some(Place { address: of.address + index * self.size(element)?, ty: element })
    }

    /// Follows a path of fields.
    #[must_use]
    pub fn follow(&self, from: Place, path: &[&str]) -> Option<Place> {
        path.iter().try_fold(from, |at, name| self.field(at, name))
    }

    /// The first part of something whose type has a name that begins so, through whatever it is wrapped in.
    #[must_use]
    pub fn unwrap(&self, from: Place, name: &str) -> Option<Place> {
        self.unwrap_within(from, name, 10)
    }

    fn unwrap_within(&self, from: Place, name: &str, depth: u32) -> Option<Place> {
        let depth = depth.checked_sub(1)?;
        let parts = match self.get(from.ty) {
            Type::Struct { name: own, .. } if own.starts_with(name) => return Some(from),
            Type::Struct { members, .. } | Type::Union(members) => members,
            Type::Choice(choice) => choice.variants.into_iter().filter_map(|variant| variant.content).collect(),
            _ => return None,
        };
        let places = parts.into_iter().map(|part| Place { address: from.address + part.offset, ty: part.ty });
        places.filter_map(|part| self.unwrap_within(part, name, depth)).next()
    }

    /// What lies at an address and has a name that begins so: a static itself, or a part of one.
    #[must_use]
    pub fn find(&self, address: u64, name: &str) -> Option<Place> {
        let around = |place: &Place| {
            let size = self.size(place.ty).unwrap_or(0);
            (place.address..place.address + size.max(1)).contains(&address)
        };
        let statics = self.statics().iter().map(|of| of.place).filter(around);
        statics.filter_map(|place| self.inside(place, address, name)).next()
    }

    fn inside(&self, at: Place, address: u64, name: &str) -> Option<Place> {
        match self.get(at.ty) {
            Type::Struct { name: own, .. } if at.address == address && own.starts_with(name) => Some(at),
            Type::Struct { members, .. } | Type::Union(members) => {
                let places = members.iter().map(|part| Place { address: at.address + part.offset, ty: part.ty });
                places.filter(|part| self.holds(*part, address)).find_map(|part| self.inside(part, address, name))
            }
            Type::Array { element, .. } => {
                let size = self.size(element).filter(|size| *size > 0)?;
                self.inside(self.element(at, (address - at.address) / size)?, address, name)
            }
            _ => None,
        }
    }

    fn holds(&self, part: Place, address: u64) -> bool {
        let size = self.size(part.ty).unwrap_or(0);
        (part.address..part.address + size).contains(&address)
    }
}

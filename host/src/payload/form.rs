//! How the types of libraries serialise themselves.
//!
//! `serde` and `heapless` write the implementations for their own types and those of `core` by hand. They are listed here;
//! a type of `core` that is not listed is not decoded.
use crate::dwarf::{DebugTypes, TypeId};

/// The form in which a struct or enum is written into a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// Its fields, or the number of its variant and then that one's: as `#[derive(Serialize)]` writes it.
    Derived,
    /// Only so many of its fields.
    First(usize),
    /// The value that it is about.
    Inner,
    /// A sequence of any length.
    Sequence,
    /// A text.
    Text,
    /// Pairs of keys and values.
    Map,
    /// A call or return of the kit: a header and a request or response.
    Call,
    /// Nothing is known of it.
    Unknown,
}

/// The modules of a path, and the name of the type without its parameters.
pub(crate) fn split(path: &str) -> (&str, &str) {
    let plain = path.split('<').next().unwrap_or(path);
    plain.rsplit_once("::").unwrap_or(("", plain))
}

/// The crate that a path begins with.
pub(crate) fn crate_of(path: &str) -> &str {
    let modules = split(path).0;
    modules.split("::").next().unwrap_or(modules)
}

impl Form {
    pub fn of(types: &DebugTypes, ty: TypeId) -> Self {
        let path = types.type_path(ty);
        let (modules, name) = split(&path);
        match (crate_of(&path), name) {
            ("", _) => Self::Derived,
            ("core" | "alloc" | "std", _) => Self::of_core(modules, name),
            ("heapless", "String" | "StringInner") => Self::Text,
            ("heapless", "LinearMap" | "LinearMapInner" | "IndexMap") => Self::Map,
            ("heapless", "Vec" | "VecInner" | "Deque" | "DequeInner") => Self::Sequence,
            ("heapless", "BinaryHeap" | "BinaryHeapInner" | "IndexSet" | "HistoryBufInner") => Self::Sequence,
            ("heapless", _) => Self::Unknown,
            ("stillpoint_agent", "Envelope") => Self::Call,
            _ => Self::Derived,
        }
    }

    fn of_core(modules: &str, name: &str) -> Self {
        match name {
            "Option" | "Result" | "Range" | "RangeFrom" | "RangeTo" | "RangeFull" | "PhantomData" => Self::Derived,
            "Ipv4Addr" | "Ipv6Addr" | "IpAddr" | "SocketAddr" | "SocketAddrV4" | "Duration" => Self::Derived,
            "RangeInclusive" | "SocketAddrV6" => Self::First(2),
            "Cell" | "RefCell" | "UnsafeCell" | "Wrapping" | "Saturating" | "Reverse" => Self::Inner,
            // Numbers with limits, as in a `Duration`.
            _ if modules.ends_with("niche_types") => Self::Inner,
            _ if name.starts_with("NonZero") || modules.ends_with("sync::atomic") => Self::Inner,
            _ => Self::Unknown,
        }
    }
}

//! Types, as far as values of them can be shown.

/// Which type of a firmware.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TypeId {
    pub(super) unit: usize,
    pub(super) offset: gimli::UnitOffset<usize>,
}

/// A type.
#[derive(Clone, Debug)]
pub enum Type {
    /// A number without a sign, of so many bytes.
    Unsigned(u64),
    /// A number with a sign, of so many bytes.
    Signed(u64),
    /// True or false.
    Bool,
    /// A floating-point number of so many bytes.
    Float(u64),
    /// A character.
    Char,
    /// A struct or tuple.
    Struct {
        /// Its name.
        name: String,
        /// Its fields, in the order of the source.
        members: Vec<Member>,
        /// What its type parameters stand for.
        parameters: Vec<(String, TypeId)>,
    },
    /// A union: all its members lie at one place.
    Union(Vec<Member>),
    /// An enum.
    Choice(Choice),
    /// An array.
    Array {
        /// Of what.
        element: TypeId,
        /// How many.
        count: u64,
    },
    /// An address: a pointer, a reference, a box.
    Pointer(Option<TypeId>),
    /// Anything else.
    Other,
}

/// A field.
#[derive(Clone, Debug)]
pub struct Member {
    /// Its name; of tuples `__0`, `__1` and so on.
    pub name: String,
    /// How far behind the beginning.
    pub offset: u64,
    /// Its type.
    pub ty: TypeId,
}

/// An enum.
#[derive(Clone, Debug)]
pub struct Choice {
    /// Its name.
    pub name: String,
    /// Where the number is that tells which variant it is, and how many bytes it has; none if there is only one variant.
    pub tag: Option<(u64, u64)>,
    /// Its variants, in the order of the source.
    pub variants: Vec<Variant>,
}

/// One variant of an enum.
#[derive(Clone, Debug)]
pub struct Variant {
    /// Its name.
    pub name: String,
    /// The number that tells it from the others, as many bytes of it as the tag has. None for the variant that is told by all
    /// other numbers: those are a part of what it holds.
    pub number: Option<u128>,
    /// What it holds, if it can hold anything.
    pub content: Option<Member>,
    /// Where the source has it: the number of the file in its unit, and the line. The states of a future have this.
    pub(super) declared: Option<(u64, u32)>,
}

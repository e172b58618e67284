//! Names, where there is nobody to be told them: the text is gone, and so is the number.

/// A name that nobody asks for.
///
/// Made by [`name!`](macro@crate::name).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Name;

/// The [`Name`] for a text: `name!("ring")`, or with what it names, `name!(watch "holding")`.
#[macro_export]
macro_rules! name {
    ($text:literal) => {
        $crate::name::Name
    };
    ($kind:ident $text:literal) => {
        $crate::name::Name
    };
}

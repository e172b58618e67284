//! Names that cost nothing on the target: they are symbols, and the firmware knows only their addresses.
//!
//! As with defmt, the text is in the symbol table of the ELF, in a section that is not loaded. The address of a name is
//! a small number, which is what logs and control blocks hold.

/// A name, known to the firmware as a number.
///
/// Made by [`name!`](macro@crate::name).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Name(#[doc(hidden)] pub u16);

/// The [`Name`] for a text: `name!("ring")`, or with what it names, `name!(watch "holding")`.
#[macro_export]
macro_rules! name {
    ($text:literal) => {
        $crate::name!(port $text)
    };
    ($kind:ident $text:literal) => {{
        #[unsafe(link_section = concat!(".stillpoint.", stringify!($kind)))]
        #[unsafe(export_name = concat!(
            "stillpoint|", stringify!($kind), "|", $text, "|", file!(), "|", line!(), "|", column!()
        ))]
        static NAME: u8 = 0;
        $crate::name::Name((&raw const NAME).addr() as u16)
    }};
}

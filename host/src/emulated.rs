//! Boards that QEMU emulates: the only place that knows of it.
#[cfg(feature = "qemu")]
mod machines;

#[cfg(feature = "qemu")]
pub use machines::{MachineState, Up, chips, down, state, up};
#[cfg(feature = "qemu")]
pub(crate) use machines::{chip, cores, live, open, target};

#[cfg(not(feature = "qemu"))]
pub(crate) fn open(
    _: &crate::state::StateDir,
    _: &crate::config::BoardConfig,
) -> Result<(probe_rs::Session, Option<Box<dyn crate::session::Group>>), crate::session::SessionError> {
    Err(crate::session::SessionError::NotBuiltIn("qemu"))
}

#[cfg(not(feature = "qemu"))]
pub(crate) fn live(
    _: &crate::state::StateDir,
    _: &crate::config::BoardConfig,
) -> Result<Option<Box<dyn crate::quiet::LiveBoard>>, crate::session::SessionError> {
    Err(crate::session::SessionError::NotBuiltIn("qemu"))
}

#[cfg(not(feature = "qemu"))]
pub(crate) fn cores(_: &crate::config::BoardConfig) -> Option<usize> {
    None
}

#[cfg(not(feature = "qemu"))]
pub(crate) fn chip(_: &str) -> Result<crate::chip::Chip, crate::session::SessionError> {
    Err(crate::session::SessionError::NotBuiltIn("qemu"))
}

#[cfg(not(feature = "qemu"))]
pub(crate) fn target(_: &str) -> Result<probe_rs::config::Target, crate::session::SessionError> {
    Err(crate::session::SessionError::NotBuiltIn("qemu"))
}

/// The chips that can be emulated: none.
#[cfg(not(feature = "qemu"))]
pub fn chips() -> impl Iterator<Item = &'static str> {
    std::iter::empty()
}

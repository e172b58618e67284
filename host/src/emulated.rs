//! Boards that QEMU emulates: the only place that knows of it.
#[cfg(feature = "qemu")]
mod machines;

#[cfg(feature = "qemu")]
pub use machines::{MachineState, Up, down, state, up};
#[cfg(feature = "qemu")]
pub(crate) use machines::{cores, open};

#[cfg(not(feature = "qemu"))]
pub(crate) fn open(
    _: &crate::state::StateDir,
    _: &crate::config::BoardConfig,
) -> Result<(probe_rs::Session, Option<Box<dyn crate::session::Group>>), crate::session::SessionError> {
    Err(crate::session::SessionError::NotBuiltIn("qemu"))
}

#[cfg(not(feature = "qemu"))]
pub(crate) fn cores(_: &crate::config::BoardConfig) -> Option<usize> {
    None
}

//! Boards that QEMU emulates: the only place that knows of it.
#[cfg(feature = "qemu")]
mod machines;

#[cfg(feature = "qemu")]
pub(crate) use machines::open;
#[cfg(feature = "qemu")]
pub use machines::{MachineState, Up, down, state, up};

#[cfg(not(feature = "qemu"))]
pub(crate) fn open(
    _: &crate::state::StateDir,
    _: &crate::config::BoardConfig,
) -> Result<(probe_rs::Session, Option<Box<dyn crate::session::Group>>), crate::session::SessionError> {
    Err(crate::session::SessionError::NotBuiltIn("qemu"))
}

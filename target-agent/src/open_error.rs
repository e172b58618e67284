//! Why there is no agent, port or watch.
#[cfg(feature = "enabled")]
use stillpoint_core::ConnectError;

/// Why an agent could not begin or start, or a port not be opened.
///
/// What only the kit can refuse has no variant where the kit is compiled out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenError {
    /// This core has begun already.
    #[cfg(feature = "enabled")]
    AlreadyBegun,
    /// The node has started already.
    #[cfg(feature = "enabled")]
    AlreadyStarted,
    /// This core has not begun.
    #[cfg(feature = "enabled")]
    NotBegun,
    /// This end of the channel belongs to somebody.
    EndTaken,
    /// All ports, or all watches, or all places to wait at are taken.
    NoneLeft,
    /// The nodes cannot be connected so.
    #[cfg(feature = "enabled")]
    Connect(ConnectError),
}

#[cfg(feature = "enabled")]
impl From<ConnectError> for OpenError {
    fn from(error: ConnectError) -> Self {
        Self::Connect(error)
    }
}

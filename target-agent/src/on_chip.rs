//! The types of this crate for the chip that a feature chose, so that user code names neither chip nor sizes.
use crate::platform::Chip;

/// The end of a channel into which a node puts messages.
pub type Outbox<T> = crate::port::Outbox<Chip, T>;

/// The end of a channel from which a node takes messages.
pub type Inbox<T> = crate::port::Inbox<Chip, T>;

/// Memory for a serial link over a UART with halves `R` and `T`: `W` frames of at most `F` bytes each way.
pub type Serial<R, T, const W: usize = 4, const F: usize = 96> = crate::serial::Serial<Chip, R, T, W, F>;

/// The executor of the core that makes it.
pub type Executor = crate::executor::Executor<Chip>;

/// The gates of this chip's calls, in a system of `N` nodes among which `T` threads move.
pub type Rpc<const T: usize, const N: usize, const DOORS: usize = 4> = crate::rpc::Rpc<Chip, T, N, DOORS>;

/// Calls a server, one call at a time.
pub type Client<Req, Rep> = crate::rpc::Client<Chip, Req, Rep>;

/// Answers the calls of `CLIENTS` clients, one at a time.
pub type Server<Req, Rep, const CLIENTS: usize> = crate::rpc::Server<Chip, Req, Rep, CLIENTS>;

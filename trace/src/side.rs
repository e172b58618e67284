//! The two ends of a remote procedure call.

/// Which end of a remote procedure an event is at, as the firmware names it: `name!(call "x")` or `name!(serve "x")`.
///
/// Both ends record that the call begins and that it ends. Firmware that names both ends `call` does not tell them apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// It makes the call.
    Caller,
    /// It serves the call.
    Server,
}

impl Side {
    /// The kind of the names of this end.
    #[must_use]
    pub const fn name_kind(self) -> &'static str {
        match self {
            Self::Caller => "call",
            Self::Server => "serve",
        }
    }

    /// The word for the beginning of a call at this end.
    #[must_use]
    pub const fn call_word(self) -> &'static str {
        self.name_kind()
    }

    /// The word for the end of a call at this end.
    #[must_use]
    pub const fn return_word(self) -> &'static str {
        match self {
            Self::Caller => "return",
            Self::Server => "reply",
        }
    }
}

use crate::gdb::GdbError;
use crate::machine::MachineError;
use std::time::Duration;

/// Why an operation of the probe failed.
///
/// Through probe-rs it arrives as the probe-specific error of `DebugProbeError`.
///
/// ```
/// let error = qemu_probe::BoardError::Unmapped { address: 0xF000_0000, len: 4 };
/// assert_eq!(error.to_string(), "nothing is mapped at 0xf0000000 (4 bytes); check the address against the machine's memory map");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BoardError {
    /// QEMU has ended.
    #[error("QEMU ended while the probe was to {during}; start the machine again. {reason}")]
    Lost {
        /// What the probe was doing.
        during: &'static str,
        /// What is known of the cause.
        reason: String,
    },
    /// QEMU lives but does not answer.
    #[error("QEMU gave no answer within {limit:?} while the probe was to {during}; the connection is given up")]
    Silent {
        /// What the probe was doing.
        during: &'static str,
        /// How long was waited.
        limit: Duration,
    },
    /// QEMU said no.
    #[error("QEMU refused to {during}: {reason}")]
    Refused {
        /// What the probe was doing.
        during: &'static str,
        /// QEMU's answer.
        reason: String,
    },
    /// No memory and no device there.
    #[error("nothing is mapped at {address:#010x} ({len} bytes); check the address against the machine's memory map")]
    Unmapped {
        /// First address.
        address: u32,
        /// Length of the access.
        len: usize,
    },
    /// The core must stand still for this.
    #[error("core {core} is running; halt it before its registers are touched")]
    NotHalted {
        /// The core.
        core: usize,
    },
    /// The core executes nothing at the moment, so it cannot be made to execute an access.
    #[error("core {core} sleeps or is held in reset, so it cannot {what}; wake or release it first")]
    Asleep {
        /// The core.
        core: usize,
        /// What it was to do.
        what: &'static str,
    },
    /// An instruction executed for the probe faulted.
    #[error("core {core} faulted on an access made for the probe ({what}); it now stands in its fault handler")]
    Faulted {
        /// The core.
        core: usize,
        /// What it was to do.
        what: &'static str,
    },
    /// An instruction put before a core for the probe was not executed; the core stands as before.
    #[error("core {core} did not take the step in which to {what}; nothing has changed, try again")]
    Unmoved {
        /// The core.
        core: usize,
        /// What it was to do.
        what: &'static str,
    },
    /// The register does not exist or cannot be reached.
    #[error("core {core} has no register {register:#x} that can be {access}")]
    NoSuchRegister {
        /// The core.
        core: usize,
        /// Its number in DCRSR.
        register: u32,
        /// `read` or `written`.
        access: &'static str,
    },
    /// There is no such core.
    #[error("the machine has no core {0}")]
    NoSuchCore(usize),
}

impl BoardError {
    /// Whether the connection is beyond use.
    pub(crate) fn is_fatal(&self) -> bool {
        matches!(self, Self::Lost { .. } | Self::Silent { .. })
    }

    /// The same error, saying what the probe was doing.
    pub(crate) fn during(self, doing: &'static str, limit: Duration) -> Self {
        match self {
            Self::Lost { reason, .. } => Self::Lost { during: doing, reason },
            Self::Silent { .. } => Self::Silent { during: doing, limit },
            Self::Refused { reason, .. } => Self::Refused { during: doing, reason },
            other => other,
        }
    }
}

impl From<GdbError> for BoardError {
    fn from(error: GdbError) -> Self {
        match error {
            GdbError::Closed => Self::Lost { during: "", reason: String::new() },
            GdbError::Silent => Self::Silent { during: "", limit: Duration::ZERO },
            GdbError::Refused { packet, reply } => {
                Self::Refused { during: "", reason: format!("`{packet}` was answered `{reply}`") }
            }
        }
    }
}

impl From<MachineError> for BoardError {
    fn from(error: MachineError) -> Self {
        match error {
            MachineError::Silent { .. } => Self::Silent { during: "", limit: Duration::ZERO },
            MachineError::Refused { reason, .. } => Self::Refused { during: "", reason },
            other => Self::Lost { during: "", reason: other.to_string() },
        }
    }
}

//! Starting, joining, watching and stopping QEMU machines.
//!
//! Nothing here needs probe-rs; build the crate with `default-features = false` to get only this.

mod builder;
#[cfg(feature = "probe")]
mod debuggable;
mod detached;
mod elf;
mod error;
mod irq;
mod kind;
mod live;
mod ports;
mod process;
mod qmp;
mod running;
mod serial;
mod shared_ram;
mod socket;
mod stops;
mod words;

pub use builder::MachineBuilder;
pub use error::{ElfError, MachineError};
pub use kind::{MachineKind, Region};
pub use live::LiveMemory;
pub use ports::DebuggerState;
pub use running::{Exit, Machine};
pub use serial::{Link, LinkEnd, Serial};
pub use shared_ram::{OutsideSharedRam, SharedRam};
pub use socket::interrupt_connecting_by;
pub use words::WORDS_LEN;

#[cfg(feature = "probe")]
pub(crate) use {
    debuggable::Debuggable,
    detached::RunDir,
    irq::IrqLines,
    ports::{Attachment, DebugState},
    qmp::Qmp,
    running::last_words,
    stops::StopCount,
};

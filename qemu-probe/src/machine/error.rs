use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// Why a machine could not be started, reached or waited for.
///
/// ```
/// use qemu_probe::{Machine, MachineError, MachineKind};
/// let missing = Machine::builder(MachineKind::Mps2An521).qemu("/no/such/program").start();
/// assert!(matches!(missing, Err(MachineError::QemuMissing { .. })));
/// ```
#[derive(Debug, thiserror::Error)]
pub enum MachineError {
    /// There is no QEMU to run.
    #[error(
        "`{program}` cannot be run ({source}); install QEMU for Arm (Debian: qemu-system-arm) or name it with `MachineBuilder::qemu`"
    )]
    QemuMissing {
        /// The program that was tried.
        program: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// QEMU is older than what this crate was tried with.
    #[error("`{program}` is QEMU {found}; version {needed} or newer is needed")]
    QemuTooOld {
        /// The program that was asked.
        program: PathBuf,
        /// The version it printed.
        found: String,
        /// The oldest version that works.
        needed: &'static str,
    },
    /// A helper program that ties QEMU's life to ours is missing.
    #[error("`{program}` cannot be run ({source}); install util-linux, it keeps QEMU from outliving this process")]
    HelperMissing {
        /// The program that was tried.
        program: &'static str,
        /// What the operating system said.
        source: io::Error,
    },
    /// The image does not fit the machine.
    #[error("{path}: {reason}")]
    Elf {
        /// The image.
        path: PathBuf,
        /// What is wrong with it.
        reason: ElfError,
    },
    /// The machine has no RAM that the host can share.
    #[error("the RAM of {0} cannot be shared with the host; leave `shared_ram` out or take another machine")]
    NoSharedRam(MachineKind),
    /// QEMU ended although nobody asked it to.
    #[error("QEMU ended with {status}; it said: {stderr}")]
    Died {
        /// How it ended.
        status: String,
        /// The end of what it wrote to its standard error.
        stderr: String,
    },
    /// QEMU did not answer in time.
    #[error(
        "QEMU did not answer `{what}` within {limit:?}: the computer is too busy, or another program is connected to its sockets"
    )]
    Silent {
        /// What it was asked.
        what: String,
        /// How long was waited.
        limit: Duration,
    },
    /// The flag of [`interrupt_connecting_by`](crate::interrupt_connecting_by) was set.
    #[error("interrupted while connecting to QEMU")]
    Interrupted,
    /// QEMU refused a control command.
    #[error("QEMU refused `{what}`: {reason}")]
    Refused {
        /// The command.
        what: String,
        /// Its words.
        reason: String,
    },
    /// QEMU is there and executes nothing.
    #[error("QEMU (process {0}) was stopped by a signal; `kill -CONT {0}` lets it go on")]
    Stopped(u32),
    /// The debug port is in use.
    #[error("the machine's debug port is in use by {by}; end that debugger first")]
    DebuggerAttached {
        /// The debugger, as far as known.
        by: String,
    },
    /// The machine was started without a debug port.
    #[error("the machine was started without a debug port; start it with `gdb(true)`")]
    NoDebugPort,
    /// No machine lives in this run directory.
    #[error("{path}: no running machine here ({reason})")]
    NotRunning {
        /// The run directory.
        path: PathBuf,
        /// How that was found out.
        reason: String,
    },
    /// A machine lives in this run directory already.
    #[error("{0}: a machine is running here already; attach to it or stop it first")]
    RunDirTaken(PathBuf),
    /// The operating system refused something.
    #[error("{what}: {source}")]
    Io {
        /// What was tried.
        what: String,
        /// What the operating system said.
        source: io::Error,
    },
}

use super::MachineKind;

impl MachineError {
    pub(crate) fn io(what: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let what = what.into();
        move |source| Self::Io { what, source }
    }
}

/// Why an image is not loaded.
///
/// ```
/// use qemu_probe::machine::ElfError;
/// assert!(ElfError::NotElf.to_string().starts_with("not an ELF file"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ElfError {
    /// The file does not start with the ELF magic.
    #[error("not an ELF file; give the file that the linker wrote, not a raw image")]
    NotElf,
    /// An ELF for some other processor.
    #[error(
        "an ELF for another processor (32-bit little-endian Arm is needed, this is {0}); build it for an Arm target"
    )]
    OtherProcessor(String),
    /// The headers contradict the length of the file.
    #[error("a damaged ELF file: it ends before its own headers do")]
    Truncated,
    /// Part of the image would be loaded where the machine has no memory.
    #[error("an ELF for another machine: it loads {len} bytes at {address:#010x}, where {machine} has no memory")]
    OutsideMemory {
        /// Where it would be loaded.
        address: u32,
        /// How much.
        len: u32,
        /// The machine that has no memory there.
        machine: MachineKind,
    },
}

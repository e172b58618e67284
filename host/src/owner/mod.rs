//! One process that has the boards of a system, and any number of clients that use them at the same time.
//!
//! A debug probe can be opened by one process only. So the first command that needs boards starts an owner, a process of its
//! own: it takes the locks of the boards and serves their memory on a socket that only this user can open. It ends when no
//! client was there for a while.
//!
//! Any number of clients look. One at a time controls, that is halts, resumes, arms, resets or flashes: it has a [`Control`].
//! Whoever needs a debugger gets the board itself: the owner closes it, and opens it again when that client has ended, in
//! whatever way. Meanwhile requests of other clients wait.
//!
//! The memory of an emulated board can be used by several processes at the same time: its clients do so beside the owner, as long as
//! no debugger has the board. They ask the owner for what only one may do.
//!
//! A program that uses this library and has not called [`start_by`] takes boards by itself, unless an owner is there.
mod client;
mod place;
mod serve;
mod tokens;
mod wire;

pub use client::{Control, control, control_if_owned, end, interrupt_by, is_lost, start_by};
pub(crate) use client::{HandedOver, Opened, ensure, hand_over, open};
pub(crate) use place::owner_process;
pub use serve::serve;

use place::Place;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long an owner stays without a client.
pub const IDLE: Duration = Duration::from_secs(10);

/// Why the boards cannot be used through their owner.
#[derive(Debug, thiserror::Error)]
pub enum OwnerError {
    /// It has ended while it was needed.
    #[error("the process that owns the boards has ended; run the command again to start a new one")]
    Lost,
    /// It cannot be started.
    #[error("cannot start the process that owns the boards, {program}: {source}", program = program.display())]
    Start {
        /// The program.
        program: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// It does not answer.
    #[error("the process that owns the boards does not answer; see {}, or end process {process}", log.display())]
    Silent {
        /// Where it may have said why.
        log: PathBuf,
        /// Its number, as far as known.
        process: String,
    },
    /// Another process has what was asked for.
    #[error("process {process} (`{command}`) has had control of the boards for {}; wait until it ends, or end it", seconds(*since))]
    Busy {
        /// Its number.
        process: u32,
        /// The command that it runs.
        command: String,
        /// For how long.
        since: Duration,
    },
    /// The caller cancelled.
    #[error("interrupted while waiting for another process to give the boards back")]
    Interrupted,
    /// A file or socket cannot be used.
    #[error("cannot {what} {}: {source}", path.display())]
    File {
        /// What was tried.
        what: &'static str,
        /// Which.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// No folder has a path that is short enough for a socket.
    #[error("no folder is left for the socket of the boards' owner: the path {} is too long; name a shorter one in STILLPOINT_STATE", .0.display())]
    NoPlace(PathBuf),
}

impl OwnerError {
    fn io(what: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |source| Self::File { what, path, source }
    }
}

/// The file that is there while a client has the board with this lock, so that other clients ask the owner.
fn away(lock: &Path) -> PathBuf {
    lock.with_extension("away")
}

/// A time for people.
fn seconds(time: Duration) -> String {
    if time < Duration::from_secs(10) {
        format!("{:.1} s", time.as_secs_f64())
    } else {
        format!("{} s", time.as_secs())
    }
}

//! Running QEMU so that it cannot outlive us.
//!
//! The kernel kills QEMU when the thread that started it ends (`PR_SET_PDEATHSIG`, set by `setpriv` of util-linux before it
//! becomes QEMU). So one thread of this process starts all machines and never ends before the process does. A shell between
//! the two looks whether we are still its parent, because we may have died before the signal was set. This holds even for
//! SIGKILL, needs no watching process that could itself be killed, and leaves QEMU our direct child, so that its exit status
//! is ours to read.

use super::MachineError;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};
use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Mutex, OnceLock, mpsc};
use std::time::Duration;

/// The oldest QEMU this was tried with.
const NEEDED: (u32, u32) = (7, 2);
const NEEDED_TEXT: &str = "7.2";

/// Checks once per program that it is a QEMU of the right age.
pub(crate) fn check_version(program: &Path) -> Result<(), MachineError> {
    static KNOWN_GOOD: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());
    let mut known = KNOWN_GOOD.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if known.iter().any(|known| known == program) {
        return Ok(());
    }
    let output = Command::new(program)
        .arg("--version")
        .stdin(Stdio::null())
        .output()
        .map_err(|source| MachineError::QemuMissing { program: program.into(), source })?;
    let text = String::from_utf8_lossy(&output.stdout);
    let found = text.split_whitespace().skip_while(|word| *word != "version").nth(1).unwrap_or("of unknown version");
    let mut numbers = found.split('.').map_while(|n| n.parse::<u32>().ok());
    if (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)) < NEEDED {
        let (program, found) = (program.into(), found.into());
        return Err(MachineError::QemuTooOld { program, found, needed: NEEDED_TEXT });
    }
    known.push(program.into());
    Ok(())
}

/// The command line that runs `program` and dies with this process.
pub(crate) fn bound_to_us(program: &OsStr, args: &[OsString]) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL", "--", "sh", "-c", r#"test "$PPID" = "$0" && exec "$@""#]);
    command.arg(std::process::id().to_string()).arg(program).args(args);
    command
}

/// The command line that runs `program` beyond the life of this process.
pub(crate) fn on_its_own(program: &OsStr, args: &[OsString]) -> Command {
    use std::os::unix::process::CommandExt;
    let mut command = Command::new(program);
    command.args(args).process_group(0);
    command
}

/// Starts `command` from the thread that lives as long as this process.
pub(crate) fn spawn(command: Command) -> io::Result<Child> {
    type Order = (Command, mpsc::Sender<io::Result<Child>>);
    static SPAWNER: OnceLock<mpsc::Sender<Order>> = OnceLock::new();
    let orders = SPAWNER.get_or_init(|| {
        let (orders, inbox) = mpsc::channel::<Order>();
        // The sender is static, so the loop ends only with the process.
        std::thread::Builder::new()
            .name("qemu-spawner".into())
            .spawn(move || {
                for (mut command, reply) in inbox {
                    // Nobody waits for the reply only if the asking thread died; then the child is ours to end.
                    if let Err(mpsc::SendError(Ok(mut child))) = reply.send(command.spawn()) {
                        let _ = child.kill();
                        let _ = child.wait();
                    }
                }
            })
            .expect("a process that starts machines can start a thread");
        orders
    });
    let (reply, answer) = mpsc::channel();
    let gone = |_| io::Error::other("the thread that starts machines is gone");
    orders.send((command, reply)).map_err(|_| gone(mpsc::RecvError))?;
    answer.recv().map_err(gone)?
}

/// A QEMU process: our child, or one found by its number.
#[derive(Debug)]
pub(crate) struct Process {
    pid: Pid,
    handle: OwnedFd,
    child: Option<Child>,
    status: Option<ExitStatus>,
}

impl Process {
    pub(crate) fn of_child(child: Child) -> io::Result<Self> {
        let mut process = Self::by_id(child.id())?;
        process.child = Some(child);
        Ok(process)
    }

    pub(crate) fn by_id(id: u32) -> io::Result<Self> {
        let pid = i32::try_from(id).ok().and_then(Pid::from_raw).ok_or(io::ErrorKind::InvalidInput)?;
        let handle = pidfd_open(pid, PidfdFlags::empty())?;
        Ok(Self { pid, handle, child: None, status: None })
    }

    pub(crate) fn id(&self) -> u32 {
        self.pid.as_raw_nonzero().get().unsigned_abs()
    }

    /// Whether it has not ended.
    pub(crate) fn is_alive(&self) -> bool {
        let ended = poll(&mut [PollFd::new(&self.handle, PollFlags::IN)], Some(&Timespec::default()));
        !ended.is_ok_and(|ended| ended > 0)
    }

    /// Waits until it ends; `false` after `limit`. A status exists afterwards only for a child.
    pub(crate) fn wait(&mut self, limit: Duration) -> io::Result<bool> {
        let limit = Timespec::try_from(limit).unwrap_or(Timespec { tv_sec: i64::MAX, tv_nsec: 0 });
        if poll(&mut [PollFd::new(&self.handle, PollFlags::IN)], Some(&limit))? == 0 {
            return Ok(false);
        }
        if let Some(child) = &mut self.child {
            self.status = Some(child.wait()?);
        }
        Ok(true)
    }

    /// Whether a signal such as SIGSTOP has stopped it.
    pub(crate) fn is_stopped(&self) -> bool {
        // The state is the first field after the name, which is in parentheses and may contain any character.
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.id())).unwrap_or_default();
        let state = stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next());
        matches!(state, Some('T' | 't'))
    }

    /// A better explanation of an error, if there is one.
    pub(crate) fn why_it_is_silent(&self, error: MachineError) -> MachineError {
        match error {
            MachineError::Silent { .. } if self.is_stopped() => MachineError::Stopped(self.id()),
            other => other,
        }
    }

    pub(crate) fn status(&self) -> Option<ExitStatus> {
        self.status
    }

    /// Asks it to end, then makes it.
    pub(crate) fn end(&mut self, patience: Duration) -> io::Result<()> {
        if self.wait(Duration::ZERO)? {
            return Ok(());
        }
        let _ = kill_process(self.pid, Signal::TERM);
        if self.wait(patience)? {
            return Ok(());
        }
        self.kill()?;
        self.wait(Duration::from_secs(5)).map(|_| ())
    }

    pub(crate) fn kill(&self) -> io::Result<()> {
        Ok(kill_process(self.pid, Signal::KILL)?)
    }
}

/// Passes open files to a child under fixed numbers.
#[derive(Debug, Default)]
pub(crate) struct InheritedFds(HashMap<i32, OwnedFd>);

impl InheritedFds {
    /// The number under which the child will find `fd`.
    pub(crate) fn add(&mut self, fd: OwnedFd) -> i32 {
        // Far above what any program opens at its start, so that `sh` and `setpriv` keep out of the way.
        let number = 200 + i32::try_from(self.0.len()).unwrap_or(0);
        self.0.insert(number, fd);
        number
    }

    pub(crate) fn give_to(self, command: &mut Command) -> io::Result<()> {
        use command_fds::{CommandFdExt, FdMapping};
        let mappings = self.0.into_iter().map(|(child_fd, parent_fd)| FdMapping { parent_fd, child_fd }).collect();
        command.fd_mappings(mappings).map(|_| ()).map_err(io::Error::other)
    }
}

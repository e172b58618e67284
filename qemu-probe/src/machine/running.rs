use super::detached::RunDir;
use super::irq::IrqLines;
use super::ports::{DebugPorts, DebuggerState};
use super::process::Process;
use super::qmp::Qmp;
use super::stops::StopCount;
use super::{MachineBuilder, MachineError, MachineKind, SharedRam, socket};
use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long QEMU may take to end in an orderly way (so that plugins can report) before it is killed.
const END_PATIENCE: Duration = Duration::from_secs(1);

/// How a machine stands after [`Machine::wait`].
///
/// ```no_run
/// # fn f(board: &mut qemu_probe::Machine) -> Result<(), qemu_probe::MachineError> {
/// use qemu_probe::Exit;
/// match board.wait(std::time::Duration::from_secs(1))? {
///     Exit::Running => println!("not done yet"),
///     Exit::Code(code) => println!("ended with {code}"),
///     Exit::Unknown => println!("ended"),
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// It is still running.
    Running,
    /// The firmware ended it with this code (semihosting exit).
    Code(i32),
    /// It has ended, but this process did not start it, so its code is not known.
    Unknown,
}

/// A QEMU machine.
///
/// Started by this process it ends with it, at the latest (even if this process is killed), and when this value is dropped.
/// A [detached](MachineBuilder::detached) machine runs until [`Machine::stop`].
///
/// ```no_run
/// use qemu_probe::{Exit, Machine, MachineKind};
/// use std::time::Duration;
/// let mut board = Machine::builder(MachineKind::Mps2An521).elf("firmware.elf").semihosting(true).start()?;
/// assert_eq!(board.wait(Duration::from_secs(10))?, Exit::Code(0));
/// println!("{}", board.console());
/// # Ok::<(), qemu_probe::MachineError>(())
/// ```
#[derive(Debug)]
pub struct Machine {
    kind: MachineKind,
    process: Process,
    console: Console,
    shared_ram: Option<SharedRam>,
    run_dir: Option<RunDir>,
    pub(crate) ports: DebugPorts,
    pub(crate) irqs: Arc<IrqLines>,
    pub(crate) stops: StopCount,
    /// Our copies of the wires to other machines: see [`super::Link`].
    pub(crate) wires: Vec<UnixStream>,
}

impl Machine {
    /// A machine to be described and started.
    pub fn builder(kind: MachineKind) -> MachineBuilder {
        MachineBuilder::new(kind)
    }

    pub(crate) fn new(
        kind: MachineKind,
        process: Process,
        console: Console,
        shared_ram: Option<SharedRam>,
        run_dir: Option<RunDir>,
    ) -> Result<Self, MachineError> {
        Ok(Self {
            stops: StopCount::of(run_dir.as_ref())?,
            kind,
            process,
            console,
            shared_ram,
            run_dir,
            ports: DebugPorts::default(),
            irqs: Arc::new(IrqLines::None),
            wires: Vec::new(),
        })
    }

    /// Finds the machine that was started detached in `run_dir`.
    pub fn attach(run_dir: impl AsRef<Path>) -> Result<Self, MachineError> {
        let (run_dir, description) = RunDir::open(run_dir.as_ref())?;
        let shared_ram = match description.shared_region() {
            Some(region) => Some(SharedRam::new(run_dir.open_ram()?, region)),
            None => None,
        };
        let process = Process::by_id(description.pid).map_err(MachineError::io("watching QEMU"))?;
        let console = Console::reopen(&run_dir).map_err(MachineError::io("opening the console files"))?;
        let mut machine = Self::new(description.machine, process, console, shared_ram, Some(run_dir))?;
        machine.ports = DebugPorts::in_dir(description.gdb);
        if let Some(run_dir) = &machine.run_dir {
            machine.irqs = Arc::new(IrqLines::At(run_dir.irq_socket()));
        }
        Ok(machine)
    }

    /// What it is.
    pub fn kind(&self) -> MachineKind {
        self.kind
    }

    /// The number of the QEMU process.
    pub fn pid(&self) -> u32 {
        self.process.id()
    }

    /// Whether its QEMU has not ended. Its shared RAM can be read even after that.
    #[must_use]
    pub fn is_alive(&self) -> bool {
        self.process.is_alive()
    }

    /// The RAM shared with the host, if that was asked for.
    pub fn shared_ram(&self) -> Option<&SharedRam> {
        self.shared_ram.as_ref()
    }

    /// How debuggers have left it. A machine that this process started for itself has no notes of them.
    #[must_use]
    pub fn debugger_state(&self) -> DebuggerState {
        self.run_dir.as_ref().map_or(DebuggerState::Never, DebuggerState::of)
    }

    /// Returns how often the machine was stopped by debuggers since it was started, for whatever reason and however briefly.
    ///
    /// While a machine is stopped none of its cores executes anything. Debuggers of other processes count, too.
    ///
    /// ```no_run
    /// # use qemu_probe::{Machine, MachineKind, QemuProbe};
    /// let machine = Machine::builder(MachineKind::Mps2An521).elf("firmware.elf").start()?;
    /// let (probe, cores) = QemuProbe::attach(&machine)?;
    /// let before = machine.stops()?;
    /// cores.halt()?;
    /// assert_eq!(machine.stops()?, before + 1);
    /// # drop(probe);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The file with the count cannot be read.
    pub fn stops(&self) -> Result<u64, MachineError> {
        self.stops.get().map_err(MachineError::io("reading the count of stops"))
    }

    /// Pulses an interrupt line of a core, as a peripheral would, without stopping anything.
    ///
    /// This wakes a core that sleeps in WFI. The firmware must have enabled the interrupt; its handler finds nothing to
    /// acknowledge.
    pub fn pulse_irq(&self, core: usize, irq: u16) -> Result<(), MachineError> {
        // QEMU would abort.
        if core >= self.kind.cores() || irq >= self.kind.interrupts() {
            let reason = format!("{} has no interrupt line {irq} of core {core}", self.kind);
            return Err(MachineError::Refused { what: "pulse_irq".into(), reason });
        }
        self.irqs.pulse(self.kind, core, irq)
    }

    /// What the firmware has printed through semihosting so far.
    pub fn console(&self) -> String {
        read_all(&self.console.stdout)
    }

    /// What QEMU itself has complained about so far.
    pub fn stderr(&self) -> String {
        read_all(&self.console.stderr)
    }

    /// Waits until the firmware ends the machine, at most `limit`.
    pub fn wait(&mut self, limit: Duration) -> Result<Exit, MachineError> {
        if !self.process.wait(limit).map_err(MachineError::io("waiting for QEMU"))? {
            return Ok(Exit::Running);
        }
        match self.process.status() {
            None => Ok(Exit::Unknown),
            Some(status) => match status.code() {
                Some(code) => Ok(Exit::Code(code)),
                None => Err(self.died()),
            },
        }
    }

    /// Ends QEMU, in an orderly way if it lets us.
    pub fn stop(mut self) -> Result<(), MachineError> {
        self.end()
    }

    /// Kills QEMU on the spot, as a power cut would. For tests of whoever depends on it.
    pub fn kill(&self) -> Result<(), MachineError> {
        self.process.kill().map_err(MachineError::io("killing QEMU"))
    }

    /// A better explanation of an error, if there is one: a QEMU that a signal has stopped does not answer.
    #[must_use]
    pub fn why_it_is_silent(&self, error: MachineError) -> MachineError {
        self.process.why_it_is_silent(error)
    }

    /// What attaches a debugger to it, now or later.
    #[cfg(feature = "probe")]
    pub(crate) fn debuggable(&self) -> Result<super::Debuggable, MachineError> {
        let io = MachineError::io;
        Ok(super::Debuggable {
            kind: self.kind,
            ports: self.ports.clone(),
            run_dir: self.run_dir.clone(),
            irqs: self.irqs.clone(),
            stops: self.stops.clone(),
            process: Process::by_id(self.pid()).map_err(io("watching QEMU"))?,
            stderr: self.console.stderr.try_clone().map_err(io("opening what QEMU has said"))?,
        })
    }

    pub(crate) fn end(&mut self) -> Result<(), MachineError> {
        self.process.end(END_PATIENCE).map_err(MachineError::io("ending QEMU"))?;
        if let Some(run_dir) = &self.run_dir {
            run_dir.remove_files();
        }
        Ok(())
    }

    /// If QEMU has ended, or does so now, that is the better explanation.
    pub(crate) fn why_it_died(&mut self, otherwise: MachineError) -> MachineError {
        match self.process.wait(Duration::from_millis(500)) {
            Ok(true) => self.died(),
            _ => otherwise,
        }
    }

    fn died(&self) -> MachineError {
        let status = match self.process.status() {
            Some(status) => match (status.code(), status.signal()) {
                (Some(code), _) => format!("exit code {code}"),
                (None, Some(signal)) => format!("signal {signal}"),
                (None, None) => "an unknown status".into(),
            },
            None => "an unknown status".into(),
        };
        let said = self.stderr();
        // That a network card nobody asked for is not connected explains nothing.
        let lines: Vec<&str> =
            said.lines().filter(|line| !line.trim().is_empty() && !line.ends_with("has no peer")).collect();
        let stderr =
            if lines.is_empty() { "nothing".into() } else { lines[lines.len().saturating_sub(20)..].join("\n") };
        MachineError::Died { status, stderr }
    }

    /// Waits until the control socket of a detached machine answers, then lets go of it.
    pub(crate) fn wait_for_qmp(&mut self, limit: Duration) -> Result<(), MachineError> {
        let Some(run_dir) = self.run_dir.clone() else { return Ok(()) };
        let end = Instant::now() + limit;
        loop {
            match socket::try_connect(&run_dir.qmp_socket()) {
                Ok(stream) => return Qmp::open(stream, limit).map(drop),
                // The socket appears when QEMU has come so far; its process ending is the only other way out.
                Err(error)
                    if matches!(
                        error.kind(),
                        ErrorKind::NotFound | ErrorKind::ConnectionRefused | ErrorKind::WouldBlock
                    ) =>
                {
                    if Instant::now() >= end {
                        return Err(MachineError::Silent { what: "connect".into(), limit });
                    }
                    if self.process.wait(Duration::from_millis(5)).map_err(MachineError::io("waiting for QEMU"))? {
                        return Err(self.died());
                    }
                }
                Err(error) => return Err(MachineError::io("connecting to QEMU's control socket")(error)),
            }
        }
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        if self.run_dir.is_none() {
            let _ = self.end();
        }
    }
}

/// Where QEMU's output goes: files, because a pipe that nobody reads would stop the machine.
#[derive(Debug)]
pub(crate) struct Console {
    stdout: File,
    stderr: File,
}

impl Console {
    /// Files without a name: they are gone when the last user is, however that ends.
    pub(crate) fn temporary() -> io::Result<Self> {
        Ok(Self { stdout: tempfile::tempfile()?, stderr: tempfile::tempfile()? })
    }

    pub(crate) fn in_dir(dir: &RunDir) -> io::Result<Self> {
        let make = |name| File::options().read(true).write(true).create(true).truncate(true).open(dir.file(name));
        Ok(Self { stdout: make("console")?, stderr: make("stderr")? })
    }

    fn reopen(dir: &RunDir) -> io::Result<Self> {
        Ok(Self { stdout: File::open(dir.file("console"))?, stderr: File::open(dir.file("stderr"))? })
    }

    pub(crate) fn for_child(&self) -> io::Result<(Stdio, Stdio)> {
        Ok((self.stdout.try_clone()?.into(), self.stderr.try_clone()?.into()))
    }
}

/// The last lines of what QEMU wrote to its standard error.
pub(crate) fn last_words(stderr: &File) -> String {
    let said = read_all(stderr);
    // That a network card nobody asked for is not connected explains nothing.
    let lines: Vec<&str> =
        said.lines().filter(|line| !line.trim().is_empty() && !line.ends_with("has no peer")).collect();
    lines[lines.len().saturating_sub(20)..].join("\n")
}

fn read_all(file: &File) -> String {
    let len = file.metadata().map(|meta| meta.len()).unwrap_or(0);
    let mut bytes = vec![0; usize::try_from(len).unwrap_or(0)];
    // The file only grows, so what the length promised can be read; if not, show what there is.
    match file.read_exact_at(&mut bytes, 0) {
        Ok(()) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(_) => String::new(),
    }
}

use super::detached::RunDir;
use super::irq::IrqLines;
use super::ports::DebugPorts;
use super::process::{self, InheritedFds, Process};
use super::qmp::Qmp;
use super::running::{Console, Machine};
use super::{LinkEnd, MachineError, MachineKind, Serial, SharedRam, elf, words};
use std::ffi::OsString;
use std::fs::File;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// How long QEMU may take from its start to a built machine.
const START_LIMIT: Duration = Duration::from_secs(20);

/// A machine to be started. Made by [`Machine::builder`].
///
/// ```no_run
/// use qemu_probe::{Link, Machine, MachineKind, Serial};
/// let (a, b) = Link::pair()?;
/// let board_a = Machine::builder(MachineKind::Mps2An521)
///     .elf("firmware.elf")
///     .serial(Serial::File("a.log".into())) // UART 0
///     .serial(Serial::Link(a))              // UART 1
///     .words(["board=A"])
///     .start()?;
/// # let _ = (board_a, b);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
#[must_use = "a builder does nothing until `start` is called"]
pub struct MachineBuilder {
    kind: MachineKind,
    qemu: PathBuf,
    elf: Option<PathBuf>,
    serial: Vec<Serial>,
    shared_ram: bool,
    words: Vec<String>,
    semihosting: bool,
    icount: Option<u8>,
    plugins: Vec<(PathBuf, Vec<String>)>,
    paused: bool,
    gdb: bool,
    detached: Option<PathBuf>,
}

impl MachineBuilder {
    pub(crate) fn new(kind: MachineKind) -> Self {
        Self {
            kind,
            qemu: "qemu-system-arm".into(),
            elf: None,
            serial: Vec::new(),
            shared_ram: false,
            words: Vec::new(),
            semihosting: false,
            icount: None,
            plugins: Vec::new(),
            paused: false,
            gdb: true,
            detached: None,
        }
    }

    /// The QEMU program; without this call `qemu-system-arm` from the search path.
    pub fn qemu(mut self, program: impl Into<PathBuf>) -> Self {
        self.qemu = program.into();
        self
    }

    /// The image to run. Without one the RAM is empty and the machine starts paused, because cores that run empty RAM lock
    /// up and QEMU aborts on a lock-up.
    pub fn elf(mut self, path: impl Into<PathBuf>) -> Self {
        self.elf = Some(path.into());
        self
    }

    /// Where the next UART goes: the first call is for UART 0.
    pub fn serial(mut self, serial: Serial) -> Self {
        self.serial.push(serial);
        self
    }

    /// Lets the host read and write part of the RAM while the cores run: see [`Machine::shared_ram`].
    pub fn shared_ram(mut self, shared: bool) -> Self {
        self.shared_ram = shared;
        self
    }

    /// Words for the firmware, which finds them in the last [`WORDS_LEN`](super::WORDS_LEN) bytes of the shared RAM; so this
    /// also shares the RAM.
    pub fn words<A: Into<String>>(mut self, words: impl IntoIterator<Item = A>) -> Self {
        self.words = words.into_iter().map(Into::into).collect();
        self.shared_ram |= !self.words.is_empty();
        self
    }

    /// Answers semihosting calls, so that the firmware can print to [`Machine::console`] and end the machine with an exit
    /// code. Shares the RAM, in which the firmware finds that it may make such calls.
    ///
    /// **QEMU then opens, reads and writes any file of this computer that the firmware names.** Leave it off, as it is by
    /// default, for firmware that you did not write.
    pub fn semihosting(mut self, on: bool) -> Self {
        self.semihosting = on;
        self.shared_ram |= on;
        self
    }

    /// Counts time in instructions: each takes 2^shift ns, and sleeping takes no real time. Makes one machine deterministic.
    pub fn icount(mut self, shift: u8) -> Self {
        self.icount = Some(shift);
        self
    }

    /// Loads a TCG plugin with arguments of the form `name=value`.
    pub fn plugin<A: Into<String>>(mut self, path: impl Into<PathBuf>, args: impl IntoIterator<Item = A>) -> Self {
        self.plugins.push((path.into(), args.into_iter().map(Into::into).collect()));
        self
    }

    /// Starts with all cores stopped before their first instruction.
    pub fn paused(mut self, paused: bool) -> Self {
        self.paused = paused;
        self
    }

    /// Whether the machine has a debug port (it has, unless told otherwise).
    pub fn gdb(mut self, gdb: bool) -> Self {
        self.gdb = gdb;
        self
    }

    /// Lets the machine outlive this process. Its sockets, console and shared RAM are files in `run_dir`, where
    /// [`Machine::attach`] finds them.
    pub fn detached(mut self, run_dir: impl Into<PathBuf>) -> Self {
        self.detached = Some(run_dir.into());
        self
    }

    /// Starts QEMU and returns when its machine is built.
    pub fn start(mut self) -> Result<Machine, MachineError> {
        if let Some(path) = &self.elf {
            let image = read_elf(path).map_err(MachineError::io(format!("reading {}", path.display())))?;
            elf::check(&image, self.kind).map_err(|reason| MachineError::Elf { path: path.clone(), reason })?;
        }
        process::check_version(&self.qemu)?;
        match self.detached.take() {
            Some(run_dir) => self.start_detached(RunDir::create(run_dir)?),
            None => self.start_attached(),
        }
    }

    fn starts_paused(&self) -> bool {
        self.paused || self.elf.is_none()
    }

    fn start_attached(self) -> Result<Machine, MachineError> {
        let io = |what: &str| MachineError::io(what.to_owned());
        let (kind, gdb) = (self.kind, self.gdb);
        // Without a debugger a machine is let go only when everything is connected: firmware that ends it at once must not
        // look like a QEMU that did not start.
        let let_go = !gdb && !self.starts_paused();
        let mut fds = InheritedFds::default();
        let mut line = Line::default();
        if let_go {
            line.arg("-S", "");
        }
        let mut socket = |line: &mut Line, id: &str| -> Result<UnixStream, MachineError> {
            let (ours, theirs) = UnixStream::pair().map_err(io("making a socket pair"))?;
            line.arg("-chardev", format!("socket,id={id},fd={}", fds.add(theirs.into())));
            Ok(ours)
        };
        let qmp = socket(&mut line, "qmp")?;
        // QEMU wants this name.
        let irqs = socket(&mut line, "qtest")?;
        let gdb = if gdb { Some(socket(&mut line, "gdb")?) } else { None };
        let ram = match self.shared_region()? {
            Some(region) => {
                let file = tempfile::tempfile().map_err(io("making the file behind the shared RAM"))?;
                let theirs = file.try_clone().map_err(io("sharing the RAM"))?;
                let path = format!("/proc/self/fd/{}", fds.add(theirs.into()));
                line.shared_ram(kind, region, Path::new(&path));
                file.set_len(region.len.into()).map_err(io("sizing the shared RAM"))?;
                let ram = SharedRam::new(file, region);
                self.write_words(&ram)?;
                Some(ram)
            }
            None => None,
        };
        let qemu = self.qemu.clone();
        let wires = self.wires().map_err(io("keeping the links"))?;
        self.describe(&mut line, &mut fds);
        let console = Console::temporary().map_err(io("making the console files"))?;

        let mut command = process::bound_to_us(qemu.as_os_str(), &line.0);
        let (stdout, stderr) = console.for_child().map_err(io("sharing the console files"))?;
        command.stdin(Stdio::null()).stdout(stdout).stderr(stderr);
        fds.give_to(&mut command).map_err(io("passing sockets to QEMU"))?;
        let child =
            process::spawn(command).map_err(|source| MachineError::HelperMissing { program: "setpriv", source })?;
        let mut machine =
            Machine::new(kind, Process::of_child(child).map_err(io("watching QEMU"))?, console, ram, None)?;
        let opened = Qmp::open(qmp, START_LIMIT).and_then(|mut qmp| {
            if !let_go {
                return Ok(qmp);
            }
            match qmp.execute("cont", serde_json::json!({})) {
                Err(refused @ MachineError::Refused { .. }) => Err(refused),
                // The firmware may have ended the machine before QEMU could answer.
                _ => Ok(qmp),
            }
        });
        match opened {
            Ok(qmp) => machine.ports = DebugPorts::here(gdb, qmp),
            Err(error) => return Err(machine.why_it_died(error)),
        }
        machine.irqs = Arc::new(IrqLines::Here(Mutex::new(irqs)));
        machine.wires = wires;
        Ok(machine)
    }

    fn start_detached(self, run_dir: RunDir) -> Result<Machine, MachineError> {
        let io = |what: &str| MachineError::io(what.to_owned());
        let (kind, gdb) = (self.kind, self.gdb);
        let mut fds = InheritedFds::default();
        let mut line = Line::default();
        line.arg("-pidfile", run_dir.pid_file());
        line.listener("qmp", &run_dir.qmp_socket());
        line.listener("qtest", &run_dir.irq_socket());
        if gdb {
            line.listener("gdb", &run_dir.gdb_socket());
        }
        let region = self.shared_region()?;
        if let Some(region) = region {
            let file = File::create(run_dir.ram()).map_err(io("making the file behind the shared RAM"))?;
            file.set_len(region.len.into()).map_err(io("sizing the shared RAM"))?;
            self.write_words(&SharedRam::new(file, region))?;
            line.shared_ram(kind, region, &run_dir.ram());
        }
        let qemu = self.qemu.clone();
        let wires = self.wires().map_err(io("keeping the links"))?;
        self.describe(&mut line, &mut fds);
        let console = Console::in_dir(&run_dir).map_err(io("making the console files"))?;

        let mut command = process::on_its_own(qemu.as_os_str(), &line.0);
        let (stdout, stderr) = console.for_child().map_err(io("sharing the console files"))?;
        command.stdin(Stdio::null()).stdout(stdout).stderr(stderr);
        fds.give_to(&mut command).map_err(io("passing sockets to QEMU"))?;
        let child =
            process::spawn(command).map_err(|source| MachineError::QemuMissing { program: qemu.clone(), source })?;
        let mut process = Process::of_child(child).map_err(io("watching QEMU"))?;
        if let Err(error) = run_dir.describe(kind, process.id(), region, gdb) {
            let _ = process.end(Duration::ZERO);
            return Err(error);
        }
        let ram = match region {
            Some(region) => Some(SharedRam::new(run_dir.open_ram()?, region)),
            None => None,
        };
        let irqs = Arc::new(IrqLines::At(run_dir.irq_socket()));
        let mut machine = Machine::new(kind, process, console, ram, Some(run_dir))?;
        machine.irqs = irqs;
        machine.wires = wires;
        match machine.wait_for_qmp(START_LIMIT) {
            Ok(()) => machine.ports = DebugPorts::in_dir(gdb),
            Err(error) => {
                let error = machine.why_it_died(error);
                let _ = machine.end();
                return Err(error);
            }
        }
        Ok(machine)
    }

    fn shared_region(&self) -> Result<Option<super::Region>, MachineError> {
        match (self.shared_ram, self.kind.shareable_ram()) {
            (false, _) => Ok(None),
            (true, Some(region)) => Ok(Some(region)),
            (true, None) => Err(MachineError::NoSharedRam(self.kind)),
        }
    }

    /// Writes what the firmware is told. Nothing is written for a machine without words and without semihosting.
    fn write_words(&self, ram: &SharedRam) -> Result<(), MachineError> {
        if self.words.is_empty() && !self.semihosting {
            return Ok(());
        }
        let (address, block) = words::encode(ram.region(), &self.words, self.semihosting)?;
        ram.write(address, &block).map_err(MachineError::io("writing the words for the firmware"))
    }

    /// Copies of the links, to be held as long as the machine: QEMU forgets what it has not read of a link whose other end
    /// is closed, so a machine that ends would take its last words with it.
    fn wires(&self) -> std::io::Result<Vec<UnixStream>> {
        let ends = self.serial.iter().filter_map(|serial| match serial {
            Serial::Link(LinkEnd(stream)) => Some(stream.try_clone()),
            Serial::Null | Serial::File(_) => None,
        });
        ends.collect()
    }

    /// What is the same in both modes.
    fn describe(self, line: &mut Line, fds: &mut InheritedFds) {
        if !line.has_machine() {
            line.arg("-M", self.kind.name());
        }
        line.arg("-nodefaults", "").arg("-display", "none").arg("-net", "none");
        line.arg("-mon", "chardev=qmp,mode=control");
        line.arg("-qtest", "chardev:qtest").arg("-qtest-log", "none");
        if self.gdb {
            line.arg("-gdb", "chardev:gdb");
        }
        // QEMU resets only the first core of these machines at a system reset. A loader device that sets a start address
        // also resets its core; the address does not matter, since the core is held and gets its own when it is released.
        for core in 1..self.kind.cores() {
            line.arg("-device", format!("loader,cpu-num={core},addr=0x10000000"));
        }
        if self.starts_paused() {
            line.arg("-S", "");
        }
        for (number, serial) in self.serial.into_iter().enumerate() {
            line.serial(number, serial, fds);
        }
        if self.semihosting {
            line.arg("-chardev", "stdio,id=semihosting,signal=off");
            line.arg("-semihosting-config", "enable=on,target=native,chardev=semihosting");
        }
        if let Some(shift) = self.icount {
            line.arg("-icount", format!("shift={shift},sleep=off"));
        }
        for (path, args) in self.plugins {
            let mut plugin = escaped(&path);
            for arg in args {
                plugin.push(",");
                plugin.push(arg.replace(',', ",,"));
            }
            line.arg("-plugin", plugin);
        }
        if let Some(path) = self.elf {
            line.arg("-kernel", path);
        }
    }
}

/// QEMU's command line.
#[derive(Default)]
struct Line(Vec<OsString>);

impl Line {
    /// Adds an option and, if not empty, its value.
    fn arg(&mut self, option: &str, value: impl Into<OsString>) -> &mut Self {
        self.0.push(option.into());
        let value = value.into();
        if !value.is_empty() {
            self.0.push(value);
        }
        self
    }

    fn has_machine(&self) -> bool {
        self.0.iter().any(|arg| arg == "-M")
    }

    fn listener(&mut self, id: &str, path: &Path) {
        let mut chardev = OsString::from(format!("socket,id={id},server=on,wait=off,path="));
        chardev.push(escaped(path));
        self.arg("-chardev", chardev);
    }

    fn shared_ram(&mut self, kind: MachineKind, region: super::Region, path: &Path) {
        self.arg("-M", format!("{},memory-backend=shared", kind.name()));
        let mut object =
            OsString::from(format!("memory-backend-file,id=shared,share=on,size={},mem-path=", region.len));
        object.push(escaped(path));
        self.arg("-object", object);
    }

    fn serial(&mut self, number: usize, serial: Serial, fds: &mut InheritedFds) {
        match serial {
            Serial::Null => {
                self.arg("-serial", "null");
            }
            Serial::File(path) => {
                let mut chardev = OsString::from(format!("file,id=serial{number},path="));
                chardev.push(escaped(&path));
                self.arg("-chardev", chardev).arg("-serial", format!("chardev:serial{number}"));
            }
            Serial::Link(LinkEnd(stream)) => {
                self.arg("-chardev", format!("socket,id=serial{number},fd={}", fds.add(stream.into())));
                self.arg("-serial", format!("chardev:serial{number}"));
            }
        }
    }
}

/// A path as QEMU's option syntax wants it: a comma is written twice.
fn escaped(path: &Path) -> OsString {
    use std::os::unix::ffi::{OsStrExt, OsStringExt};
    let mut out = Vec::new();
    for byte in path.as_os_str().as_bytes() {
        out.push(*byte);
        if *byte == b',' {
            out.push(b',');
        }
    }
    OsString::from_vec(out)
}

/// Reads an ELF file. A device has no end, and no firmware is as long as this.
fn read_elf(path: &Path) -> std::io::Result<Vec<u8>> {
    const LONGEST: u64 = 1 << 30;
    let meta = std::fs::metadata(path)?;
    match () {
        () if meta.is_dir() => Err(std::io::ErrorKind::IsADirectory.into()),
        () if !meta.is_file() => Err(std::io::Error::other("it is not a regular file")),
        () if meta.len() > LONGEST => Err(std::io::Error::other("it is longer than 1 GiB")),
        () => std::fs::read(path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comma_in_a_path_does_not_end_the_option() {
        assert_eq!(escaped(Path::new("/a,b/c")), OsString::from("/a,,b/c"));
    }

    #[test]
    fn a_device_is_no_elf_file() {
        let zero = Path::new("/dev/zero");
        assert_eq!(read_elf(zero).unwrap_err().to_string(), "it is not a regular file");
    }
}

//! The run directory of a machine that outlives the process that started it.

use super::ports::DebugState;
use super::{MachineError, MachineKind, Region};
use serde::{Deserialize, Serialize};
use std::fs::{self, File, TryLockError};
use std::io::Write;
use std::path::{Path, PathBuf};

/// A directory with the sockets, the shared RAM, the console and a description of one machine.
#[derive(Clone, Debug)]
pub(crate) struct RunDir(PathBuf);

/// What `machine.json` says.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Description {
    pub(crate) machine: MachineKind,
    pub(crate) pid: u32,
    /// First address and length of the shared RAM.
    pub(crate) shared_ram: Option<(u32, u32)>,
    pub(crate) gdb: bool,
}

impl Description {
    pub(crate) fn shared_region(&self) -> Option<Region> {
        self.shared_ram.map(|(base, len)| Region { base, len })
    }
}

impl RunDir {
    /// Makes the directory, or takes over one whose machine is gone.
    pub(crate) fn create(path: PathBuf) -> Result<Self, MachineError> {
        fs::create_dir_all(&path).map_err(MachineError::io(format!("making {}", path.display())))?;
        // Other processes will be told this path, and they may stand in another directory.
        let path = path.canonicalize().map_err(MachineError::io(format!("finding {}", path.display())))?;
        let dir = Self(path);
        if dir.description().is_ok_and(|found| dir.is_alive(found.pid)) {
            return Err(MachineError::RunDirTaken(dir.0));
        }
        dir.remove_files();
        Ok(dir)
    }

    /// Finds the machine that runs here.
    pub(crate) fn open(path: &Path) -> Result<(Self, Description), MachineError> {
        let gone = |reason: String| MachineError::NotRunning { path: path.into(), reason };
        let dir = Self(path.canonicalize().map_err(|e| gone(e.to_string()))?);
        let description = dir.description().map_err(gone)?;
        if !dir.is_alive(description.pid) {
            return Err(gone(format!("process {} has ended", description.pid)));
        }
        Ok((dir, description))
    }

    pub(crate) fn describe(
        &self,
        machine: MachineKind,
        pid: u32,
        shared: Option<Region>,
        gdb: bool,
    ) -> Result<(), MachineError> {
        let shared_ram = shared.map(|region| (region.base, region.len));
        let description = Description { machine, pid, shared_ram, gdb };
        self.write_whole("machine.json", &description).map_err(MachineError::io("writing machine.json"))
    }

    /// Notes how a debugger leaves the cores, or would have them stand if it left now.
    pub(crate) fn note(&self, state: &DebugState) -> std::io::Result<()> {
        self.write_whole("debug.json", state)
    }

    /// Writes aside and renames, so that nobody reads half of it.
    fn write_whole(&self, name: &str, content: &impl Serialize) -> std::io::Result<()> {
        let aside = self.file(&format!("{name}.new"));
        fs::write(&aside, serde_json::to_vec(content)?)?;
        fs::rename(aside, self.file(name))
    }

    fn description(&self) -> Result<Description, String> {
        let text = fs::read(self.file("machine.json")).map_err(|e| format!("machine.json: {e}"))?;
        serde_json::from_slice(&text).map_err(|e| format!("machine.json: {e}"))
    }

    /// Whether this process is the QEMU of this directory, and not a later process of the same number.
    fn is_alive(&self, pid: u32) -> bool {
        use std::os::unix::ffi::OsStrExt;
        let Ok(line) = fs::read(format!("/proc/{pid}/cmdline")) else { return false };
        line.split(|byte| *byte == 0).any(|arg| arg == self.pid_file().as_os_str().as_bytes())
    }

    /// Takes the place of the one debugger; free again when the file is closed, however its process ends.
    pub(crate) fn lock_for_debugger(&self) -> Result<File, MachineError> {
        let path = self.file("debugger.lock");
        let io = || MachineError::io(format!("locking {}", path.display()));
        let mut file = File::options().read(true).write(true).create(true).truncate(false).open(&path).map_err(io())?;
        let mut locked = file.try_lock();
        // `has_debugger` may hold it for a moment.
        for _ in 0..5 {
            if !matches!(locked, Err(TryLockError::WouldBlock)) {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(2));
            locked = file.try_lock();
        }
        match locked {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let by = fs::read_to_string(&path).unwrap_or_default();
                let by = if by.is_empty() { "another process".into() } else { by };
                return Err(MachineError::DebuggerAttached { by });
            }
            Err(TryLockError::Error(error)) => return Err(io()(error)),
        }
        let program = std::env::args().take(2).collect::<Vec<_>>().join(" ");
        file.set_len(0).map_err(io())?;
        write!(file, "process {} ({program})", std::process::id()).map_err(io())?;
        Ok(file)
    }

    /// Whether a debugger holds its place.
    pub(crate) fn has_debugger(&self) -> bool {
        let file = File::options().read(true).write(true).open(self.file("debugger.lock"));
        file.is_ok_and(|file| matches!(file.try_lock(), Err(TryLockError::WouldBlock)))
    }

    /// Removes what this crate wrote; files of others in the directory stay.
    pub(crate) fn remove_files(&self) {
        for name in [
            "machine.json",
            "machine.json.new",
            "pid",
            "gdb.sock",
            "qmp.sock",
            "irq.sock",
            "ram",
            "debug.json",
            "debug.json.new",
            "borrowed.json",
            "debugger.lock",
            "stops",
        ] {
            let _ = fs::remove_file(self.file(name));
        }
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Written by QEMU. Its path in the command line also tells whose QEMU it is.
    pub(crate) fn pid_file(&self) -> PathBuf {
        self.file("pid")
    }

    pub(crate) fn gdb_socket(&self) -> PathBuf {
        self.file("gdb.sock")
    }

    pub(crate) fn irq_socket(&self) -> PathBuf {
        self.file("irq.sock")
    }

    pub(crate) fn qmp_socket(&self) -> PathBuf {
        self.file("qmp.sock")
    }

    /// How the last debugger left the cores.
    pub(crate) fn debug_state(&self) -> PathBuf {
        self.file("debug.json")
    }

    /// What a debugger has borrowed of a core, while it has.
    pub(crate) fn borrowed(&self) -> PathBuf {
        self.file("borrowed.json")
    }

    /// A file as long as the number of times that the machine was stopped.
    pub(crate) fn stops(&self) -> PathBuf {
        self.file("stops")
    }

    pub(crate) fn ram(&self) -> PathBuf {
        self.file("ram")
    }

    pub(crate) fn open_ram(&self) -> Result<File, MachineError> {
        let ram = self.ram();
        File::options()
            .read(true)
            .write(true)
            .open(&ram)
            .map_err(MachineError::io(format!("opening the shared RAM {}", ram.display())))
    }
}

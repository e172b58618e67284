//! Running the program `stillpoint` on two emulated boards, for every test of it.
#![allow(dead_code, reason = "each test uses a part of it")]
use std::ffi::OsStr;
use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;

pub mod recorded;
mod watchdog;
pub use crate::waiting::{LIMIT, wait_for};
pub use watchdog::Watchdog;

/// A folder with a system file for two joined boards, and a place for their machines. They end with it.
pub struct Bench {
    folder: TempDir,
    state: TempDir,
}

/// What a command did.
#[derive(Debug)]
pub struct Done {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

/// The ELF file of a demo.
pub fn firmware(name: &str) -> PathBuf {
    let folder = std::env::var_os("STILLPOINT_FIRMWARE").expect("`cargo xtask test qemu` sets STILLPOINT_FIRMWARE");
    Path::new(&folder).join(name)
}

impl Bench {
    /// Two boards that run this demo; nothing is started.
    pub fn new(demo: &str) -> Self {
        Self::new_with_words(demo, &[])
    }

    fn new_with_words(demo: &str, words: &[&str]) -> Self {
        let bench = Self { folder: tempfile::tempdir().unwrap(), state: short_folder() };
        bench.install(demo);
        bench.write_words(words);
        bench
    }

    /// Gives both boards these words on their command lines, besides which board they are, when they are started next.
    pub fn write_words(&self, words: &[&str]) {
        self.write_words_of_each(words, words);
    }

    /// The same, for each board its own.
    pub fn write_words_of_each(&self, of_a: &[&str], of_b: &[&str]) {
        let board = |name: &str, words: &[&str]| {
            let words: String = words.iter().map(|word| format!(", \"{word}\"")).collect();
            format!(
                "[[board]]\nname = \"{name}\"\nchip = \"mps2-an521\"\nprobe = \"qemu\"\nfirmware = \"firmware.elf\"\n\
                 arguments = [\"board={name}\"{words}]\n\n"
            )
        };
        let link = "[[link]]\nbetween = [\"A.uart1\", \"B.uart1\"]\n";
        self.write_system(&(board("A", of_a) + &board("B", of_b) + link));
    }

    /// Two boards that run this demo, every node started.
    pub fn running(demo: &str) -> Self {
        Self::with_words(demo, &[])
    }

    /// The same, with further words on the command line of each.
    pub fn with_words(demo: &str, words: &[&str]) -> Self {
        let bench = Self::new_with_words(demo, words);
        bench.run(["up"]).expect(0);
        bench.run(["run"]).expect(0);
        bench
    }

    /// Puts this demo where the system file expects the firmware.
    pub fn install(&self, demo: &str) {
        std::fs::copy(firmware(demo), self.path("firmware.elf")).expect("the demo is built");
    }

    pub fn write_system(&self, text: &str) {
        std::fs::write(self.system_file(), text).unwrap();
    }

    /// Where the program keeps the machines and locks of this bench.
    pub fn state_folder(&self) -> &Path {
        self.state.path()
    }

    pub fn system_file(&self) -> PathBuf {
        self.path("stillpoint.toml")
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The command, to be run as the caller likes.
    pub fn command<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> Command {
        let mut command = self.bare_command(args);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // A group of its own, so that one that hangs can be ended with all it started.
        command.process_group(0);
        command
    }

    /// The command with whatever it is given to read and to write.
    pub fn bare_command<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_stillpoint"));
        command.args(args).current_dir(self.folder.path()).env("STILLPOINT_STATE", self.state.path());
        command.env_remove("RUST_LOG");
        command
    }

    /// Runs lines in one shell, which reads them from a pipe.
    pub fn shell(&self, lines: impl AsRef<[u8]>) -> Done {
        let mut shell = self.command(["shell"]).stdin(Stdio::piped()).spawn().expect("the program can be run");
        shell.stdin.take().expect("a pipe").write_all(lines.as_ref()).expect("it reads");
        Done::of(shell)
    }

    pub fn run<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> Done {
        Done::of(self.command(args).spawn().expect("the program can be run"))
    }

    /// The numbers of the machines' processes, board A's first.
    pub fn processes(&self) -> Vec<u32> {
        let up = self.run(["up", "--json"]).expect(0).json();
        let boards = up["boards"].as_array().expect("a list of boards");
        boards.iter().map(|board| board["process"].as_u64().expect("an emulated board") as u32).collect()
    }

    /// Kills the machine of a board, as a power cut would.
    pub fn kill(&self, board: usize) {
        signal("KILL", self.processes()[board]);
    }

    /// Waits until every node has handled messages since the last look: the demo goes on.
    pub fn expect_progress(&self) {
        let events = || -> Vec<u64> {
            let info = self.run(["info", "--json"]).expect(0).json();
            let boards = info["boards"].as_array().unwrap().iter();
            boards
                .flat_map(|board| board["nodes"].as_array().unwrap())
                .map(|node| node["event"].as_u64().unwrap())
                .collect()
        };
        let before = events();
        let grown = || Ok(events().iter().zip(&before).all(|(now, before)| now > before).then_some(()));
        if let Err(error) = wait_for(format!("the demo goes on from {before:?}"), grown) {
            panic!("{error}: {:?}", self.run(["status"]));
        }
    }

    /// Waits until a command has taken this board, and is connecting to it or connected.
    pub fn wait_until_taken(&self, board: &str, command: &Child) {
        let lock = self.lock_file(board).canonicalize().unwrap();
        let is_taken = || {
            let open = std::fs::read_dir(format!("/proc/{}/fd", command.id())).into_iter().flatten().flatten();
            open.filter_map(|file| std::fs::read_link(file.path()).ok()).any(|path| path == lock)
        };
        wait_for(format!("board {board} is taken"), || Ok(is_taken().then_some(()))).unwrap();
    }

    /// Waits until a command talks to the process that owns the boards.
    pub fn wait_until_connected(&self, command: &Child) {
        let is_socket = |path: PathBuf| path.to_string_lossy().starts_with("socket:");
        let is_connected = || {
            let open = std::fs::read_dir(format!("/proc/{}/fd", command.id())).into_iter().flatten().flatten();
            open.filter_map(|file| std::fs::read_link(file.path()).ok()).any(is_socket)
        };
        wait_for("the command uses the boards", || Ok(is_connected().then_some(()))).unwrap();
    }

    /// The process that owns the boards.
    pub fn owner(&self) -> u32 {
        let file = self.lock_file("A").with_file_name("owner.process");
        std::fs::read_to_string(file).expect("a command has used the boards").parse().expect("a number")
    }

    /// The file that is locked while a board is in use.
    pub fn lock_file(&self, board: &str) -> PathBuf {
        let systems = std::fs::read_dir(self.state.path()).unwrap().map(|entry| entry.unwrap().path());
        let mut locks = systems.map(|system| system.join(format!("{board}.lock"))).filter(|path| path.exists());
        locks.next().expect("the board was used before")
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        // Whatever became of the test, nothing shall run on.
        let down = self.run(["down"]);
        if down.code != Some(0) && !std::thread::panicking() {
            panic!("down: {down:?}");
        }
    }
}

/// A folder for sockets, whose paths must be short.
fn short_folder() -> TempDir {
    tempfile::Builder::new().prefix("sp").tempdir_in("/tmp").unwrap()
}

/// Sends a signal to a process of ours.
pub fn signal(name: &str, process: u32) {
    let status = Command::new("kill").args([&format!("-{name}"), &process.to_string()]).status().unwrap();
    assert!(status.success(), "process {process} is not there");
}

impl Done {
    /// What a command did, which has plenty of time for it.
    #[track_caller]
    pub fn of(child: Child) -> Self {
        // A shell may have a hundred steps to do, on a machine with ten times as much to do as it can.
        Self::within(LIMIT * 5, child)
    }

    /// The same; one that takes longer is ended with all it started, and what it said is shown.
    #[track_caller]
    pub fn within(limit: Duration, child: Child) -> Self {
        let watchdog = Watchdog::over(&child, limit);
        let output = child.wait_with_output().unwrap();
        let has_bitten = watchdog.has_bitten();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("plain text");
        let done = Self { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) };
        assert!(!has_bitten, "it did not end within {limit:?}; it said:\n{}\n{}", done.out, done.err);
        done
    }

    /// Fails unless the exit code is this one.
    #[track_caller]
    pub fn expect(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "stdout:\n{}\nstderr:\n{}", self.out, self.err);
        self
    }

    #[track_caller]
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error} in {self:?}"))
    }

    /// What was printed, with every number that follows one of these texts as `#`.
    pub fn masked(&self, before: &[&str]) -> String {
        let mut text = self.out.clone();
        for prefix in before {
            let mut masked = String::new();
            let mut rest = text.as_str();
            while let Some(at) = rest.find(prefix) {
                let (head, tail) = rest.split_at(at + prefix.len());
                let digits = tail.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(tail.len());
                masked.push_str(head);
                masked.push_str(if digits > 0 { "#" } else { "" });
                rest = &tail[digits..];
            }
            masked.push_str(rest);
            text = masked;
        }
        // Numbers of any width stand in columns.
        text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ") + "\n").collect()
    }

    #[track_caller]
    pub fn expect_out(&self, part: &str) {
        assert!(self.out.contains(part), "{part:?} is not in stdout:\n{}", self.out);
    }

    #[track_caller]
    pub fn expect_err(&self, part: &str) {
        assert!(self.err.contains(part), "{part:?} is not in stderr:\n{}", self.err);
    }
}

//! `stillpoint break` as a user types it, on two emulated boards.
//!
//! `cargo xtask test qemu` builds the firmware, says where it is, and runs this.
mod boards;

use anyhow::{Context as _, ensure};
use boards::{LIMIT, firmware};
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Instant;

/// A folder with a system file, whose boards are up and run the token ring; they end with it.
struct Bench(tempfile::TempDir);

impl Bench {
    fn start() -> anyhow::Result<Self> {
        let folder = tempfile::tempdir()?;
        let elf = firmware("token_ring")?;
        let board = |name: &str| {
            format!(
                "[[board]]\nname = \"{name}\"\nchip = \"mps2-an521\"\nprobe = \"qemu\"\nfirmware = {elf:?}\n\
                 arguments = [\"board={name}\"]\n\n"
            )
        };
        let link = "[[link]]\nbetween = [\"A.uart1\", \"B.uart1\"]\n";
        std::fs::write(folder.path().join("stillpoint.toml"), [board("A"), board("B"), link.into()].concat())?;
        let bench = Self(folder);
        for arguments in [&["up"][..], &["flash"]] {
            let done = bench.run(arguments)?;
            ensure!(done.status.success(), "{arguments:?}: {}", text(&done.stderr));
        }
        Ok(bench)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_stillpoint"));
        command.args(arguments).current_dir(self.0.path()).env("STILLPOINT_STATE", self.state());
        command
    }

    fn state(&self) -> std::path::PathBuf {
        Path::new(self.0.path()).join("s")
    }

    fn run(&self, arguments: &[&str]) -> anyhow::Result<Output> {
        self.command(arguments).output().with_context(|| format!("{arguments:?}"))
    }

    /// Standard output of a command that must do its work.
    fn ok(&self, arguments: &[&str]) -> anyhow::Result<String> {
        let done = self.run(arguments)?;
        ensure!(done.status.success(), "{arguments:?}: {}", text(&done.stderr));
        Ok(text(&done.stdout))
    }

    /// Exit code and standard error of a command that must not.
    fn refused(&self, arguments: &[&str]) -> anyhow::Result<(Option<i32>, String)> {
        let done = self.run(arguments)?;
        ensure!(!done.status.success(), "{arguments:?}: {}", text(&done.stdout));
        Ok((done.status.code(), text(&done.stderr)))
    }

    /// The text that `break list` shows for a breakpoint.
    fn state_of(&self, number: usize) -> anyhow::Result<String> {
        let list: serde_json::Value = serde_json::from_str(&self.ok(&["break", "list", "--json"])?)?;
        let state = list["breakpoints"][number]["state"].as_str();
        Ok(state.with_context(|| format!("{list:#}"))?.to_owned())
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        let _ = self.run(&["down"]);
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn a_breakpoint_is_set_fires_is_listed_and_removed() -> anyhow::Result<()> {
    let bench = Bench::start()?;
    let chain = "left0:send(ring) -> right1.holding == 1";

    let done = bench.run(&["break", chain])?;
    assert_eq!(done.status.code(), Some(0), "{}", text(&done.stderr));
    let (said, printed) = (text(&done.stderr), text(&done.stdout));
    assert!(said.contains("promised  exact: each stage really happened before the next"), "{said}");
    assert!(said.contains("armed  breakpoint 0 on 4 nodes"), "{said}");
    let lines: Vec<_> = printed.lines().collect();
    assert_eq!(lines[0], format!("breakpoint 0 fired: {chain}"));
    assert!(
        lines[1].starts_with("  stage 1  left0   event ") && lines[1].ends_with("left0:send(ring)     happened before")
    );
    assert!(
        lines[2].starts_with("  stage 2  right1  event ") && lines[2].ends_with("right1.holding == 1  completed it")
    );
    assert!(lines[3].contains("begun by right1, is one consistent moment of 4 nodes"), "{printed}");

    assert_eq!(bench.ok(&["break", "list"])?, format!("0  fired    {chain}  (stage 2 of 2 satisfied)\n"));
    let second = bench.ok(&["break", "left1:fault"])?;
    assert!(second.contains("breakpoint 1 armed, and the system is halted") && second.contains("stillpoint resume"));
    assert_eq!(bench.ok(&["break", "rm", "0"])?, "breakpoint 0  removed\n");
    assert_eq!(bench.ok(&["break", "list"])?, "1  armed    left1:fault\n");
    let (code, error) = bench.refused(&["break", "rm", "0"])?;
    assert!(code == Some(2) && error.contains("there is no breakpoint 0"), "{error}");
    bench.ok(&["break", "rm", "all"])?;
    assert_eq!(bench.ok(&["break", "list"])?, "no breakpoint is armed\n");
    Ok(())
}

#[test]
fn what_cannot_be_armed_is_refused_with_a_caret_and_leaves_nothing_armed() -> anyhow::Result<()> {
    let bench = Bench::start()?;
    for (expression, caret, advice) in [
        ("lfet0:send(ring)", "\n  ^^^^^\n", "did you mean `left0`? the nodes are left0, left1, right0, right1"),
        ("left0.hodling == 1", "\n        ^^^^^^^\n", "did you mean `holding`?"),
        ("left0:send(rign)", "\n             ^^^^\n", "did you mean `ring`?"),
        ("left0:send(ring) ->", "\n                     ^\n", "expected a node's name"),
        ("left0.holding & right1.holding", "\n  ^^^^^^^^^^^^^^^", "stop when one comes after the other"),
    ] {
        let (code, error) = bench.refused(&["break", expression])?;
        assert_eq!(code, Some(2), "{error}");
        assert!(error.contains(caret) && error.contains(advice), "{error}");
    }
    assert_eq!(bench.ok(&["break", "list"])?, "no breakpoint is armed\n");
    Ok(())
}

/// Nothing of a breakpoint is in the process that set it.
#[test]
fn after_ctrl_c_or_no_wait_the_breakpoint_stays_armed_and_stops_the_system_by_itself() -> anyhow::Result<()> {
    let bench = Bench::start()?;
    let mut waiting = bench.command(&["break", "left1:fault"]).stderr(Stdio::piped()).stdout(Stdio::null()).spawn()?;
    let mut said = BufReader::new(waiting.stderr.take().context("its standard error")?);
    let mut line = String::new();
    while !line.contains("armed") {
        line.clear();
        ensure!(said.read_line(&mut line)? > 0, "it ended before it was armed");
    }
    let killed = Command::new("kill").args(["-INT", &waiting.id().to_string()]).status()?;
    ensure!(killed.success(), "cannot send SIGINT");
    let mut rest = String::new();
    std::io::Read::read_to_string(&mut said, &mut rest)?;
    assert_eq!(waiting.wait()?.code(), Some(130), "{rest}");
    assert!(rest.contains("stays armed"), "{rest}");
    assert_eq!(bench.state_of(0)?, "armed");

    let text = "left0.holding == 1 ^10";
    assert!(bench.ok(&["break", text, "--no-wait"])?.contains(&format!("breakpoint 1 armed: {text}")));
    let until = Instant::now() + LIMIT;
    while bench.state_of(1)? != "fired" {
        ensure!(Instant::now() < until, "it does not fire within {LIMIT:?}");
    }
    assert_eq!(bench.state_of(0)?, "armed", "the other stays as it was");
    Ok(())
}

/// The file that remembers the texts is believed only as far as the boards confirm it.
#[test]
fn what_the_boards_have_counts_not_what_is_remembered() -> anyhow::Result<()> {
    let bench = Bench::start()?;
    bench.ok(&["break", "left1:fault", "--no-wait"])?;
    let remembered = std::fs::read_dir(bench.state())?
        .filter_map(|entry| Some(entry.ok()?.path().join("breakpoints.json")))
        .find(|path| path.exists())
        .context("the remembered texts")?;
    let text = std::fs::read_to_string(&remembered)?;
    std::fs::write(&remembered, text.replace("\"generation\": 1", "\"generation\": 9"))?;
    assert_eq!(bench.state_of(0)?, "unknown", "another generation is another breakpoint");
    std::fs::write(&remembered, "not json")?;
    let (code, error) = bench.refused(&["break", "list"])?;
    assert!(code == Some(2) && error.contains("delete it"), "{error}");
    std::fs::remove_file(&remembered)?;
    assert!(bench.ok(&["break", "list"])?.contains("unknown  armed by somebody else"));
    bench.ok(&["break", "rm", "0"])?;
    Ok(())
}

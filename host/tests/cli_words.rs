//! The program `stillpoint` without any board: completions, manual, pipes that close, names that are no text, no terminal.
mod cli;

use cli::Done;
use std::ffi::OsString;
use std::io::Write as _;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// A folder to stand in, and one for the state.
struct Place {
    folder: TempDir,
}

impl Place {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn command<A: AsRef<std::ffi::OsStr>>(&self, words: impl IntoIterator<Item = A>) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_stillpoint"));
        command.args(words).current_dir(self.path()).env("STILLPOINT_STATE", self.path().join("state"));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn run<A: AsRef<std::ffi::OsStr>>(&self, words: impl IntoIterator<Item = A>) -> Done {
        Done::of(self.command(words).spawn().unwrap())
    }

    fn write_system(&self, name: impl AsRef<Path>) {
        let text = "[[board]]\nname = \"A\"\nchip = \"mps2-an521\"\nprobe = \"qemu\"\nfirmware = \"firmware.elf\"\n";
        std::fs::write(self.path().join(name), text).unwrap();
    }
}

/// A name that is no UTF-8.
fn strange_name() -> OsString {
    OsString::from_vec(b"b\xE4nk.toml".to_vec())
}

#[test]
fn the_script_for_bash_loads_and_completes_a_command_and_an_option() {
    let place = Place::new();
    let script = place.run(["completions", "bash"]).expect(0).out;
    std::fs::write(place.path().join("completion"), script).unwrap();
    // As bash does it when the user presses Tab behind `stillpoint hal` and `stillpoint halt --del`.
    let ask = "set -eu; source ./completion\n\
               COMP_WORDS=(stillpoint hal); COMP_CWORD=1; _stillpoint stillpoint hal stillpoint; echo \"${COMPREPLY[*]}\"\n\
               COMP_WORDS=(stillpoint halt --del); COMP_CWORD=2; _stillpoint stillpoint --del halt; echo \"${COMPREPLY[*]}\"\n";
    let bash = Command::new("bash").args(["--norc", "-c", ask]).current_dir(place.path()).output().unwrap();
    let said = String::from_utf8_lossy(&bash.stdout);
    assert!(bash.status.success(), "{}", String::from_utf8_lossy(&bash.stderr));
    assert_eq!(said.lines().collect::<Vec<_>>(), ["halt", "--delayed"]);
}

#[test]
fn other_shells_have_their_scripts_and_an_unknown_shell_is_named() {
    let place = Place::new();
    assert!(place.run(["completions", "zsh"]).expect(0).out.starts_with("#compdef stillpoint"));
    assert!(place.run(["completions", "fish"]).expect(0).out.contains("complete -c stillpoint"));
    place.run(["completions", "tcsh"]).expect(2).expect_err("invalid value 'tcsh'");
}

/// What groff has to complain about in a page; `None` where there is no groff.
fn complaints(page: &str) -> Option<String> {
    let mut groff = Command::new("groff");
    groff
        .args(["-man", "-Tutf8", "-Kutf8", "-ww", "-z"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut groff = groff.spawn().ok()?;
    groff.stdin.take().unwrap().write_all(page.as_bytes()).unwrap();
    Some(String::from_utf8_lossy(&groff.wait_with_output().unwrap().stderr).into_owned())
}

#[test]
fn there_is_a_manual_page_for_the_program_and_for_each_command_and_groff_has_no_complaint() {
    let place = Place::new();
    let page = place.run(["man"]).expect(0).out;
    assert!(page.contains(".TH stillpoint 1") && page.contains("stillpoint\\-halt(1)"), "{page}");
    let wrote = place.run(["man", "--dir", "deep/man1", "--json"]).expect(0).json();
    let pages: Vec<&str> = wrote["pages"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
    for name in ["stillpoint.1", "stillpoint-halt.1", "stillpoint-doctor.1", "stillpoint-trace-record.1"] {
        assert!(pages.contains(&name), "{pages:?}");
    }
    for name in pages {
        let page = std::fs::read_to_string(place.path().join("deep/man1").join(name)).unwrap();
        match complaints(&page) {
            Some(words) => assert_eq!(words, "", "{name}"),
            None => eprintln!("groff is not here: {name} is not tried"),
        }
    }
    if complaints("").is_some() {
        assert_ne!(complaints(".TH x 1\n.no-such-macro\n").unwrap(), "", "groff does complain where there is reason");
    }
    std::fs::write(place.path().join("file"), "").unwrap();
    place.run(["man", "--dir", "file"]).expect(2).expect_err("cannot write manual pages into file");
}

/// Runs a command whose reader goes away before it says anything.
fn with_closed_pipe(mut command: Command) -> Done {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    Done::of(command.stdout(writer).spawn().unwrap())
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let place = Place::new();
    for words in [
        &["--help"][..],
        &["halt", "--help"],
        &["--version"],
        &["man"],
        &["completions", "bash"],
        &["init", "--stdout"],
        &["init", "--stdout", "--json"],
    ] {
        let done = with_closed_pipe(place.command(words));
        assert_eq!((done.code, done.err.as_str()), (Some(0), ""), "{words:?}");
    }
    // The exit code is that of the answer, read or not.
    place.write_system("stillpoint.toml");
    for words in [&["status"][..], &["status", "--json"], &["doctor"], &["doctor", "--json"]] {
        let done = with_closed_pipe(place.command(words));
        assert_eq!((done.code, done.err.as_str()), (Some(1), ""), "{words:?}");
    }
    let done = with_closed_pipe(place.command(["info", "--json"]));
    assert_eq!(done.code, Some(2));
    assert!(!done.err.contains("panicked"), "{}", done.err);
}

#[test]
fn where_standard_error_is_closed_too_nothing_panics() {
    let place = Place::new();
    let mut command = place.command(["halt"]);
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    assert_eq!(
        with_closed_pipe({
            command.stderr(writer);
            command
        })
        .code,
        Some(2)
    );
}

#[test]
fn into_a_pipe_go_neither_colours_nor_bars_and_on_demand_they_do() {
    let place = Place::new();
    place.write_system("stillpoint.toml");
    for words in [&["status"][..], &["doctor"], &["halt"], &["flash"], &["--help"], &["nonsense"]] {
        let done = place.run(words);
        assert!(!done.out.contains('\x1b') && !done.err.contains('\x1b'), "{words:?}: {done:?}");
    }
    let forced = Done::of(place.command(["status"]).env("CLICOLOR_FORCE", "1").spawn().unwrap());
    assert!(forced.out.contains('\x1b'), "there are colours to leave out: {forced:?}");
}

#[test]
fn file_names_that_are_no_text_work_or_are_refused_with_a_sentence() {
    let place = Place::new();
    let name = strange_name();
    place.write_system(&name);
    let words = |rest: &[&str]| {
        let mut words = vec![OsString::from("--system"), name.clone()];
        words.extend(rest.iter().map(OsString::from));
        words
    };
    let status = place.run(words(&["status"])).expect(1);
    assert!(status.out.contains("A.0  missing"), "{status:?}");
    place.run(words(&["doctor", "--json"])).expect(1).json();
    place.run(words(&["init"])).expect(2).expect_err("is there already");
    place.run(words(&["init", "--force"])).expect(0);
    place.run(words(&["status"])).expect(1);
    std::fs::remove_file(place.path().join(&name)).unwrap();
    place.run(words(&["status"])).expect(2).expect_err("cannot read");
    place.run(words(&["halt", "--json"])).expect(2).json();
    // A folder of such a name.
    let folder = place.path().join(std::ffi::OsStr::from_bytes(b"f\xFF"));
    std::fs::create_dir(&folder).unwrap();
    let inside = Done::of(place.command(["status"]).current_dir(&folder).spawn().unwrap()).expect(2);
    inside.expect_err("no stillpoint.toml in");
}

#[test]
fn words_that_are_no_text_are_refused_not_fatal() {
    let place = Place::new();
    place.write_system("stillpoint.toml");
    let strange = OsString::from_vec(b"\xFF\xFE".to_vec());
    for words in [
        vec![strange.clone()],
        vec!["flash".into(), strange.clone()],
        vec!["break".into(), strange.clone()],
        vec!["reset".into(), strange.clone()],
        vec!["init".into(), "--force".into(), "--firmware".into(), strange.clone()],
        vec!["init".into(), "--force".into(), "--chip".into(), strange.clone()],
        vec!["trace".into(), "info".into(), strange.clone()],
    ] {
        let done = place.run(&words);
        assert!(matches!(done.code, Some(1 | 2)), "{words:?}: {done:?}");
        assert!(!done.err.is_empty() && !done.err.contains("panicked"), "{words:?}: {done:?}");
    }
}

/// Of the tests themselves: whatever hangs fails where it hangs, with what it said, and leaves nothing behind.
#[test]
fn a_command_that_hangs_is_ended_with_all_it_started_and_fails_its_test() {
    let mut hangs = Command::new("sh");
    hangs.args(["-c", "sleep 600 & echo \"started $!\"; wait"]).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = hangs.process_group(0).spawn().unwrap();
    let failed = std::panic::catch_unwind(|| Done::within(std::time::Duration::from_secs(1), child)).unwrap_err();
    let said = failed.downcast_ref::<String>().expect("a sentence");
    let started = said.split("started ").nth(1).expect("what it said is shown").lines().next().unwrap();
    // Gone, or a process that has ended and that nobody has asked about yet.
    let state = std::fs::read_to_string(format!("/proc/{started}/stat")).unwrap_or_default();
    assert!(state.is_empty() || state.contains(") Z "), "{state}");
}

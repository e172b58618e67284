//! The program `stillpoint` without any board: completions, manual, pipes that close, names that are no text, no terminal.
mod simultaneous;

use crate::cli::{self, Done};
use std::ffi::OsString;
use std::io::Write as _;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};
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
    cli::recorded::record(&place.path().join("run.trace"), 1);
    for words in [
        &["show", "run.trace"][..],
        &["show", "run.trace", "--json"],
        &["show", "run.trace", "--diagram"],
        &["trace", "info", "run.trace"],
        &["races", "run.trace"],
        &["detect", "solo:trace", "run.trace"],
        &["diff", "run.trace", "run.trace"],
        &["export", "--format", "shiviz", "run.trace", "-o", "-"],
        &["export", "--format", "perfetto", "run.trace", "-o", "-"],
        &["export", "--format", "json", "run.trace", "-o", "-"],
        &["export", "--format", "csv", "run.trace", "-o", "-"],
    ] {
        let done = with_closed_pipe(place.command(words));
        assert_eq!((done.code, done.err.as_str()), (Some(0), ""), "{words:?}");
    }
    let done = with_closed_pipe(place.command(["info", "--json"]));
    assert_eq!(done.code, Some(2));
    assert!(!done.err.contains("panicked"), "{}", done.err);
}

#[test]
fn every_command_that_reads_a_recording_says_if_it_may_have_been_cut_between_two_frames() {
    let place = Place::new();
    let path = place.path().join("run.trace");
    let starts = cli::recorded::record(&path, 3);
    let lines: [&[&str]; 9] = [
        &["show"],
        &["show", "--diagram"],
        &["trace", "info"],
        &["check", "-e", "pred solo:trace { solo:trace }"],
        &["detect", "solo:trace"],
        &["races"],
        &["export", "--format", "csv", "-o", "-"],
        &["export", "--format", "json", "-o", "run.json"],
        &["learn", "-o", "run.model"],
    ];
    let said = |words: &[&str]| {
        let done = place.run(words.iter().copied().chain(["run.trace"]));
        assert!(matches!(done.code, Some(0 | 1)), "{words:?}: {done:?}");
        (done.err + &done.out).contains("or the file was cut")
    };
    let whole: Vec<_> = lines.into_iter().filter(|words| said(words)).collect();
    assert!(whole.is_empty(), "a whole recording has an end: {whole:?}");
    std::fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(starts[2]).unwrap();
    let silent: Vec<_> = lines.into_iter().filter(|words| !said(words)).collect();
    assert!(silent.is_empty(), "not a word: {silent:?}");
}

/// Every command, as the manual lists them: `["trace", "record"]` is one.
fn every_command(place: &Place) -> Vec<Vec<String>> {
    let wrote = place.run(["man", "--dir", "man1", "--json"]).expect(0).json();
    let pages = wrote["pages"].as_array().unwrap().iter().map(|page| page.as_str().unwrap());
    let words = |page: &str| page.trim_end_matches(".1").split('-').skip(1).map(str::to_owned).collect::<Vec<String>>();
    let commands: Vec<_> = pages.map(words).filter(|words| !words.is_empty()).collect();
    assert!(commands.len() > 30, "{commands:?}");
    commands
}

/// What follows the name of a command to ask for a file that is not there, and the exit code.
fn missing_file(command: &str) -> (&'static [&'static str], i32) {
    match command {
        // Without the system file, whatever else they need.
        "up" | "down" | "flash" | "run" | "reset" | "info" | "status" | "halt" | "cut" | "watch" | "resume"
        | "step" | "next" | "log" | "shell" | "break list" | "trace" | "tasks" => (&[], 2),
        "dump" | "trace record" => (&["new.file"], 2),
        "print" => (&["X"], 2),
        "bt" => (&["a"], 2),
        "break" | "stop" => (&["a:send"], 2),
        "when" => (&["a:send do { cut }"], 2),
        "delete" | "break rm" => (&["1"], 2),
        "trace mode" => (&["all", "full"], 2),
        "trace info" | "show" | "races" => (&["none.trace"], 2),
        "export" => (&["--format", "csv", "none.trace", "-o", "-"], 2),
        "diff" => (&["none.trace", "none.trace"], 2),
        "check" => (&["-e", "pred solo:trace { solo:trace }", "none.trace"], 2),
        "stable" => (&["a.x == 1 === b.x == 1"], 2),
        "detect" => (&["solo:trace", "none.trace"], 2),
        "learn" => (&["none.trace", "-o", "-"], 2),
        "init" => (&["--firmware", "none.elf"], 2),
        "man" => (&["--dir", "none.toml/below"], 2),
        "completions" => (&["none"], 2),
        // What is missing is its answer.
        "doctor" => (&[], 1),
        other => panic!("`stillpoint {other}` is new: add what it does with a missing file"),
    }
}

#[test]
fn a_missing_file_is_exit_code_2_whatever_the_command() {
    let place = Place::new();
    let commands = every_command(&place);
    // A file where `man` needs a folder; the system file is another one.
    std::fs::write(place.path().join("none.toml"), "").unwrap();
    let mut wrong = Vec::new();
    for command in commands {
        let (rest, code) = missing_file(&command.join(" "));
        let words = ["--system", "missing.toml"].into_iter().chain(command.iter().map(String::as_str));
        let mut child = place.command(words.chain(rest.iter().copied())).stdin(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(b"status\n").unwrap_or_default();
        let done = Done::of(child);
        if done.code != Some(code) || code == 2 && done.err.is_empty() {
            wrong.push(format!("{command:?} {rest:?}: {done:?}"));
        }
        let done = place.run(command.iter().map(String::as_str).chain(["--no-such-option"]));
        if done.code != Some(2) || done.err.is_empty() {
            wrong.push(format!("{command:?} --no-such-option: {done:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Runs a command whose standard output is a disk without room.
fn with_full_disk(mut command: Command) -> Done {
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    Done::of(command.stdout(full).spawn().unwrap())
}

#[test]
fn a_result_that_cannot_be_written_is_exit_code_2_with_a_sentence() {
    let place = Place::new();
    cli::recorded::record(&place.path().join("run.trace"), 1);
    let mut lines: Vec<Vec<String>> = every_command(&place);
    lines.iter_mut().for_each(|words| words.push("--help".into()));
    let pred = "pred solo:trace { solo:trace }";
    for words in [
        &["--help"][..],
        &["--version"],
        &["man"],
        &["man", "--dir", "man2"],
        &["completions", "bash"],
        &["init", "--stdout"],
        &["init"],
        &["status"],
        &["doctor"],
        &["show", "run.trace"],
        &["show", "run.trace", "--diagram"],
        &["show", "run.trace", "--graph", "program"],
        &["show", "run.trace", "--svg", "run.svg"],
        &["trace", "info", "run.trace"],
        &["check", "-e", pred, "run.trace"],
        &["detect", "solo:trace", "run.trace"],
        &["races", "run.trace"],
        &["export", "--format", "csv", "run.trace", "-o", "-"],
        &["export", "--format", "csv", "run.trace", "-o", "run.csv"],
        &["diff", "run.trace", "run.trace"],
    ] {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let json = words.iter().cloned().chain(["--json".to_owned()]).collect();
        lines.extend([words, json]);
    }
    let mut silent = Vec::new();
    for words in &lines {
        if words[0] == "init" {
            let _ = std::fs::remove_file(place.path().join("stillpoint.toml"));
        } else {
            place.write_system("stillpoint.toml");
        }
        let done = with_full_disk(place.command(words));
        if done.code != Some(2) || !done.err.contains("cannot write to standard output") {
            silent.push(format!("{words:?}: {done:?}"));
        }
    }
    assert!(silent.is_empty(), "{}", silent.join("\n"));
    // The shell says so for each line, and goes on.
    let mut command = place.command(["shell"]);
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let mut shell = command.stdin(Stdio::piped()).stdout(full).spawn().unwrap();
    shell.stdin.take().unwrap().write_all(b"alias s status\nalias\nhelp\ns\n").unwrap();
    let done = Done::of(shell).expect(2);
    assert_eq!(done.err.matches("cannot write to standard output").count(), 3, "{done:?}");
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

/// The files in a folder, and what kind each is.
fn listing(folder: &Path) -> Vec<(String, &'static str)> {
    let kind = |kind: std::fs::FileType| match () {
        () if kind.is_symlink() => "link",
        () if kind.is_fifo() => "fifo",
        () if kind.is_char_device() => "device",
        () if kind.is_dir() => "folder",
        () => "file",
    };
    let entries = std::fs::read_dir(folder).unwrap().map(Result::unwrap);
    let mut all: Vec<_> =
        entries.map(|of| (of.file_name().into_string().unwrap(), kind(of.file_type().unwrap()))).collect();
    all.sort();
    all
}

#[test]
fn whatever_is_at_the_path_of_an_output_file_is_written_through_and_stays() {
    let place = Place::new();
    cli::recorded::record(&place.path().join("run.trace"), 1);
    let at = |name: &str| place.path().join("out").join(name);
    std::fs::create_dir(place.path().join("out")).unwrap();
    // Nodes of our own: those of the machine must not be at risk.
    let make = |name: &str, minor: &str| {
        let made = Command::new("mknod").arg(at(name)).args(["c", "1", minor]).stderr(Stdio::null()).status();
        made.is_ok_and(|status| status.success()) && std::fs::File::options().write(true).open(at(name)).is_ok()
    };
    let has_nodes = make("null", "3") && make("full", "7");
    if !has_nodes {
        eprintln!("devices are not tried: this user cannot make or open a device node");
        let _ = std::fs::remove_file(at("null"));
        std::fs::write(at("null"), "").unwrap();
    }
    assert!(Command::new("mkfifo").arg(at("fifo")).status().unwrap().success());
    std::fs::write(at("file"), "old").unwrap();
    std::fs::write(at("file.part"), "of another program").unwrap();
    std::fs::write(at("file.new"), "of another program").unwrap();
    std::os::unix::fs::symlink("file", at("to_file")).unwrap();
    std::os::unix::fs::symlink("null", at("to_null")).unwrap();
    let before = listing(&place.path().join("out"));
    let export = |to: &str| ["export", "--format", "csv", "run.trace", "-o", to].map(str::to_owned).to_vec();
    let svg = |to: &str| ["show", "run.trace", "--svg", to].map(str::to_owned).to_vec();
    let html = |to: &str| ["show", "run.trace", "--html", to].map(str::to_owned).to_vec();
    let init = |to: &str| ["--system", to, "init", "--force"].map(str::to_owned).to_vec();
    let all: [fn(&str) -> Vec<String>; 4] = [export, svg, html, init];
    for words in all {
        for name in ["out/null", "out/to_null", "out/to_file", "out/file"] {
            place.run(words(name)).expect(0);
        }
        let whole = std::fs::read(at("file")).unwrap();
        let fifo = at("fifo");
        let reader = std::thread::spawn(move || std::fs::read(fifo).unwrap());
        place.run(words("out/fifo")).expect(0);
        assert_eq!(String::from_utf8(reader.join().unwrap()), String::from_utf8(whole), "{:?}", words(""));
        if has_nodes {
            place.run(words("out/full")).expect(2).expect_err("cannot write out/full: No space left on device");
        }
        // A FIFO that is not read is waited for until Ctrl-C or SIGTERM.
        for name in ["INT", "TERM"] {
            let child = place.command(words("out/fifo")).process_group(0).spawn().unwrap();
            cli::wait_for("it listens for signals", || Ok(catches(child.id(), name).then_some(()))).unwrap();
            cli::signal(name, child.id());
            Done::within(cli::LIMIT, child).expect(130).expect_err("interrupted");
        }
        assert_eq!(listing(&place.path().join("out")), before);
    }
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o7777;
    std::fs::set_permissions(at("file"), std::fs::Permissions::from_mode(0o604)).unwrap();
    place.run(export("out/to_file")).expect(0);
    assert_eq!(mode(&at("file")), 0o604);
    for name in ["file.part", "file.new"] {
        assert_eq!(std::fs::read(at(name)).unwrap(), b"of another program");
    }
    // Manual pages, too.
    std::os::unix::fs::symlink("out/file", place.path().join("stillpoint.1")).unwrap();
    place.run(["man", "--dir", "."]).expect(0);
    assert!(place.path().join("stillpoint.1").is_symlink());
}

/// Whether a process handles a signal by now.
fn catches(process: u32, name: &str) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    let bits = caught.and_then(|bits| u64::from_str_radix(bits.trim(), 16).ok()).unwrap_or(0);
    bits & (1 << (if name == "INT" { 2 } else { 15 } - 1)) != 0
}

/// Runs a command that may use 1 GB of addresses, far less than a file without an end needs.
fn with_little_memory(place: &Place, words: &[&str]) -> Done {
    let mut command = Command::new("prlimit");
    command.arg("--as=1000000000").arg(env!("CARGO_BIN_EXE_stillpoint")).args(words).current_dir(place.path());
    command.env("STILLPOINT_STATE", place.path().join("state")).process_group(0);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    Done::within(cli::LIMIT / 4, command.spawn().unwrap())
}

#[test]
fn a_file_without_an_end_is_refused_whatever_it_is_read_as() {
    let place = Place::new();
    place.write_system("stillpoint.toml");
    let system = std::fs::read_to_string(place.path().join("stillpoint.toml")).unwrap();
    std::fs::write(place.path().join("zero.toml"), system.replace("firmware.elf", "/dev/zero")).unwrap();
    cli::recorded::record(&place.path().join("run.trace"), 1);
    assert!(Command::new("mkfifo").arg(place.path().join("fifo")).status().unwrap().success());
    for (words, why) in [
        (&["--system", "zero.toml", "flash"][..], "not a regular file"),
        (&["--system", "zero.toml", "status"], "not a regular file"),
        (&["--system", "/dev/zero", "status"], "not a regular file"),
        (&["--system", "fifo", "status"], "not a regular file"),
        (&["init", "--force", "--firmware", "/dev/zero"], "not a regular file"),
        (&["check", "/dev/zero", "run.trace"], "not a regular file"),
        (&["--from", "/dev/zero", "cut"], "not a regular file"),
        (&["show", "/dev/zero"], "is no trace"),
    ] {
        let done = with_little_memory(&place, words);
        let said = format!("{}{}", done.out, done.err);
        assert!(matches!(done.code, Some(1 | 2)) && said.contains(why), "{words:?}: {done:?}");
    }
    let boards: String = (0..10_000).map(|at| system.replace("\"A\"", &format!("\"b{at}\""))).collect();
    std::fs::write(place.path().join("many.toml"), boards).unwrap();
    for words in [&["--system", "many.toml", "status"][..], &["--system", "many.toml", "halt"]] {
        place.run(words).expect(2).expect_err("at most 32 nodes");
    }
}

#[test]
fn a_state_folder_that_others_can_write_to_is_refused() {
    let place = Place::new();
    place.write_system("stillpoint.toml");
    let state = place.path().join("state");
    place.run(["down"]).expect(0);
    assert_eq!(state.metadata().unwrap().permissions().mode() & 0o777, 0o700);
    for mode in [0o777, 0o770] {
        std::fs::set_permissions(&state, std::fs::Permissions::from_mode(mode)).unwrap();
        for words in ["down", "up", "doctor"] {
            let done = place.run([words]);
            let said = format!("{}{}", done.out, done.err);
            assert!(matches!(done.code, Some(1 | 2)), "{words}: {done:?}");
            assert!(said.contains("other users can write to") && said.contains("chmod 700"), "{words}: {done:?}");
        }
    }
}

#[test]
fn names_in_a_recording_that_a_terminal_would_obey_are_escaped() {
    let place = Place::new();
    let name = "so\u{1b}[2J\u{202e}lo \u{9b}31m";
    let node = stillpoint_trace::NodeInfo { id: 0, name: name.into(), ..Default::default() };
    cli::recorded::record_as(&place.path().join("run.trace"), 1, vec![node]);
    let is_hidden =
        |letter: char| letter != '\n' && (letter.is_control() || ('\u{202a}'..='\u{202e}').contains(&letter));
    for words in [
        &["show", "run.trace", "--most", "3"][..],
        &["show", "run.trace", "--diagram", "--most", "3"],
        &["show", "run.trace", "--graph", "program"],
        &["show", "run.trace", "--json"],
        &["trace", "info", "run.trace"],
        &["export", "--format", "csv", "run.trace", "-o", "-"],
        &["export", "--format", "shiviz", "run.trace", "-o", "-"],
        &["export", "--format", "json", "run.trace", "-o", "-"],
        &["check", "-e", "pred nobody:trace { x:trace }", "run.trace"],
    ] {
        let forced = Done::of(place.command(words).env("CLICOLOR_FORCE", "1").spawn().unwrap());
        let done = place.run(words);
        for text in [&done.out, &done.err] {
            assert!(!text.contains(is_hidden), "{words:?}: {text:?}");
        }
        assert!(!forced.out.contains("\u{1b}[2J") && !forced.err.contains("\u{1b}[2J"), "{words:?}: {forced:?}");
    }
    let json = place.run(["show", "run.trace", "--json"]).expect(0).json();
    assert_eq!(json["events"][0]["node"], name);
    place.run(["show", "run.trace", "--only", &format!("nodes={name}")]).expect(0);
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

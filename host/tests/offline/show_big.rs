//! Recordings that are large, or never end: `stillpoint show` and its kin without any board.
use crate::cli::recorded::{EVENTS_A_CHUNK, record};
use crate::cli::{self, Done, LIMIT, wait_for};
use std::fs::File;
use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tempfile::TempDir;

fn command(folder: &TempDir, words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_stillpoint"));
    command.args(words).current_dir(folder.path()).process_group(0);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// A pipe with a name, into which a recording is written that never ends, until its reader has gone.
fn endless(folder: &TempDir, name: &str) -> (PathBuf, Arc<AtomicUsize>) {
    let (path, sample) = (folder.path().join(name), folder.path().join("sample.trace"));
    let starts = record(&sample, 2);
    let bytes = std::fs::read(&sample).unwrap();
    std::fs::remove_file(&sample).unwrap();
    assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
    let written = Arc::new(AtomicUsize::new(0));
    let (pipe, count, last) = (path.clone(), written.clone(), starts[1] as usize);
    std::thread::spawn(move || {
        let mut pipe = File::options().write(true).open(pipe).unwrap();
        let end = bytes.len() - 17;
        let mut sent = pipe.write_all(&bytes[..last]);
        while sent.is_ok() {
            sent = pipe.write_all(&bytes[last..end]);
            count.fetch_add(1, Ordering::Relaxed);
        }
    });
    (path, written)
}

#[test]
fn ctrl_c_ends_whatever_reads_a_recording_before_it_is_read() {
    let folder = tempfile::tempdir().unwrap();
    for words in [
        &["show", "endless.trace"][..],
        &["show", "endless.trace", "--json"],
        &["export", "--format", "csv", "endless.trace", "-o", "out.csv"],
        &["diff", "endless.trace", "endless.trace"],
        &["races", "endless.trace"],
        &["check", "-e", "pred solo:trace { solo:trace }", "endless.trace"],
        &["detect", "solo:trace", "endless.trace"],
    ] {
        let (pipe, written) = endless(&folder, "endless.trace");
        let child = command(&folder, words).spawn().unwrap();
        // More than fits into a pipe: it is reading, and it would for ever.
        wait_for("it reads", || Ok((written.load(Ordering::Relaxed) > 20).then_some(()))).unwrap();
        cli::signal("INT", child.id());
        let done = Done::within(LIMIT, child).expect(130);
        done.expect_err("interrupted; nothing was changed");
        assert!(!folder.path().join("out.csv").exists(), "nothing half is left");
        std::fs::remove_file(pipe).unwrap();
    }
}

#[test]
fn a_long_recording_is_written_as_json_event_by_event() {
    let folder = tempfile::tempdir().unwrap();
    record(&folder.path().join("long.trace"), 50);
    let done = Done::of(command(&folder, &["show", "long.trace", "--json"]).spawn().unwrap()).expect(0);
    let events = done.json()["events"].as_array().expect("a list").len();
    assert_eq!(events, 50 * EVENTS_A_CHUNK as usize);
    let last = Done::of(command(&folder, &["show", "long.trace", "--from", "solo#50000"]).spawn().unwrap()).expect(0);
    last.expect_out("solo#50000");
    last.expect_out("... 49999 events before");
}

/// Where the time grew with the square of the length, this took many times the limit.
#[test]
fn a_model_of_sixty_thousand_lines_is_read_and_checked() {
    const STATEMENTS: u32 = 30_000;
    let folder = tempfile::tempdir().unwrap();
    record(&folder.path().join("run.trace"), 1);
    let statement = |tag: u32| format!("pred solo:trace({tag})\n    {{ solo:trace({}) }}\n", tag + 1);
    let model: String = (0..STATEMENTS).map(|number| statement(1000 + number % 20_000)).collect();
    std::fs::write(folder.path().join("long.model"), model).unwrap();
    let command = command(&folder, &["check", "long.model", "run.trace", "--json"]).spawn().unwrap();
    let checked = Done::within(LIMIT, command).expect(0).json();
    let checks = checked["checks"].as_array().expect("a list");
    // The last ones are for actions that had a statement already.
    assert_eq!(checks.len(), 20_000);
    let last = checks.last().unwrap();
    assert_eq!((last["place"].as_str(), &last["verdict"]), (Some("long.model:39999"), &"holds".into()), "{last}");
}

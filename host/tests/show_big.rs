//! Recordings that are large, or never end: `stillpoint show` and its kin without any board.
mod cli;

use cli::{Done, LIMIT, wait_for};
use std::fs::File;
use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use stillpoint_core::log::{LogRing, LogWriter, Recording, Standing};
use stillpoint_core::{Event, EventNumber, NodeId};
use stillpoint_trace::{Chunk, Header, NodeInfo, Writer};
use tempfile::TempDir;

const EVENTS_A_CHUNK: u32 = 1000;

/// A recording of one node in pieces of a thousand tracepoints. Says where each piece begins in the file.
fn record(path: &Path, chunks: u32) -> Vec<u64> {
    let node = NodeInfo { id: 0, name: "solo".into(), ..NodeInfo::default() };
    let header = Header { tool: "test".into(), system: "one node".into(), nodes: vec![node], ..Header::default() };
    let mut file = Writer::create(path, &header).unwrap();
    let (ring, mut log) = (LogRing::<65536>::new(), LogWriter::<1>::new());
    let (mut position, mut starts) = (0, Vec::new());
    for chunk in 0..chunks {
        for number in (1..=EVENTS_A_CHUNK).map(|event| chunk * EVENTS_A_CHUNK + event) {
            let (me, recording) = (NodeId(0), Recording::FULL);
            let standing = Standing { me, number: EventNumber(number), clock: &[number], counts: &[], recording };
            log.push(&ring, &Event::local(7), number, &standing);
        }
        let mut bytes = vec![0; 65536];
        let length = ring.peek(&mut bytes);
        bytes.truncate(length);
        ring.consume(length);
        starts.push(file.saved());
        file.log(&Chunk { node: 0, wall: u64::from(chunk), position, dropped: 0, bytes }).unwrap();
        position += length as u32;
    }
    file.end(u64::from(chunks)).unwrap();
    starts
}

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

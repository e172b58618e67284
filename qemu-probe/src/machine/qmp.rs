//! QEMU's control socket: commands, and events such as RESET.

use super::MachineError;
use super::socket::{AGAIN, is_interrupted};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::io::{ErrorKind, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// How long QEMU may take to answer. Normally it takes microseconds; the limit is for a busy computer.
pub(crate) const ANSWER_LIMIT: Duration = Duration::from_secs(5);

/// A client of the control socket.
#[derive(Debug)]
pub(crate) struct Qmp {
    stream: UnixStream,
    partial: Vec<u8>,
    events: VecDeque<Value>,
}

impl Qmp {
    /// Waits for the greeting, which QEMU sends when its machine is built.
    pub(crate) fn open(stream: UnixStream, limit: Duration) -> Result<Self, MachineError> {
        let mut qmp = Self { stream, partial: Vec::new(), events: VecDeque::new() };
        qmp.await_greeting(limit)?;
        qmp.execute_within(limit, "qmp_capabilities", json!({}))?;
        Ok(qmp)
    }

    /// A client that waits in QEMU's queue gets no greeting until the one before it has left.
    fn await_greeting(&mut self, limit: Duration) -> Result<(), MachineError> {
        let end = Instant::now() + limit;
        loop {
            let next = end.min(Instant::now() + AGAIN);
            match self.message("greeting", next, limit) {
                Err(MachineError::Silent { .. }) if is_interrupted() => return Err(MachineError::Interrupted),
                Err(MachineError::Silent { .. }) if Instant::now() < end => {}
                greeted => return greeted.map(drop),
            }
        }
    }

    /// Runs one command and returns its result.
    pub(crate) fn execute(&mut self, command: &str, arguments: Value) -> Result<Value, MachineError> {
        self.execute_within(ANSWER_LIMIT, command, arguments)
    }

    fn execute_within(&mut self, limit: Duration, command: &str, arguments: Value) -> Result<Value, MachineError> {
        let mut line = json!({ "execute": command, "arguments": arguments }).to_string();
        line.push('\n');
        self.stream.write_all(line.as_bytes()).map_err(lost(command))?;
        let end = Instant::now() + limit;
        loop {
            let mut message = self.message(command, end, limit)?;
            if message.get("event").is_some() {
                self.events.push_back(message);
            } else if let Some(error) = message.get("error") {
                let reason = error["desc"].as_str().unwrap_or("no reason given").to_owned();
                return Err(MachineError::Refused { what: command.into(), reason });
            } else {
                return Ok(message["return"].take());
            }
        }
    }

    /// Waits for an event of this name and returns its data; events before it are dropped.
    pub(crate) fn wait_for(&mut self, event: &str, limit: Duration) -> Result<Value, MachineError> {
        let end = Instant::now() + limit;
        loop {
            let mut message = match self.events.pop_front() {
                Some(message) => message,
                None => self.message(event, end, limit)?,
            };
            if message["event"] == event {
                return Ok(message["data"].take());
            }
        }
    }

    /// The next event that has arrived already.
    pub(crate) fn poll_event(&mut self) -> Result<Option<Value>, MachineError> {
        if self.events.is_empty() {
            match self.message("event", Instant::now(), Duration::ZERO) {
                Ok(message) => self.events.push_back(message),
                Err(MachineError::Silent { .. }) => {}
                Err(other) => return Err(other),
            }
        }
        Ok(self.events.pop_front())
    }

    fn message(&mut self, what: &str, end: Instant, limit: Duration) -> Result<Value, MachineError> {
        loop {
            if let Some(newline) = self.partial.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.partial.drain(..=newline).collect();
                if let Ok(message) = serde_json::from_slice(&line) {
                    return Ok(message);
                }
                continue;
            }
            let left = Timespec::try_from(end.saturating_duration_since(Instant::now())).unwrap_or_default();
            let ready = poll(&mut [PollFd::new(&self.stream, PollFlags::IN)], Some(&left));
            if ready.map_err(|e| lost(what)(e.into()))? == 0 {
                return Err(MachineError::Silent { what: what.into(), limit });
            }
            let mut chunk = [0; 4096];
            match self.stream.read(&mut chunk) {
                Ok(0) => return Err(lost(what)(ErrorKind::UnexpectedEof.into())),
                Ok(len) => self.partial.extend_from_slice(&chunk[..len]),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(lost(what)(error)),
            }
        }
    }
}

impl AsFd for Qmp {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

fn lost(what: &str) -> impl FnOnce(std::io::Error) -> MachineError {
    MachineError::io(format!("QEMU's control socket was lost during `{what}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn greeted() -> (Qmp, UnixStream) {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        theirs.write_all(b"{\"QMP\": {}}\r\n{\"return\": {}}\r\n").unwrap();
        (Qmp::open(ours, ANSWER_LIMIT).unwrap(), theirs)
    }

    #[test]
    fn an_event_that_arrives_before_the_answer_is_kept() {
        let (mut qmp, mut qemu) = greeted();
        qemu.write_all(b"{\"event\": \"RESET\", \"data\": {\"guest\": false}}\n{\"return\": {\"a\": 1}}\n").unwrap();
        assert_eq!(qmp.execute("system_reset", json!({})).unwrap()["a"], 1);
        assert_eq!(qmp.wait_for("RESET", Duration::ZERO).unwrap()["guest"], false);
    }

    #[test]
    fn a_refusal_carries_the_words_of_qemu() {
        let (mut qmp, mut qemu) = greeted();
        qemu.write_all(b"{\"error\": {\"class\": \"X\", \"desc\": \"no such thing\"}}\n").unwrap();
        let error = qmp.execute("fly", json!({})).unwrap_err();
        assert_eq!(error.to_string(), "QEMU refused `fly`: no such thing");
    }

    #[test]
    fn a_closed_socket_is_an_error_and_not_silence() {
        let (mut qmp, qemu) = greeted();
        drop(qemu);
        assert!(matches!(qmp.poll_event(), Err(MachineError::Io { .. })));
    }
}

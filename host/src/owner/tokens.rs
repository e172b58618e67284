//! Who may do what: control, commands to nodes, and boards that were handed over.
use super::wire::{Hello, Holder};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// A connection, by its number.
pub(super) type Connection = u64;

/// Something that one process has, by one or more of its connections.
#[derive(Debug)]
struct Held {
    by: Hello,
    since: Instant,
    connections: Vec<Connection>,
}

impl Held {
    fn holder(&self) -> Holder {
        Holder { hello: self.by.clone(), milliseconds: self.since.elapsed().as_millis() as u64 }
    }
}

/// One thing that one process at a time may have.
#[derive(Debug, Default)]
struct Token(Option<Held>);

impl Token {
    /// Who has it, unless that is this process.
    fn other(&self, process: u32) -> Option<Holder> {
        self.0.as_ref().filter(|held| held.by.process != process).map(Held::holder)
    }

    fn take(&mut self, by: &Hello, connection: Connection) {
        let held =
            self.0.get_or_insert_with(|| Held { by: by.clone(), since: Instant::now(), connections: Vec::new() });
        held.connections.push(connection);
    }

    /// Gives back what a connection took once.
    fn give_back(&mut self, connection: Connection) {
        if let Some(held) = &mut self.0
            && let Some(place) = held.connections.iter().position(|taken| *taken == connection)
        {
            held.connections.swap_remove(place);
            if held.connections.is_empty() {
                self.0 = None;
            }
        }
    }

    /// Gives back all that a connection took.
    fn forget(&mut self, connection: Connection) {
        if let Some(held) = &mut self.0 {
            held.connections.retain(|taken| *taken != connection);
            if held.connections.is_empty() {
                self.0 = None;
            }
        }
    }
}

#[derive(Debug, Default)]
struct Inner {
    control: Token,
    /// Whether whoever has control gives it up in a moment.
    is_brief: bool,
    /// Commanding nodes: a node has one place for commands, and numbers them from the last answer. Whoever has a board
    /// handed over has this, too, so that processes cannot wait for each other in a circle.
    commanding: Token,
    handed_over: HashMap<PathBuf, Connection>,
    clients: usize,
    idle_since: Option<Instant>,
}

/// Whether a process has not ended. One that has may not have been waited for by its parent.
fn is_there(process: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    // The name of the program, in parentheses, may hold anything.
    let state = stat.rsplit_once(')').and_then(|(_, fields)| fields.split_ascii_whitespace().next());
    state.is_some_and(|state| !matches!(state, "Z" | "X"))
}

/// All tokens of an owner. Every wait is bounded.
#[derive(Debug, Default)]
pub(super) struct Tokens {
    inner: Mutex<Inner>,
    changed: Condvar,
}

impl Tokens {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until nothing is in the way, or says who is after `limit`.
    fn wait<'a>(
        &'a self,
        limit: Duration,
        in_the_way: impl Fn(&Inner) -> Option<Holder>,
    ) -> Result<MutexGuard<'a, Inner>, Holder> {
        let until = Instant::now() + limit;
        let mut inner = self.lock();
        while let Some(holder) = in_the_way(&inner) {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(holder);
            }
            inner = self.changed.wait_timeout(inner, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        Ok(inner)
    }

    /// Takes control. A process that has it for a moment only is waited for, and so is what one that has ended leaves: this
    /// owner sees the end of a connection a while after its process has gone.
    pub fn control(&self, by: &Hello, connection: Connection, brief: bool, limit: Duration) -> Result<(), Holder> {
        let busy = |inner: &Inner| inner.control.other(by.process);
        let is_over_soon = {
            let inner = self.lock();
            let has_ended = busy(&inner).is_some_and(|holder| !is_there(holder.hello.process));
            has_ended || (inner.is_brief && !brief)
        };
        let mut inner = self.wait(if is_over_soon { limit } else { Duration::ZERO }, busy)?;
        inner.is_brief = brief && (inner.is_brief || inner.control.0.is_none());
        inner.control.take(by, connection);
        Ok(())
    }

    /// Keeps other processes from commanding nodes.
    pub fn command(&self, by: &Hello, connection: Connection, limit: Duration) -> Result<(), Holder> {
        self.wait(limit, |inner| inner.commanding.other(by.process))?.commanding.take(by, connection);
        Ok(())
    }

    /// Lets others command nodes.
    pub fn commanded(&self, connection: Connection) {
        self.lock().commanding.give_back(connection);
        self.changed.notify_all();
    }

    /// Reserves a board for a client.
    pub fn hand_over(&self, by: &Hello, connection: Connection, board: &Path, limit: Duration) -> Result<(), Holder> {
        let in_the_way = |inner: &Inner| {
            let same = inner.handed_over.contains_key(board).then(|| inner.commanding.0.as_ref().map(Held::holder));
            inner.commanding.other(by.process).or(same.flatten())
        };
        let mut inner = self.wait(limit, in_the_way)?;
        inner.commanding.take(by, connection);
        inner.handed_over.insert(board.to_owned(), connection);
        Ok(())
    }

    /// Waits until a board is not handed over.
    pub fn await_board(&self, board: &Path, limit: Duration) -> Result<(), Holder> {
        let in_the_way = |inner: &Inner| {
            inner.handed_over.contains_key(board).then(|| inner.commanding.0.as_ref().map(Held::holder)).flatten()
        };
        self.wait(limit, in_the_way).map(drop)
    }

    /// The board that a connection has, if one.
    pub fn has_board(&self, connection: Connection) -> bool {
        self.lock().handed_over.values().any(|by| *by == connection)
    }

    /// A client is there.
    pub fn enter(&self) {
        let mut inner = self.lock();
        inner.clients += 1;
        inner.idle_since = None;
    }

    /// A client is gone, in whatever way: everything it had is free.
    pub fn leave(&self, connection: Connection) {
        let mut inner = self.lock();
        inner.control.forget(connection);
        inner.commanding.forget(connection);
        inner.handed_over.retain(|_, by| *by != connection);
        inner.clients -= 1;
        if inner.clients == 0 {
            inner.idle_since = Some(Instant::now());
        }
        drop(inner);
        self.changed.notify_all();
    }

    /// Whether no client was there for so long.
    pub fn is_idle_for(&self, limit: Duration) -> bool {
        self.lock().idle_since.is_some_and(|since| since.elapsed() >= limit)
    }

    /// From now on no client is there.
    pub fn start(&self) {
        self.lock().idle_since = Some(Instant::now());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(process: u32) -> Hello {
        Hello { process, command: format!("command {process}") }
    }

    const NOW: Duration = Duration::ZERO;

    #[test]
    fn a_second_controller_is_told_who_controls_and_the_death_of_the_first_frees_it() {
        let tokens = Tokens::default();
        tokens.enter();
        tokens.control(&client(1), 10, false, NOW).unwrap();
        tokens.control(&client(1), 11, false, NOW).expect("the same process, once more");
        assert_eq!(tokens.control(&client(2), 20, false, Duration::from_secs(60)).unwrap_err().hello, client(1));
        tokens.enter();
        tokens.leave(10);
        assert_eq!(tokens.control(&client(2), 20, false, NOW).unwrap_err().hello, client(1), "one of two has ended");
        tokens.leave(11);
        tokens.control(&client(2), 20, false, NOW).unwrap();
    }

    #[test]
    fn a_brief_controller_is_waited_for_and_waits_for_nobody() {
        let tokens = Tokens::default();
        tokens.enter();
        tokens.control(&client(1), 10, true, NOW).unwrap();
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| tokens.control(&client(2), 20, false, Duration::from_secs(60)));
            tokens.leave(10);
            waiting.join().unwrap().unwrap();
        });
        tokens.control(&client(1), 12, true, Duration::from_secs(60)).unwrap_err();
    }

    /// Its connection is still there when the next command asks, as on a busy computer.
    #[test]
    fn a_controller_that_has_ended_is_waited_for_and_one_that_has_not_is_named() {
        let tokens = Tokens::default();
        let long = Duration::from_secs(60);
        for brief in [false, true] {
            let mut first = std::process::Command::new("sleep").arg("600").spawn().unwrap();
            tokens.enter();
            tokens.control(&client(first.id()), 10, false, NOW).unwrap();
            let refused = tokens.control(&client(2), 20, brief, long).unwrap_err();
            assert_eq!(refused.hello, client(first.id()));
            first.kill().unwrap();
            // Its parent has not waited for it: it is a zombie.
            while is_there(first.id()) {
                std::thread::yield_now();
            }
            let (limit, began) = (Duration::from_millis(50), Instant::now());
            tokens.control(&client(2), 20, brief, limit).unwrap_err();
            assert!(began.elapsed() >= limit, "refused at once");
            std::thread::scope(|scope| {
                let waiting = scope.spawn(|| tokens.control(&client(2), 20, brief, long));
                tokens.leave(10);
                waiting.join().unwrap().unwrap();
            });
            first.wait().unwrap();
            assert!(!is_there(first.id()));
            tokens.enter();
            tokens.leave(20);
        }
    }

    #[test]
    fn commands_of_two_processes_exclude_each_other_and_a_process_may_command_several_nodes() {
        let tokens = Tokens::default();
        tokens.command(&client(1), 10, NOW).unwrap();
        tokens.command(&client(1), 11, NOW).unwrap();
        tokens.commanded(10);
        assert_eq!(tokens.command(&client(2), 20, NOW).unwrap_err().hello, client(1), "one of two is answered");
        tokens.commanded(11);
        tokens.command(&client(2), 20, NOW).unwrap();
    }

    #[test]
    fn a_board_that_was_handed_over_is_closed_to_others_until_its_client_is_gone() {
        let (tokens, board) = (Tokens::default(), Path::new("A.lock"));
        tokens.enter();
        tokens.command(&client(2), 20, NOW).unwrap();
        tokens.hand_over(&client(1), 10, board, NOW).expect_err("a command is under way");
        tokens.commanded(20);
        tokens.hand_over(&client(1), 10, board, NOW).unwrap();
        assert_eq!(tokens.await_board(board, NOW).unwrap_err().hello, client(1));
        tokens.await_board(Path::new("B.lock"), NOW).unwrap();
        tokens.command(&client(2), 20, NOW).unwrap_err();
        tokens.leave(10);
        tokens.await_board(board, NOW).unwrap();
        tokens.command(&client(2), 20, NOW).unwrap();
    }
}

//! A command that hangs fails its test; it does not keep all tests from ending.
use std::process::{Child, Command};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// Kills a process, and its group if it leads one, when it takes longer than it may. Does nothing once it is dropped.
pub struct Watchdog {
    end: Sender<()>,
    watch: JoinHandle<bool>,
}

impl Watchdog {
    /// Over this process, from now on.
    pub fn over(child: &Child, limit: Duration) -> Self {
        let (process, (end, ended)) = (child.id(), channel());
        let watch = std::thread::spawn(move || {
            let bites = ended.recv_timeout(limit) == Err(RecvTimeoutError::Timeout);
            if bites {
                // The group first: who is alone in it is in no group of that number, and is named second.
                let _ = Command::new("kill").args(["-KILL", "--", &format!("-{process}")]).output();
                let _ = Command::new("kill").args(["-KILL", &process.to_string()]).output();
            }
            bites
        });
        Self { end, watch }
    }

    /// Whether it had to. Call it when the process has ended.
    pub fn has_bitten(self) -> bool {
        drop(self.end);
        self.watch.join().expect("it only waits")
    }
}

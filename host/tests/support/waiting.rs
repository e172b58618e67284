//! Waiting for a state, never for a length of time.
#![allow(dead_code, reason = "each test uses a part of it")]
use std::fmt::Display;
use std::time::{Duration, Instant};

/// Longer than anything takes on a machine that has other things to do. Only what never comes takes as long.
pub const LIMIT: Duration = Duration::from_secs(120);

/// Between two looks the computer is left to whoever is waited for; nothing depends on how long that is.
const PAUSE: Duration = Duration::from_millis(5);

/// Looks again and again until what is waited for is there.
pub fn wait_for<T>(what: impl Display, mut look: impl FnMut() -> anyhow::Result<Option<T>>) -> anyhow::Result<T> {
    let until = Instant::now() + LIMIT;
    loop {
        if let Some(found) = look()? {
            return Ok(found);
        }
        anyhow::ensure!(Instant::now() < until, "not within {LIMIT:?}: {what}");
        std::thread::sleep(PAUSE);
    }
}

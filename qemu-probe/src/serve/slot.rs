//! The place of the one client that is served.

use std::net::SocketAddr;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::Duration;

#[derive(Debug, Default)]
pub(super) struct Slot {
    holder: Mutex<Option<SocketAddr>>,
    free: Condvar,
}

/// Held by the client that is served; free again when dropped.
pub(super) struct Place(Arc<Slot>);

impl Slot {
    /// Takes the place, waiting at most `patience` for it; else the address of the client that has it.
    pub(super) fn take(self: &Arc<Self>, client: SocketAddr, patience: Duration) -> Result<Place, SocketAddr> {
        let waited = self.free.wait_timeout_while(self.lock(), patience, |holder| holder.is_some());
        let (mut holder, _) = waited.unwrap_or_else(|poisoned| poisoned.into_inner());
        match *holder {
            Some(other) => Err(other),
            None => {
                *holder = Some(client);
                Ok(Place(self.clone()))
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<SocketAddr>> {
        self.holder.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        *self.0.lock() = None;
        self.0.free.notify_one();
    }
}

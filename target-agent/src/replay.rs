//! What else is not determined by a program's messages: recorded only while the node records for replay.
//!
//! Task polls come from embassy-executor's trace hooks, timers and clock reads from the time driver, empty receives and full
//! sends from the ports, and inputs from [`input!`](crate::input).
use crate::per_core::PerCore;
use crate::platform::{MAX_CORES, Platform};
use core::cell::Cell;
use stillpoint_core::Event;

/// Somebody who records what is told to him, if he records for replay at all.
pub trait Observer: Sync {
    /// Something happened on the calling core.
    fn observe(&self, event: Event);
}

/// The observer of each core. A platform has one of these.
pub struct Observers<P>(PerCore<P, Cell<Option<&'static dyn Observer>>>);

impl<P: Platform> Observers<P> {
    /// Nobody observes.
    #[must_use]
    pub const fn new() -> Self {
        Self(PerCore::new([const { Cell::new(None) }; MAX_CORES]))
    }

    /// Who observes the calling core from now on.
    pub fn set(&self, observer: &'static dyn Observer) {
        self.0.with(|cell| cell.set(Some(observer)));
    }

    /// Tells the observer of the calling core.
    pub fn tell(&self, event: Event) {
        if let Some(observer) = self.0.with(Cell::get) {
            observer.observe(event);
        }
    }
}

impl<P: Platform> Default for Observers<P> {
    fn default() -> Self {
        Self::new()
    }
}

/// The number by which a record names a task: its address in words, of which the ELF knows the symbol.
#[must_use]
pub const fn task_number(task: u32) -> u16 {
    (task >> 2) as u16
}

/// What embassy-executor asks whoever traces it to define.
#[cfg(all(feature = "mps2-an521", target_os = "none"))]
mod hooks {
    use crate::platform::{Chip, Platform as _};
    use stillpoint_core::{Event, EventKind};

    #[unsafe(no_mangle)]
    fn _embassy_trace_task_exec_begin(_executor: u32, task: u32) {
        Chip::observe(Event::new(EventKind::Poll, super::task_number(task)));
    }

    macro_rules! nothing {
        ($($name:ident($($argument:ident),*);)*) => {
            $(#[unsafe(no_mangle)] fn $name($($argument: u32),*) {})*
        };
    }
    nothing! {
        _embassy_trace_poll_start(_executor);
        _embassy_trace_executor_idle(_executor);
        _embassy_trace_task_new(_executor, _task);
        _embassy_trace_task_end(_executor, _task);
        _embassy_trace_task_exec_end(_executor, _task);
        _embassy_trace_task_ready_begin(_executor, _task);
    }
}

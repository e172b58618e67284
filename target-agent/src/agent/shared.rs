//! Shared objects: their events, and what a race does.
use super::{Agent, Agents, OpenError};
use crate::agent::local::Local;
use crate::name::Name;
use crate::platform::{MAX_CORES, Platform};
use crate::shared::{Accesses, Shared, SharedHandle};
use stillpoint_core::log::LogRing;
use stillpoint_core::shared::{Access, SharedObject};
use stillpoint_core::{Phase, Then};

/// The races that a node found.
#[derive(Clone, Copy, Default)]
pub(super) struct Races {
    count: u32,
    /// The watch that shows how many.
    watch: Option<u8>,
}

impl Races {
    pub const NONE: Self = Self { count: 0, watch: None };
}

impl<P: Platform, const N: usize, const PORTS: usize, const LOG: usize> Agent<P, N, PORTS, LOG> {
    /// Makes an object accessible that cores of this board share: `agent.share(name!(shared "totals"), &TOTALS)`.
    ///
    /// Each core may do it for itself; the first name is the object's. Accesses before the node starts are no events.
    pub fn share<T: Send>(&self, name: Name, shared: &'static Shared<T>) -> SharedHandle<T> {
        SharedHandle::open(shared, self.agents, name)
    }

    /// The log of this core.
    #[cfg(test)]
    pub(crate) fn log(&self) -> &'static LogRing<LOG> {
        &self.agents.shared.logs[self.core.index()]
    }

    /// Counts the races that this node finds in a watch, so that a breakpoint can wait for one: `left0.races > 0`.
    ///
    /// `agent.watch_races(name!(watch "races"))`. With event stamps none are found on the target.
    ///
    /// # Errors
    /// All watches of the node are taken.
    pub fn watch_races(&self, name: Name) -> Result<(), OpenError> {
        let watch = self.watch(name)?;
        self.agents.local.rarely(|local| local.races.watch = Some(watch.number));
        Ok(())
    }
}

impl<const N: usize, const PORTS: usize> Local<N, PORTS> {
    /// An access, which is an event once the node has started; and if it is a race, the event that says so.
    fn access<P: Platform, const LOG: usize>(
        &mut self,
        ring: &LogRing<LOG>,
        object: &mut SharedObject<MAX_CORES>,
        access: Access,
    ) -> Then {
        if self.node.phase() == Phase::Starting {
            return Then::Continue;
        }
        let Ok((effects, accessed)) = self.node.access(object, access) else {
            self.count_refused();
            return Then::Continue;
        };
        let then = self.settle_all::<P, LOG>(ring, effects).unwrap_or(Then::Continue);
        if !accessed.is_race() {
            return then;
        }
        self.races.count = self.races.count.saturating_add(1);
        match self.races.watch {
            // A node that halts at the access itself says it next time.
            Some(watch) if self.node.phase() == Phase::Running => {
                self.watch::<P, LOG>(ring, watch, self.races.count as i32).unwrap_or(then)
            }
            _ => then,
        }
    }
}

impl<P: Platform, const N: usize, const PORTS: usize, const LOG: usize> Accesses for Agents<P, N, PORTS, LOG> {
    fn access(&self, object: &mut SharedObject<MAX_CORES>, access: Access) -> Then {
        self.local.rarely(|local| local.access::<P, LOG>(self.ring(), object, access))
    }

    fn settle(&self, then: Then) {
        if then != Then::Continue {
            self.section(|_| ((), then));
        }
    }
}

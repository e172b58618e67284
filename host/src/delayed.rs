//! Delayed halts: stopping one node alone, while the others run until they would interact with it.
use crate::{NodeAddress, Port, System, SystemError};
use std::time::{Duration, Instant};
use stillpoint_core::Command;
use stillpoint_core::control::StateCode;

impl System {
    /// Stops one node alone and waits until it stands still. Calls into it wait, and their timeouts stand still with it.
    ///
    /// Returns the ports that this does not protect: what goes through them are plain messages, and who waits for one of
    /// those with a timeout of its own finds it late. Use [`System::halt`] where that matters.
    pub fn suspend(&mut self, at: NodeAddress, limit: Duration) -> Result<Vec<Port>, SystemError> {
        self.command(at, &Command::Suspend)?;
        self.wait_for_state(at, StateCode::Suspended, "standing still", limit)?;
        self.unprotected(at)
    }

    /// Lets a node go on that [`System::suspend`] stopped, and waits until it does.
    pub fn resume_one(&mut self, at: NodeAddress, limit: Duration) -> Result<(), SystemError> {
        self.command(at, &Command::Continue)?;
        self.wait_for_state(at, StateCode::Running, "running", limit)
    }

    /// The ports of a node that a delayed halt of it cannot protect: those that do not carry calls.
    pub fn unprotected(&mut self, at: NodeAddress) -> Result<Vec<Port>, SystemError> {
        let node = self.node(at)?;
        Ok(node.ports.into_iter().filter(|port| !port.is_rpc).collect())
    }

    fn wait_for_state(
        &mut self,
        at: NodeAddress,
        state: StateCode,
        what: &'static str,
        limit: Duration,
    ) -> Result<(), SystemError> {
        let until = Instant::now() + limit;
        loop {
            let node = self.node(at)?;
            if node.state == Some(state) {
                return Ok(());
            }
            if Instant::now() > until {
                return Err(SystemError::TimeOut { waiting: vec![self.node_name(at)], what, limit });
            }
            std::thread::yield_now();
        }
    }
}

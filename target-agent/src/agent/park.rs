//! Where a core stands still.

/// Keeps the calling core here, interrupts masked, until the agent says that it may go on.
///
/// The name is stable. A host that wants the core to stop in debug state sets a hardware breakpoint on it; without a
/// probe the core parks here and answers through its control block. Its links and lanes are served meanwhile, and it
/// sleeps when there is nothing to serve.
#[unsafe(no_mangle)]
#[inline(never)]
pub fn stillpoint_park(agent: &dyn ParkedAgent) {
    loop {
        let has_more = agent.serve();
        if agent.is_over() {
            return;
        }
        if !has_more {
            agent.sleep();
        }
    }
}

/// An agent whose core is parked.
pub trait ParkedAgent {
    /// Serves links, lanes and the host once. True when there may be more to do at once.
    fn serve(&self) -> bool;
    /// Whether the park is over.
    fn is_over(&self) -> bool;
    /// Sleeps until there may be something to serve.
    fn sleep(&self);
}

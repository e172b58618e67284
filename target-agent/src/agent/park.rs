//! Where a core stands still.

/// Keeps the calling core here, interrupts masked, until the agent says that it may go on.
///
/// The name is stable. A host that wants the core to stop in debug state sets a hardware breakpoint on it; without a
/// probe the core parks here and answers through its control block. Its links and lanes are served meanwhile.
#[unsafe(no_mangle)]
#[inline(never)]
pub fn stillpoint_park(agent: &dyn ParkedAgent) {
    while !agent.is_over() {
        pause();
    }
}

/// A core that looks at its peripherals without a pause keeps the others from the bus they share.
pub(super) fn pause() {
    (0..PAUSE).for_each(|_| core::hint::spin_loop());
}

/// How often a parked core spins between two looks: some microseconds.
const PAUSE: u32 = 200;

/// An agent whose core is parked.
pub trait ParkedAgent {
    /// Serves links, lanes and the host once. True when the park is over.
    fn is_over(&self) -> bool;
}

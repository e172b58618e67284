//! One linked predicate, `first: tracepoint 1 -> second: tracepoint 2`, and what it must do.
use super::{System, Violation};
use stillpoint_core::predicate::{Detector, Generation, ProgramBuilder, SlotId};
use stillpoint_core::{Command, EventKind, EventNumber};

/// A linked predicate that is armed on every node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Linked {
    /// Who looks for tracepoint 1, and who then for tracepoint 2.
    pub nodes: (usize, usize),
    detector: Detector,
    /// The event that satisfied the first stage.
    first: Option<EventNumber>,
    fired: bool,
}

impl<const N: usize, const S: usize> System<N, S> {
    /// Arms `first: tracepoint 1 -> second: tracepoint 2`: installs it everywhere, then enables it.
    pub fn arm(&mut self, first: usize, second: usize, detector: Detector) -> Result<(), Violation> {
        let (slot, generation) = (SlotId::ALL[0], Generation(1));
        for node in 0..N {
            let mut builder = ProgramBuilder::new(2);
            for (stage, who) in [(1, first), (2, second)] {
                if who == node {
                    builder = builder.push_event_term(stage, 1, EventKind::Local, Some(stage.into()));
                }
            }
            let program = builder.finish().expect("two terms fit");
            let program = program.as_bytes();
            self.command(node, Command::Install { slot, generation, detector, program })?;
        }
        for node in 0..N {
            self.command(node, Command::Enable { slot, generation })?;
        }
        self.linked = Some(Linked { nodes: (first, second), detector, first: None, fired: false });
        Ok(())
    }

    /// The causal detector fires at the first tracepoint 2 that the first tracepoint 1 really happened before.
    pub(super) fn check_linked(&mut self, node: usize, tag: u16, fired: bool) -> Result<(), Violation> {
        let Some(linked) = &mut self.linked else { return Ok(()) };
        let (first, second) = linked.nodes;
        let clock = &self.reference.state(node).clock;
        let knows = linked.first.is_some_and(|number| !number.is_newer_than(EventNumber(clock[first])));
        let must_fire = node == second && tag == 2 && knows && !linked.fired;
        if node == first && tag == 1 && linked.first.is_none() {
            linked.first = Some(EventNumber(clock[first]));
        }
        linked.fired |= fired;
        if linked.detector == Detector::Causal && must_fire != fired {
            return Err(Violation::Predicate(node));
        }
        Ok(())
    }
}

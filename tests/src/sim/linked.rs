//! One linked predicate, `first: tracepoint 1 -> second: tracepoint 2`, and what it must do.
use super::{System, Violation};
use stillpoint_core::predicate::{Detector, Generation, ProgramBuilder, SlotId};
use stillpoint_core::{Command, EventKind, EventNumber, PortSet};

/// A linked predicate that is armed on every node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Linked {
    /// Who looks for tracepoint 1, and who then for tracepoint 2.
    pub nodes: (usize, usize),
    detector: Detector,
    /// The event that satisfied the first stage.
    first: Option<EventNumber>,
    /// A predicate marker told the second node of it.
    heard: bool,
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
            self.command(node, Command::Enable { slot, generation, silent: PortSet::EMPTY })?;
        }
        self.linked =
            Some(Linked { nodes: (first, second), detector, first: None, heard: first == second, fired: false });
        Ok(())
    }

    /// A predicate marker arrives.
    pub(super) fn hear_stage(&mut self, node: usize, stage: u8) {
        if let Some(linked) = self.linked.as_mut().filter(|linked| linked.nodes.1 == node && stage == 1) {
            linked.heard = true;
        }
    }

    /// With everything delivered, whoever looks for the second stage knows of the first.
    pub(super) fn check_heard(&self) -> Result<(), Violation> {
        match self.linked {
            Some(Linked { nodes: (_, second), detector: Detector::Marker, first: Some(_), heard: false, .. }) => {
                Err(Violation::Predicate(second))
            }
            _ => Ok(()),
        }
    }

    /// The causal detector fires at the first tracepoint 2 that the first tracepoint 1 really happened before; the
    /// marker detector of the paper (section 3.6) at the first after the predicate marker came.
    pub(super) fn check_linked(&mut self, node: usize, tag: u16, fired: bool) -> Result<(), Violation> {
        let Some(linked) = &mut self.linked else { return Ok(()) };
        let (first, second) = linked.nodes;
        let clock = &self.reference.state(node).clock;
        let is_before = |number: EventNumber| !number.is_newer_than(EventNumber(clock[first]));
        let knows = linked.first.is_some_and(|number| match linked.detector {
            Detector::Causal | Detector::Simultaneous => is_before(number),
            Detector::Marker => linked.heard,
        });
        let must_fire = node == second && tag == 2 && knows && !linked.fired;
        if node == first && tag == 1 && linked.first.is_none() {
            linked.first = Some(EventNumber(clock[first]));
        }
        linked.fired |= fired;
        if must_fire == fired { Ok(()) } else { Err(Violation::Predicate(node)) }
    }
}

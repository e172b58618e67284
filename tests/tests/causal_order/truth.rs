//! The true order of a simulated run, by the slow and obvious way.
use std::collections::BTreeMap;
use stillpoint_core::EventNumber;
use stillpoint_tests::sim::{Happened, Recorded};

/// For each event, by node and number, everything that happened before it: what happened on its node before, resets or
/// not, and what led to the message that it took.
pub struct Truth(BTreeMap<Id, (Vec<u32>, Option<Id>)>);

/// An event: its node and its number.
type Id = (usize, u32);

impl Truth {
    pub fn of(recorded: &Recorded) -> Self {
        let mut truth = Self(BTreeMap::new());
        let nodes = recorded.history.len();
        let mut done = vec![0; nodes];
        while (0..nodes).any(|node| done[node] < recorded.history[node].len()) {
            let before = done.clone();
            for (node, done) in done.iter_mut().enumerate() {
                while let Some(happened) = recorded.history[node].get(*done) {
                    let previous = done.checked_sub(1).map(|at| recorded.history[node][at].clock[node]);
                    let Some(clock) = truth.join(node, happened, previous) else { break };
                    truth.0.insert((node, happened.clock[node]), (clock, happened.partner));
                    *done += 1;
                }
            }
            assert_ne!(before, done, "what happened has an order");
        }
        truth
    }

    /// All before an event, if all before its causes is known.
    fn join(&self, node: usize, happened: &Happened, previous: Option<u32>) -> Option<Vec<u32>> {
        let mut all = vec![0; happened.clock.len()];
        all[node] = happened.clock[node];
        for cause in previous.map(|number| (node, number)).into_iter().chain(happened.partner) {
            for (mine, theirs) in all.iter_mut().zip(self.clock(cause.0, cause.1)?) {
                if EventNumber(*theirs).is_newer_than(EventNumber(*mine)) {
                    *mine = *theirs;
                }
            }
        }
        Some(all)
    }

    /// What the node of an event knew then: nothing of what it knew before a reset.
    pub fn known(recorded: &Recorded, node: usize, number: u32) -> Option<&[u32]> {
        let happened = recorded.history[node].iter().find(|happened| happened.clock[node] == number);
        happened.map(|happened| happened.clock.as_slice())
    }

    pub fn clock(&self, node: usize, number: u32) -> Option<&[u32]> {
        self.0.get(&(node, number)).map(|(clock, _)| clock.as_slice())
    }

    /// The event that sent the message that an event took.
    pub fn partner(&self, node: usize, number: u32) -> Option<Id> {
        self.0.get(&(node, number))?.1
    }
}

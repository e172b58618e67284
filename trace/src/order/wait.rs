//! Who waits for whom, who goes on, and who must when several wait for each other.
use super::CausalOrder;
use super::clock::newer;
use super::node::Wait;
use super::queue::Front;
use crate::{EventId, Note, Why};

impl CausalOrder {
    /// A node waits. Says who goes on nevertheless.
    pub(super) fn suspend(&mut self, node: usize, wait: Wait) -> u32 {
        self.nodes[node].wait = Some(wait);
        match wait {
            Wait::Message { channel, after: Some(_), .. } => {
                self.channels[channel].waiter = 1 << node;
                self.patient += 1;
            }
            _ => self.waiters[usize::from(wait.node())] |= 1 << node,
        }
        self.break_cycle(node)
    }

    /// A node does not wait any longer. Says for what it did.
    pub(super) fn release(&mut self, node: usize) -> Option<Wait> {
        let wait = self.nodes[node].wait.take()?;
        match wait {
            Wait::Message { channel, after: Some(_), .. } => {
                self.channels[channel].waiter = 0;
                self.patient -= 1;
            }
            _ => self.waiters[usize::from(wait.node())] &= !(1 << node),
        }
        Some(wait)
    }

    /// Those waiting for a node who may have what they wait for. They wait no longer.
    pub(super) fn awoken(&mut self, node: u8) -> u32 {
        if self.waiters[usize::from(node)] == 0 && self.patient == 0 {
            return 0;
        }
        let state = &self.nodes[usize::from(node)];
        let channels = state.ports.iter().filter(|port| port.out).filter_map(|port| port.channel);
        let patient = channels.fold(0, |all, channel| all | self.channels[channel].waiter);
        let mut waiters = self.waiters[usize::from(node)] | patient;
        let mut awoken = 0;
        while waiters != 0 {
            let waiter = waiters.trailing_zeros() as usize;
            waiters &= waiters - 1;
            let goes_on = match self.nodes[waiter].wait {
                Some(Wait::Event { node, number }) => self.has_passed(usize::from(node), number),
                Some(Wait::Message { node, channel, after: Some(count) }) => {
                    self.nodes[usize::from(node)].is_done() || !self.channels[channel].stands_at(count)
                }
                Some(Wait::Message { .. }) | None => true,
            };
            if goes_on {
                self.release(waiter);
                awoken |= 1 << waiter;
            }
        }
        awoken
    }

    /// Whether every recorded event of a node up to `number` was delivered, or none will be.
    pub(super) fn has_passed(&self, node: usize, number: u32) -> bool {
        let state = &self.nodes[node];
        state.is_done() || state.passed().is_some_and(|passed| !newer(number, passed))
    }

    /// Lets one of several nodes that wait for each other go on, if there are such: they would wait for ever. Says which.
    ///
    /// A receive may wait for a send that was not recorded; if none does, the logs contradict each other.
    fn break_cycle(&mut self, node: usize) -> u32 {
        let (mut at, mut met) = (node, 0_u32);
        loop {
            met |= 1 << at;
            let Some(wait) = self.nodes[at].wait else { return 0 };
            at = usize::from(wait.node());
            if at == node {
                break;
            }
            if met >> at & 1 != 0 {
                return 0;
            }
        }
        self.break_cycle_of(node)
    }

    #[cold]
    fn break_cycle_of(&mut self, node: usize) -> u32 {
        let next = |at: &usize| self.nodes[*at].wait.map(|wait| usize::from(wait.node())).filter(|at| *at != node);
        let path: Vec<usize> = std::iter::successors(Some(node), next).collect();
        let lacks = |waiter: &&usize| match self.nodes[**waiter].wait {
            // A reset takes with it what was not read of the life before, sends among it.
            Some(Wait::Message { node, .. }) => {
                self.nodes[usize::from(node)].may_lack_sends() || !self.lives[usize::from(node)].is_empty()
            }
            _ => false,
        };
        let lacking: Vec<usize> = path.iter().filter(lacks).copied().collect();
        let (chosen, why): (usize, fn(u8) -> Why) = match lacking.first() {
            Some(chosen) => (*chosen, Why::NotRecorded),
            None => {
                let next = |node: &usize| match self.nodes[*node].queue.front()? {
                    Front::Record(record) => Some(EventId { node: *node as u8, number: record.number.0 }),
                    Front::Other(_) => None,
                };
                self.notes.push(Note::Cycle { events: path.iter().filter_map(next).collect() });
                (node, Why::Damage)
            }
        };
        let on = self.nodes[chosen].wait.map_or(chosen as u8, Wait::node);
        (self.nodes[chosen].forced, self.nodes[chosen].plain) = (Some(why(on)), false);
        // If nothing else in the circle is in doubt the other's next record comes after the one that goes on, and so after what
        // that one lacks: a recording that begins late would otherwise never know its past.
        let until = self.nodes.get(usize::from(on)).and_then(super::node::Node::next);
        self.nodes[chosen].forced_until = until.filter(|_| lacking.len() == 1);
        1 << chosen
    }
}

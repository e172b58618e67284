//! Who goes on when something was read, and how far.
use super::node::Wait;
use super::plain::Progress;
use super::queue::Front;
use super::{CausalOrder, Sink};
use crate::Why;
use stillpoint_core::log::Record;

impl CausalOrder {
    /// After `progress` with records that were read, of which these are left: others may go on, or this node in another way.
    #[inline(never)]
    pub(super) fn go_on<F: Sink + ?Sized>(
        &mut self,
        node: u8,
        wall: u64,
        left: &[Record],
        progress: Progress,
        each: &mut F,
    ) {
        if !left.is_empty() {
            self.nodes[usize::from(node)].queue.push_records(wall, left);
        }
        // First whoever waits for this node no longer: else they would seem to wait for each other.
        let mut ready = self.told(node, progress.awoken);
        if let Some(next) = left.first() {
            // A node that is not plain goes the long way with all that it has.
            let wait = if self.nodes[usize::from(node)].plain { self.wait_of(usize::from(node), next) } else { None };
            ready |= match wait {
                Some(wait) => self.suspend(usize::from(node), wait),
                None => 1 << node,
            };
        }
        if ready != 0 {
            self.run(ready, each);
        }
    }

    /// Something was put into the queue of a node that is no record.
    #[inline(never)]
    pub(super) fn begin<F: Sink + ?Sized>(&mut self, node: u8, each: &mut F) {
        let state = &mut self.nodes[usize::from(node)];
        state.seen = true;
        if state.queue.len() == 1 {
            let ready = 1 << node | self.awoken(node);
            self.run(ready, each);
        }
    }

    /// Those who have what they waited for, after events of a node: of the messages among them, and of the events. They
    /// wait no longer.
    #[inline(always)]
    fn told(&mut self, node: u8, messages: u32) -> u32 {
        let mut left = messages;
        while left != 0 {
            self.release(left.trailing_zeros() as usize);
            left &= left - 1;
        }
        if self.waiters[usize::from(node)] == 0 { messages } else { messages | self.awoken(node) }
    }

    /// Delivers whatever can be, beginning with these nodes.
    pub(super) fn run<F: Sink + ?Sized>(&mut self, mut ready: u32, each: &mut F) {
        while ready != 0 {
            let node = ready.trailing_zeros();
            ready &= ready - 1;
            ready |= self.advance(node as usize, each);
        }
    }

    /// Delivers what a node has, up to something that must wait. Says who may go on then.
    fn advance<F: Sink + ?Sized>(&mut self, node: usize, each: &mut F) -> u32 {
        if node >= self.nodes.len() {
            return 0;
        }
        if self.nodes[node].wait.is_some() {
            self.release(node);
        }
        let mut awoken = 0;
        loop {
            if self.nodes[node].plain
                && let Some(wait) = self.drain_plain(node, &mut awoken, each)
            {
                return awoken | self.suspend(node, wait);
            }
            let state = &mut self.nodes[node];
            if state.queue.is_empty() && !state.ended {
                return awoken;
            }
            match state.queue.front() {
                None if state.ended => return awoken | self.awoken(node as u8),
                None => return awoken,
                Some(Front::Record(record)) => {
                    let (record, wall) = (*record, state.queue.wall().unwrap_or(0));
                    let forced = state.forced.take();
                    let is_news = state.sync.is_some() && !state.announced;
                    match self.deliver(node, record, wall, forced, &mut |event, clock| each(event, clock)) {
                        Ok(()) => self.nodes[node].queue.pop_record(),
                        Err(wait) => {
                            // What the sync record before it says may be what others wait for.
                            awoken |= if is_news { self.awoken(node as u8) } else { 0 };
                            return awoken | self.suspend(node, wait);
                        }
                    }
                }
                Some(Front::Other(_)) => {
                    if let Some(item) = state.queue.pop_other() {
                        self.take(node, item);
                    }
                }
            }
            // Only who goes on wakes others: two that wait for each other do not.
            awoken |= self.awoken(node as u8);
        }
    }

    /// Delivers what can go the quick way, up to something that cannot, or that must wait: says for what.
    fn drain_plain<F: Sink + ?Sized>(&mut self, node: usize, awoken: &mut u32, each: &mut F) -> Option<Wait> {
        // Out of its place, so that records need not be copied; nobody asks for it before it is back.
        while let Some(run) = self.nodes[node].queue.take_run() {
            let progress = self.deliver_plain(node, run.records(), run.wall, each);
            let next = run.records().get(progress.delivered).copied();
            self.nodes[node].queue.put_back(run, progress.delivered);
            *awoken |= self.told(node as u8, progress.awoken);
            if let Some(next) = next {
                return self.wait_of(node, &next);
            }
            if self.nodes[node].queue.is_empty() {
                break;
            }
        }
        None
    }

    /// The node whose next record has waited longest.
    pub(super) fn oldest(&self) -> Option<usize> {
        let waiting = (0..self.nodes.len()).filter(|node| !self.nodes[*node].queue.is_empty());
        waiting.min_by_key(|node| self.nodes[*node].queue.wall())
    }

    /// Delivers the next record of a node although it should wait.
    pub(super) fn force<F: Sink + ?Sized>(&mut self, node: usize, each: &mut F) {
        let wait = self.release(node);
        let queue = &mut self.nodes[node].queue;
        match (queue.front(), queue.wall()) {
            // Forced, it waits for nothing.
            (Some(Front::Record(record)), Some(wall)) => {
                let record = *record;
                queue.pop_record();
                let silent = wait.map_or(node as u8, Wait::node);
                let why = Some(Why::Silent(silent));
                let _waits_not = self.deliver(node, record, wall, why, &mut |event, clock| each(event, clock));
            }
            _ => {
                if let Some(item) = queue.pop_other() {
                    self.take(node, item);
                }
            }
        }
        let ready = 1 << node | self.awoken(node as u8);
        self.run(ready, each);
    }
}

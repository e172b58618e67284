//! Which event of one run is which of the other.
use crate::{EventId, History};

/// The epochs of each node, in their order: the same life has another epoch in another run.
pub(super) struct Lives(Vec<Vec<u8>>);

impl Lives {
    pub(super) fn of(history: &History) -> Self {
        Self((0..=u8::MAX).map(|node| history.epochs(node)).collect())
    }

    /// Which life of its node an event is in.
    fn life(&self, id: EventId) -> usize {
        let epochs = &self.0[usize::from(id.node)];
        epochs.iter().position(|epoch| *epoch == id.epoch()).unwrap_or(usize::MAX)
    }

    /// An event's name that is the same in every run: node, life, place in it.
    pub(super) fn name(&self, history: &History, id: EventId) -> (String, usize, u32) {
        (history.node_name(id.node), self.life(id), id.count())
    }
}

/// A step through the events of a node in both runs.
pub(super) enum Step {
    /// The places of the same event.
    Both(usize, usize),
    /// An event that is in one of them only.
    Alone(usize),
}

/// Walks through the events of one node in both runs.
pub(super) struct Aligned<'a> {
    of: [&'a History; 2],
    lives: &'a [Lives; 2],
    rest: [&'a [u32]; 2],
}

impl<'a> Aligned<'a> {
    pub(super) fn new(of: [&'a History; 2], lives: &'a [Lives; 2], nodes: [u8; 2]) -> Self {
        Self { of, lives, rest: [of[0].of_node(nodes[0]), of[1].of_node(nodes[1])] }
    }

    /// The next event that counts: its place, and what it is called in every run.
    fn next_of(&mut self, which: usize) -> Option<(usize, (usize, u32))> {
        loop {
            let place = *self.rest[which].first()? as usize;
            let event = &self.of[which].events[place];
            if event.counts() {
                return Some((place, (self.lives[which].life(event.id), event.id.count())));
            }
            self.rest[which] = &self.rest[which][1..];
        }
    }

    fn take(&mut self, which: usize) {
        self.rest[which] = &self.rest[which][1..];
    }
}

impl Iterator for Aligned<'_> {
    type Item = Step;

    fn next(&mut self) -> Option<Step> {
        let (one, other) = (self.next_of(0), self.next_of(1));
        match (one, other) {
            (Some((a, name)), Some((b, twin))) if name == twin => {
                self.take(0);
                self.take(1);
                Some(Step::Both(a, b))
            }
            (Some((_, name)), Some((_, twin))) => {
                let which = usize::from(twin < name);
                self.take(which);
                Some(Step::Alone(which))
            }
            (Some(_), None) => {
                self.take(0);
                Some(Step::Alone(0))
            }
            (None, Some(_)) => {
                self.take(1);
                Some(Step::Alone(1))
            }
            (None, None) => None,
        }
    }
}

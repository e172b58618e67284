//! The oracle: true vector clocks, and Chandy & Lamport's recorder, run beside the system on the same schedule.
//!
//! Nothing here is shared with what is tested. A process records its state where its node halts and *goes on*: what it
//! receives after that and before a channel's marker is the state of the channel.
use super::App;
use std::collections::VecDeque;
use stillpoint_core::{Event, EventNumber};

/// What is in a channel of the oracle.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Item {
    Message { clock: Vec<u32>, payload: Vec<u8> },
    Marker(u16),
}

/// A process: where it truly stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    /// All it knows.
    pub clock: Vec<u32>,
    /// What its application has become.
    pub app: App,
}

/// One event, with all that happened before it.
#[derive(Clone, Debug)]
pub struct Happened {
    /// What.
    pub event: Event,
    /// Its true clock.
    pub clock: Vec<u32>,
    /// For a receive, the event that sent the message: node and number.
    pub partner: Option<(usize, u32)>,
}

/// The oracle of a system.
#[derive(Clone, Debug)]
pub struct Reference {
    edges: Vec<(usize, usize)>,
    states: Vec<State>,
    channels: Vec<VecDeque<Item>>,
    recorded: Vec<Option<(u16, State)>>,
    /// Everything that happened on each node.
    pub history: Vec<Vec<Happened>>,
}

impl Reference {
    /// A system in which nothing has happened.
    #[must_use]
    pub fn new(nodes: usize, edges: &[(usize, usize)]) -> Self {
        Self {
            edges: edges.to_vec(),
            states: vec![State { clock: vec![0; nodes], app: App::default() }; nodes],
            channels: vec![VecDeque::new(); edges.len()],
            recorded: vec![None; nodes],
            history: vec![Vec::new(); nodes],
        }
    }

    /// Where a process truly stands.
    #[must_use]
    pub fn state(&self, node: usize) -> &State {
        &self.states[node]
    }

    /// An event without a message; `lived` is what it does to the application.
    pub fn happen(&mut self, node: usize, event: Event, lived: Option<&[u8]>) {
        let state = &mut self.states[node];
        state.clock[node] = state.clock[node].wrapping_add(1);
        lived.inspect(|what| state.app.live(what));
        self.history[node].push(Happened { event, clock: state.clock.clone(), partner: None });
    }

    /// A message leaves.
    pub fn send(&mut self, edge: usize, event: Event, payload: &[u8], arrives: bool) {
        let from = self.edges[edge].0;
        self.happen(from, event, Some(payload));
        if arrives {
            let clock = self.states[from].clock.clone();
            self.channels[edge].push_back(Item::Message { clock, payload: payload.to_vec() });
        }
    }

    /// The next message is taken; says which it must be.
    pub fn receive(&mut self, edge: usize, event: Event) -> Option<Vec<u8>> {
        let (from, to) = self.edges[edge];
        let (clock, payload) = self.next_message(edge)?;
        for (mine, theirs) in self.states[to].clock.iter_mut().zip(&clock) {
            if EventNumber(*theirs).is_newer_than(EventNumber(*mine)) {
                *mine = *theirs;
            }
        }
        self.happen(to, event, Some(&payload));
        if let Some(happened) = self.history[to].last_mut() {
            happened.partner = Some((from, clock[from]));
        }
        Some(payload)
    }

    /// Markers ahead of it are of halts that are over.
    fn next_message(&mut self, edge: usize) -> Option<(Vec<u32>, Vec<u8>)> {
        loop {
            match self.channels[edge].pop_front()? {
                Item::Message { clock, payload } => return Some((clock, payload)),
                Item::Marker(_) => {}
            }
        }
    }

    /// The process records its state, by its own decision or because a marker arrived beside its channel.
    pub fn record(&mut self, node: usize, halt: u16) {
        if self.recorded[node].as_ref().is_some_and(|(recorded, _)| *recorded == halt) {
            return;
        }
        self.recorded[node] = Some((halt, self.states[node].clone()));
        for (edge, (from, _)) in self.edges.iter().enumerate() {
            if *from == node {
                self.channels[edge].push_back(Item::Marker(halt));
            }
        }
    }

    /// Marker-receiving rule: the process has taken all messages ahead of the marker. False if it has not.
    pub fn take_marker(&mut self, edge: usize, halt: u16) -> bool {
        while matches!(self.channels[edge].front(), Some(Item::Marker(id)) if *id != halt) {
            self.channels[edge].pop_front();
        }
        let in_place = self.channels[edge].pop_front() == Some(Item::Marker(halt));
        if in_place {
            // Put back for those who look at the finished snapshot: the channel's state is the empty sequence.
            self.channels[edge].push_front(Item::Marker(halt));
            self.record(self.edges[edge].1, halt);
        }
        in_place
    }

    /// The state that a process recorded in this halt.
    #[must_use]
    pub fn recorded(&self, node: usize, halt: u16) -> Option<&State> {
        self.recorded[node].as_ref().filter(|(id, _)| *id == halt).map(|(_, state)| state)
    }

    /// Lets every process go on after its recording, as Chandy & Lamport's do, and says what each channel's state is:
    /// the payloads received after the receiver recorded and before the marker. `None` if no marker ever comes.
    #[must_use]
    pub fn channel_states(&self, halt: u16) -> Vec<Option<Vec<Vec<u8>>>> {
        let mut on = self.clone();
        for edge in 0..on.edges.len() {
            let (from, port) = (on.edges[edge].0, stillpoint_core::PortId(0));
            let word = on.states[from].app.say(edge);
            on.send(edge, Event::send(port), &word, true);
        }
        (0..on.edges.len())
            .map(|edge| {
                let mut state = Vec::new();
                loop {
                    match on.channels[edge].pop_front()? {
                        Item::Message { payload, .. } => state.push(payload),
                        Item::Marker(id) if id == halt => return Some(state),
                        Item::Marker(_) => {}
                    }
                }
            })
            .collect()
    }

    /// The receiver of a channel forgets the oldest messages in it.
    pub fn drop_messages(&mut self, edge: usize, mut count: usize) {
        self.channels[edge].retain(|item| {
            let goes = count > 0 && matches!(item, Item::Message { .. });
            count -= usize::from(goes);
            !goes
        });
    }

    /// A node is reset: it forgets everything, and so do its inboxes.
    pub fn reset(&mut self, node: usize) {
        let nodes = self.states.len();
        self.states[node] = State { clock: vec![0; nodes], app: App::default() };
        self.recorded[node] = None;
        for (edge, (from, to)) in self.edges.iter().enumerate() {
            if *to == node {
                self.channels[edge].clear();
            } else if *from == node {
                self.channels[edge].retain(|item| matches!(item, Item::Message { .. }));
            }
            // A sender that is halted says so again to the node's next life.
            if let Some((halt, _)) = self.recorded[*from].as_ref().filter(|_| *to == node) {
                self.channels[edge].push_back(Item::Marker(*halt));
            }
        }
    }

    /// A node starts as event `number`, of its epoch's first.
    pub fn start(&mut self, node: usize, number: EventNumber, event: Event) {
        self.states[node].clock[node] = number.0.wrapping_sub(1);
        self.happen(node, event, None);
    }

    /// A node that knows of an event of `node` that is not older than `number`.
    #[must_use]
    pub fn knower(&self, node: usize, number: EventNumber) -> Option<usize> {
        let newer = |clock: &[u32]| !number.is_newer_than(EventNumber(clock[node])) && clock[node] != 0;
        (0..self.states.len()).find(|&other| other != node && newer(&self.states[other].clock))
    }
}

//! Items of a log that are no events: where a node stands, what it learned, what is missing.
use super::channel::{Answer, Asks, Known, Session};
use super::clock::newer;
use super::node::RESTRICTED;
use super::taint::Taint;
use super::{CausalOrder, clock};
use crate::{Item, Note, Sync, Why};
use stillpoint_core::log::Record;
use stillpoint_core::{EventKind, MAX_PORTS};

impl CausalOrder {
    /// Takes what stands between two records.
    pub(super) fn take(&mut self, node: usize, item: Item) {
        let state = &mut self.nodes[node];
        state.plain = false;
        let (id, after) = (node as u8, state.last);
        match item {
            Item::Record(_) => {}
            Item::Causes { changed, differences, .. } => {
                let places = (0..state.told.len().min(32)).filter(|place| changed >> place & 1 != 0);
                for (place, difference) in places.zip(differences) {
                    state.told[place] = state.told[place].wrapping_add(difference);
                    state.raised |= 1 << place;
                }
            }
            Item::Sync(sync) => {
                state.raised = 0;
                for (told, known) in state.told.iter_mut().zip(&sync.clock) {
                    *told = *known;
                }
                state.carries_causes = sync.with_causes;
                state.mode = Some(sync.mode);
                state.sync = Some(Box::new(sync));
            }
            Item::Gap(dropped) => {
                state.gap = true;
                self.notes.push(Note::Gap { node: id, after, dropped });
            }
            Item::Unplaced(_) => state.unplaced += 1,
            Item::Restart => {
                (state.gap, state.sync) = (true, None);
                self.notes.push(Note::Restart { node: id, after });
            }
            Item::Broken(error) => {
                (state.gap, state.sync) = (true, None);
                self.notes.push(Note::Broken { node: id, after, why: error.to_string() });
            }
        }
    }

    /// Sets the counts of a node's ports to what a sync record says of the record that follows it. Says which messages
    /// were taken without a record: port and number.
    pub(super) fn recount(&mut self, node: usize, sync: &Sync, record: &Record) -> Vec<(usize, u32)> {
        let (number, first) = (record.number.0, self.nodes[node].last.is_none());
        let mut taken = Vec::new();
        for (place, count) in sync.counts.iter().enumerate().take(MAX_PORTS) {
            let state = &mut self.nodes[node];
            let is_message = matches!(record.event.kind, EventKind::Send | EventKind::Receive);
            let this = is_message && usize::from(record.event.arg) == place;
            let knows = state.known_of(place, *count, this);
            let count = count.wrapping_sub(u32::from(this));
            // The first event that may be of this count.
            let opened = state.last.map_or(number, |last| last.wrapping_add(1));
            let port = &mut state.ports[place];
            let anew = newer(port.count, count);
            if let Some(channel) = port.channel.filter(|_| port.out).map(|at| &mut self.channels[at]) {
                if anew {
                    channel.open(Session::new(opened, state.ordinal));
                }
                if let Some(session) = channel.current() {
                    session.skip_to(count, number, first);
                    if (state.gap || sync.mode <= RESTRICTED) && !first {
                        session.seam = Some(number);
                    }
                }
            }
            // In a gap the count may have begun anew and come as far as it was.
            if anew || state.gap || port.knows.is_none() || this && count == 0 {
                port.know(knows);
            }
            if !port.out && newer(count, if anew { 0 } else { port.count }) {
                taken.push((place, count));
            }
            port.count = count;
        }
        taken
    }

    /// Learns what led to a message that a node took on a port.
    pub(super) fn learn(&mut self, node: usize, port: usize, message: u32, exact: bool) -> Learned {
        let end = &self.nodes[node].ports[port];
        let Some(at) = end.channel else {
            return Learned::Nothing(end.peer.map_or(Why::Damage(node as u8), Why::Missing));
        };
        let from = self.channels[at].from;
        let sender = self.nodes.get(usize::from(from)).and_then(|sender| sender.last);
        let state = &mut self.nodes[node];
        let end = &state.ports[port];
        let beyond = |known: Known| sender.is_none_or(|sender| newer(known.number, sender));
        let caught_up = end.knows.is_some_and(|known| !beyond(known));
        if !exact && end.knows.is_some() && !caught_up {
            // In between the sender's count may have begun anew.
            return Learned::NotYet { from, channel: at };
        }
        let asks = Asks { ordinal: state.ordinal, knows: end.knows, caught_up };
        match self.channels[at].ask(&asks, message, &mut state.clock) {
            Answer::Sent { number, taint } => {
                let end = &mut state.ports[port];
                end.settled = self.channels[at].settled(&asks).filter(|_| end.peer == Some(from));
                if let Some(taint) = taint {
                    state.add_taint(*taint);
                }
                Learned::From(number)
            }
            Answer::Hole { until, before_recording } => {
                let why = if before_recording { Why::Before(from) } else { Why::NotRecorded(from) };
                state.add_taint(Taint::new(self.width, from, until, why));
                Learned::Nothing(why)
            }
            Answer::NotYet => Learned::NotYet { from, channel: at },
            Answer::Twice => Learned::Twice,
        }
    }

    /// A node begins a life: its channels count from the beginning.
    pub(super) fn begin_life(&mut self, node: usize, record: &Record) {
        let (state, number) = (&mut self.nodes[node], record.number.0);
        // Where the reset itself is missing, so may be more of the life's first events.
        let is_seen = record.event.kind == EventKind::Reset || state.last.is_none();
        let first = if is_seen { number } else { number.wrapping_sub(record.number.count()).wrapping_add(1) };
        // What was in doubt is over: a node that starts anew knows nothing.
        state.taint = None;
        // A halt before the first event has the number 0.
        if state.last.is_some_and(|last| last != 0) {
            state.ordinal += 1;
            self.lives[node].push((first, state.clock.clone()));
            self.notes.push(Note::Reset { node: node as u8, number });
        }
        for port in &mut state.ports {
            port.count = 0;
            port.know(None);
            if let Some(channel) = port.channel.filter(|_| port.out) {
                let mut session = Session::new(first, state.ordinal);
                // Both ends were there when the recording began.
                session.receiver = (state.ordinal == 0).then_some(0);
                self.channels[channel].open(session);
            }
        }
    }

    /// What follows from knowing an event of another node: all that happened before the life it is in.
    pub(super) fn learn_lives(&mut self, node: usize, of: usize, before: u32, now: u32) {
        for (first, clock) in &self.lives[of] {
            if newer(*first, before) && !newer(*first, now) {
                clock::merge_rows(&mut self.nodes[node].clock, clock);
            }
        }
    }
}

/// What a receive taught.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Learned {
    /// All that led to the sender's event.
    From(u32),
    /// Something that is not known, and why.
    Nothing(Why),
    /// The sender's log is not read so far.
    NotYet { from: u8, channel: usize },
    /// The message was taken before.
    Twice,
}

impl super::node::Node {
    pub(super) fn add_taint(&mut self, taint: Taint) {
        match &mut self.taint {
            Some(mine) => mine.merge(&taint),
            None => self.taint = Some(Box::new(taint)),
        }
    }
}

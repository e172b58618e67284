//! Items of a log that are no events: where a node stands, what it learned, what is missing.
use super::channel::{Anchor, Answer, Asks, Session};
use super::clock::newer;
use super::queue::Front;
use super::taint::Taint;
use super::{CausalOrder, clock};
use crate::{Item, Note, Sync, Why};
use stillpoint_core::log::{NOT_STARTED, Record};
use stillpoint_core::{EventKind, EventNumber, MAX_PORTS};

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
                state.mode = Some(sync.mode);
                state.is_starting = sync.origins.contains(&NOT_STARTED);
                if state.is_starting {
                    // It knows nothing yet, of itself neither.
                    state.sync = None;
                    return;
                }
                for (told, known) in state.told.iter_mut().zip(&sync.clock) {
                    *told = *known;
                }
                state.carries_causes = sync.with_causes;
                (state.sync, state.announced) = (Some(Box::new(sync)), false);
                let next = match state.queue.front() {
                    Some(Front::Record(record)) => Some(*record),
                    _ => None,
                };
                self.announce(node, next.as_ref());
            }
            Item::Gap(dropped) => {
                state.gap = true;
                self.notes.push(Note::Gap { node: id, after, dropped });
            }
            Item::Unplaced(_) => state.unplaced += 1,
            Item::Restart => {
                (state.gap, state.restarted, state.sync) = (true, true, None);
                self.notes.push(Note::Restart { node: id, after });
            }
            Item::Broken(error) => {
                (state.gap, state.sync) = (true, None);
                self.notes.push(Note::Broken { node: id, after, why: error.to_string() });
            }
        }
    }

    /// Tells the channels of a node what a sync record says of its sends: in which session they are, and which of them were
    /// not recorded. Without the record that follows, one message may or may not be among those.
    pub(super) fn announce(&mut self, node: usize, next: Option<&Record>) {
        let state = &mut self.nodes[node];
        let Some(sync) = state.sync.as_ref().filter(|_| !state.announced) else { return };
        state.announced = next.is_some();
        let (number, last) = (sync.number, state.last);
        if last.is_some_and(|last| newer(last, number)) {
            return;
        }
        let ports = state.ports.iter().zip(&sync.counts).zip(&sync.origins).enumerate();
        for (place, ((port, count), origin)) in ports.filter(|(_, ((port, _), _))| port.out) {
            let Some(channel) = port.channel.map(|at| &mut self.channels[at]) else { continue };
            let is_next = next.is_none_or(|record| sends(record, place));
            if channel.current().is_none_or(|session| session.opened != *origin) {
                channel.open(Session::new(*origin, state.ordinal), last.unwrap_or(*origin));
            }
            if let Some(session) = channel.current() {
                session.skip_to(count.saturating_sub(u32::from(is_next)), number, last.is_none());
            }
        }
    }

    /// Sets what is known of the messages that a node took to what a sync record says of the record that follows it. Says
    /// which messages were taken without a record: port and number.
    pub(super) fn recount(&mut self, node: usize, sync: &Sync, record: &Record) -> Vec<(usize, u32)> {
        let mut taken = Vec::new();
        for (place, (count, origin)) in sync.counts.iter().zip(&sync.origins).enumerate().take(MAX_PORTS) {
            let port = &mut self.nodes[node].ports[place];
            let anchor = (*count != 0).then_some(Anchor { message: *count, number: *origin });
            if port.out || port.anchor == anchor {
                continue;
            }
            (port.anchor, port.settled) = (anchor, None);
            let this = record.event.kind == EventKind::Receive && usize::from(record.event.arg) == place;
            if *count != 0 && !this {
                taken.push((place, *count));
            }
        }
        taken
    }

    /// How a node asks for messages on a port of a channel.
    pub(super) fn asks(&self, node: usize, port: usize, from: u8) -> Asks {
        let state = &self.nodes[node];
        let anchor = state.ports[port].anchor;
        let sender = self.nodes.get(usize::from(from));
        let passed = sender.and_then(super::node::Node::passed);
        let caught_up = anchor.is_some_and(|anchor| passed.is_some_and(|passed| !newer(anchor.number, passed)));
        Asks { ordinal: state.ordinal, anchor, caught_up }
    }

    /// Learns what led to a message that a node took on a port.
    pub(super) fn learn(&mut self, node: usize, port: usize, message: u32) -> Learned {
        let end = &self.nodes[node].ports[port];
        let Some(at) = end.channel else {
            return Learned::Nothing(end.peer.map_or(Why::Damage(node as u8), Why::Missing));
        };
        let from = self.channels[at].from;
        let asks = self.asks(node, port, from);
        let state = &mut self.nodes[node];
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
            Answer::NotYet => {
                let number = asks.anchor.filter(|_| !asks.caught_up).map(|anchor| anchor.number);
                Learned::NotYet { from, channel: at, number }
            }
            Answer::Twice => Learned::Twice,
        }
    }

    /// A message came by a port, and with it all that came by it before: what was lost there is known again.
    pub(super) fn regain(&mut self, node: usize, port: usize, number: u32) {
        let state = &mut self.nodes[node];
        let before = state.doubted;
        state.doubted &= !(1 << port);
        if before != 0 && state.doubted == 0 {
            self.regained[node] = Some(number);
        }
    }

    /// A node begins a life: its channels count from the beginning.
    pub(super) fn begin_life(&mut self, node: usize, record: &Record) {
        let (state, number) = (&mut self.nodes[node], record.number.0);
        // Where the reset itself is missing, so may be more of the life's first events. A recording that begins in the middle
        // of a life lacks nothing before that, unless it was lost.
        let begins = state.last.is_none() && !(state.restarted && record.number.epoch() != 0);
        let is_seen = record.event.kind == EventKind::Reset || begins;
        let first = if is_seen { number } else { number.wrapping_sub(record.number.count()).wrapping_add(1) };
        // What a former life did not know is not known to the next either.
        if let Some(taint) = state.taint.take() {
            inherit(state, *taint);
        }
        // A halt before the first event has the number 0.
        let lived = state.last.is_some_and(|last| last != 0);
        let lost = state.gap && (lived || state.restarted);
        if lost {
            let is_inbox = |port: &super::node::Port| !port.out && port.peer.is_some();
            let inboxes = state.ports.iter().enumerate().filter(|(_, port)| is_inbox(port));
            state.doubted = inboxes.fold(0, |all, (place, _)| all | 1 << place);
            inherit(state, Taint::lost(self.width, node as u8));
            self.regained[node] = (state.doubted == 0).then_some(number);
        }
        state.restarted = false;
        if lived || lost {
            self.lives[node].push(Life { first, clock: state.clock.clone(), doubt: state.inherited.clone() });
        }
        if lived {
            state.ordinal += 1;
            self.notes.push(Note::Reset { node: node as u8, number });
        }
        for port in &mut state.ports {
            (port.anchor, port.settled) = (None, None);
            let Some(channel) = port.channel.filter(|_| port.out).map(|at| &mut self.channels[at]) else { continue };
            if state.sync.is_none() {
                let opened = first.wrapping_sub(1);
                channel.open(Session::new(opened, state.ordinal), state.last.unwrap_or(opened));
            } else if let Some(session) = channel.current() {
                session.ordinal = state.ordinal;
            }
        }
        if lived {
            self.note_many_resets(node, number);
        }
    }

    /// Says once that a node has left the window in which its events compare.
    fn note_many_resets(&mut self, node: usize, number: u32) {
        let is_outside = |first: &u32| *first != 0 && number.wrapping_sub(*first) >= 1 << 31;
        let Some(first) = self.nodes[node].first.filter(is_outside) else { return };
        let node = node as u8;
        if !self.notes.iter().any(|note| matches!(note, Note::ManyResets { node: of, .. } if *of == node)) {
            self.notes.push(Note::ManyResets { node, first, number });
        }
    }

    /// What follows from knowing an event of another node: all that happened before the life it is in.
    pub(super) fn learn_lives(&mut self, node: usize, of: usize, before: u32, now: u32) {
        for life in &self.lives[of] {
            if newer(life.first, before) && !newer(life.first, now) {
                let state = &mut self.nodes[node];
                clock::merge_rows(&mut state.clock, &life.clock);
                if let Some(doubt) = &life.doubt {
                    inherit(state, doubt.as_ref().clone());
                }
            }
        }
    }
}

impl CausalOrder {
    /// The same for all events that a node has heard of since it knew `before`.
    pub(super) fn learn_lives_since(&mut self, node: usize, before: &[u32]) {
        for (of, before) in before.iter().enumerate().take(self.width).filter(|(of, _)| *of != node) {
            let now = self.nodes[node].clock.as_flattened()[of];
            if now == *before {
                continue;
            }
            self.learn_lives(node, of, *before, now);
            if let Some(doubt) = self.unread_life(of, now) {
                inherit(&mut self.nodes[node], doubt);
            }
        }
    }

    /// What is not known with an event of a node, if nothing was read of the life that it is in.
    fn unread_life(&self, of: usize, number: u32) -> Option<Taint> {
        let epoch = |number| EventNumber(number).epoch();
        let (state, lives) = (&self.nodes[of], &self.lives[of]);
        let (Some(first), Some(last)) = (state.first, state.last) else {
            // Its log begins with a part that was lost, and maybe with it the end of a life before this one.
            return (state.restarted && epoch(number) != 0).then(|| Taint::lost(self.width, of as u8));
        };
        let read = [first, last].into_iter().chain(lives.iter().map(|life| life.first));
        if read.map(epoch).any(|read| read == epoch(number)) {
            return None;
        }
        // What was before the recording does not count, unless it was lost: then the life that was read first is in the list.
        if newer(first, number) && lives.first().is_none_or(|life| newer(life.first, first)) {
            return None;
        }
        let until = lives.iter().map(|life| life.first).find(|first| newer(*first, number));
        Some(Taint::new(self.width, of as u8, until, Why::Unread(of as u8)))
    }
}

/// A life of a node but its first.
#[derive(Clone, Debug)]
pub(super) struct Life {
    /// Its first event.
    first: u32,
    /// What had happened before it, and what of that is not known.
    clock: Vec<[u32; clock::LANES]>,
    doubt: Option<Box<Taint>>,
}

/// Whether a record is of a message that leaves by this port.
fn sends(record: &Record, port: usize) -> bool {
    record.event.kind == EventKind::Send && usize::from(record.event.arg) == port
}

/// Adds what is not known from before a reset.
fn inherit(state: &mut super::node::Node, mut taint: Taint) {
    taint.outlives = true;
    add(&mut state.inherited, taint);
}

fn add(all: &mut Option<Box<Taint>>, taint: Taint) {
    match all {
        Some(all) => all.merge(&taint),
        None => *all = Some(Box::new(taint)),
    }
}

/// What a receive taught.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Learned {
    /// All that led to the sender's event.
    From(u32),
    /// Something that is not known, and why.
    Nothing(Why),
    /// The sender's log is not read so far: up to this event, or else to the message.
    NotYet { from: u8, channel: usize, number: Option<u32> },
    /// The message was taken before.
    Twice,
}

impl super::node::Node {
    pub(super) fn add_taint(&mut self, taint: Taint) {
        add(if taint.outlives { &mut self.inherited } else { &mut self.taint }, taint);
    }
}

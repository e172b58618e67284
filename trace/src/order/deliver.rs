//! Records to events with clocks.
use super::clock::{newer, raise};
use super::node::Wait;
use super::sync::Learned;
use super::taint::Taint;
use super::{CausalOrder, Out};
use crate::event::counts;
use crate::{Event, EventId, Note, Past, Why};
use stillpoint_core::log::Record;
use stillpoint_core::{EventKind, EventNumber, MAX_PORTS};

impl CausalOrder {
    /// Delivers a record if all that happened before it was delivered, or if it is `forced` for a reason; otherwise says what it waits
    /// for.
    pub(super) fn deliver(
        &mut self,
        node: usize,
        mut record: Record,
        wall: u64,
        forced: Option<Why>,
        each: Out<'_>,
    ) -> Result<(), Wait> {
        self.nodes[node].plain = false;
        self.place_halt(node, &mut record);
        let number = record.number.0;
        if self.goes_back(node, &record) {
            return Ok(());
        }
        self.announce(node, Some(&record));
        if forced.is_none() {
            self.wait_for_known(node)?;
        }
        let exact = self.nodes[node].vector && (self.nodes[node].sync.is_some() || self.nodes[node].carries_causes);
        let received = match record.event.kind {
            EventKind::Receive => Some((usize::from(record.event.arg) % MAX_PORTS, record.message.unwrap_or(0))),
            _ => None,
        };
        let mut partner = None;
        let synced = self.nodes[node].sync.is_some();
        // What its own clock says does not go back behind a reset of another node.
        let mut before = std::mem::take(&mut self.scratch);
        before.clone_from(&self.nodes[node].clock);
        // Once: a receive may come here again after it had to wait.
        if !std::mem::replace(&mut self.nodes[node].prepared, true) {
            if self.begins_life(node, &record) {
                self.begin_life(node, &record);
            }
            if synced {
                self.synchronise(node, &record, exact);
            }
        }
        if let Some((port, message)) = received {
            let from = match self.learn(node, port, message) {
                Learned::NotYet { from, channel, number }
                    if !exact && forced.is_none() && !self.nodes[usize::from(from)].is_done() =>
                {
                    return Err(match number {
                        Some(number) => Wait::Event { node: from, number },
                        None => Wait::Message { node: from, channel, after: None },
                    });
                }
                learned => learned,
            };
            self.regain(node, port, number);
            partner = self.note_receive(node, port, number, from, exact, forced);
        }
        (self.nodes[node].sync, self.nodes[node].prepared) = (None, false);
        self.raise_to_told(node, synced);
        if exact {
            self.learn_lives_since(node, before.as_flattened());
        }
        self.scratch = before;
        let state = &mut self.nodes[node];
        raise(&mut state.clock.as_flattened_mut()[node], number);
        let is_over = |taint: &Option<Box<Taint>>| {
            taint.as_ref().is_some_and(|taint| !taint.lasts(state.clock.as_flattened(), &self.regained))
        };
        let (forgets, regains) = (exact || is_over(&state.taint), is_over(&state.inherited));
        // A clock that is told in full knows of events that no log has: it does not bring them into the recording.
        let ended = state.taint.as_ref().filter(|taint| taint.is_beyond()).map(|taint| usize::from(taint.why.node()));
        let keeps = ended.is_some_and(|of| self.nodes[of].records_all());
        let state = &mut self.nodes[node];
        if forgets && !keeps {
            state.taint = None;
        }
        if regains {
            state.inherited = None;
        }
        state.last = Some(number);
        // A halt shows that the node is in this life as any event does, unless it has not started.
        if counts(record.event.kind) || !state.is_starting && number != 0 {
            state.first.get_or_insert(number);
        }
        state.is_starting &= !counts(record.event.kind);
        // A node can halt before it starts: what is missing may still reach up to its start.
        state.gap &= !counts(record.event.kind);
        if record.event.kind == EventKind::Send {
            self.keep_send(node, &record);
        }
        let state = &mut self.nodes[node];
        state.plain = state.is_plain();
        let past = state.doubt().map_or(Past::Known, |doubt| Past::Unknown { why: doubt.why });
        let event = event_of(node, number, &record, wall, partner, past);
        each(&event, &state.clock.as_flattened()[..self.width]);
        Ok(())
    }

    /// A node that was reset and halts before it has started has no number yet: the halt comes after its last event.
    fn place_halt(&mut self, node: usize, record: &mut Record) {
        let state = &mut self.nodes[node];
        let last = state.last.unwrap_or(0);
        if !counts(record.event.kind) && (state.is_starting || state.last.is_some() && newer(last, record.number.0)) {
            record.number = EventNumber(last);
            (state.sync, state.raised) = (None, 0);
        }
    }

    /// Whether the log goes back with this record; then it is left out with all that follow.
    fn goes_back(&mut self, node: usize, record: &Record) -> bool {
        let state = &mut self.nodes[node];
        if let Some(left_out) = &mut state.over {
            *left_out += 1;
            let (count, id) = (*left_out, node as u8);
            let note = self.notes.iter_mut().find(|note| matches!(note, Note::Backwards { node, .. } if *node == id));
            if let Some(Note::Backwards { left_out, .. }) = note {
                *left_out = count;
            }
            return true;
        }
        let (number, Some(last)) = (record.number.0, state.last) else { return false };
        let goes_on = newer(number, last) || !counts(record.event.kind) && number == last;
        if !goes_on {
            state.over = Some(1);
            self.notes.push(Note::Backwards { node: node as u8, last, number, left_out: 1 });
        }
        !goes_on
    }

    /// Waits for the events that the node's own log says it knows of.
    fn wait_for_known(&self, node: usize) -> Result<(), Wait> {
        let state = &self.nodes[node];
        let mut places = if state.sync.is_some() { u32::MAX } else { state.raised };
        while places != 0 {
            let place = places.trailing_zeros() as usize;
            places &= places - 1;
            let (Some(told), Some(known)) = (state.told.get(place), state.clock.as_flattened().get(place)) else {
                break;
            };
            if place != node && newer(*told, *known) && !self.has_passed(place, *told) {
                return Err(Wait::Event { node: place as u8, number: *told });
            }
        }
        Ok(())
    }

    fn begins_life(&self, node: usize, record: &Record) -> bool {
        let state = &self.nodes[node];
        let epoch = |number| EventNumber(number).epoch();
        match state.last {
            _ if state.is_starting && !counts(record.event.kind) => false,
            None => true,
            // The reset itself is in the gap.
            Some(last) => record.event.kind == EventKind::Reset || state.gap && epoch(record.number.0) != epoch(last),
        }
    }

    /// Where the node stands, from a sync record.
    fn synchronise(&mut self, node: usize, record: &Record, exact: bool) {
        let Some(sync) = self.nodes[node].sync.take() else { return };
        for (port, message) in self.recount(node, &sync, record) {
            // All that the node took without a record came before the last of it, for a channel keeps the order.
            self.regain(node, port, record.number.0);
            if let Learned::NotYet { from, .. } = self.learn(node, port, message)
                && !exact
            {
                // With the event after the one that sent it, all that led there is known.
                let sent = self.nodes[node].ports[port].anchor.map(|anchor| anchor.number.wrapping_add(1));
                self.nodes[node].add_taint(Taint::new(self.width, from, sent, Why::NotRecorded(from)));
            }
        }
        self.nodes[node].sync = Some(sync);
    }

    /// What a receive taught, as far as it goes. Says which event sent the message.
    fn note_receive(
        &mut self,
        node: usize,
        port: usize,
        number: u32,
        learned: Learned,
        exact: bool,
        forced: Option<Why>,
    ) -> Option<EventId> {
        let event = EventId { node: node as u8, number };
        let peer = self.nodes[node].ports[port].peer.unwrap_or(node as u8);
        let (why, until) = match learned {
            Learned::From(number) => return Some(EventId { node: peer, number }),
            // The taint is there already where it is a hole.
            Learned::Nothing(why @ (Why::Missing(_) | Why::Damage(_))) => (why, None),
            Learned::Nothing(_) => return None,
            Learned::NotYet { from, .. } if matches!(forced, Some(Why::NotRecorded(_))) => {
                (Why::NotRecorded(from), self.nodes[node].forced_until)
            }
            Learned::NotYet { from, .. } if forced.is_some() => (forced.unwrap_or(Why::Silent(from)), None),
            Learned::NotYet { from, .. } => (Why::After(from), None),
            Learned::Twice => {
                let why = "it takes a message that was taken before".to_owned();
                self.notes.push(Note::Impossible { event, why });
                (Why::Damage(node as u8), None)
            }
        };
        if !exact {
            self.nodes[node].add_taint(Taint::new(self.width, why.node(), until, why));
        }
        None
    }

    /// Raises the clock to what the node's own log says it knows.
    fn raise_to_told(&mut self, node: usize, synced: bool) {
        let state = &mut self.nodes[node];
        let mut places = if synced { u32::MAX } else { std::mem::take(&mut state.raised) };
        while places != 0 {
            let place = places.trailing_zeros() as usize;
            places &= places - 1;
            let state = &mut self.nodes[node];
            let (Some(told), Some(known)) = (state.told.get(place), state.clock.as_flattened_mut().get_mut(place))
            else {
                break;
            };
            if place == node || !newer(*told, *known) {
                continue;
            }
            let (before, now) = (*known, *told);
            *known = now;
            let vector = state.vector;
            if self.nodes[place].ended_before(now) {
                self.nodes[node].add_taint(Taint::after(self.width, place as u8));
            } else if !vector {
                // The log names the event and not what happened before it.
                let until = Some(now.wrapping_add(1));
                let taint = Taint::new(self.width, place as u8, until, Why::NotRecorded(place as u8));
                self.nodes[node].add_taint(taint);
            }
            self.learn_lives(node, place, before, now);
        }
    }

    /// Keeps the clock of a send for its receive.
    fn keep_send(&mut self, node: usize, record: &Record) {
        let state = &mut self.nodes[node];
        let port = &state.ports[usize::from(record.event.arg) % MAX_PORTS];
        let (message, number) = (record.message.unwrap_or(0), record.number.0);
        if let Some(session) = port.channel.and_then(|at| self.channels[at].current()) {
            session.send(message, number, &state.clock, state.doubt().as_deref());
        }
    }
}

/// An event as it is delivered.
#[inline(always)]
pub(super) fn event_of(
    node: usize,
    number: u32,
    record: &Record,
    wall: u64,
    partner: Option<EventId>,
    past: Past,
) -> Event {
    Event {
        id: EventId { node: node as u8, number },
        time: Some(record.time),
        wall,
        what: record.event,
        message: record.message,
        partner,
        past,
    }
}

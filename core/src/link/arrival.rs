//! What a frame from the peer does to this end.

use super::{
    Counters, Flags, Header, Kind, LinkEvent, LinkPhase, VERSION,
    config::count,
    lane::{Arrival, is_after},
    machine::{Due, Machine},
};

/// The incarnation after this one; 0 means "none" and is left out.
fn next_incarnation(incarnation: u8) -> u8 {
    incarnation.checked_add(1).unwrap_or(1)
}

impl<const W: usize, const F: usize> Machine<W, F> {
    pub(super) fn on_frame(
        &mut self,
        header: &Header,
        payload: &[u8],
        now: u32,
        counters: &mut Counters,
    ) -> Option<LinkEvent> {
        if header.kind == Kind::Hello {
            return self.on_hello(header, payload, counters);
        }
        let in_session = self.phase != LinkPhase::Greeting && header.from == self.peer && header.to == self.mine;
        if !in_session {
            count(&mut counters.stale);
            return None;
        }
        self.hear_stopped(header.flags.contains(Flags::STOPPED));
        self.raise_edge(header.edge);
        let data_news = self.data_out.acknowledge(header.data_next, now);
        let control_news = self.control_out.acknowledge(header.control_next, now);
        let (data_gap, control_gap) =
            (header.flags.contains(Flags::DATA_GAP), header.flags.contains(Flags::CONTROL_GAP));
        if data_gap {
            self.data_out.go_back(header.data_next);
        }
        if control_gap {
            self.control_out.go_back(header.control_next);
        }
        let answered = header.flags.contains(Flags::ANSWER);
        let is_heard = data_news || control_news || data_gap || control_gap || answered;
        let event = if is_heard { self.is_heard() } else { None };
        match header.kind {
            Kind::Data => {
                let arrival = self.data_in.accept(header.number, payload);
                self.due.data_gap |= arrival == Arrival::TooEarly;
                self.note(arrival, counters);
            }
            Kind::Control => {
                let arrival = self.control_in.accept(header.number, payload);
                self.due.control_gap |= arrival == Arrival::TooEarly;
                self.note(arrival, counters);
            }
            Kind::Ack | Kind::Hello => {}
        }
        self.due.answer |= header.flags.contains(Flags::ASK);
        event
    }

    fn note(&mut self, arrival: Arrival, counters: &mut Counters) {
        // Whatever became of it, the peer should hear where this end stands.
        self.due.ack = true;
        match arrival {
            Arrival::Accepted => {}
            Arrival::Duplicate => count(&mut counters.duplicates),
            Arrival::TooEarly => count(&mut counters.out_of_order),
            Arrival::NoRoom => count(&mut counters.overruns),
        }
    }

    fn hear_stopped(&mut self, stopped: bool) {
        if self.peer_stopped && !stopped {
            self.data_out.is_heard();
            self.control_out.is_heard();
        }
        self.peer_stopped = stopped;
    }

    fn on_hello(&mut self, header: &Header, payload: &[u8], counters: &mut Counters) -> Option<LinkEvent> {
        if header.number != VERSION {
            return Some(LinkEvent::Incompatible { version: header.number });
        }
        let asks = header.flags.contains(Flags::ASK);
        let is_new = header.from != self.peer;
        if is_new && self.peer != 0 && !is_after(header.from, self.peer) {
            // An old hello, or a peer that lost its memory and started with a number it used before: it chooses
            // another when it hears which one is known here.
            count(&mut counters.stale);
            self.answer_hello(asks);
            return None;
        }
        let lost = if is_new { self.meet(header.from, counters) } else { None };
        if self.phase != LinkPhase::Greeting {
            return self.on_hello_in_session(header, payload, asks);
        }
        // A peer in session with this very number, though this end never greeted it: the number was used before.
        let is_used = header.to == self.mine && is_new && header.flags.contains(Flags::IN_SESSION);
        if header.to != 0 && (is_after(header.to, self.mine) || is_used) {
            self.mine = next_incarnation(header.to);
        }
        if header.to == self.mine && lost.is_none() {
            self.peer_hello.set(payload);
            self.hear_stopped(header.flags.contains(Flags::STOPPED));
            self.raise_edge(header.edge);
            self.answer_hello(asks);
            return Some(self.come_up(false));
        }
        self.answer_hello(true);
        lost
    }

    fn on_hello_in_session(&mut self, header: &Header, payload: &[u8], asks: bool) -> Option<LinkEvent> {
        self.answer_hello(asks);
        if header.to != self.mine {
            return None;
        }
        self.peer_hello.set(payload);
        self.hear_stopped(header.flags.contains(Flags::STOPPED));
        self.raise_edge(header.edge);
        if header.flags.contains(Flags::ANSWER) { self.is_heard() } else { None }
    }

    fn answer_hello(&mut self, asked: bool) {
        self.due.hello |= asked;
        self.due.hello_answer |= asked;
    }

    /// Begins to greet a peer, or an incarnation of it, that was not known before. Says what was lost with the last.
    fn meet(&mut self, peer: u8, counters: &mut Counters) -> Option<LinkEvent> {
        // Outside a session nothing was ever sent, so nothing is lost: it goes to the peer that is met now.
        let lost = (self.phase != LinkPhase::Greeting).then(|| {
            let (data, control) = (self.data_out.lose(), self.control_out.lose());
            counters.lost_by_reset = counters.lost_by_reset.saturating_add(u32::from(data) + u32::from(control));
            LinkEvent::PeerReset { lost_data: data, lost_control: control }
        });
        self.phase = LinkPhase::Greeting;
        self.peer = peer;
        self.data_out.renumber();
        self.control_out.renumber();
        self.data_in.renumber();
        self.control_in.renumber();
        self.edge = 0;
        self.told_edge = 0;
        self.due = Due::default();
        self.peer_stopped = false;
        lost
    }
}

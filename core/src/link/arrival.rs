//! What a frame from the peer does to this end.

use crate::time::Ticks;

use super::{
    Counters, Flags, Header, Kind, Lane, LinkEvent, LinkPhase, VERSION,
    config::count,
    lane::{Arrival, PerLane, is_after},
    protocol::{Due, Protocol},
};

/// What to do with the items and the payload of the frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Consequence {
    /// How many items not to send any more: the peer has them, or they are lost.
    pub(super) drop: PerLane<u8>,
    /// What to do with the payload.
    pub(super) keep: Keep,
    /// What to tell the driver.
    pub(super) event: Option<LinkEvent>,
}

/// Where the payload of a frame goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Keep {
    #[default]
    Nowhere,
    /// It is the next item of a lane.
    Item(Lane),
    /// It is what the peer says of itself.
    Hello,
}

/// The incarnation after this one; 0 means "none" and is left out.
fn next_incarnation(incarnation: u8) -> u8 {
    incarnation.checked_add(1).unwrap_or(1)
}

impl Protocol {
    pub(super) fn on_frame(&mut self, header: &Header, now: Ticks<u32>, counters: &mut Counters) -> Consequence {
        let lane = match header.kind {
            Kind::Hello => return self.on_hello(header, counters),
            Kind::Data => Some((Lane::Data, Due::DATA_GAP)),
            Kind::Control => Some((Lane::Control, Due::CONTROL_GAP)),
            Kind::Ack => None,
        };
        let in_session = self.phase != LinkPhase::Greeting && header.from == self.peer && header.to == self.mine;
        if !in_session {
            count(&mut counters.stale);
            return Consequence::default();
        }
        let goes_on = self.hear_stopped(header);
        let drop = PerLane {
            data: self.sending.data.acknowledge(header.data_next, now),
            control: self.sending.control.acknowledge(header.control_next, now),
        };
        let data_gap = header.flags.contains(Flags::DATA_GAP);
        if data_gap {
            self.sending.data.go_back(header.data_next);
        }
        let control_gap = header.flags.contains(Flags::CONTROL_GAP);
        if control_gap {
            self.sending.control.go_back(header.control_next);
        }
        let is_odd = header.flags.contains(Flags::ODD);
        let answers = header.flags.contains(Flags::ANSWER);
        if answers && is_odd == self.question_is_odd && core::mem::take(&mut self.is_unanswered) {
            self.question_is_odd = !is_odd;
            self.sending.data.is_answered();
            self.sending.control.is_answered();
        }
        if goes_on && (self.sending.data.is_waiting() || self.sending.control.is_waiting()) {
            // What it has may still wait to be read there.
            self.ask();
        }
        let has_news = drop.data | drop.control != 0 || data_gap || control_gap;
        let event = self.answered(answers || has_news);
        let keep = lane.map_or(Keep::Nowhere, |(lane, gap)| self.on_item(lane, gap, header.number, counters));
        if header.flags.contains(Flags::ASK) {
            self.due.add(Due::ANSWER, true);
            self.heard_is_odd = is_odd;
        }
        Consequence { drop, keep, event }
    }

    fn on_item(&mut self, lane: Lane, gap: Due, number: u8, counters: &mut Counters) -> Keep {
        let arrival = self.receiving.of_mut(lane).accept(number);
        // Whatever became of it, the peer should hear where this end stands.
        self.due.add(Due::ACK, true);
        self.due.add(gap, arrival == Arrival::TooEarly);
        let counter = match arrival {
            Arrival::Accepted => return Keep::Item(lane),
            Arrival::Duplicate => &mut counters.duplicates,
            Arrival::TooEarly => &mut counters.out_of_order,
            Arrival::NoRoom => &mut counters.overruns,
        };
        count(counter);
        Keep::Nowhere
    }

    fn answered(&mut self, answered: bool) -> Option<LinkEvent> {
        if answered { self.is_heard() } else { None }
    }

    /// What any frame of the session says of the peer itself. Says whether it goes on after it was stopped.
    fn hear_stopped(&mut self, header: &Header) -> bool {
        let stopped = header.flags.contains(Flags::STOPPED);
        let goes_on = self.peer_stopped && !stopped;
        if goes_on {
            // It could not answer while it stood still.
            self.in_vain = 0;
        }
        self.peer_stopped = stopped;
        self.raise_edge(header.edge);
        goes_on
    }

    #[inline(never)]
    fn on_hello(&mut self, header: &Header, counters: &mut Counters) -> Consequence {
        let mut consequence = Consequence::default();
        if header.number != VERSION {
            consequence.event = Some(LinkEvent::Incompatible { version: header.number });
            return consequence;
        }
        let is_new = header.from != self.peer;
        let asks = header.flags.contains(Flags::ASK);
        if is_new && self.peer != 0 && !is_after(header.from, self.peer) {
            // An old hello, or a peer that lost its memory and started with a number it used before: it chooses
            // another when it hears which one is known here.
            count(&mut counters.stale);
            self.due.add(Due::HELLO_ANSWER, asks);
            return consequence;
        }
        if is_new {
            self.meet(header.from, &mut consequence, counters);
        }
        // A peer in session with this very number, though this end never greeted it: the number was used before.
        let is_used = header.to == self.mine && is_new && header.flags.contains(Flags::IN_SESSION);
        let was_greeting = self.phase == LinkPhase::Greeting;
        if was_greeting && header.to != 0 && (is_after(header.to, self.mine) || is_used) {
            self.mine = next_incarnation(header.to);
        }
        // A reset is one event, coming up another: the peer asks again, and gets that then.
        let knows_me = header.to == self.mine && consequence.event.is_none();
        if knows_me {
            consequence.keep = Keep::Hello;
            let _goes_on = self.hear_stopped(header);
            consequence.event = if was_greeting {
                Some(self.come_up(false))
            } else {
                self.answered(header.flags.contains(Flags::ANSWER))
            };
        }
        self.due.add(Due::HELLO_ANSWER, asks || was_greeting && !knows_me);
        consequence
    }

    /// Begins to greet a peer, or an incarnation of it, that was not known before.
    fn meet(&mut self, peer: u8, consequence: &mut Consequence, counters: &mut Counters) {
        // Outside a session nothing was ever sent, so nothing is lost: it goes to the peer that is met now.
        if self.phase != LinkPhase::Greeting {
            let lost = PerLane { data: self.sending.data.lose(), control: self.sending.control.lose() };
            let sum = u32::from(lost.data) + u32::from(lost.control);
            counters.lost_by_reset = counters.lost_by_reset.saturating_add(sum);
            consequence.drop = lost;
            consequence.event = Some(LinkEvent::PeerReset { lost_data: lost.data, lost_control: lost.control });
        }
        self.phase = LinkPhase::Greeting;
        self.peer = peer;
        self.sending.data.renumber();
        self.sending.control.renumber();
        self.receiving.data.renumber();
        self.receiving.control.renumber();
        self.edge = 0;
        self.told_edge = 0;
        self.due = Due::NOTHING;
        self.peer_stopped = false;
        self.in_vain = 0;
        self.is_unanswered = false;
        self.question_is_odd = false;
        self.heard_is_odd = false;
    }
}

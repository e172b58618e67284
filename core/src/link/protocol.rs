//! The state of one end of a link without its items, and what time and the wire's readiness do to it.
//!
//! Independent of the sizes of windows and frames: however many links of however many shapes a firmware has, this code
//! is there once, and once for both lanes.

use super::{
    CONTROL_WINDOW, Config, Counters, Flags, Header, Kind, Lane, LinkEvent, LinkPhase, VERSION,
    config::{Waits, count},
    lane::{Next, PerLane, Receiving, Sending, is_after, left},
};
use crate::time::{TickRate, Ticks};

/// What has to be told to the peer by the next frame that can tell it; where a flag says it, in the bit of that flag.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Due(u8);

impl Due {
    pub(super) const NOTHING: Self = Self(0);
    pub(super) const HELLO: Self = Self(1);
    /// What was accepted, or how much room there is, has changed.
    pub(super) const ACK: Self = Self(2);
    /// A hello that answers one of the peer's.
    pub(super) const HELLO_ANSWER: Self = Self(4 | 1);
    pub(super) const ASK: Self = Self(Flags::ASK.0);
    pub(super) const ANSWER: Self = Self(Flags::ANSWER.0);
    pub(super) const DATA_GAP: Self = Self(Flags::DATA_GAP.0);
    pub(super) const CONTROL_GAP: Self = Self(Flags::CONTROL_GAP.0);
    /// What only a hello tells.
    const BY_HELLO: Self = Self::HELLO_ANSWER;
    const AS_FLAGS: u8 = Self::ASK.0 | Self::ANSWER.0 | Self::DATA_GAP.0 | Self::CONTROL_GAP.0;

    #[inline]
    pub(super) fn add(&mut self, other: Self, condition: bool) {
        if condition {
            self.0 |= other.0;
        }
    }

    #[inline]
    fn has(self, any_of: Self) -> bool {
        self.0 & any_of.0 != 0
    }
}

/// A stopped peer is asked after 1, 2, 4 and at last 32 times the usual wait.
const MOST_DOUBLINGS: u32 = 5;

/// The frame to send next.
pub(super) struct Frame {
    pub(super) header: Header,
    /// The item it carries, if it is a data or control frame.
    pub(super) item: Option<(Lane, Next)>,
}

/// Everything that decides what this end does next, but for the content of items.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Protocol {
    pub(super) waits: Waits,
    /// How many data frames may be on the way.
    window: u8,
    retry_limit: Option<u8>,
    pub(super) phase: LinkPhase,
    /// This end's incarnation, never 0.
    pub(super) mine: u8,
    /// The peer's, or 0.
    pub(super) peer: u8,
    pub(super) sending: PerLane<Sending>,
    pub(super) receiving: PerLane<Receiving>,
    /// The number of the first data item the peer has no room for.
    pub(super) edge: u8,
    /// What the peer was last told of this end's edge.
    pub(super) told_edge: u8,
    pub(super) due: Due,
    pub(super) stopped: bool,
    pub(super) peer_stopped: bool,
    /// How often the peer was asked where it stands since it was last heard to hear this end.
    pub(super) in_vain: u8,
    /// The question that was asked, as often as it was, has no answer.
    pub(super) is_unanswered: bool,
    /// The number of that question, or of the next one if there is none, is odd.
    pub(super) question_is_odd: bool,
    /// The number of the peer's last question is odd.
    pub(super) heard_is_odd: bool,
    /// When the last hello was sent, while one is repeated.
    pub(super) hello_sent: Option<Ticks<u32>>,
}

impl Protocol {
    pub(super) fn new(config: Config, rate: TickRate, incarnation: u8, capacity: u8) -> Self {
        Self {
            waits: Waits::new(&config, rate),
            window: config.window.clamp(1, capacity.max(1)),
            retry_limit: config.retry_limit,
            phase: LinkPhase::Greeting,
            mine: incarnation.max(1),
            peer: 0,
            sending: PerLane::default(),
            receiving: PerLane { data: Receiving::new(capacity), control: Receiving::new(CONTROL_WINDOW as u8) },
            edge: 0,
            told_edge: 0,
            due: Due::HELLO,
            stopped: false,
            peer_stopped: false,
            in_vain: 0,
            is_unanswered: false,
            question_is_odd: false,
            heard_is_odd: false,
            hello_sent: None,
        }
    }

    /// How many data items may be on the way: the window, or less if the peer has less room.
    fn data_allowed(&self) -> u8 {
        let room = self.edge.wrapping_sub(self.sending.data.first());
        if room > 127 { 0 } else { room.min(self.window) }
    }

    /// The peer has been heard to hear this end.
    pub(super) fn is_heard(&mut self) -> Option<LinkEvent> {
        self.in_vain = 0;
        (self.phase == LinkPhase::Down).then(|| self.come_up(true))
    }

    pub(super) fn come_up(&mut self, resumed: bool) -> LinkEvent {
        self.phase = LinkPhase::Up;
        self.hello_sent = None;
        LinkEvent::Up { resumed }
    }

    fn go_down(&mut self, counters: &mut Counters) -> LinkEvent {
        count(&mut counters.downs);
        self.phase = LinkPhase::Down;
        self.sending.data.start_over();
        self.sending.control.start_over();
        self.in_vain = 0;
        self.due = Due::HELLO;
        LinkEvent::Down
    }

    pub(super) fn raise_edge(&mut self, edge: u8) {
        // Frames may overtake each other, but the room a peer once promised it never takes back.
        if is_after(edge, self.edge) {
            self.edge = edge;
        }
    }

    /// Asks the peer where it stands when a wait is over.
    ///
    /// A silent peer may have everything and stand still, be slow, or have answered while this end stood still. So nothing is
    /// sent again before it answers that it is missing. A stopped peer is asked less and less often.
    pub(super) fn on_tick(&mut self, now: Ticks<u32>, counters: &mut Counters) -> Option<LinkEvent> {
        if self.phase != LinkPhase::Up {
            let is_due = self.hello_ticks_left(now) == Some(Ticks(0));
            self.due.add(Due::HELLO, is_due);
            return None;
        }
        let wait = self.timeout();
        let is_blocked = self.sending.data.is_blocked(self.data_allowed());
        let PerLane { data, control } = &mut self.sending;
        if is_blocked && !self.due.has(Due::ASK) {
            data.wait(now);
        }
        let is_over = |lane: &Sending| lane.ticks_left(now, wait) == Some(Ticks(0));
        let over = [is_over(data), is_over(control)];
        if over == [false, false] {
            return None;
        }
        [data, control].into_iter().zip(over).filter(|(_, is_over)| *is_over).for_each(|(lane, _)| lane.repeat());
        self.ask();
        let counts = self.peer_stopped || self.retry_limit.is_some();
        self.in_vain = self.in_vain.saturating_add(u8::from(counts));
        let is_silent = !self.peer_stopped && self.retry_limit.is_some_and(|limit| self.in_vain > limit);
        is_silent.then(|| self.go_down(counters))
    }

    /// Asks the peer where it stands with the next frame. The waits begin again when that has been sent.
    pub(super) fn ask(&mut self) {
        self.sending.data.stop_waiting();
        self.sending.control.stop_waiting();
        self.due.add(Due::ASK, true);
    }

    /// How long to wait for an acknowledgement.
    fn timeout(&self) -> Ticks<u32> {
        let doublings = if self.peer_stopped { u32::from(self.in_vain).min(MOST_DOUBLINGS) } else { 0 };
        Ticks(self.waits.timeout.0.saturating_mul(1 << doublings))
    }

    fn hello_ticks_left(&self, now: Ticks<u32>) -> Option<Ticks<u32>> {
        self.hello_sent.map(|sent| left(self.waits.hello_interval, sent, now))
    }

    /// How long until there is something to do for [`on_tick`](Self::on_tick) or something to send.
    pub(super) fn ticks_left(&self, now: Ticks<u32>) -> Option<Ticks<u32>> {
        if self.next_frame().is_some() {
            return Some(Ticks(0));
        }
        if self.phase != LinkPhase::Up {
            return self.hello_ticks_left(now);
        }
        let timeout = self.timeout();
        let data = self.sending.data.ticks_left(now, timeout);
        // A wait for room begins with the next tick.
        let blocked = self.sending.data.is_blocked(self.data_allowed()).then_some(timeout);
        let control = self.sending.control.ticks_left(now, timeout);
        [data.or(blocked), control].into_iter().flatten().min()
    }

    /// The next frame for the wire, and what it carries.
    #[inline(never)]
    pub(super) fn next_frame(&self) -> Option<Frame> {
        let is_up = self.phase == LinkPhase::Up;
        let answers = self.due.has(Due::ANSWER);
        // There is one bit for the number of a question, so a frame asks or answers.
        let flags = Flags(self.due.0 & Due::AS_FLAGS & if answers { !Due::ASK.0 } else { !0 })
            .with(Flags::ODD, if answers { self.heard_is_odd } else { self.question_is_odd });
        let (kind, number, flags, item) = if self.due.has(Due::HELLO) {
            let flags = Flags::NONE
                .with(Flags::IN_SESSION, self.phase != LinkPhase::Greeting)
                .with(Flags::ASK, !is_up)
                .with(Flags::ANSWER, self.due.0 & Due::HELLO_ANSWER.0 == Due::HELLO_ANSWER.0);
            (Kind::Hello, VERSION, flags, None)
        } else if let Some(next) = self.sending.control.next(CONTROL_WINDOW as u8).filter(|_| is_up) {
            (Kind::Control, next.number, flags.with(Flags::ASK, next.again && !answers), Some((Lane::Control, next)))
        } else if let Some(next) = self.sending.data.next(self.data_allowed()).filter(|_| is_up) {
            (Kind::Data, next.number, flags.with(Flags::ASK, next.again && !answers), Some((Lane::Data, next)))
        } else if self.due != Due::NOTHING && self.phase != LinkPhase::Greeting {
            (Kind::Ack, 0, flags, None)
        } else {
            return None;
        };
        let header = Header {
            kind,
            flags: flags.with(Flags::STOPPED, self.stopped),
            from: self.mine,
            to: self.peer,
            number,
            data_next: self.receiving.data.next(),
            control_next: self.receiving.control.next(),
            edge: self.receiving.data.edge(),
        };
        Some(Frame { header, item })
    }

    /// The frame [`next_frame`](Self::next_frame) named has been handed to the wire.
    pub(super) fn has_sent(&mut self, frame: &Frame, now: Ticks<u32>, counters: &mut Counters) {
        count(&mut counters.sent);
        if frame.header.kind == Kind::Hello {
            self.due.0 &= !Due::BY_HELLO.0;
            self.hello_sent = (self.phase != LinkPhase::Up).then_some(now);
            return;
        }
        if let Some((lane, next)) = frame.item {
            self.sending.of_mut(lane).has_sent(now);
            counters.retransmits = counters.retransmits.saturating_add(u32::from(next.again));
        }
        if frame.header.flags.contains(Flags::ASK) {
            let is_oldest = !core::mem::replace(&mut self.is_unanswered, true);
            self.sending.data.has_asked(is_oldest, now);
            self.sending.control.has_asked(is_oldest, now);
            if self.sending.data.is_blocked(self.data_allowed()) {
                self.sending.data.wait(now);
            }
        }
        let is_to_come = if frame.header.flags.contains(Flags::ANSWER) { Due::ASK.0 } else { 0 };
        self.due.0 &= Due::BY_HELLO.0 | is_to_come;
        self.told_edge = frame.header.edge;
    }

    /// The caller takes the oldest item of a lane; whether there is one.
    pub(super) fn take(&mut self, lane: Lane) -> bool {
        let was = self.receiving.of_mut(lane).take();
        // Tell the peer of the room if it may be waiting for it.
        let may_wait = self.told_edge == self.receiving.data.next();
        self.due.add(Due::ACK, was && may_wait && lane == Lane::Data);
        was
    }
}

//! The state of one end of a link, and what time and the wire's readiness do to it.

use super::{
    CONTROL_BYTES, CONTROL_WINDOW, Config, Counters, Flags, HELLO_BYTES, Header, Kind, LinkEvent, LinkPhase, TooShort,
    VERSION,
    config::count,
    lane::{Inbox, Next, Outbox, is_after},
    queue::ByteString,
};

/// What has to be told to the peer by the next frame that can tell it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Due {
    pub(super) hello: bool,
    /// The hello answers one of the peer's.
    pub(super) hello_answer: bool,
    /// What was accepted, or how much room there is, has changed.
    pub(super) ack: bool,
    pub(super) ask: bool,
    pub(super) answer: bool,
    pub(super) data_gap: bool,
    pub(super) control_gap: bool,
}

impl Due {
    /// As the flags of a frame in a session say it.
    fn flags(self) -> Flags {
        Flags::NONE
            .with(Flags::ASK, self.ask)
            .with(Flags::ANSWER, self.answer)
            .with(Flags::DATA_GAP, self.data_gap)
            .with(Flags::CONTROL_GAP, self.control_gap)
    }
}

/// Everything that decides what this end does next; the counters are apart, since they decide nothing.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Machine<const W: usize, const F: usize> {
    pub(super) config: Config,
    pub(super) phase: LinkPhase,
    /// This end's incarnation, never 0.
    pub(super) mine: u8,
    /// The peer's, or 0.
    pub(super) peer: u8,
    pub(super) data_out: Outbox<W, F>,
    pub(super) data_in: Inbox<W, F>,
    pub(super) control_out: Outbox<CONTROL_WINDOW, CONTROL_BYTES>,
    pub(super) control_in: Inbox<CONTROL_WINDOW, CONTROL_BYTES>,
    /// The number of the first data item the peer has no room for.
    pub(super) edge: u8,
    /// What the peer was last told of this end's edge.
    pub(super) told_edge: u8,
    pub(super) due: Due,
    /// When the last hello was sent, while one is repeated.
    pub(super) hello_sent: Option<u32>,
    pub(super) stopped: bool,
    pub(super) peer_stopped: bool,
    pub(super) hello: ByteString<HELLO_BYTES>,
    pub(super) peer_hello: ByteString<HELLO_BYTES>,
}

impl<const W: usize, const F: usize> Machine<W, F> {
    pub(super) fn new(config: Config, incarnation: u8) -> Self {
        let window = config.window.clamp(1, W as u8);
        Self {
            config: Config { window, ..config },
            phase: LinkPhase::Greeting,
            mine: incarnation.max(1),
            peer: 0,
            data_out: Outbox::new(),
            data_in: Inbox::new(),
            control_out: Outbox::new(),
            control_in: Inbox::new(),
            edge: 0,
            told_edge: 0,
            due: Due { hello: true, ..Due::default() },
            hello_sent: None,
            stopped: false,
            peer_stopped: false,
            hello: ByteString::EMPTY,
            peer_hello: ByteString::EMPTY,
        }
    }

    /// How many data items may be on the way: the window, or less if the peer has less room.
    fn data_allowed(&self) -> u8 {
        let room = self.edge.wrapping_sub(self.data_out.first());
        if room > 127 { 0 } else { room.min(self.config.window) }
    }

    fn next_control(&self) -> Option<Next<'_>> {
        if self.phase == LinkPhase::Up { self.control_out.next(CONTROL_WINDOW as u8) } else { None }
    }

    fn next_data(&self) -> Option<Next<'_>> {
        if self.phase == LinkPhase::Up { self.data_out.next(self.data_allowed()) } else { None }
    }

    fn must_ack(&self) -> bool {
        self.phase != LinkPhase::Greeting && (self.due.ack || self.due.ask || self.due.answer)
    }

    /// The peer has been heard to hear this end.
    pub(super) fn is_heard(&mut self) -> Option<LinkEvent> {
        self.data_out.is_heard();
        self.control_out.is_heard();
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
        self.data_out.start_over();
        self.control_out.start_over();
        self.due = Due { hello: true, ..Due::default() };
        LinkEvent::Down
    }

    pub(super) fn raise_edge(&mut self, edge: u8) {
        // Frames may overtake each other, but the room a peer once promised it never takes back.
        if is_after(edge, self.edge) {
            self.edge = edge;
        }
    }

    pub(super) fn on_tick(&mut self, now: u32, counters: &mut Counters) -> Option<LinkEvent> {
        let Config { timeout, retry_limit, hello_interval, .. } = self.config;
        if self.phase != LinkPhase::Up {
            self.due.hello |= self.hello_sent.is_some_and(|sent| now.wrapping_sub(sent) >= hello_interval);
            return None;
        }
        let blocked = self.data_out.is_blocked(self.data_allowed());
        if blocked && !self.due.ask {
            self.data_out.wait(now);
        }
        let counts = retry_limit.is_some() && !self.peer_stopped;
        let mut in_vain = 0;
        if self.data_out.is_overdue(now, timeout) {
            in_vain = self.data_out.send_again(counts);
            self.due.ask |= blocked;
        }
        if self.control_out.is_overdue(now, timeout) {
            in_vain = in_vain.max(self.control_out.send_again(counts));
        }
        (counts && retry_limit.is_some_and(|limit| in_vain > limit)).then(|| self.go_down(counters))
    }

    /// How long until [`on_tick`](Self::on_tick) or [`poll_transmit`](Self::poll_transmit) has something to do.
    pub(super) fn ticks_left(&self, now: u32) -> Option<u32> {
        if self.due.hello || self.must_ack() || self.next_control().is_some() || self.next_data().is_some() {
            return Some(0);
        }
        let Config { timeout, hello_interval, .. } = self.config;
        if self.phase != LinkPhase::Up {
            return self.hello_sent.map(|sent| hello_interval.saturating_sub(now.wrapping_sub(sent)));
        }
        let data = self.data_out.ticks_left(now, timeout);
        // A wait for room begins with the next tick.
        let blocked = self.data_out.is_blocked(self.data_allowed()).then_some(timeout);
        let control = self.control_out.ticks_left(now, timeout);
        [data.or(blocked), control].into_iter().flatten().min()
    }

    fn header(&self, kind: Kind, number: u8, flags: Flags) -> Header {
        Header {
            kind,
            flags: flags.with(Flags::STOPPED, self.stopped),
            from: self.mine,
            to: self.peer,
            number,
            data_next: self.data_in.next(),
            control_next: self.control_in.next(),
            edge: self.data_in.edge(),
        }
    }

    pub(super) fn poll_transmit(
        &mut self,
        now: u32,
        out: &mut [u8],
        counters: &mut Counters,
    ) -> Result<Option<usize>, TooShort> {
        let flags = |again| self.due.flags().with(Flags::ASK, again);
        let length = if self.due.hello {
            let length = self.hello_header().encode(self.hello.bytes(), out)?;
            self.due.hello = false;
            self.due.hello_answer = false;
            self.hello_sent = (self.phase != LinkPhase::Up).then_some(now);
            count(&mut counters.sent);
            return Ok(Some(length));
        } else if let Some(item) = self.next_control() {
            let length = self.header(Kind::Control, item.number, flags(item.again)).encode(item.bytes, out)?;
            counters.retransmits = counters.retransmits.saturating_add(u32::from(item.again));
            self.control_out.has_sent(now);
            length
        } else if let Some(item) = self.next_data() {
            let length = self.header(Kind::Data, item.number, flags(item.again)).encode(item.bytes, out)?;
            counters.retransmits = counters.retransmits.saturating_add(u32::from(item.again));
            self.data_out.has_sent(now);
            length
        } else if self.must_ack() {
            self.header(Kind::Ack, 0, flags(false)).encode(&[], out)?
        } else {
            return Ok(None);
        };
        if self.due.ask {
            self.data_out.wait(now);
        }
        self.due = Due { hello: self.due.hello, hello_answer: self.due.hello_answer, ..Due::default() };
        self.told_edge = self.data_in.edge();
        count(&mut counters.sent);
        Ok(Some(length))
    }

    fn hello_header(&self) -> Header {
        let flags = Flags::NONE
            .with(Flags::IN_SESSION, self.phase != LinkPhase::Greeting)
            .with(Flags::ASK, self.phase != LinkPhase::Up)
            .with(Flags::ANSWER, self.due.hello_answer);
        self.header(Kind::Hello, VERSION, flags)
    }

    /// The caller took a data item: tell the peer of the room if it may be waiting for it.
    pub(super) fn has_room_again(&mut self) {
        self.due.ack |= self.told_edge == self.data_in.next();
    }
}

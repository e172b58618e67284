//! A node as its control block describes it.
use crate::Fault;
use stillpoint_core::control::{
    BY_DEBUGGER, ControlLayout, PortBlock, SavedRegisters, SlotBlock, SlotState, StateCode,
};
use stillpoint_core::link::Ledger;
use stillpoint_core::log::Recording;
use stillpoint_core::predicate::{EvalContext, MAX_STAGES, SLOTS, WATCHES};
use stillpoint_core::time::Counts;
use stillpoint_core::{Direction, EventNumber, HaltId, NodeId, PortId, StampKind};

/// What a control block said at one moment.
#[derive(Clone, Debug)]
pub struct Node {
    /// Who.
    pub id: NodeId,
    /// The number of its name: [`Firmware::name`](crate::Firmware::name) of kind `node`.
    pub name: u16,
    /// How many nodes its system has.
    pub nodes: usize,
    /// What its messages carry.
    pub stamps: StampKind,
    /// Where it stands; `None` for a word that no state has.
    pub state: Option<StateCode>,
    /// The last halt it took part in.
    pub last_halt: HaltId,
    /// Its clock.
    pub clock: Vec<u32>,
    /// Who halted before it in this halt, itself last.
    pub order: Vec<NodeId>,
    /// Whether the host's command stopped it in its last halt, before a marker or an event of its own did.
    pub is_halted_by_host: bool,
    /// Its platform's counter when the block was written.
    pub time: Counts,
    /// For how much of that it stood still.
    pub delay: Counts,
    /// Its platform's counter when it stopped in its last halt.
    pub stopped: Counts,
    /// The registers of its core, if its agent keeps the core where it stands and has saved them.
    pub registers: Option<SavedRegisters>,
    /// Why it crashed, if it did.
    pub fault: Option<Fault>,
    /// The ports whose marker it could not deliver, as bits.
    pub undelivered: u32,
    /// Steps that its node refused.
    pub refused: u32,
    /// Its connected ports.
    pub ports: Vec<Port>,
    /// The values of its watches, by the number of their name.
    pub watches: Vec<(u16, i32)>,
    /// Its predicate slots.
    pub slots: Vec<Slot>,
    /// What it records; `None` before it has said so.
    pub recording: Option<Recording>,
    /// The log ring: address and size.
    pub log: (u32, u32),
    /// The ring of the text log: address and size; address 0 if there is none.
    pub text: (u32, u32),
}

/// One predicate slot of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    /// How far it has come; `None` for a word that no state has.
    pub state: Option<SlotState>,
    /// The checksum of the program in it, 0 if there is none.
    pub program: u32,
    /// For each stage the event of this node that satisfied it; 0 if none did.
    pub satisfied: [EventNumber; MAX_STAGES as usize],
}

/// One port of a node.
#[derive(Clone, Debug)]
pub struct Port {
    /// Which.
    pub id: PortId,
    /// Which way messages go.
    pub direction: Direction,
    /// Who is at the other end.
    pub peer: NodeId,
    /// Which of the peer's ports is the other end, if the peer has said so: that of a serial link does in its hello.
    pub peer_port: Option<PortId>,
    /// Whether it carries calls or returns, which a delayed halt protects.
    pub is_rpc: bool,
    /// The number of its name.
    pub name: u16,
    /// Messages sent or received, by the node's count.
    pub count: u32,
    /// Whether messages get through: a link is down until its peer has said hello.
    pub up: bool,
    /// Position of the marker of this halt, if one arrived.
    pub marker: Option<u32>,
    /// Messages that resets took.
    pub lost: u32,
    /// Address of its ring.
    pub(crate) queue: u32,
    /// What the serial link behind it says, if it is one.
    pub(crate) ledger: Option<Ledger>,
    /// The sender's event number of the last message sent or received here, if it is known.
    pub number: Option<EventNumber>,
    /// What the ring had counted at this end when the present session began.
    pub(crate) base: u32,
}

impl Node {
    /// Reads a control block out of its words.
    pub(crate) fn parse(layout: &ControlLayout, words: &[u32]) -> Self {
        let word = |offset: usize| words.get(offset / 4).copied().unwrap_or(0);
        let phase = ControlLayout::PHASE;
        let (seen, up) = (word(phase + 8), word(phase + 16));
        let long = |offset: usize| Counts(u64::from(word(offset)) | u64::from(word(offset + 4)) << 32);
        let order_at = phase + 4 * 10;
        let count = ((word(order_at) & !BY_DEBUGGER) as usize).min(layout.nodes);
        let names = (0..8).flat_map(|index| word(order_at + 4 + 4 * index).to_le_bytes());
        let state = StateCode::from_word(word(phase));
        let stands = !matches!(state, None | Some(StateCode::Starting | StateCode::Running));
        let registers = std::array::from_fn(|at| word(ControlLayout::REGISTERS + 4 * at));
        let watches = (0..stillpoint_core::predicate::WATCHES).map(|index| ControlLayout::WATCHES + 8 * index);
        Self {
            id: layout.node,
            name: word(ControlLayout::NAME) as u16,
            nodes: layout.nodes,
            state,
            registers: SavedRegisters::from_words(registers).filter(|_| stands),
            last_halt: HaltId(word(phase + 4) as u16),
            stamps: layout.stamps,
            time: long(phase + 24),
            delay: long(phase + 32),
            stopped: long(ControlLayout::STOPPED),
            fault: Fault::parse(layout, &word),
            undelivered: word(phase + 12),
            refused: word(phase + 20),
            is_halted_by_host: word(order_at) & BY_DEBUGGER != 0,
            order: names.take(count).map(NodeId).collect(),
            recording: Recording::from_words(std::array::from_fn(|at| word(ControlLayout::RECORDING + 4 * at))),
            log: (word(ControlLayout::LOG), word(ControlLayout::LOG + 4)),
            text: (word(ControlLayout::LOG + 8), word(ControlLayout::LOG + 12)),
            watches: watches.filter(|at| word(*at) != 0).map(|at| (word(at) as u16, word(at + 4) as i32)).collect(),
            clock: (0..layout.nodes).map(|index| word(layout.clock() + 4 * index)).collect(),
            slots: (0..SLOTS).map(|index| Slot::parse(layout.slots() + 4 * SlotBlock::WORDS * index, &word)).collect(),
            ports: (0..layout.ports).filter_map(|index| Port::parse(index, layout, (seen, up), &word)).collect(),
        }
    }

    /// How often it has started, as its clock counts it: the upper bits of its own entry.
    #[must_use]
    pub fn epoch(&self) -> u32 {
        self.clock.get(usize::from(self.id.0)).copied().unwrap_or(0) >> 24
    }

    /// The number of its last event in this epoch.
    #[must_use]
    pub fn event(&self) -> u32 {
        self.clock.get(usize::from(self.id.0)).copied().unwrap_or(0) & 0xFF_FFFF
    }

    /// The values of its watches, by their place on the node.
    #[must_use]
    pub fn watch_values(&self) -> [i32; WATCHES] {
        let mut values = [0; WATCHES];
        values.iter_mut().zip(&self.watches).for_each(|(value, (_, now))| *value = *now);
        values
    }

    /// What conditions can ask about beside the watches, as of its last event.
    #[must_use]
    pub fn eval_context(&self) -> EvalContext<'_> {
        EvalContext { count: self.event(), epoch: self.epoch() as u8, clock: &self.clock }
    }

    /// Its logical time when the block was written: real time without what it stood still for.
    #[must_use]
    pub fn logical_time(&self) -> Counts {
        self.time.wrapping_since(self.delay)
    }

    /// Whether an event of its own began its last halt: a breakpoint, a crash or its application.
    #[must_use]
    pub fn is_initiator(&self) -> bool {
        self.order.first() == Some(&self.id) && !self.is_halted_by_host
    }

    /// Whether the node is parked in a consistent halt.
    #[must_use]
    pub fn is_parked(&self) -> bool {
        self.state == Some(StateCode::Parked)
    }
}

impl Slot {
    fn parse(at: usize, word: &impl Fn(usize) -> u32) -> Self {
        Self {
            state: SlotState::from_word(word(at)),
            program: word(at + 4),
            satisfied: core::array::from_fn(|stage| EventNumber(word(at + 8 + 4 * stage))),
        }
    }
}

impl Port {
    /// Whether a serial link is behind it, as opposed to a mailbox.
    #[must_use]
    pub fn is_serial(&self) -> bool {
        self.ledger.is_some()
    }

    fn parse(
        index: usize,
        layout: &ControlLayout,
        (seen, up): (u32, u32),
        word: &impl Fn(usize) -> u32,
    ) -> Option<Self> {
        let at = layout.port(index);
        let field = |offset: usize| word(at + offset);
        let shape = field(core::mem::offset_of!(PortBlock, shape));
        if shape & 1 == 0 {
            return None;
        }
        let ledger = [0, 4].map(|offset| field(core::mem::offset_of!(PortBlock, ledger) + offset).to_le_bytes());
        let [[mine, peer, sent_first, sent_end], [accepted_next, waiting, waiting_before_reset, valid]] = ledger;
        let ledger = Ledger { mine, peer, sent_first, sent_end, accepted_next, waiting, waiting_before_reset };
        Some(Self {
            id: PortId(index as u8),
            direction: if shape & 2 != 0 { Direction::Out } else { Direction::In },
            peer: NodeId((shape >> 8) as u8),
            peer_port: PortBlock::peer_port(shape),
            is_rpc: shape & PortBlock::CALLS != 0,
            name: field(core::mem::offset_of!(PortBlock, name)) as u16,
            count: field(core::mem::offset_of!(PortBlock, count)),
            up: up >> index & 1 != 0,
            marker: (seen >> index & 1 != 0).then(|| field(core::mem::offset_of!(PortBlock, marker))),
            lost: field(core::mem::offset_of!(PortBlock, lost)),
            queue: field(core::mem::offset_of!(PortBlock, queue)),
            ledger: (valid == 1).then_some(ledger),
            number: Some(EventNumber(field(core::mem::offset_of!(PortBlock, number)))).filter(|number| number.0 != 0),
            base: field(core::mem::offset_of!(PortBlock, base)),
        })
    }
}

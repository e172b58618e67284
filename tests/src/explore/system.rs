//! Three nodes, the wires between them, and what the world knows of both by other means than the nodes' own.
use super::serial::Serial;
use std::rc::Rc;
use stillpoint_core::predicate::Reached;
use stillpoint_core::{HaltId, HaltMarker, Hello, Node, PortId};

/// How many nodes there are.
pub const NODES: usize = 3;

/// The shipped node, as small as the models allow.
pub type Core = Node<NODES, 2>;

/// The port through which a node's messages leave.
pub const OUT: PortId = PortId(0);

/// The port through which a node's messages come in.
pub const IN: PortId = PortId(1);

/// The end of a wire from which messages come. It sends on lane 0 and listens on lane 1.
pub const HEAD: usize = 0;

/// The end of a wire to which messages go. It sends on lane 1, the reverse lane, and listens on lane 0.
pub const TAIL: usize = 1;

/// How the nodes are wired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// 0 -> 1 -> 2 -> 0.
    Ring,
    /// 0 -> 1 -> 2: markers come back only by the reverse lanes.
    Line,
}

impl Shape {
    /// How many wires there are; wire `w` goes from node `w` to the node after it.
    pub const fn wires(self) -> usize {
        match self {
            Self::Ring => 3,
            Self::Line => 2,
        }
    }

    /// The wire behind a node's port, and which of its ends the node holds.
    pub fn wire(self, node: usize, port: PortId) -> Option<(usize, usize)> {
        let (wire, end) = if port == OUT { (node, HEAD) } else { ((node + 2) % NODES, TAIL) };
        (wire < self.wires()).then_some((wire, end))
    }

    /// Who holds this end of a wire, and by which port.
    pub const fn holder(wire: usize, end: usize) -> (usize, PortId) {
        if end == HEAD { (wire, OUT) } else { ((wire + 1) % NODES, IN) }
    }
}

/// A node and the truth about it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Place {
    /// The shipped node.
    pub node: Core,
    /// What the world knows of it.
    pub truth: Truth,
}

/// What is true of a node, kept without clocks, stamps, counts or halt ids.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Truth {
    /// The exact causal history: for each node the set of its events, one bit an event, that happened before now here.
    pub history: [u32; NODES],
    /// Messages the application sent in the present session of its outgoing wire.
    pub sent: u8,
    /// Messages the application received in the present session of its incoming wire.
    pub received: u8,
    /// Which of the node's own events satisfied the stages of the predicate, first stage first.
    pub achieved: [u32; 3],
    /// How many of the node's own events matched each stage after the one before it was satisfied.
    pub occurred: [u8; 3],
    /// The highest stage a predicate marker told of.
    pub told: u8,
    /// Which halt the node last took part in, counted from 1; 0 is what it started with.
    pub last: u8,
    /// The newest halt that the node heard of when a link came up.
    pub heard: u8,
    /// What Chandy and Lamport's algorithm recorded here, while the node is halted.
    pub recorded: Option<Recorded>,
}

/// A node's state as a Chandy-Lamport snapshot of the same schedule records it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Recorded {
    /// Everything that had happened before.
    pub history: [u32; NODES],
    /// Messages sent.
    pub sent: u8,
    /// Messages received.
    pub received: u8,
}

impl Truth {
    /// The halt that the node would initiate.
    pub fn next_halt(&self) -> u8 {
        self.last.max(self.heard) + 1
    }

    /// How many events the node had.
    pub const fn events(&self, node: usize) -> u32 {
        self.history[node].count_ones()
    }
}

/// A message on its way, with what its receiver will have to know.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Message {
    /// Its place in the channel, from 1.
    pub number: u8,
    /// The stamp the sender's node wrote.
    pub stamp: Vec<u8>,
    /// What happened before it was sent, and that.
    pub history: [u32; NODES],
}

/// What travels on a control lane.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Control {
    /// A halt marker.
    Marker(HaltMarker<NODES>),
    /// A release.
    Release(HaltId),
    /// A predicate marker, and the stage of which it really tells.
    Predicate(Reached, u8),
    /// An introduction, and whether its sender had started.
    Hello(Hello, bool),
}

/// One direction of control of a wire.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Lane {
    /// What is on its way, the next to arrive first.
    pub items: Vec<Control>,
    /// The acknowledgement of a marker of the other lane; only the last counts.
    pub acknowledged: Option<HaltId>,
    /// Of which halt the last marker was, and how many of that were sent.
    pub markers: (u8, u8),
}

/// Whether a wire carries messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Session {
    /// It does.
    Up,
    /// One end was reset, and this other end has not noticed.
    Unnoticed(usize),
    /// The end that was reset has not been heard of since it started.
    Greeting,
}

/// A channel: its messages and its two control lanes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Wire {
    /// The messages sent and not received, oldest first.
    pub data: Vec<Message>,
    /// Control with the messages, and against them.
    pub lanes: [Lane; 2],
    /// Whether it works.
    pub session: Session,
    /// Which ends have heard from the other since one of them was reset.
    pub met: [bool; 2],
    /// The serial line, where there is one; messages and control then travel as its frames.
    pub serial: Option<Box<Serial>>,
}

/// What may still be done, and what was done by the host.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Plan {
    /// How often each node may still initiate a halt.
    pub halts: [u8; NODES],
    /// How many local events each node may still have.
    pub locals: [u8; NODES],
    /// How many messages may still be sent on each wire.
    pub messages: [u8; NODES],
    /// How many halts the debugger may still command.
    pub commands: u8,
    /// The halt that it commanded last, and the nodes at which the command has not arrived.
    pub commanded: (u8, [bool; NODES]),
    /// How many releases the host may still give.
    pub releases: u8,
    /// The halt that was last released.
    pub released: u8,
    /// How many faults the line may still have.
    pub faults: u8,
    /// How many resets may still happen.
    pub resets: u8,
    /// Whether the predicate has fired.
    pub fired: bool,
}

/// The whole system, opened up.
#[derive(Clone, Debug)]
pub struct System {
    /// The nodes.
    pub places: [Rc<Place>; NODES],
    /// The wires; a line leaves the last one unused.
    pub wires: [Rc<Wire>; NODES],
    /// What may still be done.
    pub plan: Rc<Plan>,
}

impl System {
    /// A node, to change it.
    pub fn place(&mut self, node: usize) -> &mut Place {
        Rc::make_mut(&mut self.places[node])
    }

    /// A wire, to change it.
    pub fn wire(&mut self, wire: usize) -> &mut Wire {
        Rc::make_mut(&mut self.wires[wire])
    }

    /// The plan, to change it.
    pub fn plan(&mut self) -> &mut Plan {
        Rc::make_mut(&mut self.plan)
    }
}

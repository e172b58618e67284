//! A [`Model`] of three shipped nodes: what can happen in a system, in every order.
use super::config::{Config, Host, Sight};
use super::intern::Interner;
use super::prepare;
use super::sabotage::Sabotage;
use super::search::{Broken, Model};
use super::serial::{End, Serial, next_control};
use super::system::{HEAD, IN, Lane, NODES, OUT, Place, Plan, Session, Shape, System, TAIL, Truth, Wire};
use std::cell::Cell;
use std::rc::Rc;
use stillpoint_core::link;
use stillpoint_core::{HaltId, Phase, PortId};

/// A state of the system: the numbers of its three nodes, three wires and of the plan.
pub type State = [u32; 7];

/// One step. Nodes and wires are named by their numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// The application of a node sends.
    Send(usize),
    /// The application of a node receives.
    Receive(usize),
    /// A node has a local event.
    Local(usize),
    /// A node initiates a halt.
    Halt(usize),
    /// The debugger looks which halt was last, and commands the next one to all nodes.
    Command,
    /// The debugger's command arrives at a node.
    Obey(usize),
    /// The host releases the halt at a node.
    Release(usize),
    /// A node takes the next item of a control lane.
    Control(usize, PortId),
    /// A node hears that its marker was delivered.
    Acknowledge(usize, PortId),
    /// A link puts its next frame on the line: wire and end.
    Transmit(usize, usize),
    /// A frame arrives.
    Carry(usize, usize),
    /// A frame arrives, and will arrive again.
    CarryTwice(usize, usize),
    /// A frame gets lost.
    DropFrame(usize, usize),
    /// A link has waited long enough for an acknowledgement.
    TimeOut(usize, usize),
    /// A node loses all it knew.
    Reset(usize),
    /// The end of a wire notices that the other was reset.
    Notice(usize, usize),
    /// A node that was reset starts.
    Start(usize),
}

/// A configured system.
pub struct World {
    /// What it consists of.
    pub config: Config,
    places: Interner<Place>,
    wires: Interner<Wire>,
    plans: Interner<Plan>,
    initial: State,
    /// What each node's clock said at the beginning.
    pub known: [[u32; NODES]; NODES],
    /// How many messages had been sent on each wire before the beginning.
    pub base: [u32; NODES],
    first_halt: HaltId,
    sights: [Cell<u64>; Sight::COUNT],
}

impl World {
    /// The system that `config` describes.
    pub fn new(config: Config) -> Self {
        let (nodes, first_halt) = prepare::nodes(&config);
        let mut world = Self {
            config,
            places: Interner::default(),
            wires: Interner::default(),
            plans: Interner::default(),
            initial: State::default(),
            known: std::array::from_fn(|node| *nodes[node].clock().entries()),
            base: std::array::from_fn(|node| nodes[node].count(OUT).unwrap_or(0)),
            first_halt,
            sights: std::array::from_fn(|_| Cell::new(0)),
        };
        let plan = Plan {
            halts: config.halts,
            locals: config.locals,
            messages: config.messages,
            commands: config.commands,
            commanded: (0, [false; NODES]),
            releases: config.releases,
            released: 0,
            faults: config.serial.map_or(0, |(_, faults)| faults),
            resets: config.reset.map_or(0, |_| 1),
            fired: false,
        };
        let system = System {
            places: nodes.map(|node| Rc::new(Place { node, truth: Truth::default() })),
            wires: std::array::from_fn(|wire| {
                let serial = config.serial.filter(|(serial, _)| *serial == wire).map(|_| Box::new(Serial::up()));
                let lanes = [Lane::default(), Lane::default()];
                Rc::new(Wire { data: Vec::new(), lanes, session: Session::Up, met: [true; 2], serial })
            }),
            plan: Rc::new(plan),
        };
        world.initial = world.close(&system);
        world
    }

    /// The parts behind a state's numbers.
    pub fn open(&self, state: &State) -> System {
        let [a, b, c, d, e, f, plan] = *state;
        System {
            places: [a, b, c].map(|number| self.places.value(number)),
            wires: [d, e, f].map(|number| self.wires.value(number)),
            plan: self.plans.value(plan),
        }
    }

    fn close(&self, system: &System) -> State {
        let [a, b, c] = std::array::from_fn(|node| self.places.number(&system.places[node]));
        let [d, e, f] = std::array::from_fn(|wire| self.wires.number(&system.wires[wire]));
        [a, b, c, d, e, f, self.plans.number(&system.plan)]
    }

    /// As `close`, when most parts are still those of another state.
    fn close_again(&self, system: &System, before: &System, numbers: &State) -> State {
        let mut state = *numbers;
        for node in (0..NODES).filter(|&node| !Rc::ptr_eq(&system.places[node], &before.places[node])) {
            state[node] = self.places.number(&system.places[node]);
        }
        for wire in (0..NODES).filter(|&wire| !Rc::ptr_eq(&system.wires[wire], &before.wires[wire])) {
            state[NODES + wire] = self.wires.number(&system.wires[wire]);
        }
        if !Rc::ptr_eq(&system.plan, &before.plan) {
            state[2 * NODES] = self.plans.number(&system.plan);
        }
        state
    }

    /// Notes that something rare was met.
    pub fn see(&self, sight: Sight) {
        let seen = &self.sights[sight as usize];
        seen.set(seen.get() + 1);
    }

    /// What the model should have met and has not.
    pub fn unseen(&self) -> impl Iterator<Item = Sight> {
        self.config.meets.iter().copied().filter(|&sight| self.sights[sight as usize].get() == 0)
    }

    /// The how many-th halt of the model an id stands for, by plain counting.
    pub fn ordinal(&self, id: HaltId) -> u8 {
        u8::try_from(id.0.wrapping_sub(self.first_halt.0)).unwrap_or(u8::MAX)
    }

    /// The id of the how many-th halt.
    pub fn halt_id(&self, ordinal: u8) -> HaltId {
        HaltId(self.first_halt.0.wrapping_add(ordinal.into()))
    }

    /// Whether the deliberate mistake is this one.
    pub fn is_sabotaged(&self, sabotage: Sabotage) -> bool {
        self.config.sabotage == Some(sabotage)
    }

    fn application_actions(&self, system: &System, node: usize, into: &mut Vec<Action>) {
        let phase = system.places[node].node.phase();
        let running = phase == Phase::Running;
        let runs_on = self.is_sabotaged(Sabotage::SendAfterHalt) && phase != Phase::Starting;
        if (running || runs_on) && self.can_send(system, node) {
            into.push(Action::Send(node));
        }
        if running && self.can_receive(system, node) {
            into.push(Action::Receive(node));
        }
        if running && system.plan.locals[node] > 0 {
            into.push(Action::Local(node));
        }
        if running && system.plan.halts[node] > 0 {
            into.push(Action::Halt(node));
        }
        let heard_all = system.places[node].node.up() == system.places[node].node.linked();
        if phase == Phase::Starting && heard_all {
            into.push(Action::Start(node));
        }
        if system.plan.resets > 0 && self.config.reset == Some(node) {
            into.push(Action::Reset(node));
        }
    }

    fn can_send(&self, system: &System, node: usize) -> bool {
        let Some((wire, HEAD)) = self.config.shape.wire(node, OUT) else { return false };
        let Wire { data, session, serial, .. } = &*system.wires[wire];
        let room = match serial {
            Some(line) => {
                usize::from(line.ends[HEAD].unacknowledged(link::Lane::Data)) < End::capacity(link::Lane::Data)
            }
            None => data.len() < self.config.capacity,
        };
        room && *session == Session::Up && system.plan.messages[wire] > 0
    }

    fn can_receive(&self, system: &System, node: usize) -> bool {
        let Some((wire, TAIL)) = self.config.shape.wire(node, IN) else { return false };
        match &system.wires[wire].serial {
            Some(line) => line.ends[TAIL].front(link::Lane::Data).is_some(),
            None => system.wires[wire].session == Session::Up && !system.wires[wire].data.is_empty(),
        }
    }

    fn wire_actions(&self, system: &System, wire: usize, into: &mut Vec<Action>) {
        for end in [HEAD, TAIL] {
            let (node, port) = Shape::holder(wire, end);
            let incoming = &system.wires[wire].lanes[1 - end];
            if !incoming.items.is_empty() && system.wires[wire].session != Session::Unnoticed(end) {
                into.push(Action::Control(node, port));
            }
            if incoming.acknowledged.is_some() {
                into.push(Action::Acknowledge(node, port));
            }
            if system.wires[wire].session == Session::Unnoticed(end) {
                into.push(Action::Notice(wire, end));
            }
            let Some(line) = &system.wires[wire].serial else { continue };
            if next_control(&line.ends[end]).is_some() {
                into.push(Action::Control(node, port));
            }
            if line.can_transmit(end) {
                into.push(Action::Transmit(wire, end));
            }
            if !line.air[end].is_empty() {
                into.push(Action::Carry(wire, end));
                if system.plan.faults > 0 {
                    into.extend([Action::DropFrame(wire, end), Action::CarryTwice(wire, end)]);
                }
            }
            if line.can_time_out(end) && !self.is_sabotaged(Sabotage::NoRetransmission) {
                into.push(Action::TimeOut(wire, end));
            }
        }
    }

    fn command_actions(&self, system: &System, into: &mut Vec<Action>) {
        let (_, pending) = system.plan.commanded;
        into.extend((0..NODES).filter(|&node| pending[node]).map(Action::Obey));
        if system.plan.commands > 0 && pending == [false; NODES] {
            into.push(Action::Command);
        }
    }

    fn release_actions(&self, system: &System, into: &mut Vec<Action>) {
        if self.config.reset.is_some() {
            // A release can be lost with a node that is reset: the host sees who is still parked, and repeats itself.
            let is_left = |place: &Place| {
                let halt = self.ordinal(place.node.last_halt());
                matches!(place.node.phase(), Phase::Parked { .. }) && halt > 0 && halt <= system.plan.released
            };
            into.extend((0..NODES).filter(|&node| is_left(&system.places[node])).map(Action::Release));
        }
        if system.plan.releases == 0 {
            return;
        }
        let unreleased = |place: &Rc<Place>| {
            matches!(place.node.phase(), Phase::Parked { .. })
                && self.ordinal(place.node.last_halt()) > system.plan.released
        };
        match self.config.host {
            Host::WaitsForAll if !self.is_complete(system) => {}
            Host::WaitsForAll | Host::IsEager => {
                into.extend((0..NODES).filter(|&node| unreleased(&system.places[node])).map(Action::Release));
            }
        }
    }
}

impl Model for World {
    type State = State;
    type Action = Action;

    fn initial(&self) -> State {
        self.initial
    }

    fn actions(&self, state: &State, into: &mut Vec<Action>) {
        let system = self.open(state);
        (0..NODES).for_each(|node| self.application_actions(&system, node, into));
        (0..self.config.shape.wires()).for_each(|wire| self.wire_actions(&system, wire, into));
        self.command_actions(&system, into);
        self.release_actions(&system, into);
    }

    fn apply(&self, state: &State, action: Action) -> Result<State, Broken> {
        let before = self.open(state);
        let mut system = before.clone();
        self.drive(&mut system, action)?;
        Ok(self.close_again(&system, &before, state))
    }

    fn check(&self, state: &State) -> Result<(), Broken> {
        self.check_state(&self.open(state))
    }

    fn check_end(&self, state: &State) -> Result<(), Broken> {
        self.check_end_state(&self.open(state))
    }

    fn say(&self, action: Action) -> String {
        super::transcript::say(action)
    }

    fn show(&self, state: &State) -> String {
        super::transcript::show(self, &self.open(state))
    }
}

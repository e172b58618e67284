//! Resets, starts, and links that go down and come up.
use super::system::{Cause, tell};
use super::{Control, Lane, Member, Sabotage, System, Violation};
use stillpoint_core::time::Ticks;
use stillpoint_core::{Event, EventKind, EventNumber, HaltId, Hello, Input, Phase, PortId, PortSet};

impl<const N: usize, const S: usize> System<N, S> {
    /// A node is reset. What it was is gone, and so are its inboxes and what of its log was not read; `retains`: its memory
    /// knows its last event and halt. It and its peers say hello to each other, and it will say hello again when it has
    /// started: its number is known only then. What it had sent stays in the inboxes of its peers until they hear that.
    pub fn reset(&mut self, node: usize, retains: bool) -> Result<(), Violation> {
        tell!(self, "{node}: reset{}", if retains { "" } else { ", and remembers nothing" });
        let ends = self.members[node].ends.clone();
        for (edge, lane) in &ends {
            self.channels[*edge].forget(*lane == Lane::Reverse);
        }
        self.reference.reset(node);
        let member = &mut self.members[node];
        if !retains {
            member.retained = (EventNumber(0), HaltId(0));
        } else {
            let number = if member.has_started() { member.node.number() } else { member.retained.0 };
            member.retained = (number, member.node.last_halt());
        }
        member.node = Member::<N, S>::fresh_node(&self.setup, node, &ends);
        member.node.remember_halt(member.retained.1);
        member.app = Default::default();
        member.recorded = member.log.restart();
        member.life += 1;
        member.sessions.fill(None);
        member.awaits = PortSet::first(ends.len());
        for (edge, _) in ends {
            Lane::BOTH.into_iter().for_each(|lane| self.say_hello(edge, lane));
        }
        self.start_if_ready(node)
    }

    /// Whether all peers of a node know that it is in its present epoch, and have nothing more to learn of it.
    #[must_use]
    pub fn peers_know(&self, node: usize) -> bool {
        let member = &self.members[node];
        if member.ends.iter().any(|(edge, lane)| *lane == Lane::Forward && !self.channels[*edge].messages.is_empty()) {
            return false;
        }
        let peers = member.ends.iter().map(|(edge, _)| {
            let (from, to) = self.setup.edges[*edge];
            if from == node { to } else { from }
        });
        let known = |peer: usize| self.members[peer].node.clock().get(member.node.id());
        peers.into_iter().all(|peer| known(peer).0 != 0 && known(peer).epoch() == member.node.number().epoch())
    }

    /// The end of a channel that sends on `lane` introduces itself to the other.
    fn say_hello(&mut self, edge: usize, lane: Lane) {
        let name = self.channels[edge].name;
        let (node, port) = if lane == Lane::Forward { (name.from, name.out) } else { (name.to, name.into) };
        let member = &self.members[usize::from(node.0)];
        if let Some(hello) = member.node.hello(port) {
            self.channels[edge].put_control(lane, Control::Hello(hello));
        }
    }

    /// A peer introduces itself.
    pub(super) fn greet(&mut self, node: usize, port: PortId, mut hello: Hello) -> Result<(), Violation> {
        if self.setup.sabotage == Some(Sabotage::ForgetEpoch) {
            hello.of_you = EventNumber(0);
        }
        let (running, now) = (self.members[node].runs(), self.now.into());
        let before = self.members[node].node.number();
        let edge = self.members[node].ends[usize::from(port.0)].0;
        let session = Some(self.channels[edge].session);
        let resumed = std::mem::replace(&mut self.members[node].sessions[usize::from(port.0)], session) == session;
        if !resumed && !self.members[node].node.is_outgoing(port) {
            let gone = self.channels[edge].empty_inbox();
            self.reference.drop_messages(edge, gone);
        }
        let effects = self.step(node, Input::Hello { port, hello, resumed })?;
        tell!(
            self,
            "{node}: hello on {}",
            self.channels[self.members[node].ends[usize::from(port.0)].0].label(Lane::Forward)
        );
        let member = &mut self.members[node];
        member.awaits = member.awaits.without(port);
        // Message counts may start anew, so the log says where they stand.
        member.log.writer.resynchronise(Ticks(now));
        let number = member.node.number();
        if running && number == before.next() {
            self.count_link_event(node, EventKind::LinkUp, port);
        } else if running {
            self.reference.start(node, number, Event::new(EventKind::Reset, number.epoch().into()));
        }
        self.apply(node, &effects, None, Cause::Own)?;
        self.start_if_ready(node)
    }

    /// A node that starts anew starts when it has heard from all its peers.
    pub(super) fn start_if_ready(&mut self, node: usize) -> Result<(), Violation> {
        let member = &self.members[node];
        if member.node.phase() == Phase::Starting && member.awaits.is_empty() {
            self.start_node(node)?;
        }
        Ok(())
    }

    /// A node starts, above all that is known of it, and introduces itself if this is not its first life.
    pub(super) fn start_node(&mut self, node: usize) -> Result<(), Violation> {
        let mut known = self.members[node].retained.0;
        if self.setup.sabotage == Some(Sabotage::ForgetEpoch) {
            known = EventNumber(0);
        }
        let effects = self.step(node, Input::Start { known })?;
        let now = self.now.into();
        self.members[node].log.writer.resynchronise(Ticks(now));
        let number = self.members[node].node.number();
        if let Some(knower) = self.reference.knower(node, number) {
            return Err(Violation::StaleStart { node, knower });
        }
        if self.members[node].life > 0 {
            tell!(self, "{node}: start in epoch {}", number.epoch());
        }
        self.reference.start(node, number, Event::new(EventKind::Reset, number.epoch().into()));
        self.apply(node, &effects, None, Cause::Own)?;
        if self.members[node].life > 0 {
            for (edge, lane) in self.members[node].ends.clone() {
                self.say_hello(edge, lane);
            }
        }
        Ok(())
    }

    /// The link behind a channel goes down: what is on its way stays there.
    pub fn link_down(&mut self, edge: usize) -> Result<bool, Violation> {
        if !self.channels[edge].up {
            return Ok(false);
        }
        self.channels[edge].up = false;
        tell!(self, "link {} goes down", self.channels[edge].label(Lane::Forward));
        let name = self.channels[edge].name;
        for (node, port) in [(name.from, name.out), (name.to, name.into)] {
            let node = usize::from(node.0);
            let before = self.members[node].node.number();
            let effects = self.step(node, Input::LinkDown { port })?;
            if self.members[node].node.number() != before {
                self.count_link_event(node, EventKind::LinkDown, port);
            }
            self.apply(node, &effects, None, Cause::Own)?;
        }
        Ok(true)
    }

    /// The link comes up again, with nothing lost, and both ends introduce themselves.
    pub fn link_up(&mut self, edge: usize) -> bool {
        if self.channels[edge].up {
            return false;
        }
        self.channels[edge].up = true;
        tell!(self, "link {} comes up", self.channels[edge].label(Lane::Forward));
        Lane::BOTH.into_iter().for_each(|lane| self.say_hello(edge, lane));
        true
    }
}

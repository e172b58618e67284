//! A node that loses all it knew, and how its peers and it get to know each other again.
use super::prepare;
use super::search::Broken;
use super::system::{Control, IN, Lane, NODES, OUT, Recorded, Session, System, Truth};
use super::world::World;
use stillpoint_core::{Hello, Input, PortId};

impl World {
    pub(super) fn reset(&self, system: &mut System, node: usize) -> Result<(), Broken> {
        system.plan().resets -= 1;
        let place = system.place(node);
        place.node = prepare::connected(&self.config, node);
        place.truth = Truth::default();
        for port in [OUT, IN] {
            let Some((wire, end)) = self.config.shape.wire(node, port) else { continue };
            let _ = self.step(system, node, Input::LinkDown { port })?;
            let wire = system.wire(wire);
            wire.data.clear();
            wire.lanes = [Lane::default(), Lane::default()];
            wire.session = Session::Unnoticed(1 - end);
            wire.met = [false; 2];
        }
        Ok(())
    }

    pub(super) fn say_hello(&self, system: &mut System, node: usize, port: PortId) {
        if let (Some((wire, end)), Some(hello)) =
            (self.config.shape.wire(node, port), system.places[node].node.hello(port))
        {
            let started = self.config.reset == Some(node) && system.places[node].truth.events(node) > 0;
            system.wire(wire).lanes[end].items.push(Control::Hello(hello, started));
        }
    }

    pub(super) fn greet(
        &self,
        system: &mut System,
        node: usize,
        port: PortId,
        hello: Hello,
        started: bool,
    ) -> Result<(), Broken> {
        let Some((wire, end)) = self.config.shape.wire(node, port) else { return Ok(()) };
        let resumed = std::mem::replace(&mut system.wire(wire).met[end], true);
        let truth = &mut system.place(node).truth;
        truth.heard = truth.heard.max(self.ordinal(hello.last_halt));
        // A session counts its messages from the beginning, on both sides.
        let mut recorded = truth.recorded.unwrap_or(Recorded { history: [0; NODES], sent: 0, received: 0 });
        if resumed {
            // It goes on as it was.
        } else if port == OUT {
            (truth.sent, recorded.sent) = (0, 0);
        } else {
            (truth.received, recorded.received) = (0, 0);
        }
        truth.recorded = truth.recorded.map(|_| recorded);
        let effects = self.step(system, node, Input::Hello { port, hello, resumed })?;
        if self.config.reset == Some(node) {
            // The answer goes first: it opens the session for what follows.
            self.say_hello(system, node, port);
        } else if started {
            system.wire(wire).session = Session::Up;
        }
        self.obey(system, node, effects, None)
    }
}

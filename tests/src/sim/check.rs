//! What must hold: when all is delivered everybody stops, in one halt, in the state that was recorded.
use super::{Lane, System, Violation};
use stillpoint_core::{Certificate, ChannelReport, HaltId, InFlight, NodeReport, Phase, VectorClock};

impl<const N: usize, const S: usize> System<N, S> {
    /// Delivers everything on the control lanes, again and again, until nothing moves; in queue order the applications
    /// read on until they reach the markers that wait.
    pub fn settle(&mut self) -> Result<(), Violation> {
        for round in 0..10_000 {
            let mut moved = false;
            for place in 0..self.channels.len() {
                // Not always the same channel first.
                let edge = (place + round) % self.channels.len();
                for lane in Lane::BOTH {
                    moved |= self.deliver(edge, lane)?;
                }
                if self.channels[edge].slot.is_some() {
                    moved |= self.receive(edge)?;
                }
            }
            for node in 0..N {
                moved |= self.take_command(node)?;
                self.start_if_ready(node)?;
            }
            moved |= self.tick_wires()?;
            if !moved {
                return Ok(());
            }
        }
        Err(Violation::NeverSettles)
    }

    /// Lets time pass on the serial lines; whether anything is still on its way there.
    pub fn tick_wires(&mut self) -> Result<bool, Violation> {
        let mut busy = false;
        for (edge, channel) in self.channels.iter_mut().enumerate() {
            let Some(wire) = &mut channel.wire else { continue };
            wire.tick();
            busy |= wire.is_busy();
            let miscounted = wire.in_flight().is_some_and(|in_flight| in_flight != channel.messages.len());
            if wire.damaged || miscounted && self.setup.sabotage.is_none() {
                return Err(Violation::WrongMessage(edge));
            }
        }
        Ok(busy)
    }

    /// The halt in which every node is parked; the first node that is not, otherwise.
    pub fn halt_of_all(&self) -> Result<HaltId, Violation> {
        for (node, member) in self.members.iter().enumerate() {
            if !matches!(member.node.phase(), Phase::Parked { .. }) {
                return Err(Violation::NotStopped(node));
            }
        }
        self.check_last_halt()?;
        Ok(self.members[0].node.last_halt())
    }

    /// Everybody runs, or is stopped alone, or crashed.
    pub fn check_running(&self) -> Result<(), Violation> {
        for (node, member) in self.members.iter().enumerate() {
            if !matches!(member.node.phase(), Phase::Running | Phase::Suspended | Phase::Faulted) {
                return Err(Violation::NotResumed(node));
            }
        }
        Ok(())
    }

    /// Everybody agrees which halt was the last.
    pub fn check_last_halt(&self) -> Result<(), Violation> {
        let halts: Vec<u16> = self.members.iter().map(|member| member.node.last_halt().0).collect();
        if halts.iter().any(|halt| *halt != halts[0]) { Err(Violation::LastHalts(halts)) } else { Ok(()) }
    }

    /// The whole claim: every node stopped in one halt, the certificate is given, and the halted state is the one that
    /// Chandy & Lamport's algorithm recorded on the same schedule.
    pub fn check_halted(&self) -> Result<Certificate<N>, Violation> {
        let halt = self.halt_of_all()?;
        let certificate = self.certificate(halt)?;
        for (node, member) in self.members.iter().enumerate() {
            // A node that has not started has no state yet.
            if !member.has_started() {
                continue;
            }
            let recorded = self.reference.recorded(node, halt.0).ok_or(Violation::OtherState(node))?;
            let vector = self.setup.stamps == stillpoint_core::StampKind::Vector;
            let clock = !vector || recorded.clock == member.node.clock().entries();
            if recorded.app != member.app || !clock || recorded.clock[node] != member.node.number().0 {
                return Err(Violation::OtherState(node));
            }
        }
        for (edge, state) in self.reference.channel_states(halt.0).into_iter().enumerate() {
            let channel = &self.channels[edge];
            let in_flight = channel.messages.iter().map(|message| message.bytes[message.stamp..].to_vec());
            if self.both_started(edge) && state != Some(in_flight.collect()) {
                return Err(Violation::OtherChannelState(edge));
            }
        }
        Ok(certificate)
    }

    fn both_started(&self, edge: usize) -> bool {
        let name = self.channels[edge].name;
        [name.from, name.to].iter().all(|node| self.members[usize::from(node.0)].has_started())
    }

    /// What the host makes of the halted state.
    pub fn certificate(&self, halt: HaltId) -> Result<Certificate<N>, Violation> {
        let nodes: Vec<NodeReport<N>> = self.members.iter().map(|member| self.node_report(member)).collect();
        let lists: Vec<(Vec<InFlight>, Vec<u32>)> = self
            .channels
            .iter()
            .map(|channel| {
                let in_flight = channel.messages.iter().map(|message| InFlight { number: message.number }).collect();
                (in_flight, channel.markers(halt))
            })
            .collect();
        let channels: Vec<ChannelReport<'_>> = self
            .channels
            .iter()
            .zip(&lists)
            .map(|(channel, (in_flight, markers))| {
                let name = channel.name;
                let (from, to) = (&self.members[usize::from(name.from.0)], &self.members[usize::from(name.to.0)]);
                let sent = from.node.count(name.out).unwrap_or(0);
                // An end that has not heard from the other since a reset counts in a session that is over.
                let sender_knows = channel.knows_session(&from.sessions, name.out);
                let receiver_knows = channel.knows_session(&to.sessions, name.into);
                let received = if receiver_knows { to.node.count(name.into).unwrap_or(0) } else { 0 };
                let lost_by_reset = if sender_knows { 0 } else { sent };
                ChannelReport { channel: name, sent, received, lost_by_reset, in_flight, markers }
            })
            .collect();
        Certificate::check(&nodes, &channels).map_err(Violation::Certificate)
    }

    fn node_report(&self, member: &super::Member<N, S>) -> NodeReport<N> {
        let parked = matches!(member.node.phase(), Phase::Parked { .. });
        let mut clock = *member.node.clock();
        if !member.has_started() {
            // It stands where its former life ended, which only the memory that survived knows for sure.
            let mut entries = [0; N];
            entries[usize::from(member.node.id().0)] = member.retained.0.0;
            clock.merge(&VectorClock::from_entries(entries));
        }
        NodeReport {
            node: member.node.id(),
            parked: parked.then_some(member.node.last_halt()),
            clock,
            order: *member.node.order(),
            undelivered: stillpoint_core::PortSet::EMPTY,
        }
    }

    /// All messages are taken by those who run, and none is missing: what was sent is received or lost by a reset.
    pub fn check_nothing_lost(&mut self) -> Result<(), Violation> {
        for edge in 0..self.channels.len() {
            while self.receive(edge)? || self.tick_wires()? {}
            let name = self.channels[edge].name;
            let (from, to) = (&self.members[usize::from(name.from.0)], &self.members[usize::from(name.to.0)]);
            let knows = self.channels[edge].knows_session(&from.sessions, name.out);
            // What is on its way to an application that crashed stays there.
            let left = self.channels[edge].messages.len() as u32;
            let received = to.node.count(name.into).map(|count| count.wrapping_add(left));
            if knows && from.node.count(name.out) != received || left > 0 && !to.has_crashed() {
                return Err(Violation::Lost(edge));
            }
        }
        Ok(())
    }
}

//! The certificate of a state in which a probe has stopped the cores, from their logs and mailboxes.
//!
//! A core that a probe stops knows nothing of it: there is no marker, and its control block is as old as its last report. What
//! can be held against each other is what the logs say was sent and received, and what the mailboxes hold. Of a
//! serial link a probe cannot see what is on the wire, so whatever was sent and not received counts as under way.
use crate::boards::Boards;
use crate::tap::Tap;
use std::mem::offset_of;
use stillpoint::NodeAddress;
use stillpoint_core::control::PortBlock;
use stillpoint_core::{
    Certificate, Channel, ChannelReport, HaltId, HaltOrder, InFlight, NodeId, NodeReport, PortId, PortSet, VectorClock,
    Violation,
};

/// Nodes of the demos.
pub const NODES: usize = 4;

/// The channels of a system, each with its mailbox if it has one: on which board, and where.
pub struct Wiring(Vec<(Channel, Option<(usize, u32)>)>);

impl Wiring {
    /// Who is joined to whom.
    pub fn read(boards: &mut Boards) -> anyhow::Result<Self> {
        let header = stillpoint::trace::header_of(&mut boards.system, "")?;
        let (places, nodes) = (boards.system.addresses(), boards.system.nodes()?);
        let mut wiring = Vec::new();
        for info in header.channels {
            let receiver = nodes.iter().position(|node| node.id.0 == info.to);
            let end = receiver.and_then(|node| nodes[node].ports.iter().find(|port| port.id.0 == info.into));
            let mailbox = match (receiver, end) {
                (Some(node), Some(port)) if !port.is_serial() => Some(mailbox(boards, places[node], port.id)?),
                _ => None,
            };
            let channel = Channel {
                from: NodeId(info.from),
                out: PortId(info.out),
                to: NodeId(info.to),
                into: PortId(info.into),
            };
            wiring.push((channel, mailbox));
        }
        Ok(Self(wiring))
    }

    /// Checks that the cut at which the logs end is consistent, and that each mailbox holds what they say it does.
    pub fn check(&self, boards: &mut Boards, taps: &[Tap]) -> anyhow::Result<Result<(), Violation>> {
        let mut found = Vec::new();
        for (channel, mailbox) in &self.0 {
            let end = |node: NodeId, port: PortId| taps[usize::from(node.0)].counts[usize::from(port.0)];
            let (sent, received) = (end(channel.from, channel.out), end(channel.to, channel.into));
            let (written, read) = match mailbox {
                Some((board, ring)) => {
                    let mut head = [0; 2];
                    boards.system.boards()[*board].memory().read(*ring, &mut head)?;
                    (head[0], head[1])
                }
                None => (sent, received.min(sent)),
            };
            let in_flight: Vec<InFlight> = (read + 1..=written).map(|number| InFlight { number }).collect();
            found.push((*channel, sent, received, in_flight));
        }
        let reports: Vec<NodeReport<NODES>> = (0..).zip(taps).map(report).collect();
        let channels: Vec<ChannelReport<'_>> = found
            .iter()
            .map(|(channel, sent, received, in_flight)| ChannelReport {
                channel: *channel,
                sent: *sent,
                received: *received,
                lost_by_reset: 0,
                in_flight,
                // There is none; what a marker would say besides is what is checked here.
                markers: std::slice::from_ref(sent),
            })
            .collect();
        Ok(Certificate::check(&reports, &channels).map(drop))
    }
}

fn report((id, tap): (u8, &Tap)) -> NodeReport<NODES> {
    let node = NodeId(id);
    let mut clock = [0; NODES];
    clock[usize::from(id)] = tap.last;
    NodeReport {
        node,
        parked: Some(HaltId(1)),
        clock: VectorClock::from_entries(clock),
        order: HaltOrder::new().then(node),
        undelivered: PortSet::EMPTY,
    }
}

/// Where the mailbox behind a port lies, by the control block of the port's node.
fn mailbox(boards: &mut Boards, at: NodeAddress, port: PortId) -> anyhow::Result<(usize, u32)> {
    let board = &mut boards.system.boards()[at.board];
    let (block, layout) = board.control_block(at.core);
    let mut queue = [0];
    let offset = layout.port(port.0.into()) + offset_of!(PortBlock, queue);
    board.memory().read(block + offset as u32, &mut queue)?;
    Ok((at.board, queue[0]))
}

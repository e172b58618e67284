//! Between two looks at a board.
use crate::Node;
use std::time::{Duration, Instant};
use stillpoint_core::HaltId;
use stillpoint_core::control::StateCode;
use stillpoint_core::link::Ledger;

/// Gives the processor to others for a moment. Emulated boards need it to get where they are waited for; a probe takes longer
/// than this for one look.
pub(crate) fn pause() {
    std::thread::sleep(Duration::from_micros(100));
}

/// A halt that goes on and on is given up after so many limits.
const IN_ALL: u32 = 6;

/// A limit on waiting for a halt. It counts from the last time that the halt made progress: a marker behind other messages
/// on a slow link arrives late, and a computer with too much to do makes every emulated link slow.
pub(crate) struct HaltLimit {
    limit: Duration,
    began: Instant,
    changed: Instant,
    seen: Vec<Standing>,
}

/// What changes while a halt makes progress.
#[derive(PartialEq, Eq)]
struct Standing {
    state: Option<StateCode>,
    halt: HaltId,
    /// The marker and the link of each port; none of a node that runs, whose links are its application's.
    ports: Vec<(bool, Option<Ledger>)>,
}

impl HaltLimit {
    pub fn new(began: Instant, limit: Duration) -> Self {
        Self { limit, began, changed: began, seen: Vec::new() }
    }

    /// Whether there was no progress for as long as the limit, or the halt takes far too long in all.
    pub fn is_over<'a>(&mut self, nodes: impl Iterator<Item = &'a Node>) -> bool {
        self.is_over_at(Instant::now(), nodes)
    }

    fn is_over_at<'a>(&mut self, now: Instant, nodes: impl Iterator<Item = &'a Node>) -> bool {
        let seen: Vec<Standing> = nodes.map(Standing::of).collect();
        if seen != self.seen {
            // The first look is no change.
            if !self.seen.is_empty() {
                self.changed = now;
            }
            self.seen = seen;
        }
        now.duration_since(self.changed) > self.limit || now.duration_since(self.began) > self.limit * IN_ALL
    }
}

impl Standing {
    fn of(node: &Node) -> Self {
        let stands = matches!(node.state, Some(StateCode::Draining | StateCode::Parked));
        let ports = node.ports.iter().filter(|_| stands).map(|port| (port.marker.is_some(), port.ledger));
        Self { state: node.state, halt: node.last_halt, ports: ports.collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::Port;
    use stillpoint_core::control::ControlLayout;
    use stillpoint_core::{Direction, NodeId, PortId, StampKind};

    /// A node that is parked, and has one link.
    fn parked(marker: Option<u32>, ledger: Ledger) -> Node {
        let layout = ControlLayout { nodes: 2, ports: 1, node: NodeId(0), stamps: StampKind::Vector, size: 0 };
        let port = Port {
            id: PortId(0),
            direction: Direction::In,
            peer: NodeId(1),
            peer_port: None,
            is_rpc: false,
            name: 0,
            count: 0,
            up: true,
            marker,
            lost: 0,
            queue: 0,
            ledger: Some(ledger),
            number: None,
            base: 0,
        };
        Node { state: Some(StateCode::Parked), ports: vec![port], ..Node::parse(&layout, &[]) }
    }

    #[test]
    fn a_halt_is_given_up_after_the_limit_without_progress_and_not_while_messages_still_arrive() {
        let (began, limit) = (Instant::now(), Duration::from_secs(10));
        let at = |second: u64| began + Duration::from_secs(second);
        let node = |accepted_next| [parked(None, Ledger { accepted_next, ..Ledger::default() })];
        let mut still = HaltLimit::new(began, limit);
        assert_eq!([5, 10, 11].map(|second| still.is_over_at(at(second), node(3).iter())), [false, false, true]);

        let mut moving = HaltLimit::new(began, limit);
        let over = (0..100).find(|second| moving.is_over_at(at(*second), node((second / 8) as u8).iter()));
        assert_eq!(over, Some(61), "six limits in all");
    }

    #[test]
    fn what_a_running_application_sends_is_no_progress_of_a_halt() {
        let (began, limit) = (Instant::now(), Duration::from_secs(10));
        let mut patience = HaltLimit::new(began, limit);
        let mut look = |second: u64| {
            let ledger = Ledger { sent_end: second as u8, ..Ledger::default() };
            let node = Node { state: Some(StateCode::Running), ..parked(None, ledger) };
            patience.is_over_at(began + Duration::from_secs(second), std::iter::once(&node))
        };
        assert_eq!([1, 6, 11].map(&mut look), [false, false, true]);
    }
}

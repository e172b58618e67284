//! Histories drawn by hand, for tests and examples.
use crate::{Builder, ChannelInfo, EventId, Header, History, Item, NodeInfo, PortInfo};
use stillpoint_core::log::Record;
use stillpoint_core::time::Ticks;
use stillpoint_core::{Event, EventKind, EventNumber};

/// A history drawn event by event: every node has a channel to every other, named after it.
///
/// # Example: a message from a to b
/// ```
/// use stillpoint_trace::Sketch;
/// let mut sketch = Sketch::new(&["a", "b"]);
/// let cause = sketch.local(0, 7);
/// let sent = sketch.send(0, 1);
/// let received = sketch.receive(0, 1);
/// let history = sketch.history();
/// let [cause, sent, received] = [cause, sent, received].map(|id| history.index_of(id).unwrap());
/// assert!(history.before(cause, received));
/// assert_eq!(history.describe(&history.events[sent]), "a#2 send(to_b)");
/// ```
#[derive(Clone, Debug)]
pub struct Sketch {
    header: Header,
    items: Vec<(u8, Item)>,
    numbers: Vec<u32>,
    /// For each channel, sent and received.
    messages: Vec<(u32, u32)>,
}

impl Sketch {
    /// Nothing has happened on these nodes.
    #[must_use]
    pub fn new(names: &[&str]) -> Self {
        let count = names.len();
        let node = |id: usize| {
            let ends = (0..count).filter(|peer| *peer != id).flat_map(|peer| {
                let (name, peer) = (names[peer], peer as u8);
                let port = |out: bool, way: &str| PortInfo {
                    id: port(count, id, peer.into(), out),
                    name: format!("{way}_{name}"),
                    out,
                    peer,
                };
                [port(true, "to"), port(false, "from")]
            });
            NodeInfo { id: id as u8, name: names[id].into(), ports: ends.collect(), ..NodeInfo::default() }
        };
        let pairs = (0..count * count).map(|at| (at / count, at % count)).filter(|(from, to)| from != to);
        let channels = pairs.map(|(from, to)| ChannelInfo {
            from: from as u8,
            out: port(count, from, to, true),
            to: to as u8,
            into: port(count, to, from, false),
        });
        let (nodes, channels) = ((0..count).map(node).collect(), channels.collect());
        let header = Header { tool: "sketch".into(), nodes, channels, ..Header::default() };
        Self { header, items: Vec::new(), numbers: vec![0; count], messages: vec![(0, 0); count * count] }
    }

    /// The header, to add names to.
    pub fn header(&mut self) -> &mut Header {
        &mut self.header
    }

    /// A tracepoint.
    pub fn local(&mut self, node: usize, tag: u16) -> EventId {
        self.event(node, Event::local(tag))
    }

    /// An event that is no message.
    pub fn event(&mut self, node: usize, event: Event) -> EventId {
        self.add(node, event, None)
    }

    /// A message leaves.
    pub fn send(&mut self, from: usize, to: usize) -> EventId {
        let count = self.numbers.len();
        let sent = &mut self.messages[from * count + to].0;
        *sent += 1;
        let (message, port) = (*sent, port(count, from, to, true));
        self.add(from, Event::new(EventKind::Send, port.into()), Some(message))
    }

    /// The next message is taken.
    pub fn receive(&mut self, from: usize, to: usize) -> EventId {
        let count = self.numbers.len();
        let received = &mut self.messages[from * count + to].1;
        *received += 1;
        let (message, port) = (*received, port(count, to, from, false));
        self.add(to, Event::new(EventKind::Receive, port.into()), Some(message))
    }

    /// A message that is taken at once: its send and its receive.
    pub fn message(&mut self, from: usize, to: usize) -> (EventId, EventId) {
        (self.send(from, to), self.receive(from, to))
    }

    /// What the logs say, in the order in which it was drawn.
    pub fn items(&self) -> impl Iterator<Item = (u8, Item)> {
        self.items.iter().cloned()
    }

    /// The history.
    #[must_use]
    pub fn history(&self) -> History {
        let mut builder = Builder::new(&self.header);
        for (wall, (node, item)) in self.items().enumerate() {
            builder.push(node, wall as u64, item);
        }
        builder.finish(None)
    }

    fn add(&mut self, node: usize, event: Event, message: Option<u32>) -> EventId {
        self.numbers[node] += u32::from(crate::event::counts(event.kind));
        let number = self.numbers[node];
        let time = Ticks(self.items.len() as u64);
        let record = Record { event, number: EventNumber(number), time, message };
        self.items.push((node as u8, Item::Record(record)));
        EventId { node: node as u8, number }
    }
}

/// The number of a node's end of a channel: first those out, then those in, in the order of the other nodes.
fn port(count: usize, node: usize, peer: usize, out: bool) -> u8 {
    let place = peer - usize::from(peer > node);
    (if out { place } else { count - 1 + place }) as u8
}

//! Causal order on the host, as events become many.
use std::time::Instant;
use stillpoint_core::log::Record;
use stillpoint_core::time::Ticks;
use stillpoint_core::{Event, EventKind, EventNumber};
use stillpoint_trace::{CausalOrder, ChannelInfo, Header, Item, NodeInfo, PortInfo};

/// Nodes in a ring, each of which sends to the next on port 0 and takes what comes on port 1.
const NODES: usize = 8;
const ROUND: [(EventKind, u16); 4] =
    [(EventKind::Local, 7), (EventKind::Send, 0), (EventKind::Receive, 1), (EventKind::Local, 9)];

fn header() -> Header {
    let port = |id, out, peer: usize| PortInfo { id, name: format!("p{id}"), out, peer: (peer % NODES) as u8 };
    let node = |id: usize| NodeInfo {
        id: id as u8,
        name: format!("n{id}"),
        ports: vec![port(0, true, id + 1), port(1, false, id + NODES - 1)],
        ..NodeInfo::default()
    };
    let channel = |from: usize| ChannelInfo { from: from as u8, out: 0, to: ((from + 1) % NODES) as u8, into: 1 };
    Header { nodes: (0..NODES).map(node).collect(), channels: (0..NODES).map(channel).collect(), ..Header::default() }
}

/// What sorting so many events came to.
#[derive(Clone, Copy, Debug)]
pub struct Sorted {
    /// Records and clocks held at the same time, at most.
    pub held: usize,
    /// Of the processor, so that what else the machine does counts little.
    pub seconds: f64,
}

/// Seconds for which this thread was on a processor; where the system does not tell, seconds since `began`.
fn on_processor(began: Instant) -> f64 {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanoseconds = told.and_then(|told| told.split(' ').next()?.parse::<f64>().ok());
    nanoseconds.map_or_else(|| began.elapsed().as_secs_f64(), |nanoseconds| nanoseconds / 1e9)
}

/// Sorts the records of a run as a recorder reads them: node by node, a round of each, messages in every round.
pub fn sort(events: usize) -> anyhow::Result<Sorted> {
    let mut order = CausalOrder::new(&header());
    let (mut held, mut delivered, mut sum) = (0, 0_usize, 0_u64);
    let began = Instant::now();
    let before = on_processor(began);
    let mut take = |_: &stillpoint_trace::Event, clock: &[u32]| {
        delivered += 1;
        sum = sum.wrapping_add(clock.iter().map(|entry| u64::from(*entry)).sum());
    };
    for step in 0..events {
        let (place, node) = (step % ROUND.len(), step / ROUND.len() % NODES);
        let round = (step / (ROUND.len() * NODES)) as u32;
        let (kind, arg) = ROUND[place];
        let message = matches!(kind, EventKind::Send | EventKind::Receive).then_some(round + 1);
        let number = EventNumber(round * ROUND.len() as u32 + place as u32 + 1);
        let record = Record { event: Event::new(kind, arg), number, time: Ticks(u64::from(round) * 50), message };
        order.push(node as u8, 0, Item::Record(record), &mut take);
        held = held.max(order.held());
    }
    order.finish(&mut take);
    let seconds = on_processor(began) - before;
    std::hint::black_box(sum);
    anyhow::ensure!(delivered == events, "{delivered} of {events} events were delivered");
    Ok(Sorted { held, seconds })
}

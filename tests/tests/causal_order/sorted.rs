//! Logs of a simulated run, sorted as a trace is, and compared with the truth.
use crate::truth::Truth;
use stillpoint_core::log::RecordingMode;
use stillpoint_core::{EventKind, EventNumber, StampKind};
use stillpoint_tests::faulty::Random;
use stillpoint_tests::sim::Recorded;
use stillpoint_trace::{CausalOrder, ChannelInfo, Event, Header, Item, NodeInfo, Note, Past, PortInfo, Stream};

fn header(recorded: &Recorded) -> Header {
    let vector_stamps = recorded.stamps == StampKind::Vector;
    let mut nodes: Vec<NodeInfo> = (0..recorded.logs.len())
        .map(|id| NodeInfo { id: id as u8, name: format!("n{id}"), vector_stamps, ..NodeInfo::default() })
        .collect();
    let mut channels = Vec::new();
    for &(from, out, to, into) in &recorded.channels {
        for (node, id, peer, leaves) in [(from, out, to, true), (to, into, from, false)] {
            let (id, peer) = (id as u8, peer as u8);
            nodes[node].ports.push(PortInfo { id, out: leaves, peer, ..PortInfo::default() });
        }
        channels.push(ChannelInfo { from: from as u8, out: out as u8, to: to as u8, into: into as u8 });
    }
    Header { nodes, channels, ..Header::default() }
}

/// What was made of a trace.
#[derive(Debug, Default)]
pub struct Sorted {
    pub events: Vec<(Event, Vec<u32>)>,
    pub notes: Vec<Note>,
    records: usize,
}

impl Sorted {
    pub fn unknown(&self) -> usize {
        self.events.iter().filter(|(event, _)| !event.past.is_known()).count()
    }
}

/// A deliberate mistake, which the check must notice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mistake {
    None,
    /// A receive is taken for that of the message before.
    MessageBefore,
    /// A message teaches nothing: no event knows of another node's.
    NoMerge,
    /// Events are given out as they were read.
    AsRead,
    /// What is not known is not said.
    AllKnown,
}

/// Sorts the logs, which come in pieces of any size from any node.
pub fn sort(recorded: &Recorded, seed: u64) -> Sorted {
    sort_with(recorded, seed, Mistake::None)
}

pub fn sort_with(recorded: &Recorded, seed: u64, mistake: Mistake) -> Sorted {
    let mut random = Random::new(seed);
    let mut order = CausalOrder::new(&header(recorded));
    let mut as_read = Vec::new();
    let mut sorted = Sorted::default();
    let mut streams = vec![Stream::new(); recorded.logs.len()];
    let mut rest = recorded.logs.clone();
    let mut wall = 0;
    while rest.iter().any(|rest| !rest.is_empty()) {
        let node = random.below(rest.len() as u32) as usize;
        let Some((begin, bytes)) = rest[node].first_mut() else { continue };
        let piece: Vec<u8> = bytes.drain(..(random.below(64) as usize).min(bytes.len())).collect();
        let position = std::mem::replace(begin, begin.wrapping_add(piece.len() as u32));
        if bytes.is_empty() {
            rest[node].remove(0);
        }
        wall += 1;
        let (mut items, mut run) = (Vec::new(), Vec::new());
        streams[node].push(position, &piece, |item| items.push(item));
        for mut item in items {
            if let Item::Record(record) = &mut item {
                as_read.push((node as u8, record.number.0));
                if mistake == Mistake::MessageBefore && record.event.kind == EventKind::Receive {
                    record.message = record.message.map(|message| message.saturating_sub(1));
                }
            }
            sorted.records += usize::from(matches!(item, Item::Record(_)));
            let mut each = |event: &Event, clock: &[u32]| sorted.events.push((*event, clock.to_vec()));
            // Records come alone or several at once, as whoever reads them likes.
            match item {
                Item::Record(record) if random.below(4) > 0 => run.push(record),
                item => {
                    order.extend(node as u8, wall, &run, &mut each);
                    run.clear();
                    order.push(node as u8, wall, item, &mut each);
                }
            }
        }
        order.extend(node as u8, wall, &run, &mut |event, clock| sorted.events.push((*event, clock.to_vec())));
    }
    order.finish(&mut |event, clock| sorted.events.push((*event, clock.to_vec())));
    sorted.notes = order.take_notes();
    for (event, clock) in &mut sorted.events {
        match mistake {
            Mistake::NoMerge => clock.iter_mut().enumerate().for_each(|(node, entry)| {
                *entry = if node == usize::from(event.id.node) { *entry } else { 0 };
            }),
            Mistake::AllKnown => event.past = Past::Known,
            Mistake::None | Mistake::MessageBefore | Mistake::AsRead => {}
        }
    }
    if mistake == Mistake::AsRead {
        let place = |event: &Event| as_read.iter().position(|read| *read == (event.id.node, event.id.number));
        sorted.events.sort_by_key(|(event, _)| place(event));
    }
    sorted
}

/// Every record is an event; each comes after all that truly happened before it; the clock of each is the true one, or
/// says that it is not all, and then it is a part of the true one; the partner of a receive is the event that sent the
/// message; and no log is called damaged.
pub fn check(recorded: &Recorded, sorted: &Sorted) -> Result<(), String> {
    let newer = |a: u32, b: u32| EventNumber(a).is_newer_than(EventNumber(b));
    let truth = Truth::of(recorded);
    if sorted.events.len() != sorted.records {
        return Err(format!("{} records, {} events, {:?}", sorted.records, sorted.events.len(), sorted.notes));
    }
    // The logs of a simulated run are never damaged.
    if let Some(note) = sorted.notes.iter().find(|note| {
        matches!(note, Note::Impossible { .. } | Note::Cycle { .. } | Note::Backwards { .. } | Note::Broken { .. })
    }) {
        return Err(format!("{note:?}"));
    }
    let mut delivered = vec![0u32; recorded.logs.len()];
    for (event, clock) in &sorted.events {
        let (node, number) = (usize::from(event.id.node), event.id.number);
        // A halt before the first event comes after nothing.
        if !event.counts() && number == 0 {
            continue;
        }
        let Some(true_clock) = truth.clock(node, number) else {
            return Err(format!("{event:?} never happened"));
        };
        // What a node knew before a reset and did not record is not asked for.
        let exact = recorded.recordings.iter().all(|recording| recording.mode() == RecordingMode::Full);
        let least = if exact { Some(true_clock) } else { Truth::known(recorded, node, number) };
        // A node that is reset and halted before it starts has no event yet that its halt could be compared with.
        if event.past == Past::Known
            && event.counts()
            && least.is_none_or(|least| clock.iter().zip(least).any(|(mine, real)| newer(*real, *mine)))
        {
            return Err(format!("{event:?} has {clock:x?}, the truth is {true_clock:x?}"));
        }
        if let Some(partner) = event.partner {
            let partner = (usize::from(partner.node), partner.number);
            if truth.partner(node, number) != Some(partner) {
                return Err(format!("{event:?} is no partner, which is {:x?}", truth.partner(node, number)));
            }
        }
        if clock.iter().zip(true_clock).any(|(mine, real)| newer(*mine, *real)) {
            return Err(format!("{event:?} claims {clock:x?}, and only {true_clock:x?} is true"));
        }
        if event.past == Past::Known && event.counts() {
            // Who comes later must not have happened before.
            let later = sorted.events.iter().filter(|(other, _)| usize::from(other.id.node) != node && other.counts());
            let late = later.filter(|(other, _)| newer(other.id.number, delivered[usize::from(other.id.node)]));
            if let Some((other, _)) = late
                .clone()
                .find(|(other, _)| !newer(other.id.number, least.unwrap_or(true_clock)[usize::from(other.id.node)]))
            {
                return Err(format!("{event:?} comes before {other:?}, which happened before it"));
            }
        }
        delivered[node] = number;
    }
    Ok(())
}

//! The order that is rebuilt from logs is the order in which things happened.
//!
//! Random systems run random schedules in the simulator, which knows the true order. Their nodes write logs; the logs are
//! cut into pieces, shuffled between the nodes, and sorted as a trace is.
mod cases;
#[path = "causal_order/truth.rs"]
mod truth;

use cases::config;
use proptest::prelude::*;
use stillpoint_core::log::RecordingMode;
use stillpoint_core::{EventKind, EventNumber, StampKind};
use stillpoint_tests::faulty::Random;
use stillpoint_tests::sim::{Adversity, Plan, Recorded};
use stillpoint_trace::{CausalOrder, ChannelInfo, Event, Header, Item, NodeInfo, Note, Past, PortInfo, Stream};
use truth::Truth;

const CALM: Adversity = Adversity { links: false, resets: false, forgetful: false, haste: false };

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
struct Sorted {
    events: Vec<(Event, Vec<u32>)>,
    notes: Vec<Note>,
    records: usize,
    gaps: usize,
}

impl Sorted {
    fn unknown(&self) -> usize {
        self.events.iter().filter(|(event, _)| !event.past.is_known()).count()
    }
}

/// A deliberate mistake, which the check must notice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mistake {
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
fn sort(recorded: &Recorded, seed: u64) -> Sorted {
    sort_with(recorded, seed, Mistake::None)
}

fn sort_with(recorded: &Recorded, seed: u64, mistake: Mistake) -> Sorted {
    let mut random = Random::new(seed);
    let mut order = CausalOrder::new(&header(recorded));
    let mut as_read = Vec::new();
    let mut sorted = Sorted::default();
    let mut streams = vec![Stream::new(); recorded.logs.len()];
    let mut rest: Vec<&[u8]> = recorded.logs.iter().map(Vec::as_slice).collect();
    let mut wall = 0;
    while rest.iter().any(|rest| !rest.is_empty()) {
        let node = random.below(rest.len() as u32) as usize;
        let (piece, after) = rest[node].split_at((random.below(64) as usize).min(rest[node].len()));
        let position = (recorded.logs[node].len() - rest[node].len()) as u32;
        rest[node] = after;
        wall += 1;
        let (mut items, mut run) = (Vec::new(), Vec::new());
        streams[node].push(position, piece, |item| items.push(item));
        for mut item in items {
            if let Item::Record(record) = &mut item {
                as_read.push((node as u8, record.number.0));
                if mistake == Mistake::MessageBefore && record.event.kind == EventKind::Receive {
                    record.message = record.message.map(|message| message.saturating_sub(1));
                }
            }
            sorted.records += usize::from(matches!(item, Item::Record(_)));
            sorted.gaps += usize::from(matches!(item, Item::Gap(_)));
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
/// says that it is not all, and then it is a part of the true one.
fn check(recorded: &Recorded, sorted: &Sorted) -> Result<(), String> {
    let newer = |a: u32, b: u32| EventNumber(a).is_newer_than(EventNumber(b));
    let truth = Truth::of(recorded);
    if sorted.events.len() != sorted.records {
        return Err(format!("{} records, {} events, {:?}", sorted.records, sorted.events.len(), sorted.notes));
    }
    let mut delivered = vec![0u32; recorded.logs.len()];
    for (event, clock) in &sorted.events {
        let (node, number) = (usize::from(event.id.node), event.id.number);
        let Some(true_clock) = truth.clock(node, number) else {
            return Err(format!("{event:?} never happened"));
        };
        let exact = recorded.dropped == 0
            && recorded.recordings.iter().all(|recording| recording.mode() == RecordingMode::Full);
        let least = if exact { Some(true_clock) } else { Truth::known(recorded, node, number) };
        // A node that is reset and halted before it starts has no event yet that its halt could be compared with.
        if event.past == Past::Known
            && event.counts()
            && least.is_none_or(|least| clock.iter().zip(least).any(|(mine, real)| newer(*real, *mine)))
        {
            return Err(format!("{event:?} has {clock:x?}, the truth is {true_clock:x?}"));
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

fn cases() -> impl Strategy<Value = (usize, u64, Vec<u32>, u64)> {
    (2usize..=5, any::<u64>(), prop::collection::vec(any::<u32>(), 0..150), any::<u64>())
}

fn plan(nodes: usize, shape: u64, choices: Vec<u32>, adversity: Adversity, stamps: Option<StampKind>) -> Plan {
    let mut plan = Plan::random(nodes, shape, choices, adversity);
    if let Some(stamps) = stamps {
        plan.setup.stamps = stamps;
        plan.setup.recordings.clear();
    }
    plan
}

/// As elsewhere, and those that once failed.
///
/// Of 100,000 cases about one still fails, where a log of 128 bytes has lost that a channel began to count anew: see the
/// limits in `docs/TRACE.md`.
fn with_saved_cases(cases: u32) -> ProptestConfig {
    ProptestConfig { failure_persistence: ProptestConfig::default().failure_persistence, ..config(cases) }
}

const STAMPS: [StampKind; 2] = [StampKind::Event, StampKind::Vector];

proptest! {
    #![proptest_config(with_saved_cases(1000))]

    #[test]
    fn where_everything_is_recorded_all_order_is_known_and_true((nodes, shape, choices, seed) in cases()) {
        for stamps in STAMPS {
            let recorded = plan(nodes, shape, choices.clone(), Adversity { links: true, ..CALM }, Some(stamps)).record::<8192>();
            let recorded = recorded.map_err(|failure| TestCaseError::fail(failure.to_string()))?;
            let sorted = sort(&recorded, seed);
            prop_assert_eq!(check(&recorded, &sorted), Ok(()));
            prop_assert_eq!(sorted.unknown(), 0);
            prop_assert_eq!(&sorted.notes, &[]);
        }
    }

    #[test]
    fn resets_leave_no_order_unknown_and_none_untrue((nodes, shape, choices, seed) in cases()) {
        for (stamps, forgetful) in [(StampKind::Event, false), (StampKind::Vector, true)] {
            let adversity = Adversity { resets: true, links: true, forgetful, ..CALM };
            let recorded = plan(nodes, shape, choices.clone(), adversity, Some(stamps)).record::<8192>();
            let recorded = recorded.map_err(|failure| TestCaseError::fail(failure.to_string()))?;
            let sorted = sort(&recorded, seed);
            prop_assert_eq!(check(&recorded, &sorted), Ok(()));
            prop_assert_eq!(sorted.unknown(), 0, "{:?}", sorted.events.iter().find(|(event, _)| !event.past.is_known()));
        }
    }

    /// Rings of 128 bytes drop most of what is written.
    #[test]
    fn what_is_lost_makes_no_order_untrue((nodes, shape, choices, seed) in cases()) {
        for stamps in STAMPS {
            for resets in [false, true] {
                let recorded = plan(nodes, shape, choices.clone(), Adversity { resets, ..CALM }, Some(stamps)).record::<128>();
                let recorded = recorded.map_err(|failure| TestCaseError::fail(failure.to_string()))?;
                let sorted = sort(&recorded, seed);
                prop_assert_eq!(check(&recorded, &sorted), Ok(()));
            }
        }
    }

    /// Hyder, table 3-1: what a node does not record it forwards, so that the order among what is recorded stays exact.
    #[test]
    fn restricted_recording_leaves_the_order_of_the_rest_exact((nodes, shape, choices, seed) in cases()) {
        for resets in [false, true] {
            let mut plan = plan(nodes, shape, choices.clone(), Adversity { resets, links: true, ..CALM }, None);
            plan.setup.stamps = StampKind::Vector;
            plan.setup.recordings.iter_mut().for_each(|recording| *recording = recording.with_causes());
            let recorded = plan.record::<8192>().map_err(|failure| TestCaseError::fail(failure.to_string()))?;
            let sorted = sort(&recorded, seed);
            prop_assert_eq!(check(&recorded, &sorted), Ok(()));
            prop_assert_eq!(sorted.unknown(), 0);
        }
    }

    /// Some nodes record a part and others do not say what they learned from it; rings drop; nodes are reset.
    #[test]
    fn everything_at_once_makes_no_order_untrue((nodes, shape, choices, seed) in cases()) {
        let adversity = Adversity { resets: true, links: true, haste: false, forgetful: shape % 2 == 0 };
        for recorded in [plan(nodes, shape, choices.clone(), adversity, None).record::<8192>(), plan(nodes, shape, choices, adversity, None).record::<128>()] {
            let recorded = recorded.map_err(|failure| TestCaseError::fail(failure.to_string()))?;
            let sorted = sort(&recorded, seed);
            prop_assert_eq!(check(&recorded, &sorted), Ok(()));
        }
    }
}

/// A check that nothing can fail proves nothing.
#[test]
fn every_mistake_in_sorting_is_noticed() {
    for mistake in [Mistake::MessageBefore, Mistake::NoMerge, Mistake::AsRead, Mistake::AllKnown] {
        let noticed = (0..40).filter(|seed| {
            let mut random = Random::new(*seed);
            let choices = (0..120).map(|_| random.next() as u32).collect();
            let adversity = Adversity { resets: true, ..CALM };
            let plan = plan(3, *seed, choices, adversity, Some(StampKind::Event));
            let recorded = if mistake == Mistake::AllKnown { plan.record::<128>() } else { plan.record::<8192>() };
            let Ok(recorded) = recorded else { return false };
            assert_eq!(check(&recorded, &sort(&recorded, *seed)), Ok(()));
            check(&recorded, &sort_with(&recorded, *seed, mistake)).is_err()
        });
        assert!(noticed.count() >= 5, "{mistake:?} is not noticed");
    }
}

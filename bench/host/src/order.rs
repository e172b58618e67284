//! Causal order with a full clock for each event, ours and with `crdts`.
use crate::callgrind::Work;
use crate::crdts_order;
use crate::input::{Piece, header, pieces};
use std::hint::black_box;
use stillpoint_trace::{CausalOrder, Event};

/// How many nodes.
pub const NODES: [usize; 3] = [4, 8, 32];
/// How many events, where they are counted: a whole number of rounds for all of these nodes.
pub const EVENTS: usize = 23_040;
/// How often as many, for the growth.
pub const GROWTH: [usize; 5] = [1, 2, 4, 8, 16];

pub fn works() -> Vec<Work> {
    let mut works = Vec::new();
    for nodes in NODES {
        let work = |name: &str, sort: fn(usize, &[Piece]) -> u64| {
            Work::new(format!("causal order, {name}, {nodes} nodes"), EVENTS, move || {
                let pieces = pieces(nodes, EVENTS);
                move || _ = black_box(sort(nodes, &pieces))
            })
        };
        works.push(work("stillpoint", ours));
        works.push(work("crdts", lean));
        works.push(work("crdts, a copy for each event", natural));
    }
    works.extend(GROWTH.map(|times| {
        Work::new(format!("causal order of {} events, 8 nodes", EVENTS * times), EVENTS * times, move || {
            let pieces = pieces(8, EVENTS * times);
            move || _ = black_box(ours(8, &pieces))
        })
    }));
    works
}

// Each delivers the same events with the same clocks to a sink that must have both in memory and reads an entry of the
// clock. The sum is there so that nothing is left out.

fn ours(nodes: usize, pieces: &[Piece]) -> u64 {
    let mut sum = 0;
    sort(nodes, pieces, |event, clock| {
        black_box(event);
        sum += u64::from(clock[0]);
    });
    sum
}

fn lean(nodes: usize, pieces: &[Piece]) -> u64 {
    let mut sum = 0;
    crdts_order::lean(nodes, pieces, |event, clock| {
        black_box(event);
        sum += clock.get(&0);
    });
    sum
}

fn natural(nodes: usize, pieces: &[Piece]) -> u64 {
    let mut sum = 0;
    crdts_order::natural(nodes, pieces, |event, clock| {
        black_box(event);
        sum += clock.get(&0);
    });
    sum
}

/// From decoded records to events, each lent to the sink with its clock.
fn sort(nodes: usize, pieces: &[Piece], mut each: impl FnMut(&Event, &[u32])) {
    let mut order = CausalOrder::new(&header(nodes));
    for (node, records) in pieces {
        order.extend(*node, 0, records, &mut each);
    }
    order.finish(&mut each);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crdts::VClock;

    /// An event and its clock.
    type Told = (Event, Vec<u64>);

    #[test]
    fn all_ways_of_sorting_give_the_same_events_with_the_same_clocks() {
        for nodes in NODES {
            let (pieces, mut told) = (pieces(nodes, 6 * nodes * 7), [(); 3].map(|()| Vec::<Told>::new()));
            let [ours, lean, natural] = &mut told;
            let entries = |clock: &VClock<u8>| (0..nodes as u8).map(|entry| clock.get(&entry)).collect();
            sort(nodes, &pieces, |event, clock| {
                ours.push((*event, clock.iter().map(|entry| u64::from(*entry)).collect()))
            });
            crdts_order::lean(nodes, &pieces, |event, clock| lean.push((*event, entries(clock))));
            crdts_order::natural(nodes, &pieces, |event, clock| natural.push((*event, entries(clock))));
            for told in &mut told {
                assert_eq!(told.len(), 6 * nodes * 7);
                assert!(comes_after_its_causes(told), "{nodes} nodes");
                told.sort_unstable_by_key(|(event, _)| event.id);
            }
            assert!(told[0] == told[1] && told[0] == told[2], "{nodes} nodes");
        }
    }

    /// Whether each event is told when all that its clock knows of was.
    fn comes_after_its_causes(told: &[Told]) -> bool {
        let mut seen = vec![0; told.first().map_or(0, |(_, clock)| clock.len())];
        told.iter().all(|(event, clock)| {
            seen[usize::from(event.id.node)] = u64::from(event.id.number);
            clock.iter().zip(&seen).all(|(known, seen)| known <= seen)
        })
    }
}

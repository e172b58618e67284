//! Causal order with a full clock for each event, ours and with `crdts`.
use crate::callgrind::Work;
use crate::crdts_order;
use crate::input::{Run, header};
use std::hint::black_box;
use stillpoint_core::log::Record;
use stillpoint_trace::{CausalOrder, Item};

/// How many nodes.
pub const NODES: [usize; 3] = [4, 8, 32];
/// How many events, where they are counted: a whole number of rounds for all of these nodes.
pub const EVENTS: usize = 23_040;
/// How often as many, for the growth.
pub const GROWTH: [usize; 5] = [1, 2, 4, 8, 16];

pub fn works() -> Vec<Work> {
    let mut works = Vec::new();
    for nodes in NODES {
        let records = move || Run::new(nodes).take(EVENTS).collect::<Vec<_>>();
        let work = |name: &str, sort: fn(usize, &[(u8, Record)]) -> u64| {
            Work::new(format!("causal order, {name}, {nodes} nodes"), EVENTS, move || {
                let records = records();
                move || _ = black_box(sort(nodes, &records))
            })
        };
        works.push(work("stillpoint", sort));
        works.push(work("crdts", crdts_order::sort));
        works.push(work("crdts, a copy for each event", crdts_order::sort_with_copies));
    }
    works.extend(GROWTH.map(|times| {
        Work::new(format!("causal order of {} events, 8 nodes", EVENTS * times), EVENTS * times, move || {
            let records: Vec<_> = Run::new(8).take(EVENTS * times).collect();
            move || _ = black_box(sort(8, &records))
        })
    }));
    works
}

/// From decoded records to events, each lent to the sink with its clock. The sum is there so that nothing is left out.
fn sort(nodes: usize, records: &[(u8, Record)]) -> u64 {
    let (mut order, mut sum) = (CausalOrder::new(&header(nodes)), 0);
    for (node, record) in records {
        order.push(*node, 0, Item::Record(*record), &mut |event, clock| {
            black_box(event);
            sum += u64::from(clock[0]);
        });
    }
    order.finish(&mut |event, clock| {
        black_box(event);
        sum += u64::from(clock[0]);
    });
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_ways_of_sorting_give_every_event_the_same_clock() {
        for nodes in NODES {
            let records: Vec<_> = Run::new(nodes).take(6 * nodes * 7).collect();
            let sum = sort(nodes, &records);
            assert_eq!(crdts_order::sort(nodes, &records), sum, "{nodes} nodes");
            assert_eq!(crdts_order::sort_with_copies(nodes, &records), sum, "{nodes} nodes");
            assert!(sum > records.len() as u64);
        }
    }
}

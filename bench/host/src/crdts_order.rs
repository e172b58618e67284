//! The same sorting with the clocks of the `crdts` crate.
use crdts::{CmRDT as _, CvRDT as _, VClock};
use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasherDefault, DefaultHasher};
use std::hint::black_box;
use stillpoint_core::EventKind;
use stillpoint_core::log::Record;

/// As we do it: records wait in a queue for each node, clocks of sends in one for each channel, and the sink is lent the
/// event and its clock. Only a send's clock is copied.
pub fn sort(nodes: usize, records: &[(u8, Record)]) -> u64 {
    let mut sent: Vec<[VecDeque<VClock<u8>>; 2]> = (0..nodes).map(|_| Default::default()).collect();
    let (mut clocks, mut queues) = (vec![VClock::<u8>::new(); nodes], vec![VecDeque::new(); nodes]);
    let (mut ready, mut sum) = (Vec::new(), 0);
    for (node, record) in records {
        queues[usize::from(*node)].push_back(*record);
        ready.push(usize::from(*node));
        while let Some(node) = ready.pop() {
            while let Some(record) = queues[node].front() {
                let (kind, port) = (record.event.kind, usize::from(record.event.arg));
                if kind == EventKind::Receive {
                    let from = (node + nodes - (port - 1)) % nodes;
                    let Some(clock) = sent[from][port - 2].pop_front() else { break };
                    clocks[node].merge(clock);
                }
                let tick = clocks[node].inc(node as u8);
                clocks[node].apply(tick);
                black_box(record);
                sum += clocks[node].get(&0);
                if kind == EventKind::Send {
                    sent[node][port].push_back(clocks[node].clone());
                    ready.push((node + port + 1) % nodes);
                }
                queues[node].pop_front();
            }
        }
    }
    sum
}

/// As one writes it first: a clock of its own for each event, and those of sends in a map by message.
pub fn sort_with_copies(nodes: usize, records: &[(u8, Record)]) -> u64 {
    type Fixed = BuildHasherDefault<DefaultHasher>;
    let mut sent: HashMap<(u8, u16, u32), VClock<u8>, Fixed> = HashMap::default();
    let (mut clocks, mut queues) = (vec![VClock::<u8>::new(); nodes], vec![VecDeque::new(); nodes]);
    let mut sum = 0;
    for (node, record) in records {
        queues[usize::from(*node)].push_back(*record);
        let mut ready = vec![usize::from(*node)];
        while let Some(node) = ready.pop() {
            while let Some(record) = queues[node].front() {
                let (kind, port, message) = (record.event.kind, record.event.arg, record.message.unwrap_or(0));
                if kind == EventKind::Receive {
                    let from = ((node + nodes - (usize::from(port) - 1)) % nodes) as u8;
                    let Some(clock) = sent.remove(&(from, port - 2, message)) else { break };
                    clocks[node].merge(clock);
                }
                let tick = clocks[node].inc(node as u8);
                clocks[node].apply(tick);
                let clock = clocks[node].clone();
                black_box(record);
                sum += clock.get(&0);
                if kind == EventKind::Send {
                    sent.insert((node as u8, port, message), clock);
                    ready.push((node + usize::from(port) + 1) % nodes);
                }
                queues[node].pop_front();
            }
        }
    }
    sum
}

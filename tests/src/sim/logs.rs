//! What the host makes of the logs, compared with what happened.
use super::{Entry, System, Violation};
use std::collections::BTreeMap;
use stillpoint_core::log::{Record, RecordingMode};
use stillpoint_core::{EventKind, StampKind};

impl<const N: usize, const S: usize> System<N, S> {
    /// The log of a node tells what happened, nothing else, and misses nothing silently. Where records carry causes,
    /// the clock of each recorded event is exactly the true one. Says how many records were compared.
    pub fn check_log(&self, node: usize) -> Result<u32, Violation> {
        let wrong = |what: String| Err(Violation::Log(node, what));
        let recording = self.setup.recording(node);
        let carries_causes = recording == recording.with_causes() && self.setup.stamps == StampKind::Vector;
        let truth: BTreeMap<u32, &super::Happened> =
            self.reference.history[node].iter().map(|happened| (happened.clock[node], happened)).collect();
        let (mut records, mut missing, mut last) = (0, 0, None);
        for entry in &self.members[node].log.read {
            let (record, clock) = match entry {
                Entry::Gap(dropped) => {
                    missing += dropped;
                    continue;
                }
                Entry::Record(record, clock) => (record, clock),
            };
            records += 1;
            if is_between_events(record) {
                continue;
            }
            let Some(happened) = truth.get(&record.number.0) else {
                return wrong(format!("event {:#x} never happened", record.number.0));
            };
            if happened.event != record.event {
                return wrong(format!("{:?} was {:?}", record.event, happened.event));
            }
            if last.is_some_and(|last| !record.number.is_newer_than(last)) {
                return wrong(format!("event {:#x} is out of order", record.number.0));
            }
            last = Some(record.number);
            if carries_causes && clock.as_ref() != Some(&happened.clock) {
                return wrong(format!("{:?} has clock {clock:?}, the truth is {:?}", record.event, happened.clock));
            }
        }
        // A record that is longer than the ring is told of with the next one that is not.
        let log = &self.members[node].log;
        let untold = log.untold();
        if untold != 0 && log.ring.dropped() == 0 {
            return wrong(format!("{untold} records are missing silently"));
        }
        if records + missing + untold != self.members[node].recorded {
            return wrong(format!("{records} read and {missing} missing of {}", self.members[node].recorded));
        }
        Ok(records)
    }

    /// Rebuilds all order from the logs alone, as the host does: the n-th receive on a channel is its n-th send. Where
    /// every node records everything this must give the true clock of every event.
    pub fn check_order_from_logs(&self) -> Result<(), Violation> {
        if (0..N).any(|node| self.setup.recording(node).mode() != RecordingMode::Full) {
            return Ok(());
        }
        let logs: Vec<Vec<&Record>> = self.members.iter().map(|member| events(&member.log.read)).collect();
        let (mut next, mut clocks) = (vec![0; N], vec![vec![0; N]; N]);
        let mut sent: BTreeMap<(usize, u32), Vec<u32>> = BTreeMap::new();
        while (0..N).any(|node| next[node] < logs[node].len()) {
            let before = next.clone();
            for node in 0..N {
                while let Some(record) = logs[node].get(next[node]) {
                    let edge = self.members[node].ends.get(usize::from(record.event.arg)).map_or(0, |end| end.0);
                    let message = (edge, record.message.unwrap_or(0));
                    if record.event.kind == EventKind::Receive {
                        let Some(cause) = sent.get(&message) else { break };
                        for (mine, theirs) in clocks[node].iter_mut().zip(cause) {
                            *mine = (*mine).max(*theirs);
                        }
                    }
                    clocks[node][node] = record.number.0;
                    if record.event.kind == EventKind::Send {
                        sent.insert(message, clocks[node].clone());
                    }
                    let happened = &self.reference.history[node][next[node]];
                    if happened.clock != clocks[node] {
                        let what = format!("{:?} is rebuilt as {:?}, not {:?}", record, clocks[node], happened.clock);
                        return Err(Violation::Log(node, what));
                    }
                    next[node] += 1;
                }
            }
            if next == before {
                return Err(Violation::Log(0, "a receive has no send in any log".into()));
            }
        }
        Ok(())
    }
}

fn is_between_events(record: &Record) -> bool {
    matches!(record.event.kind, EventKind::Halt | EventKind::Resume)
}

fn events(log: &[Entry]) -> Vec<&Record> {
    let records = log.iter().filter_map(|entry| match entry {
        Entry::Record(record, _) => Some(record),
        Entry::Gap(_) => None,
    });
    records.filter(|record| !is_between_events(record)).collect()
}

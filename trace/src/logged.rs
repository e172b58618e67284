//! What the logs of nodes say of a run that was drawn: sync records and causes beside the records, for tests.
use crate::{EventId, History, Item, Sync};
use stillpoint_core::EventKind;
use stillpoint_core::log::Record;

/// The nodes of a run, as they log it.
pub struct Logs {
    whole: History,
    counts: Vec<Vec<u32>>,
    origins: Vec<Vec<u32>>,
    /// For each node, what it has received from each other directly.
    direct: Vec<Vec<u32>>,
    /// The event and clock that the log of each node told last.
    told: Vec<Option<(u32, Vec<u32>)>>,
}

impl Logs {
    /// Nothing of a run is logged yet.
    pub fn of(whole: History) -> Self {
        let (width, ports) = (whole.width(), vec![0; 8]);
        let (counts, direct) = (vec![ports; width], vec![vec![0; width]; width]);
        Self { whole, origins: counts.clone(), counts, direct, told: vec![None; width] }
    }

    /// The next event of a node happens, recorded or not.
    pub fn happens(&mut self, node: u8, record: &Record) {
        let (at, port) = (usize::from(node), usize::from(record.event.arg));
        self.direct[at][at] = record.number.0;
        let Some(message) = record.message else { return };
        let event = &self.whole.events[self.index(node, record)];
        let sent = event.partner.filter(|_| record.event.kind == EventKind::Receive);
        self.counts[at][port] = message;
        self.origins[at][port] = sent.map_or(0, |sent| sent.number);
        if let Some(sent) = sent {
            self.direct[at][usize::from(sent.node)] = sent.number;
        }
    }

    /// A sync record before the record of the event that just happened. With vector stamps a node knows its whole clock,
    /// otherwise the events whose messages it took.
    pub fn sync(&mut self, node: u8, record: &Record, vector: bool, mode: u8, with_causes: bool) -> Item {
        let (at, number, time) = (usize::from(node), record.number.0, record.time);
        let whole = self.whole.clock(self.index(node, record)).to_vec();
        let clock = if vector { whole } else { self.direct[at].clone() };
        self.told[at] = Some((number, clock.clone()));
        let (counts, origins) = (self.counts[at].clone(), self.origins[at].clone());
        Item::Sync(Sync { mode, with_causes, number, time, records: 0, clock, counts, origins })
    }

    /// What the node learned since its log told its clock last; none if it did not tell any.
    pub fn causes(&mut self, node: u8, record: &Record) -> Option<Item> {
        let (at, number) = (usize::from(node), record.number.0);
        let clock = self.whole.clock(self.index(node, record)).to_vec();
        let (last, known) = self.told[at].as_ref()?;
        let changed = (0..clock.len()).filter(|place| *place != at && clock[*place] != known[*place]);
        let differences = changed.clone().map(|place| clock[place] - known[place]).collect();
        let changed = changed.fold(0, |mask, place| mask | 1 << place);
        let causes = Item::Causes { skipped: number - last - 1, changed, differences };
        self.told[at] = Some((number, clock));
        Some(causes)
    }

    fn index(&self, node: u8, record: &Record) -> usize {
        self.whole.index_of(EventId { node, number: record.number.0 }).expect("every event is there")
    }
}

//! The records of one node, decoded from the pieces of its log.
use stillpoint_core::EventNumber;
use stillpoint_core::log::{LogError, LogItem, LogReader, NOT_STARTED, Record};
use stillpoint_core::time::Ticks;

/// Something a node's log says, and when it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// When the recorder read it, in microseconds since it began. The record's own time is the node's.
    pub wall: u64,
    /// What it says.
    pub item: Item,
}

/// What a node's log consists of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item {
    /// An event.
    Record(Record),
    /// What happened before the next record and was not recorded.
    Causes {
        /// Events of the node that were not recorded.
        skipped: u32,
        /// The clock entries that changed since the last record, one bit a node.
        changed: u32,
        /// By how much, in ascending order of nodes.
        differences: Vec<u32>,
    },
    /// Where the node stands with the next record.
    Sync(Sync),
    /// This many records are missing here: they were overwritten in the node's ring before they were read.
    Gap(u32),
    /// A record whose number and time are not known: it lies before the first sync record. Its order is known.
    Unplaced(Record),
    /// The node's log does not go on where it ended: its board was reset, or another recorder took a piece out.
    Restart,
    /// The bytes that follow are not a log; the stream goes on with the next sync record that is found.
    Broken(LogError),
}

/// A part of a node's log that is taken at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part<'a> {
    /// Records with nothing between them.
    Records(&'a [Record]),
    /// Anything else: never an [`Item::Record`].
    Other(Item),
}

/// Where a node stood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sync {
    /// The recording mode's number.
    pub mode: u8,
    /// Whether the records that follow say what changed.
    pub with_causes: bool,
    /// The number of the event in the next record.
    pub number: u32,
    /// The time of the next record, in the node's ticks.
    pub time: Ticks,
    /// How many records the node wrote before the next one since its log began.
    pub records: u32,
    /// The node's clock with the next record.
    pub clock: Vec<u32>,
    /// Messages sent or received on each port, with the next record.
    pub counts: Vec<u32>,
    /// Where the count of each port begins: see [`Origins`](stillpoint_core::log::Origins).
    pub origins: Vec<u32>,
}

/// A sync record of a node of which nothing is known. With it a reader can tell where records end.
const ANY: [u8; 20] = [0x23, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];

/// Decodes the log of one node, piece by piece.
#[derive(Clone, Debug)]
pub struct Stream {
    reader: LogReader,
    /// A sync record was seen since the log began or was broken off.
    placed: bool,
    /// Where the next piece should begin.
    next: Option<u32>,
    /// The last piece did not begin there, and nothing of it was told yet.
    jumped: bool,
    /// The beginning of what is not whole yet.
    rest: Vec<u8>,
    /// Records that were not told yet: none between two pieces.
    run: Vec<Record>,
}

/// How many records are told at once at most.
const LONGEST_RUN: usize = 256;

impl Default for Stream {
    fn default() -> Self {
        Self::new()
    }
}

impl Stream {
    /// A stream that has seen nothing.
    #[must_use]
    pub fn new() -> Self {
        Self { reader: unplaced(), placed: false, next: None, jumped: false, rest: Vec::new(), run: Vec::new() }
    }

    /// Takes the next piece, which begins at `position` of the node's ring, and gives what it says to `each`.
    ///
    /// For records that are dealt with many at once, [`push_parts`](Self::push_parts) takes less time.
    pub fn push(&mut self, position: u32, bytes: &[u8], mut each: impl FnMut(Item)) {
        self.push_parts(position, bytes, |part| match part {
            Part::Records(records) => records.iter().for_each(|record| each(Item::Record(*record))),
            Part::Other(item) => each(item),
        });
    }

    /// Takes the next piece, which begins at `position` of the node's ring, and gives what it says to `each`: the same as
    /// [`push`](Self::push), records that follow each other together.
    pub fn push_parts(&mut self, position: u32, bytes: &[u8], mut each: impl FnMut(Part<'_>)) {
        if self.next.is_some_and(|next| next != position) {
            // Overwritten records, a reset or another recorder: the sync record tells.
            self.rest.clear();
            self.jumped = true;
        }
        self.next = Some(position.wrapping_add(bytes.len() as u32));
        if self.rest.is_empty() {
            let read = self.read(bytes, &mut each);
            self.rest.extend_from_slice(&bytes[read..]);
        } else {
            let mut rest = std::mem::take(&mut self.rest);
            rest.extend_from_slice(bytes);
            let read = self.read(&rest, &mut each);
            rest.drain(..read);
            self.rest = rest;
        }
    }

    /// Reads what is whole. Says how many bytes that was.
    fn read(&mut self, bytes: &[u8], each: &mut impl FnMut(Part<'_>)) -> usize {
        let mut at = 0;
        if self.jumped && bytes.first().is_some_and(|first| *first != ANY[0]) {
            self.restart(each);
        }
        loop {
            if self.placed && !self.jumped {
                while let Some((record, length)) = self.reader.next_record(&bytes[at..]) {
                    at += length;
                    self.run.push(record);
                    if self.run.len() == LONGEST_RUN {
                        self.tell_run(each);
                    }
                }
                self.tell_run(each);
            }
            let before = self.reader.number();
            match self.reader.next(&bytes[at..]) {
                Ok(Some((item, length))) => {
                    at += length;
                    self.tell(item, before, each);
                }
                Ok(None) => return at,
                Err(error) => {
                    each(Part::Other(Item::Broken(error)));
                    (self.reader, self.placed, self.jumped) = (unplaced(), false, false);
                    // No byte from here on can be trusted until one begins a sync record.
                    match bytes[at + 1..].iter().position(|byte| *byte == ANY[0]) {
                        Some(skipped) => at += 1 + skipped,
                        None => return bytes.len(),
                    }
                }
            }
        }
    }

    /// The log goes on somewhere else, with records of which nothing is known.
    fn restart(&mut self, each: &mut impl FnMut(Part<'_>)) {
        (self.reader, self.placed, self.jumped) = (unplaced(), false, false);
        each(Part::Other(Item::Restart));
    }

    fn tell_run(&mut self, each: &mut impl FnMut(Part<'_>)) {
        if !self.run.is_empty() {
            each(Part::Records(&self.run));
            self.run.clear();
        }
    }

    /// Tells an item that follows the event `before`.
    fn tell(&mut self, item: LogItem<'_>, before: EventNumber, each: &mut impl FnMut(Part<'_>)) {
        let item = match item {
            LogItem::Record(record) if self.placed => return each(Part::Records(&[record])),
            LogItem::Record(record) => Item::Unplaced(record),
            LogItem::Causes(causes) => Item::Causes {
                skipped: causes.skipped,
                changed: causes.changed,
                differences: causes.differences().collect(),
            },
            LogItem::Sync(sync) => {
                // Before the first sync record nothing is missing: the recording begins there.
                let (jumped, placed) = (std::mem::take(&mut self.jumped), std::mem::replace(&mut self.placed, true));
                // Not every new epoch is a reset, but after every reset there is one.
                let continues = placed && sync.continues && sync.number.epoch() == before.epoch();
                // A node that was reset and has not started may have the epoch, and as many records, as the life before.
                let is_starting =
                    before.is_newer_than(sync.number) || sync.origins().any(|origin| origin == NOT_STARTED);
                let continues = continues && !is_starting;
                if jumped && !continues {
                    each(Part::Other(Item::Restart));
                }
                if (placed || jumped) && sync.missing != 0 {
                    each(Part::Other(Item::Gap(sync.missing)));
                }
                let (clock, counts, origins) =
                    (sync.clock().collect(), sync.counts().collect(), sync.origins().collect());
                Item::Sync(Sync {
                    mode: sync.mode,
                    with_causes: sync.with_causes,
                    number: sync.number.0,
                    time: sync.time,
                    records: sync.records,
                    clock,
                    counts,
                    origins,
                })
            }
        };
        each(Part::Other(item));
    }
}

/// A reader that can tell where records end, and not what their numbers are.
fn unplaced() -> LogReader {
    let mut reader = LogReader::new();
    // It is a sync record: see `ANY`.
    let _known = reader.next(&ANY);
    reader
}

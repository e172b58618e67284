//! The log of one node, read on while the system runs and stops.
use stillpoint::trace::{Item, Stream};
use stillpoint::{Memory, MemoryError};
use stillpoint_core::time::Ticks;
use stillpoint_core::{EventKind, MAX_PORTS};

/// Words of a log ring: bytes ever written, bytes ever read, records dropped, size, where the oldest record begins. The bytes follow.
const READ: u32 = 4;
const BYTES: u32 = 20;

/// What the log of a node has said so far.
pub struct Tap {
    ring: u32,
    stream: Stream,
    /// The number of the last event.
    pub last: u32,
    /// Messages sent or received on each port.
    pub counts: [u32; MAX_PORTS],
    /// Events since [`Tap::forget`], each with its time in ticks.
    pub times: Vec<Ticks>,
    /// When the node stopped in which halt, the last time it did.
    pub halt: Option<(u16, Ticks)>,
    /// Records that were overwritten before they were read: of these the log says only how many they were.
    pub dropped: u32,
}

impl Tap {
    /// The log in the ring at this address.
    pub fn new(ring: u32) -> Self {
        let (stream, counts) = (Stream::new(), [0; MAX_PORTS]);
        Self { ring, stream, last: 0, counts, times: Vec::new(), halt: None, dropped: 0 }
    }

    /// How far the log is written, in bytes counted for ever.
    pub fn written(&self, memory: &mut dyn Memory) -> Result<u32, MemoryError> {
        let mut written = [0];
        memory.read(self.ring, &mut written)?;
        Ok(written[0])
    }

    /// Forgets single events; what they added up to stays.
    pub fn forget(&mut self) {
        self.times.clear();
    }

    /// Reads what was written since, and says how many events of it lie behind `mark`, a place in the log.
    ///
    /// Everything that the log says is given to `each` as well.
    pub fn read(
        &mut self,
        memory: &mut dyn Memory,
        mark: Option<u32>,
        each: &mut dyn FnMut(Item),
    ) -> Result<u32, MemoryError> {
        let mut head = [0; 5];
        memory.read(self.ring, &mut head)?;
        let [written, read, _, size, oldest] = head;
        let is_held = written.wrapping_sub(read) <= written.wrapping_sub(oldest);
        let read = if is_held { read } else { oldest };
        let ready = written.wrapping_sub(read).min(size);
        let bytes = self.bytes(memory, read, ready, size)?;
        memory.write(self.ring + READ, &[read.wrapping_add(ready)])?;
        let before = mark.map_or(ready, |mark| mark.wrapping_sub(read).min(ready));
        let (known, new) = bytes.split_at(before as usize);
        self.push(read, known, each);
        let at_mark = self.last;
        self.push(read.wrapping_add(before), new, each);
        Ok(self.last.wrapping_sub(at_mark))
    }

    fn bytes(&self, memory: &mut dyn Memory, from: u32, length: u32, size: u32) -> Result<Vec<u8>, MemoryError> {
        if length == 0 {
            return Ok(Vec::new());
        }
        let start = from % size;
        let mut bytes = self.piece(memory, start, length.min(size - start))?;
        let rest = length - bytes.len() as u32;
        bytes.extend(self.piece(memory, 0, rest)?);
        Ok(bytes)
    }

    /// Memory is read in words.
    fn piece(&self, memory: &mut dyn Memory, start: u32, length: u32) -> Result<Vec<u8>, MemoryError> {
        let skip = start % 4;
        let mut words = vec![0; (skip + length).div_ceil(4) as usize];
        if length != 0 {
            memory.read(self.ring + BYTES + start - skip, &mut words)?;
        }
        let bytes = words.into_iter().flat_map(u32::to_le_bytes);
        Ok(bytes.skip(skip as usize).take(length as usize).collect())
    }

    fn push(&mut self, position: u32, bytes: &[u8], each: &mut dyn FnMut(Item)) {
        let Self { stream, last, counts, times, halt, dropped, .. } = self;
        stream.push(position, bytes, |item| {
            if let Item::Gap(missing) = &item {
                *dropped += missing;
            }
            if let Item::Record(record) = &item {
                match record.event.kind {
                    EventKind::Halt => *halt = Some((record.event.arg, record.time)),
                    // Going on happens between events, as halting does.
                    EventKind::Resume => {}
                    _ => {
                        *last = record.number.0;
                        times.push(record.time);
                    }
                }
                if let Some((count, message)) = counts.get_mut(usize::from(record.event.arg)).zip(record.message) {
                    *count = message;
                }
            }
            each(item);
        });
    }
}

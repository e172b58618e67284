//! A recording followed while it is made: events in causal order as soon as it is known.
use crate::{CausalOrder, Chunk, Event, Header, Note, Stream};

/// Puts the pieces of all logs in causal order as they are read, and keeps nothing that no later event needs.
///
/// For a recording that is finished use [`History`](crate::History).
///
/// # Example: nothing was read yet
/// ```
/// use stillpoint_trace::{Follower, Sketch};
/// let mut follower = Follower::new(Sketch::new(&["a", "b"]).header());
/// let mut seen = 0;
/// follower.finish(&mut |_, _| seen += 1);
/// assert_eq!((seen, follower.held()), (0, 0));
/// ```
pub struct Follower {
    order: CausalOrder,
    streams: Vec<Stream>,
}

/// Who takes the events, with their clocks.
type Each<'a> = &'a mut dyn FnMut(&Event, &[u32]);

/// How long what a node logged is held back for what should have happened before it, in microseconds. Logs are read one after
/// the other, many times a second; a node that has nothing to say for so long says nothing at all.
const PATIENCE: u64 = 2_000_000;

/// How many records and clocks are held back at most.
const MOST_HELD: usize = 1 << 18;

impl Follower {
    /// Nothing read yet of the system that a header describes.
    #[must_use]
    pub fn new(header: &Header) -> Self {
        let order = CausalOrder::new(header);
        let streams = vec![Stream::new(); order.width()];
        Self { order, streams }
    }

    /// The next piece of a node's log. Gives `each` what is in order now.
    pub fn chunk(&mut self, chunk: &Chunk, each: Each<'_>) {
        let Some(stream) = self.streams.get_mut(usize::from(chunk.node)) else { return };
        let order = &mut self.order;
        stream.push_parts(chunk.position, &chunk.bytes, |part| order.push_part(chunk.node, chunk.wall, part, each));
        if self.order.held() > MOST_HELD {
            self.order.hurry(u64::MAX, each);
        }
    }

    /// It is `wall` microseconds since the recording began: what has waited for too long waits no longer, and says for whom it did.
    pub fn wait_no_longer(&mut self, wall: u64, each: Each<'_>) {
        if let Some(until) = wall.checked_sub(PATIENCE) {
            self.order.hurry(until, each);
        }
    }

    /// Nothing more comes.
    pub fn finish(&mut self, each: Each<'_>) {
        self.order.finish(each);
    }

    /// What there is to say besides the events since this was last asked: drops, resets, damage.
    pub fn take_notes(&mut self) -> Vec<Note> {
        self.order.take_notes()
    }

    /// How many records and clocks are held: what waits, and sends whose receive was not read.
    #[must_use]
    pub fn held(&self) -> usize {
        self.order.held()
    }
}

//! How a notice gets from one core to another: one place per thread, in the memory that both share.
use crate::sync::atomic::{AtomicU32, Ordering, fence};
use crate::sync::{Mutant, mutated};
use stillpoint_core::delay::Notice;

const WORDS: usize = 1 + Notice::MAX_BYTES.div_ceil(4);

/// The newest notice that one core has about one thread. Written by that core, read by the others.
///
/// A newer notice takes the place of an older one that nobody read: each says all there is to know.
pub(crate) struct NoticeSlot {
    /// Odd while the words change.
    revision: AtomicU32,
    /// Length in bytes, then the bytes.
    words: [AtomicU32; WORDS],
}

impl NoticeSlot {
    pub const fn new() -> Self {
        Self { revision: AtomicU32::new(0), words: [const { AtomicU32::new(0) }; WORDS] }
    }

    pub fn post(&self, notice: Notice) {
        // Odd if a crash interrupted the last time.
        let found = self.revision.load(Ordering::Relaxed);
        let revision = if mutated(Mutant::OddNoticeSlot) { found } else { found & !1 };
        self.revision.store(revision.wrapping_add(1), Ordering::Relaxed);
        fence(Ordering::Release);
        let (bytes, length) = notice.to_bytes();
        let packed = bytes.chunks(4).map(|four| four.iter().rev().fold(0, |word, byte| word << 8 | u32::from(*byte)));
        for (word, value) in self.words.iter().zip([length as u32].into_iter().chain(packed)) {
            word.store(value, Ordering::Relaxed);
        }
        self.revision.store(revision.wrapping_add(2), Ordering::Release);
    }

    /// The notice, if it is one that was not taken yet. None while the other core is writing one: it rings when it is done.
    /// Waiting for it here would hang this core if the other one crashed in the middle.
    pub fn take(&self, taken: &mut u32) -> Option<Notice> {
        loop {
            let revision = self.revision.load(Ordering::Acquire);
            if revision == *taken {
                return None;
            }
            let mut bytes = [0; 4 * WORDS];
            for (four, word) in bytes.chunks_exact_mut(4).zip(&self.words) {
                four.copy_from_slice(&word.load(Ordering::Relaxed).to_le_bytes());
            }
            fence(Ordering::Acquire);
            if revision & 1 != 0 || self.revision.load(Ordering::Relaxed) != revision {
                if !mutated(Mutant::OddNoticeSlot) {
                    return None;
                }
                crate::sync::spin_loop();
                continue;
            }
            *taken = revision;
            let (length, bytes) = bytes.split_at(4);
            return bytes.get(..usize::from(length[0])).and_then(|bytes| Notice::from_bytes(bytes).ok());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use stillpoint_core::delay::{Delay, ThreadId, ThreadSet};

    #[test]
    fn a_notice_arrives_once_and_whole_and_only_the_newest() {
        let (slot, mut taken) = (NoticeSlot::new(), 0);
        assert_eq!(slot.take(&mut taken), None);
        let thread = ThreadId(3);
        let suspended = Notice::Suspended {
            thread,
            delay: Delay { ticks: u64::MAX - 7, turn: 9 },
            waits_for: ThreadSet(0x8000_0010),
        };
        slot.post(Notice::Resumed { thread, delay: Delay { ticks: 5, turn: 8 } });
        slot.post(suspended);
        assert_eq!(slot.take(&mut taken), Some(suspended));
        assert_eq!(slot.take(&mut taken), None);
    }
}

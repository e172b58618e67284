//! The memory of a mailbox: a ring of messages from one core to another, with a control lane each way.
//!
//! A message is serialised into its slot in the open; only the last step, stamp and index, belongs to the event. Both
//! indices count for ever, so the number of a message in its channel can be read off the ring.
use crate::doorbell::Waiter;
#[cfg(feature = "enabled")]
use crate::lane::Lane;
use crate::platform::{CoreId, Platform};
use crate::sync::atomic::{AtomicU32, Ordering};
use core::cell::UnsafeCell;
use core::marker::PhantomData;
#[cfg(feature = "enabled")]
use stillpoint_core::control::RingLayout as Layout;

/// A slot without the kit: no host looks at the numbers of messages.
#[cfg(not(feature = "enabled"))]
struct Layout;

#[cfg(not(feature = "enabled"))]
impl Layout {
    const MAX_BYTES: usize = stillpoint_core::control::RingLayout::MAX_BYTES;

    #[inline(always)]
    const fn slot_word(begin: usize, end: usize, _number: u32) -> u32 {
        begin as u32 | (end as u32) << 16
    }

    #[inline(always)]
    const fn limits(slot_word: u32) -> (usize, usize) {
        ((slot_word & 0xFFFF) as usize, (slot_word >> 16) as usize)
    }
}

/// Memory for a channel of `T` from one core to another: `SLOTS` messages of at most `BYTES` bytes, stamp included.
///
/// # Example
/// ```
/// use stillpoint_agent::channel::Channel;
/// static TO_CORE_1: Channel<u32, 4, 64> = Channel::new();
/// ```
#[repr(C)]
pub struct Channel<T, const SLOTS: usize = 4, const BYTES: usize = 64> {
    head: Head,
    slots: [Slot<BYTES>; SLOTS],
    carries: PhantomData<fn(T) -> T>,
}

/// What does not depend on the sizes. The host reads the first four words of a halted channel.
#[repr(C)]
pub struct Head {
    /// Messages ever put in. Written by the sender.
    pub(crate) written: AtomicU32,
    /// Messages ever taken out. Written by the receiver.
    pub(crate) read: AtomicU32,
    /// Number of slots, and bytes of a slot with its header.
    #[cfg(feature = "enabled")]
    shape: AtomicU32,
    /// Which ends are claimed.
    claimed: AtomicU32,
    /// Where the sender waits for room, and the receiver for mail: one more than the number of the place, 0 if nowhere.
    waiting: [AtomicU32; 2],
    /// From the sender of messages to their receiver.
    #[cfg(feature = "enabled")]
    pub(crate) forward: Lane,
    /// From the receiver of messages to their sender.
    #[cfg(feature = "enabled")]
    pub(crate) reverse: Lane,
}

/// One message: `Layout::slot_word`, and the bytes: stamp and payload side by side.
#[repr(C, align(4))]
struct Slot<const BYTES: usize> {
    word: AtomicU32,
    bytes: UnsafeCell<[u8; BYTES]>,
}

/// Bytes before the bytes of a slot.
const LIMITS: usize = size_of::<AtomicU32>();
const _: () = assert!(core::mem::offset_of!(Slot<8>, bytes) == LIMITS && size_of::<Slot<8>>() == LIMITS + 8);

// The host recounts a halted channel from its ring. Loom's atomics are larger.
#[cfg(all(feature = "enabled", not(loom_agent)))]
const _: () = {
    use core::mem::offset_of;
    assert!(offset_of!(Head, written) == 0 && offset_of!(Head, read) == 4 && offset_of!(Head, shape) == 8);
    assert!(offset_of!(Head, forward) == 4 * (Layout::READ - 3) && size_of::<Lane>() == 4 * Layout::LANE);
    assert!(offset_of!(Channel<u8, 1, 4>, slots) == 4 * Layout::HEAD && LIMITS == 4 * Layout::LIMITS);
};

// SAFETY: a slot's bytes are used by the sender alone until it publishes the slot through `written`, and by the receiver
// alone until it frees it through `read`. `Head::claim` gives out each end once.
unsafe impl<T, const SLOTS: usize, const BYTES: usize> Sync for Channel<T, SLOTS, BYTES> {}

/// Which end of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Sender = 1,
    Receiver = 2,
}

impl<T, const SLOTS: usize, const BYTES: usize> Channel<T, SLOTS, BYTES> {
    /// An empty channel.
    #[must_use]
    pub const fn new() -> Self {
        const {
            assert!(SLOTS.is_power_of_two() && SLOTS <= 1 << 15, "a channel has a power of two of slots");
            assert!(
                BYTES.is_multiple_of(4) && BYTES <= Layout::MAX_BYTES,
                "a slot has a multiple of four bytes, at most 4092"
            );
        }
        Self {
            head: Head {
                written: AtomicU32::new(0),
                read: AtomicU32::new(0),
                #[cfg(feature = "enabled")]
                // Set when an end is claimed: a channel of zeros needs no initial values in flash.
                shape: AtomicU32::new(0),
                claimed: AtomicU32::new(0),
                waiting: [const { AtomicU32::new(0) }; 2],
                #[cfg(feature = "enabled")]
                forward: Lane::new(),
                #[cfg(feature = "enabled")]
                reverse: Lane::new(),
            },
            slots: [const { Slot { word: AtomicU32::new(0), bytes: UnsafeCell::new([0; BYTES]) } }; SLOTS],
            carries: PhantomData,
        }
    }

    /// What does not depend on the sizes, for oracles.
    #[cfg(test)]
    pub(crate) fn head(&self) -> &Head {
        &self.head
    }

    /// The channel without its sizes, for the end that is claimed. `None` if that end was claimed before.
    pub(crate) fn claim(&'static self, end: End) -> Option<Ring> {
        let claimed = crate::sync::critical_section::with(|_| {
            #[cfg(feature = "enabled")]
            self.head.shape.store((SLOTS as u32) | (size_of::<Slot<BYTES>>() as u32) << 16, Ordering::Relaxed);
            let before = self.head.claimed.load(Ordering::Relaxed);
            self.head.claimed.store(before | end as u32, Ordering::Relaxed);
            before
        });
        if claimed & end as u32 != 0 {
            return None;
        }
        Some(Ring { head: &self.head, slots: self.slots.as_ptr().cast(), count: SLOTS as u32, bytes: BYTES })
    }
}

impl<T, const SLOTS: usize, const BYTES: usize> Default for Channel<T, SLOTS, BYTES> {
    fn default() -> Self {
        Self::new()
    }
}

/// One end of a channel, without its sizes in the type.
pub(crate) struct Ring {
    pub(crate) head: &'static Head,
    slots: *const u8,
    count: u32,
    bytes: usize,
}

// SAFETY: an end may move to its core; what it points to is `Sync` and static.
unsafe impl Send for Ring {}

impl Head {
    /// Notes where the task of an end waits.
    pub(crate) fn set_waiter<P: Platform>(&self, end: End, waiter: &Waiter<P>) {
        self.waiting[end as usize - 1].store(waiter.number() as u32 + 1, Ordering::Release);
    }

    /// Messages that went through one end of the ring: those put in, or those taken out.
    pub(crate) fn count(&self, put_in: bool) -> u32 {
        if put_in { self.written.load(Ordering::Relaxed) } else { self.read.load(Ordering::Relaxed) }
    }

    /// Takes out all messages unread, and says how many. Both ends work on the calling core, whose interrupts are masked.
    #[cfg(feature = "enabled")]
    pub(crate) fn empty(&self) -> u32 {
        let written = self.written.load(Ordering::Relaxed);
        let left = written.wrapping_sub(self.read.load(Ordering::Relaxed));
        self.read.store(written, Ordering::Release);
        left
    }

    /// Wakes the task of an end that works on `core`, if it waits.
    pub(crate) fn wake<P: Platform>(&self, end: End, core: CoreId) {
        let place = self.waiting[end as usize - 1].load(Ordering::Acquire) as usize;
        if place != 0 {
            P::doorbells().place(core, place - 1).ring();
        }
    }
}

impl Ring {
    /// The slot of the `index`-th message, from 0: its first word and its bytes.
    fn slot(&self, index: u32) -> (&'static AtomicU32, *mut u8) {
        let place = (index & (self.count - 1)) as usize;
        // SAFETY: `claim` took pointer, count and size from one static array of slots, and the mask keeps the place
        // inside. A slot begins with its first word, and its bytes follow.
        unsafe {
            let slot = self.slots.add(place * (LIMITS + self.bytes));
            (&*slot.cast(), slot.add(LIMITS).cast_mut())
        }
    }

    /// The free slot that the next message goes to, if there is one. For the sender.
    pub(crate) fn free_slot(&mut self) -> Option<&mut [u8]> {
        let written = self.head.written.load(Ordering::Relaxed);
        let used = written.wrapping_sub(self.head.read.load(Ordering::Acquire));
        if used >= self.count {
            return None;
        }
        let (_, bytes) = self.slot(written);
        // SAFETY: the slot is free, so the receiver does not look at it, and `&mut self` is the only sender.
        Some(unsafe { core::slice::from_raw_parts_mut(bytes, self.bytes) })
    }

    /// Publishes the message in `begin..end` of the free slot. For the sender, inside the event.
    #[inline]
    pub(crate) fn publish(&self, begin: usize, end: usize) {
        let written = self.head.written.load(Ordering::Relaxed);
        let (word, _) = self.slot(written);
        let number = written.wrapping_add(1);
        word.store(Layout::slot_word(begin, end, number), Ordering::Relaxed);
        self.head.written.store(number, Ordering::Release);
    }

    /// Publishes the last message once more. For tests of those who must find that out.
    #[cfg(feature = "sabotage")]
    pub(crate) fn publish_again(&self) {
        let written = self.head.written.load(Ordering::Relaxed);
        let (word, from) = self.slot(written.wrapping_sub(1));
        let (_, to) = self.slot(written);
        let (begin, end) = Layout::limits(word.load(Ordering::Relaxed));
        if self.count > 1 && written.wrapping_sub(self.head.read.load(Ordering::Acquire)) < self.count {
            // SAFETY: both are slots of `bytes` bytes, different ones; the second is free, so only the sender uses it.
            unsafe { core::ptr::copy_nonoverlapping(from, to, self.bytes) };
            self.publish(begin, end);
        }
    }

    /// The slots of the last message and of the one before it: first word and bytes of each.
    #[cfg(feature = "sabotage")]
    fn last_two(&self) -> [(&'static AtomicU32, *mut u8); 2] {
        let written = self.head.written.load(Ordering::Relaxed);
        [1, 2].map(|back| self.slot(written.wrapping_sub(back)))
    }

    /// Has the last two messages change places. For tests of those who must find that out.
    #[cfg(feature = "sabotage")]
    pub(crate) fn swap_last(&self) {
        let [(last, one), (before, other)] = self.last_two();
        let word = last.swap(before.load(Ordering::Relaxed), Ordering::Relaxed);
        before.store(word, Ordering::Relaxed);
        if self.count > 1 {
            // SAFETY: both are slots of `bytes` bytes, different ones; the test's receiver takes neither.
            unsafe { core::ptr::swap_nonoverlapping(one, other, self.bytes) };
        }
    }

    /// Has the last message's slot hold the one before it. For tests of those who must find that out.
    #[cfg(feature = "sabotage")]
    pub(crate) fn repeat_last(&self) {
        let [(last, to), (before, from)] = self.last_two();
        last.store(before.load(Ordering::Relaxed), Ordering::Relaxed);
        if self.count > 1 {
            // SAFETY: as in `swap_last`.
            unsafe { core::ptr::copy_nonoverlapping(from, to, self.bytes) };
        }
    }

    /// Has the last message's slot hold nothing. For tests of those who must find that out.
    #[cfg(feature = "sabotage")]
    pub(crate) fn lose_last(&self) {
        let [(last, bytes), _] = self.last_two();
        last.store(0, Ordering::Relaxed);
        // SAFETY: a slot has `bytes` bytes; the test's receiver does not take it.
        unsafe { bytes.write_bytes(0, self.bytes) };
    }

    /// The same end once more, for whoever looks into it without owning it: a gate, or sabotage.
    #[cfg(any(feature = "calls", feature = "sabotage"))]
    pub(crate) fn share(&self) -> Self {
        Self { head: self.head, slots: self.slots, count: self.count, bytes: self.bytes }
    }

    /// The oldest message, if there is one. For the receiver.
    pub(crate) fn front(&self) -> Option<&[u8]> {
        let read = self.head.read.load(Ordering::Relaxed);
        if self.head.written.load(Ordering::Acquire) == read {
            return None;
        }
        let (word, bytes) = self.slot(read);
        let (begin, end) = Layout::limits(word.load(Ordering::Relaxed));
        // SAFETY: the slot is published, so the sender does not touch it until `free`, which needs this borrow to end.
        let bytes = unsafe { core::slice::from_raw_parts(bytes, self.bytes) };
        bytes.get(begin..end)
    }

    /// How many messages have been taken out, so the number of the oldest one that has not, from 0.
    #[cfg(feature = "calls")]
    pub(crate) fn taken(&self) -> u32 {
        self.head.read.load(Ordering::Relaxed)
    }

    /// Frees the oldest message's slot. For the receiver, inside the event.
    #[inline]
    pub(crate) fn free(&self) {
        let read = self.head.read.load(Ordering::Relaxed);
        self.head.read.store(read.wrapping_add(1), Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::boxed::Box;

    fn ends() -> (Ring, Ring) {
        let channel: &'static Channel<u8, 2, 16> = Box::leak(Box::new(Channel::new()));
        (channel.claim(End::Sender).unwrap(), channel.claim(End::Receiver).unwrap())
    }

    #[test]
    fn messages_arrive_as_they_were_written_and_slots_come_back() {
        let (mut sender, receiver) = ends();
        for round in 0..10u8 {
            let slot = sender.free_slot().unwrap();
            slot[5..8].fill(round);
            sender.publish(5, 8);
            assert_eq!(receiver.front(), Some(&[round; 3][..]));
            receiver.free();
            assert_eq!(receiver.front(), None);
        }
    }

    #[test]
    fn a_full_channel_has_no_free_slot_until_one_is_freed() {
        let (mut sender, receiver) = ends();
        for _ in 0..2 {
            assert!(sender.free_slot().is_some());
            sender.publish(0, 1);
        }
        assert!(sender.free_slot().is_none());
        receiver.free();
        assert!(sender.free_slot().is_some());
    }

    #[test]
    fn each_end_is_given_out_once() {
        static CHANNEL: Channel<u8> = Channel::new();
        assert!(CHANNEL.claim(End::Sender).is_some());
        assert!(CHANNEL.claim(End::Sender).is_none());
        assert!(CHANNEL.claim(End::Receiver).is_some());
        assert!(CHANNEL.claim(End::Receiver).is_none());
    }
}

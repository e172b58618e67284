//! One lane: what was sent and is not yet acknowledged, what was accepted and is not yet taken.

use super::queue::Queue;

/// Whether `a` comes after `b` in the circle of 256 numbers.
pub(super) const fn is_after(a: u8, b: u8) -> bool {
    (a.wrapping_sub(b) as i8) > 0
}

/// The sending half: items stay until the peer has acknowledged them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Outbox<const W: usize, const F: usize> {
    queue: Queue<W, F>,
    /// The number of the item at the front: the oldest that is not acknowledged.
    first: u8,
    /// How many items from the front have been sent since the last time everything had to be sent again.
    sent: u8,
    /// How many items from the front have been sent at least once.
    ever_sent: u8,
    /// Since when the item at the front waits for its acknowledgement.
    waiting_since: Option<u32>,
    /// How often it has waited in vain.
    in_vain: u8,
    /// The peer said that it misses the item at the front, and that has been heeded.
    went_back: bool,
}

/// The next item to put on the wire.
pub(super) struct Next<'a> {
    pub(super) number: u8,
    pub(super) bytes: &'a [u8],
    /// Not for the first time.
    pub(super) again: bool,
}

impl<const W: usize, const F: usize> Outbox<W, F> {
    pub(super) const fn new() -> Self {
        Self { queue: Queue::new(), first: 0, sent: 0, ever_sent: 0, waiting_since: None, in_vain: 0, went_back: false }
    }

    /// Numbers what waits from 0 again: nothing of it was ever sent to this peer.
    pub(super) fn renumber(&mut self) {
        self.first = 0;
        self.ever_sent = 0;
        self.start_over();
    }

    /// Drops everything and says how much that was.
    pub(super) fn lose(&mut self) -> u8 {
        let lost = self.queue.len();
        self.queue.drop_front(lost);
        self.renumber();
        lost
    }

    /// Appends a copy of `bytes` and says its number; `None` if there is no room or they are too many.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Option<u8> {
        let number = self.end();
        self.queue.push(bytes).then_some(number)
    }

    pub(super) fn first(&self) -> u8 {
        self.first
    }

    /// The number the next item will get.
    pub(super) fn end(&self) -> u8 {
        self.first.wrapping_add(self.queue.len())
    }

    pub(super) fn len(&self) -> u8 {
        self.queue.len()
    }

    /// The next item to send, if `allowed` items may be on the way.
    pub(super) fn next(&self, allowed: u8) -> Option<Next<'_>> {
        if self.sent >= allowed {
            return None;
        }
        let number = self.first.wrapping_add(self.sent);
        self.queue.get(self.sent).map(|bytes| Next { number, bytes, again: self.sent < self.ever_sent })
    }

    /// The item `next` named has been handed to the wire.
    pub(super) fn has_sent(&mut self, now: u32) {
        self.sent = self.sent.saturating_add(1).min(self.queue.len());
        self.ever_sent = self.ever_sent.max(self.sent);
        self.wait(now);
    }

    /// Begins to wait, unless it does already.
    pub(super) fn wait(&mut self, now: u32) {
        self.waiting_since.get_or_insert(now);
    }

    /// The peer has accepted everything before `next`; whether that is news.
    pub(super) fn acknowledge(&mut self, next: u8, now: u32) -> bool {
        let news = next.wrapping_sub(self.first);
        // What was never sent cannot have been accepted: such a number is old, or wrong.
        if news == 0 || news > self.ever_sent {
            return false;
        }
        self.queue.drop_front(news);
        self.first = next;
        self.ever_sent -= news;
        self.sent = self.sent.saturating_sub(news);
        self.in_vain = 0;
        self.went_back = false;
        self.waiting_since = (self.sent > 0).then_some(now);
        true
    }

    /// Whether items wait that may not be sent, and none is on the way that could bring news.
    pub(super) fn is_blocked(&self, allowed: u8) -> bool {
        allowed == 0 && self.ever_sent == 0 && self.queue.len() > 0
    }

    /// Whether the wait for an acknowledgement took longer than `timeout`.
    pub(super) fn is_overdue(&self, now: u32, timeout: u32) -> bool {
        self.waiting_since.is_some_and(|since| now.wrapping_sub(since) >= timeout)
    }

    /// How long until [`is_overdue`](Self::is_overdue).
    pub(super) fn ticks_left(&self, now: u32, timeout: u32) -> Option<u32> {
        self.waiting_since.map(|since| timeout.saturating_sub(now.wrapping_sub(since)))
    }

    /// Everything on the way has to be sent again; says how often that has been in vain.
    ///
    /// The next wait begins when it has been sent, so that time in which the wire is busy does not count.
    pub(super) fn send_again(&mut self, counts: bool) -> u8 {
        self.sent = 0;
        self.waiting_since = None;
        self.went_back = false;
        self.in_vain = self.in_vain.saturating_add(u8::from(counts));
        self.in_vain
    }

    /// The peer misses the item `next` though one after it arrived: send again from there, without waiting.
    ///
    /// Once per item: of several frames that came too early each says the same.
    pub(super) fn go_back(&mut self, next: u8) {
        if next == self.first && self.sent > 1 && !self.went_back {
            self.sent = 0;
            self.waiting_since = None;
            self.went_back = true;
        }
    }

    /// The peer has been heard: what was in vain so far does not count.
    pub(super) fn is_heard(&mut self) {
        self.in_vain = 0;
    }

    /// Forgets every wait; everything on the way will be sent again.
    pub(super) fn start_over(&mut self) {
        self.sent = 0;
        self.waiting_since = None;
        self.in_vain = 0;
        self.went_back = false;
    }
}

/// What became of a frame that arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arrival {
    Accepted,
    Duplicate,
    /// One before it is missing.
    TooEarly,
    /// It was the right one, but there is no room for it.
    NoRoom,
}

/// The receiving half: items stay until the caller takes them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Inbox<const W: usize, const F: usize> {
    queue: Queue<W, F>,
    /// The number of the item to accept next.
    next: u8,
    /// How many items from the front came from an earlier incarnation of the peer.
    earlier: u8,
}

impl<const W: usize, const F: usize> Inbox<W, F> {
    pub(super) const fn new() -> Self {
        Self { queue: Queue::new(), next: 0, earlier: 0 }
    }

    /// The peer numbers from 0 again. What was accepted stays: its sender was told so.
    pub(super) fn renumber(&mut self) {
        self.next = 0;
        self.earlier = self.queue.len();
    }

    pub(super) fn next(&self) -> u8 {
        self.next
    }

    /// The number of the first item there is no room for.
    pub(super) fn edge(&self) -> u8 {
        self.next.wrapping_add(self.queue.free())
    }

    /// How many items wait to be taken: of this session, and from earlier incarnations of the peer.
    pub(super) fn waiting(&self) -> (u8, u8) {
        (self.queue.len().saturating_sub(self.earlier), self.earlier)
    }

    pub(super) fn accept(&mut self, number: u8, bytes: &[u8]) -> Arrival {
        if number != self.next {
            if is_after(number, self.next) { Arrival::TooEarly } else { Arrival::Duplicate }
        } else if self.queue.push(bytes) {
            self.next = self.next.wrapping_add(1);
            Arrival::Accepted
        } else {
            Arrival::NoRoom
        }
    }

    /// The item at the front, and whether it came from an earlier incarnation of the peer.
    pub(super) fn front(&self) -> Option<(&[u8], bool)> {
        self.queue.get(0).map(|bytes| (bytes, self.earlier > 0))
    }

    /// Takes the item at the front away; whether there was one.
    pub(super) fn take(&mut self) -> bool {
        let was = self.queue.len() > 0;
        self.queue.drop_front(1);
        self.earlier = self.earlier.saturating_sub(1);
        was
    }
}

#[cfg(any(test, on_target))]
mod tests {
    use super::*;
    use stillpoint_test::test;

    fn outbox(items: u8) -> Outbox<4, 4> {
        let mut outbox = Outbox::new();
        (0..items).for_each(|item| assert_eq!(outbox.push(&[item]), Some(item)));
        outbox
    }

    fn send_all(outbox: &mut Outbox<4, 4>, allowed: u8, now: u32) -> u8 {
        let mut count = 0;
        while outbox.next(allowed).is_some() {
            outbox.has_sent(now);
            count += 1;
        }
        count
    }

    #[test]
    fn an_item_stays_until_it_is_acknowledged_and_is_sent_again_when_overdue() {
        let mut outbox = outbox(2);
        assert_eq!(send_all(&mut outbox, 4, 100), 2);
        assert!(!outbox.is_overdue(109, 10) && outbox.is_overdue(110, 10));
        assert_eq!(outbox.send_again(true), 1);
        assert!(outbox.next(4).is_some_and(|next| next.again && next.number == 0 && next.bytes == [0]));
        assert!(outbox.acknowledge(1, 120));
        assert!(outbox.next(4).is_some_and(|next| next.again && next.number == 1));
        assert_eq!(outbox.len(), 1);
    }

    #[test]
    fn a_gap_is_heeded_once_per_item_and_only_if_a_later_one_was_sent() {
        let mut outbox = outbox(3);
        outbox.has_sent(0);
        outbox.go_back(0);
        assert!(outbox.next(4).is_some_and(|next| next.number == 1));
        assert_eq!(send_all(&mut outbox, 4, 0), 2);
        outbox.go_back(1);
        assert!(outbox.next(4).is_none());
        outbox.go_back(0);
        assert_eq!(send_all(&mut outbox, 4, 0), 3);
        outbox.go_back(0);
        assert!(outbox.next(4).is_none());
        assert!(outbox.acknowledge(1, 0));
        outbox.go_back(1);
        assert!(outbox.next(4).is_some_and(|next| next.number == 1 && next.again));
    }

    #[test]
    fn an_acknowledgement_of_what_was_never_sent_or_is_long_acknowledged_changes_nothing() {
        let mut outbox = outbox(3);
        assert_eq!(send_all(&mut outbox, 2, 0), 2);
        let before = outbox.clone();
        for number in 3..=255 {
            assert!(!outbox.acknowledge(number, 5));
        }
        assert!(!outbox.acknowledge(0, 5));
        assert_eq!(outbox, before);
        assert!(outbox.acknowledge(2, 5));
    }

    #[test]
    fn numbers_run_through_255_to_0_without_a_gap() {
        let mut outbox = outbox(0);
        let mut inbox = Inbox::<4, 4>::new();
        for item in 0..600_u32 {
            let number = outbox.push(&[item as u8]).unwrap();
            assert_eq!(number, item as u8);
            outbox.has_sent(0);
            assert_eq!(inbox.accept(number, &[item as u8]), Arrival::Accepted);
            assert_eq!(inbox.accept(number, &[item as u8]), Arrival::Duplicate);
            assert_eq!(inbox.front(), Some((&[item as u8][..], false)));
            assert!(inbox.take() && outbox.acknowledge(inbox.next(), 0));
        }
    }

    #[test]
    fn only_the_next_number_is_accepted_and_only_with_room() {
        let mut inbox = Inbox::<2, 4>::new();
        assert_eq!(inbox.accept(1, b"b"), Arrival::TooEarly);
        assert_eq!(inbox.accept(255, b"z"), Arrival::Duplicate);
        assert_eq!(inbox.accept(0, b"a"), Arrival::Accepted);
        assert_eq!(inbox.accept(1, b"b"), Arrival::Accepted);
        assert_eq!((inbox.next(), inbox.edge()), (2, 2));
        assert_eq!(inbox.accept(2, b"c"), Arrival::NoRoom);
        assert!(inbox.take());
        assert_eq!((inbox.next(), inbox.edge()), (2, 3));
        assert_eq!(inbox.accept(2, b"c"), Arrival::Accepted);
    }

    #[test]
    fn what_was_accepted_before_a_reset_is_still_delivered_and_says_so() {
        let mut inbox = Inbox::<2, 4>::new();
        inbox.accept(0, b"old");
        inbox.renumber();
        assert_eq!(inbox.accept(0, b"new"), Arrival::Accepted);
        assert_eq!(inbox.front(), Some((&b"old"[..], true)));
        assert!(inbox.take());
        assert_eq!(inbox.front(), Some((&b"new"[..], false)));
        assert!(inbox.take() && !inbox.take());
    }

    #[test]
    fn a_wait_that_spans_the_wrap_of_the_clock_ends_in_time() {
        let mut outbox = outbox(1);
        outbox.has_sent(u32::MAX - 4);
        assert_eq!(outbox.ticks_left(u32::MAX, 10), Some(6));
        assert!(!outbox.is_overdue(4, 10) && outbox.is_overdue(5, 10));
    }
}

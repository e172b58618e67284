//! One lane, without its items: what was sent and is not yet acknowledged, what was accepted and is not yet taken.

use super::Lane;
use crate::time::Ticks;

/// Whether `a` comes after `b` in the circle of 256 numbers.
pub(super) const fn is_after(a: u8, b: u8) -> bool {
    (a.wrapping_sub(b) as i8) > 0
}

/// What is left of a wait that began at `since`; 0 if it is over.
pub(super) const fn left(wait: Ticks<u32>, since: Ticks<u32>, now: Ticks<u32>) -> Ticks<u32> {
    Ticks(wait.0.saturating_sub(now.wrapping_since(since).0))
}

/// One of something for each lane.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct PerLane<T> {
    pub(super) data: T,
    pub(super) control: T,
}

impl<T> PerLane<T> {
    #[inline]
    pub(super) fn of(&self, lane: Lane) -> &T {
        match lane {
            Lane::Data => &self.data,
            Lane::Control => &self.control,
        }
    }

    #[inline]
    pub(super) fn of_mut(&mut self, lane: Lane) -> &mut T {
        match lane {
            Lane::Data => &mut self.data,
            Lane::Control => &mut self.control,
        }
    }
}

/// The sending half: items stay until the peer has acknowledged them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Sending {
    /// The number of the oldest item that is not acknowledged.
    first: u8,
    /// How many items there are, from that one on.
    length: u8,
    /// How many of them have been sent since the last time everything had to be sent again.
    sent: u8,
    /// How many of them have been sent at least once.
    ever_sent: u8,
    /// The peer said that it misses the oldest, and that has been heeded.
    went_back: bool,
    /// Since when the oldest waits for its acknowledgement.
    waiting_since: Option<Ticks<u32>>,
    /// How many of them had been sent before the oldest question that has no answer.
    in_question: u8,
    /// The oldest was sent again.
    again: bool,
    /// That was in vain, too: it is repeated alone until it is acknowledged.
    alone: bool,
}

/// The next item to put on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Next {
    pub(super) number: u8,
    /// How many places behind the oldest it is.
    pub(super) index: u8,
    /// Not for the first time.
    pub(super) again: bool,
}

impl Sending {
    /// Numbers what waits from 0 again: nothing of it was ever sent to this peer.
    pub(super) fn renumber(&mut self) {
        *self = Self { length: self.length, ..Self::default() };
    }

    /// Drops everything and says how much that was.
    pub(super) fn lose(&mut self) -> u8 {
        core::mem::take(self).length
    }

    /// Appends an item and says its number.
    pub(super) fn push(&mut self) -> u8 {
        let number = self.end();
        self.length = self.length.saturating_add(1);
        number
    }

    pub(super) fn first(&self) -> u8 {
        self.first
    }

    /// The number the next item will get.
    pub(super) fn end(&self) -> u8 {
        self.first.wrapping_add(self.length)
    }

    pub(super) fn len(&self) -> u8 {
        self.length
    }

    /// The next item to send, if `allowed` items may be on the way.
    pub(super) fn next(&self, allowed: u8) -> Option<Next> {
        let next =
            Next { number: self.first.wrapping_add(self.sent), index: self.sent, again: self.sent < self.ever_sent };
        let allowed = if self.alone { allowed.min(1) } else { allowed };
        (self.sent < allowed.min(self.length)).then_some(next)
    }

    /// The item `next` named has been handed to the wire.
    pub(super) fn has_sent(&mut self, now: Ticks<u32>) {
        if self.sent == 0 {
            // A wait for room is over.
            self.waiting_since = None;
            self.again = self.ever_sent > 0;
        }
        self.sent = self.sent.saturating_add(1).min(self.length);
        self.ever_sent = self.ever_sent.max(self.sent);
        self.wait(now);
    }

    /// Begins to wait, unless it does already.
    pub(super) fn wait(&mut self, now: Ticks<u32>) {
        self.waiting_since.get_or_insert(now);
    }

    /// The peer has accepted everything before `next`; how many items that lets go.
    #[inline(never)]
    pub(super) fn acknowledge(&mut self, next: u8, now: Ticks<u32>) -> u8 {
        let news = next.wrapping_sub(self.first);
        // What was never sent cannot have been accepted: such a number is old, or wrong.
        if news == 0 || news > self.ever_sent {
            return 0;
        }
        self.first = next;
        self.length = self.length.saturating_sub(news);
        self.ever_sent -= news;
        self.sent = self.sent.saturating_sub(news);
        self.in_question = self.in_question.saturating_sub(news);
        self.went_back = false;
        (self.again, self.alone) = (false, false);
        self.waiting_since = (self.sent > 0).then_some(now);
        news
    }

    /// Whether items wait that may not be sent, and none is on the way that could bring news.
    pub(super) fn is_blocked(&self, allowed: u8) -> bool {
        allowed == 0 && self.ever_sent == 0 && self.length > 0
    }

    /// How long until the wait for an acknowledgement took `timeout`; 0 if it has.
    #[inline(never)]
    pub(super) fn ticks_left(&self, now: Ticks<u32>, timeout: Ticks<u32>) -> Option<Ticks<u32>> {
        self.waiting_since.map(|since| left(timeout, since, now))
    }

    /// Whether something was sent that is not acknowledged.
    pub(super) fn is_waiting(&self) -> bool {
        self.sent > 0
    }

    /// Ends the wait.
    pub(super) fn stop_waiting(&mut self) {
        self.waiting_since = None;
    }

    /// A wait was in vain. If the oldest was sent again before, it is repeated alone and carries the question.
    ///
    /// With a question of its own before each repetition, a loss of every second frame meets every repetition.
    pub(super) fn repeat(&mut self) {
        if self.again {
            self.alone = true;
            self.sent = 0;
        }
    }

    /// A question has been handed to the wire. Its answer tells of everything that was sent before it.
    ///
    /// While an older question has no answer, that is the one that counts: the next answer may be to it.
    pub(super) fn has_asked(&mut self, is_oldest: bool, now: Ticks<u32>) {
        if self.sent > 0 {
            self.wait(now);
        }
        if is_oldest {
            self.in_question = self.sent;
        }
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

    /// Forgets every wait; everything on the way will be sent again.
    pub(super) fn start_over(&mut self) {
        self.sent = 0;
        self.waiting_since = None;
        self.in_question = 0;
        self.went_back = false;
    }

    /// The peer has answered a question: what was sent before that and is not acknowledged is missing, and is sent again.
    pub(super) fn is_answered(&mut self) {
        if core::mem::take(&mut self.in_question) > 0 {
            self.sent = 0;
            self.waiting_since = None;
        }
    }
}

/// What becomes of a frame that arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arrival {
    Accepted,
    Duplicate,
    /// One before it is missing.
    TooEarly,
    /// It is the right one, but there is no room for it.
    NoRoom,
}

/// The receiving half: items stay until the caller takes them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Receiving {
    /// The number of the item to accept next.
    next: u8,
    /// How many items there is room for.
    free: u8,
    /// How many items of this session wait to be taken.
    waiting: u8,
    /// How many items from earlier incarnations of the peer wait to be taken, before those.
    earlier: u8,
}

impl Receiving {
    pub(super) fn new(capacity: u8) -> Self {
        Self { next: 0, free: capacity, waiting: 0, earlier: 0 }
    }

    /// The peer numbers from 0 again. What was accepted stays: its sender was told so.
    pub(super) fn renumber(&mut self) {
        self.next = 0;
        self.earlier = self.earlier.saturating_add(core::mem::take(&mut self.waiting));
    }

    pub(super) fn next(&self) -> u8 {
        self.next
    }

    /// The number of the first item there is no room for.
    pub(super) fn edge(&self) -> u8 {
        self.next.wrapping_add(self.free)
    }

    pub(super) fn waiting(&self) -> u8 {
        self.waiting
    }

    pub(super) fn earlier(&self) -> u8 {
        self.earlier
    }

    #[inline(never)]
    pub(super) fn accept(&mut self, number: u8) -> Arrival {
        if is_after(number, self.next) {
            Arrival::TooEarly
        } else if number != self.next {
            Arrival::Duplicate
        } else if self.free == 0 {
            Arrival::NoRoom
        } else {
            self.next = self.next.wrapping_add(1);
            self.free -= 1;
            self.waiting = self.waiting.saturating_add(1);
            Arrival::Accepted
        }
    }

    /// Takes the oldest item away; whether there was one.
    pub(super) fn take(&mut self) -> bool {
        let from = if self.earlier > 0 { &mut self.earlier } else { &mut self.waiting };
        let was = *from > 0;
        *from = from.saturating_sub(1);
        self.free = self.free.saturating_add(u8::from(was));
        was
    }
}

#[cfg(any(test, on_target))]
mod tests {
    use super::*;
    use stillpoint_test::test;

    fn sending(items: u8) -> Sending {
        let mut sending = Sending::default();
        (0..items).for_each(|item| assert_eq!(sending.push(), item));
        sending
    }

    fn send_all(sending: &mut Sending, allowed: u8, now: u32) -> u8 {
        let mut count = 0;
        while sending.next(allowed).is_some() {
            sending.has_sent(Ticks(now));
            count += 1;
        }
        count
    }

    #[test]
    fn an_item_stays_until_it_is_acknowledged_and_is_sent_again_when_it_is_missing() {
        let mut sending = sending(2);
        assert_eq!(send_all(&mut sending, 4, 100), 2);
        sending.is_answered();
        assert_eq!(sending.next(4), None);
        sending.has_asked(true, Ticks(110));
        sending.is_answered();
        assert_eq!(sending.next(4), Some(Next { number: 0, index: 0, again: true }));
        assert_eq!(sending.acknowledge(1, Ticks(120)), 1);
        assert_eq!(sending.next(4), Some(Next { number: 1, index: 0, again: true }));
        assert_eq!(sending.len(), 1);
    }

    #[test]
    fn a_gap_is_heeded_once_per_item_and_only_if_a_later_one_was_sent() {
        let mut sending = sending(3);
        sending.has_sent(Ticks(0));
        sending.go_back(0);
        assert!(sending.next(4).is_some_and(|next| next.number == 1));
        assert_eq!(send_all(&mut sending, 4, 0), 2);
        sending.go_back(1);
        assert!(sending.next(4).is_none());
        sending.go_back(0);
        assert_eq!(send_all(&mut sending, 4, 0), 3);
        sending.go_back(0);
        assert!(sending.next(4).is_none());
        assert_eq!(sending.acknowledge(1, Ticks(0)), 1);
        sending.go_back(1);
        assert!(sending.next(4).is_some_and(|next| next.number == 1 && next.again));
    }

    #[test]
    fn an_answer_says_nothing_of_what_was_sent_after_the_question() {
        let mut sending = sending(2);
        sending.has_sent(Ticks(0));
        sending.has_asked(true, Ticks(10));
        sending.has_sent(Ticks(11));
        // Not answered, so asked again: the answer may be to the first question all the same.
        sending.has_asked(false, Ticks(20));
        assert_eq!(sending.acknowledge(1, Ticks(21)), 1);
        sending.is_answered();
        assert_eq!(sending.next(4), None);
        sending.has_asked(true, Ticks(30));
        sending.is_answered();
        assert_eq!(sending.next(4), Some(Next { number: 1, index: 0, again: true }));
    }

    #[test]
    fn an_acknowledgement_of_what_was_never_sent_or_is_long_acknowledged_changes_nothing() {
        let mut sending = sending(3);
        assert_eq!(send_all(&mut sending, 2, 0), 2);
        let before = sending.clone();
        for number in 3..=255 {
            assert_eq!(sending.acknowledge(number, Ticks(5)), 0);
        }
        assert_eq!(sending.acknowledge(0, Ticks(5)), 0);
        assert_eq!(sending, before);
        assert_eq!(sending.acknowledge(2, Ticks(5)), 2);
    }

    #[test]
    fn numbers_run_through_255_to_0_without_a_gap() {
        let mut sending = sending(0);
        let mut receiving = Receiving::new(4);
        for item in 0..600_u32 {
            let number = sending.push();
            assert_eq!(number, item as u8);
            sending.has_sent(Ticks(0));
            assert_eq!(receiving.accept(number), Arrival::Accepted);
            assert_eq!(receiving.accept(number), Arrival::Duplicate);
            assert!(receiving.take() && sending.acknowledge(receiving.next(), Ticks(0)) == 1);
        }
    }

    #[test]
    fn only_the_next_number_is_accepted_and_only_with_room() {
        let mut receiving = Receiving::new(2);
        assert_eq!(receiving.accept(1), Arrival::TooEarly);
        assert_eq!(receiving.accept(255), Arrival::Duplicate);
        assert_eq!(receiving.accept(0), Arrival::Accepted);
        assert_eq!(receiving.accept(1), Arrival::Accepted);
        assert_eq!((receiving.next(), receiving.edge()), (2, 2));
        assert_eq!(receiving.accept(2), Arrival::NoRoom);
        assert!(receiving.take());
        assert_eq!((receiving.next(), receiving.edge()), (2, 3));
        assert_eq!(receiving.accept(2), Arrival::Accepted);
    }

    #[test]
    fn what_was_accepted_before_a_reset_is_taken_first_and_keeps_its_room() {
        let mut receiving = Receiving::new(2);
        receiving.accept(0);
        receiving.renumber();
        assert_eq!((receiving.edge(), receiving.earlier(), receiving.waiting()), (1, 1, 0));
        assert_eq!(receiving.accept(0), Arrival::Accepted);
        assert_eq!(receiving.accept(1), Arrival::NoRoom);
        assert!(receiving.take());
        assert_eq!((receiving.earlier(), receiving.waiting()), (0, 1));
        assert!(receiving.take() && !receiving.take());
        assert_eq!(receiving.edge(), 3);
    }

    #[test]
    fn a_wait_that_spans_the_wrap_of_the_clock_ends_in_time() {
        let mut sending = sending(1);
        sending.has_sent(Ticks(u32::MAX - 4));
        assert_eq!(sending.ticks_left(Ticks(u32::MAX), Ticks(10)), Some(Ticks(6)));
        assert_eq!(
            (sending.ticks_left(Ticks(4), Ticks(10)), sending.ticks_left(Ticks(5), Ticks(10))),
            (Some(Ticks(1)), Some(Ticks(0)))
        );
    }
}

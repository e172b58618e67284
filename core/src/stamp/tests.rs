//! What the receiver knows after each stamp, and what it refuses.
use super::wire::{FORM, FORM_LONG, FORM_SHORT};
use super::*;
use crate::VectorClock;
use stillpoint_test::test;

const ME: NodeId = NodeId(0);
const PEER: NodeId = NodeId(1);

/// One channel from node 0 to node 1 in a system of `N`.
struct Channel<const N: usize> {
    kind: StampKind,
    told: Said<N>,
    heard: Said<N>,
    sender: VectorClock<N>,
    receiver: VectorClock<N>,
}

impl<const N: usize> Channel<N> {
    fn new(kind: StampKind) -> Self {
        let clock = VectorClock::new();
        Self { kind, told: Said::new(PEER), heard: Said::new(ME), sender: clock, receiver: clock }
    }

    fn send(&mut self) -> ([u8; 160], usize) {
        let mut bytes = [0; 160];
        self.sender.tick(ME);
        let length = self.told.write(self.kind, ME, &self.sender, &mut bytes).unwrap();
        (bytes, length)
    }

    fn receive(&mut self, bytes: &[u8]) -> Result<(usize, u32), StampError> {
        self.heard.read(PEER, &mut self.receiver, bytes)
    }

    /// Something else raised the sender's entries.
    fn learn(&mut self, node: usize, number: u32) {
        self.sender.entries[node] = number;
        if !compares(N) {
            self.told.changed |= 1 << node;
        }
    }
}

fn the_receiver_knows_what_the_sender_knew<const N: usize>(kind: StampKind) {
    let mut channel = Channel::<N>::new(kind);
    for round in 0..300u32 {
        if kind == StampKind::Vector {
            channel.learn(2 + round as usize % (N - 2), round * 3);
        }
        if round == 100 {
            channel.told.forget();
        }
        let (bytes, length) = channel.send();
        let (read, _) = channel.receive(&bytes[..length]).unwrap();
        assert_eq!(read, length);
        assert_eq!(channel.receiver.get(ME), channel.sender.get(ME));
        if kind == StampKind::Vector {
            assert_eq!(channel.receiver, channel.sender);
        }
    }
}

#[test]
fn after_each_message_the_receiver_knows_what_the_sender_knew() {
    the_receiver_knows_what_the_sender_knew::<4>(StampKind::Vector);
    the_receiver_knows_what_the_sender_knew::<5>(StampKind::Vector);
    the_receiver_knows_what_the_sender_knew::<6>(StampKind::Vector);
    the_receiver_knows_what_the_sender_knew::<32>(StampKind::Vector);
    the_receiver_knows_what_the_sender_knew::<4>(StampKind::Event);
}

/// At the front of a buffer or at its end, a stamp is the same, and so is what the channel remembers of it.
fn a_stamp_is_the_same_at_either_end<const N: usize>() {
    let mut channel = Channel::<N>::new(StampKind::Vector);
    channel.send();
    for round in 0..200u32 {
        channel.learn(1 + round as usize % (N - 1), (round + 1) * 7);
        if round % 50 == 49 {
            channel.learn(N - 1, round * 1000);
        }
        let mut told = channel.told.clone();
        let (bytes, length) = channel.send();
        let mut last = [0; 160];
        let begin = told.write_changes_last(ME, &channel.sender, &mut last);
        assert_eq!(last[begin..], bytes[..length]);
        assert_eq!(told, channel.told);
        let read = MessageStamp::read::<N>(&last[begin..]).unwrap();
        assert_eq!((read.len(), read.short::<N>().is_some()), (length, bytes[0] & FORM == FORM_SHORT));
    }
}

#[test]
fn a_stamp_at_the_end_of_its_room_is_the_one_at_the_front() {
    a_stamp_is_the_same_at_either_end::<2>();
    a_stamp_is_the_same_at_either_end::<4>();
    a_stamp_is_the_same_at_either_end::<5>();
    a_stamp_is_the_same_at_either_end::<7>();
    a_stamp_is_the_same_at_either_end::<8>();
    a_stamp_is_the_same_at_either_end::<9>();
    a_stamp_is_the_same_at_either_end::<32>();
}

#[test]
fn four_changed_entries_take_five_bytes_and_an_event_stamp_one() {
    let mut channel = Channel::<4>::new(StampKind::Vector);
    assert_eq!(channel.send().1, max_stamp_len(4));
    (1..4).for_each(|node| channel.learn(node, 200));
    assert_eq!(channel.send().1, 5);
    assert_eq!(channel.send().1, 2, "only the sender's own entry changed");
    let mut channel = Channel::<4>::new(StampKind::Event);
    assert_eq!(channel.send().1, 5);
    assert_eq!(channel.send().1, 1);
}

#[test]
fn a_large_step_such_as_a_new_epoch_takes_the_long_form() {
    let mut channel = Channel::<4>::new(StampKind::Vector);
    let (bytes, length) = channel.send();
    channel.receive(&bytes[..length]).unwrap();
    channel.learn(2, 0x0100_0001);
    let (bytes, length) = channel.send();
    assert_eq!(bytes[0] & FORM, FORM_LONG);
    channel.receive(&bytes[..length]).unwrap();
    assert_eq!(channel.receiver, channel.sender);
}

#[test]
fn a_difference_without_a_full_stamp_before_it_is_refused() {
    let mut channel = Channel::<4>::new(StampKind::Vector);
    let _lost = channel.send();
    let (bytes, length) = channel.send();
    assert_eq!(channel.receive(&bytes[..length]), Err(StampError::Unsynchronised));
    assert_eq!(channel.receiver, VectorClock::new());
    assert_eq!(channel.heard, Said::new(ME));
}

#[test]
fn a_claim_about_events_of_ours_that_never_happened_is_refused_and_changes_nothing() {
    let mut channel = Channel::<4>::new(StampKind::Vector);
    channel.learn(1, 7);
    let (bytes, length) = channel.send();
    assert_eq!(channel.receive(&bytes[..length]), Err(StampError::FromTheFuture(EventNumber(7))));
    assert_eq!(channel.receiver, VectorClock::new());
    // The same in a difference.
    channel.receiver.entries[1] = 7;
    channel.receive(&bytes[..length]).unwrap();
    channel.learn(1, 9);
    let (bytes, length) = channel.send();
    let before = (channel.receiver, channel.heard.clone());
    assert_eq!(channel.receive(&bytes[..length]), Err(StampError::FromTheFuture(EventNumber(9))));
    assert_eq!((channel.receiver, channel.heard.clone()), before);
}

#[test]
fn a_count_that_runs_backwards_is_refused() {
    let mut channel = Channel::<4>::new(StampKind::Vector);
    let (old, length) = channel.send();
    channel.told.forget();
    let (new, _) = channel.send();
    channel.receive(&new[..length]).unwrap();
    assert_eq!(channel.receive(&old[..length]), Err(StampError::RunsBackwards(ME)));
}

#[test]
fn every_prefix_of_a_stamp_is_refused_as_truncated() {
    for kind in [StampKind::Vector, StampKind::Event] {
        let mut channel = Channel::<8>::new(kind);
        for round in 0..3 {
            channel.learn(3, if round == 2 { 0x0500_0000 } else { round });
            let (bytes, length) = channel.send();
            for cut in 0..length {
                let short = channel.receive(&bytes[..cut]);
                assert!(matches!(short, Err(StampError::Truncated)), "{cut} of {length}");
            }
            channel.receive(&bytes[..length]).unwrap();
        }
    }
}

#[test]
fn an_entry_beyond_the_system_is_refused() {
    let mut channel = Channel::<3>::new(StampKind::Vector);
    let (bytes, length) = channel.send();
    channel.receive(&bytes[..length]).unwrap();
    assert_eq!(channel.receive(&[FORM_SHORT | 0b1000, 1]), Err(StampError::NodeOutOfRange));
}

#[test]
fn a_buffer_too_small_is_refused_and_nothing_is_taken_as_said() {
    let mut channel = Channel::<4>::new(StampKind::Vector);
    let before = channel.told.clone();
    assert_eq!(channel.told.write(StampKind::Vector, ME, &channel.sender, &mut [0; 16]), Err(StampError::NoRoom));
    assert_eq!(channel.told, before);
    let _ = channel.send();
    let before = channel.told.clone();
    assert_eq!(channel.told.write(StampKind::Vector, ME, &channel.sender, &mut [0; 4]), Err(StampError::NoRoom));
    assert_eq!(channel.told, before);
}

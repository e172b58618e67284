//! Two ends and a perfect wire that can be cut: the claims of the module, one by one.

use super::*;
use crate::time::{Micros, TickRate, Ticks};
use stillpoint_test::test;

type End = Link<2, 48>;

const CONFIG: Config = Config { window: 2, timeout: Micros(100), retry_limit: Some(3), hello_interval: Micros(50) };

const WIRE: usize = wire_bytes(48);

/// Puts everything `from` has to send into `to`; the last event of either.
fn carry(from: &mut End, to: &mut End, now: u32) -> Option<LinkEvent> {
    let mut event = from.on_tick(Ticks(now));
    let mut wire = [0; WIRE];
    while let Some(length) = from.poll_transmit(Ticks(now), &mut wire).unwrap() {
        event = hear(to, &wire[..length], now).or(event);
    }
    event
}

fn hear(to: &mut End, wire: &[u8], now: u32) -> Option<LinkEvent> {
    wire.iter().fold(None, |last, &byte| to.on_byte(byte, Ticks(now)).or(last))
}

/// Lets everything `from` has to send get lost; the event of the tick.
fn shout(from: &mut End, now: u32) -> Option<LinkEvent> {
    let event = from.on_tick(Ticks(now));
    while from.poll_transmit(Ticks(now), &mut [0; WIRE]).unwrap().is_some() {}
    event
}

fn settle(a: &mut End, b: &mut End, now: u32) {
    for _ in 0..4 {
        let _ = carry(a, b, now);
        let _ = carry(b, a, now);
    }
}

fn up() -> (End, End) {
    let (mut a, mut b) = (End::new(CONFIG, TickRate::MEGAHERTZ, 1), End::new(CONFIG, TickRate::MEGAHERTZ, 1));
    settle(&mut a, &mut b, 0);
    assert_eq!((a.phase(), b.phase()), (LinkPhase::Up, LinkPhase::Up));
    (a, b)
}

fn next(end: &mut End, lane: Lane) -> Option<u8> {
    let first = end.front(lane).and_then(|item| item.bytes.first().copied());
    end.take(lane);
    first
}

#[test]
fn both_ends_come_up_once_and_each_has_the_hello_of_the_other() {
    let (mut a, mut b) = (End::new(CONFIG, TickRate::MEGAHERTZ, 7), End::new(CONFIG, TickRate::MEGAHERTZ, 9));
    a.set_hello(b"I am A").unwrap();
    b.set_hello(b"I am B").unwrap();
    assert_eq!(carry(&mut a, &mut b, 0), None);
    assert_eq!(carry(&mut b, &mut a, 0), Some(LinkEvent::Up { resumed: false }));
    assert_eq!(carry(&mut a, &mut b, 0), Some(LinkEvent::Up { resumed: false }));
    assert_eq!((carry(&mut b, &mut a, 0), carry(&mut a, &mut b, 0)), (None, None));
    assert_eq!((a.peer_hello(), b.peer_hello()), (&b"I am B"[..], &b"I am A"[..]));
    assert_eq!((a.next_deadline(Ticks(5)), b.next_deadline(Ticks(5))), (None, None));
    assert_eq!(a.set_hello(&[0; HELLO_BYTES + 1]), Err(SendError::TooLong { limit: HELLO_BYTES }));
}

#[test]
fn a_hello_is_repeated_until_it_is_answered_and_items_wait_for_it() {
    let (mut a, mut b) = (End::new(CONFIG, TickRate::MEGAHERTZ, 1), End::new(CONFIG, TickRate::MEGAHERTZ, 1));
    a.send(Lane::Data, b"x").unwrap();
    assert_eq!(shout(&mut a, 0), None);
    assert_eq!(a.next_deadline(Ticks(10)), Some(Ticks(50)));
    assert_eq!(carry(&mut a, &mut b, 49), None);
    assert_eq!(b.counters().received, 0);
    carry(&mut a, &mut b, 50);
    assert_eq!(b.counters().received, 1);
    settle(&mut a, &mut b, 50);
    assert_eq!(next(&mut b, Lane::Data), Some(b'x'));
    assert_eq!(a.counters().retransmits, 0);
}

#[test]
fn a_lost_frame_is_sent_again_after_the_timeout() {
    let (mut a, mut b) = up();
    a.send(Lane::Data, &[1]).unwrap();
    shout(&mut a, 10);
    settle(&mut a, &mut b, 109);
    assert!(b.front(Lane::Data).is_none());
    settle(&mut a, &mut b, 110);
    assert_eq!((next(&mut b, Lane::Data), next(&mut b, Lane::Data)), (Some(1), None));
    assert_eq!((a.counters().retransmits, a.unacknowledged(Lane::Data)), (1, 0));
}

#[test]
fn a_lost_frame_that_another_follows_is_missed_and_sent_again_at_once_and_in_order() {
    for lane in [Lane::Data, Lane::Control] {
        let (mut a, mut b) = up();
        a.send(lane, &[1]).unwrap();
        shout(&mut a, 10);
        a.send(lane, &[2]).unwrap();
        settle(&mut a, &mut b, 20);
        assert_eq!((b.counters().out_of_order, a.counters().retransmits), (1, 2));
        assert_eq!((next(&mut b, lane), next(&mut b, lane)), (Some(1), Some(2)));
        assert_eq!(a.unacknowledged(lane), 0);
    }
}

#[test]
fn an_item_whose_acknowledgement_is_lost_is_not_delivered_twice() {
    let (mut a, mut b) = up();
    a.send(Lane::Control, &[1]).unwrap();
    carry(&mut a, &mut b, 0);
    shout(&mut b, 0);
    // It is still not acknowledged when the line is taken for broken; then it is sent again.
    assert!((1..10).any(|step| shout(&mut a, step * 100) == Some(LinkEvent::Down)));
    settle(&mut a, &mut b, 1000);
    assert_eq!((a.counters().retransmits, b.counters().duplicates), (1, 1));
    assert_eq!((next(&mut b, Lane::Control), next(&mut b, Lane::Control)), (Some(1), None));
    assert_eq!(a.unacknowledged(Lane::Control), 0);
}

#[test]
fn an_item_whose_acknowledgement_is_lost_is_not_sent_again() {
    for lane in [Lane::Data, Lane::Control] {
        let (mut a, mut b) = up();
        a.send(lane, &[1]).unwrap();
        carry(&mut a, &mut b, 0);
        shout(&mut b, 0);
        settle(&mut a, &mut b, 99);
        assert_eq!(a.unacknowledged(lane), 1);
        settle(&mut a, &mut b, 100);
        assert_eq!((a.unacknowledged(lane), a.counters().retransmits, b.counters().duplicates), (0, 0, 0));
    }
}

#[test]
fn a_receiver_without_room_holds_data_back_but_not_control_and_nothing_is_lost() {
    let (mut a, mut b) = up();
    for item in [1, 2] {
        a.send(Lane::Data, &[item]).unwrap();
    }
    settle(&mut a, &mut b, 0);
    for item in [3, 4] {
        a.send(Lane::Data, &[item]).unwrap();
    }
    assert_eq!(a.send(Lane::Data, &[5]), Err(SendError::Full { unacknowledged: 2 }));
    a.send(Lane::Control, &[9]).unwrap();
    settle(&mut a, &mut b, 0);
    assert_eq!(next(&mut b, Lane::Control), Some(9));
    assert_eq!((b.counters().overruns, b.ledger(Lane::Data).waiting), (0, 2));
    for item in 1..=4 {
        assert_eq!(next(&mut b, Lane::Data), Some(item));
        settle(&mut a, &mut b, 1);
    }
    assert_eq!(a.unacknowledged(Lane::Data), 0);
}

#[test]
fn a_sender_asks_for_room_when_the_news_of_it_got_lost() {
    let (mut a, mut b) = up();
    for item in 1..=3 {
        a.send(Lane::Data, &[item]).unwrap();
        settle(&mut a, &mut b, 0);
    }
    assert_eq!(next(&mut b, Lane::Data), Some(1));
    shout(&mut b, 0);
    assert_eq!(a.on_tick(Ticks(0)), None);
    assert_eq!(a.next_deadline(Ticks(0)), Some(Ticks(100)));
    settle(&mut a, &mut b, 100);
    settle(&mut a, &mut b, 100);
    assert_eq!((next(&mut b, Lane::Data), next(&mut b, Lane::Data)), (Some(2), Some(3)));
}

#[test]
fn a_peer_that_has_no_room_for_long_is_slow_and_not_down() {
    let (mut a, mut b) = up();
    for item in 1..=3 {
        a.send(Lane::Data, &[item]).unwrap();
        settle(&mut a, &mut b, 0);
    }
    for item in 0..6 {
        let _ = a.send(Lane::Control, &[item]);
    }
    for now in (100..3000).step_by(100) {
        settle(&mut a, &mut b, now);
    }
    assert_eq!((a.phase(), a.counters().downs), (LinkPhase::Up, 0));
}

#[test]
fn silence_beyond_the_retry_limit_is_reported_once_and_an_answer_resumes_without_loss() {
    let (mut a, mut b) = up();
    a.send(Lane::Data, &[1]).unwrap();
    let downs = (0..10_u32).filter(|step| shout(&mut a, step * 100) == Some(LinkEvent::Down)).count();
    assert_eq!((downs, a.phase(), a.counters().retransmits), (1, LinkPhase::Down, 0));
    assert_eq!(carry(&mut a, &mut b, 2000), None);
    assert_eq!(carry(&mut b, &mut a, 2000), Some(LinkEvent::Up { resumed: true }));
    settle(&mut a, &mut b, 2000);
    assert_eq!((next(&mut b, Lane::Data), next(&mut b, Lane::Data)), (Some(1), None));
    assert_eq!(a.counters().lost_by_reset, 0);
}

#[test]
fn a_line_broken_in_one_direction_only_is_down_and_not_flapping() {
    let (mut a, mut b) = up();
    a.send(Lane::Data, &[1]).unwrap();
    let mut events = 0;
    for step in 0..30_u32 {
        let _ = b.send(Lane::Data, &[step as u8]);
        events += u32::from(shout(&mut a, step * 100).is_some());
        events += u32::from(carry(&mut b, &mut a, step * 100).is_some_and(|event| event != LinkEvent::Down));
        let _ = next(&mut a, Lane::Data);
    }
    assert_eq!((events, a.phase(), b.phase()), (1, LinkPhase::Down, LinkPhase::Down));
}

#[test]
fn a_stopped_peer_suspends_the_retry_limit_until_it_runs_again() {
    let (mut a, mut b) = up();
    b.set_stopped(true);
    settle(&mut a, &mut b, 0);
    assert!(a.is_peer_stopped());
    a.send(Lane::Data, &[1]).unwrap();
    assert!((0..100).all(|step| shout(&mut a, step * 100).is_none()));
    b.set_stopped(false);
    settle(&mut a, &mut b, 10_000);
    assert!(!a.is_peer_stopped());
    assert_eq!(next(&mut b, Lane::Data), Some(1));
    a.send(Lane::Data, &[2]).unwrap();
    assert!((101..110).any(|step| shout(&mut a, step * 100) == Some(LinkEvent::Down)));
}

/// Frames that are on the line, and not read.
struct Unread {
    bytes: [u8; 1024],
    length: usize,
}

impl Unread {
    fn add(&mut self, from: &mut End, now: u32) {
        assert_eq!(from.on_tick(Ticks(now)), None);
        while let Some(length) = from.poll_transmit(Ticks(now), &mut self.bytes[self.length..]).unwrap() {
            self.length += length;
        }
    }
}

#[test]
fn nothing_is_sent_again_to_a_peer_that_stood_still_and_has_everything() {
    for (lane, stops_first) in [(Lane::Data, true), (Lane::Control, true), (Lane::Data, false), (Lane::Control, false)]
    {
        let (mut a, mut b) = up();
        let mut unread = Unread { bytes: [0; 1024], length: 0 };
        for (item, now) in [(1, 0), (2, 1)] {
            a.send(lane, &[item]).unwrap();
            if stops_first == (now == 0) {
                b.set_stopped(true);
                carry(&mut b, &mut a, 0);
            }
            unread.add(&mut a, now);
        }
        for step in 1..=200 {
            unread.add(&mut a, step * 50);
        }
        b.set_stopped(false);
        // It says that it goes on before it has read anything.
        carry(&mut b, &mut a, 10_000);
        hear(&mut b, &unread.bytes[..unread.length], 10_000);
        settle(&mut a, &mut b, 10_000);
        assert_eq!((a.counters().retransmits, b.counters().duplicates), (0, 0));
        assert_eq!((next(&mut b, lane), next(&mut b, lane), a.unacknowledged(lane)), (Some(1), Some(2), 0));
    }
}

#[test]
fn what_is_missing_at_a_stopped_peer_that_reads_is_sent_again_once() {
    let (mut a, mut b) = up();
    b.set_stopped(true);
    settle(&mut a, &mut b, 0);
    a.send(Lane::Data, &[1]).unwrap();
    a.send(Lane::Control, &[2]).unwrap();
    shout(&mut a, 0);
    settle(&mut a, &mut b, 99);
    assert!(b.front(Lane::Data).is_none());
    settle(&mut a, &mut b, 100);
    assert_eq!((next(&mut b, Lane::Data), next(&mut b, Lane::Control)), (Some(1), Some(2)));
    assert_eq!((a.counters().retransmits, b.counters().duplicates), (2, 0));
}

#[test]
fn an_end_that_stood_still_reads_acknowledgements_before_it_sends_again() {
    let (mut a, mut b) = up();
    a.send(Lane::Data, &[1]).unwrap();
    carry(&mut a, &mut b, 0);
    // The acknowledgement waits to be read, while nobody looks at the clock.
    let mut unread = Unread { bytes: [0; 1024], length: 0 };
    unread.add(&mut b, 0);
    shout(&mut a, 5_000);
    hear(&mut a, &unread.bytes[..unread.length], 5_001);
    assert_eq!((a.counters().retransmits, a.unacknowledged(Lane::Data)), (0, 0));
}

#[test]
fn nothing_is_sent_again_to_a_peer_that_is_slow_and_has_everything() {
    for lane in [Lane::Data, Lane::Control] {
        let (mut a, mut b) = up();
        let mut unread = Unread { bytes: [0; 1024], length: 0 };
        a.send(lane, &[1]).unwrap();
        unread.add(&mut a, 0);
        // It reads nothing for longer than a wait, and this end has something new for it meanwhile.
        unread.add(&mut a, 150);
        a.send(lane, &[2]).unwrap();
        unread.add(&mut a, 200);
        unread.add(&mut a, 260);
        for byte in &unread.bytes[..unread.length] {
            // It answers whenever it has read a frame.
            hear(&mut b, core::slice::from_ref(byte), 270);
            carry(&mut b, &mut a, 270);
        }
        settle(&mut a, &mut b, 270);
        assert_eq!((a.counters().retransmits, b.counters().duplicates), (0, 0));
        assert_eq!((next(&mut b, lane), next(&mut b, lane), a.unacknowledged(lane)), (Some(1), Some(2), 0));
    }
}

#[test]
fn an_answer_that_comes_late_is_not_taken_for_that_to_a_later_question() {
    let (mut a, mut b) = up();
    a.send(Lane::Data, &[1]).unwrap();
    carry(&mut a, &mut b, 0);
    let [mut first, mut rest] = [(); 2].map(|()| Unread { bytes: [0; 1024], length: 0 });
    first.add(&mut a, 100);
    // The acknowledgement was on its way when the peer was asked.
    carry(&mut b, &mut a, 101);
    a.send(Lane::Data, &[2]).unwrap();
    rest.add(&mut a, 102);
    rest.add(&mut a, 202);
    for unread in [&first, &rest] {
        hear(&mut b, &unread.bytes[..unread.length], 203);
        settle(&mut b, &mut a, 203);
    }
    assert_eq!((a.counters().retransmits, b.counters().duplicates), (0, 0));
    assert_eq!((next(&mut b, Lane::Data), next(&mut b, Lane::Data)), (Some(1), Some(2)));
}

#[test]
fn what_is_missing_is_asked_for_as_often_as_the_question_or_the_answer_is_lost() {
    let (mut a, mut b) = up();
    a.send(Lane::Data, &[1]).unwrap();
    shout(&mut a, 0);
    shout(&mut a, 100);
    carry(&mut a, &mut b, 200);
    shout(&mut b, 200);
    assert!(b.front(Lane::Data).is_none());
    settle(&mut a, &mut b, 300);
    assert_eq!((next(&mut b, Lane::Data), a.unacknowledged(Lane::Data)), (Some(1), 0));
    assert_eq!((a.counters().retransmits, b.counters().duplicates), (1, 0));
}

#[test]
fn an_item_that_was_sent_again_in_vain_is_repeated_alone_and_carries_the_question() {
    for lane in [Lane::Data, Lane::Control] {
        let (mut a, mut b) = up();
        for item in [1, 2] {
            a.send(lane, &[item]).unwrap();
        }
        shout(&mut a, 0);
        // The question arrives, and what is sent again for its answer does not.
        carry(&mut a, &mut b, 100);
        carry(&mut b, &mut a, 100);
        shout(&mut a, 100);
        assert_eq!((a.counters().retransmits, a.counters().sent), (2, 7), "two hellos, twice two items, a question");
        shout(&mut a, 200);
        assert_eq!((a.counters().retransmits, a.counters().sent), (3, 8), "one item and no frame besides");
        carry(&mut a, &mut b, 300);
        assert_eq!(next(&mut b, lane), Some(1));
        settle(&mut a, &mut b, 300);
        assert_eq!((next(&mut b, lane), a.unacknowledged(lane)), (Some(2), 0));
        assert_eq!((a.counters().retransmits, b.counters().duplicates), (5, 0));
    }
}

#[test]
fn a_restarted_peer_is_met_again_and_what_was_not_acknowledged_is_reported_lost() {
    let (mut a, mut b) = up();
    b.send(Lane::Data, &[7]).unwrap();
    settle(&mut a, &mut b, 0);
    a.send(Lane::Data, &[1]).unwrap();
    a.send(Lane::Data, &[2]).unwrap();
    a.send(Lane::Control, &[3]).unwrap();
    shout(&mut a, 0);
    let mut b = End::new(CONFIG, TickRate::MEGAHERTZ, 2);
    assert_eq!(carry(&mut b, &mut a, 5), Some(LinkEvent::PeerReset { lost_data: 2, lost_control: 1 }));
    b.send(Lane::Data, &[8]).unwrap();
    settle(&mut a, &mut b, 5);
    assert_eq!((a.phase(), b.phase(), a.counters().lost_by_reset), (LinkPhase::Up, LinkPhase::Up, 3));
    // What had been accepted from the old peer is still there, marked, and ahead of the new.
    assert_eq!(a.front(Lane::Data), Some(Received { bytes: &[7], before_reset: true }));
    assert!(a.take(Lane::Data));
    assert_eq!(a.front(Lane::Data), Some(Received { bytes: &[8], before_reset: false }));
    a.send(Lane::Data, &[4]).unwrap();
    settle(&mut a, &mut b, 5);
    assert_eq!((next(&mut b, Lane::Data), next(&mut b, Lane::Data)), (Some(4), None));
}

#[test]
fn a_restarted_peer_that_knows_this_end_already_does_not_hide_the_loss() {
    let (mut a, _) = up();
    a.send(Lane::Data, &[1]).unwrap();
    assert!((0..10).any(|step| shout(&mut a, step * 100) == Some(LinkEvent::Down)));
    // The new peer hears a hello of this end before it is heard itself, so its own hello names both.
    let mut b = End::new(CONFIG, TickRate::MEGAHERTZ, 2);
    carry(&mut a, &mut b, 5000);
    assert_eq!(carry(&mut b, &mut a, 5000), Some(LinkEvent::PeerReset { lost_data: 1, lost_control: 0 }));
    settle(&mut a, &mut b, 5000);
    assert_eq!((a.phase(), b.phase()), (LinkPhase::Up, LinkPhase::Up));
}

#[test]
fn a_peer_that_restarts_with_a_number_it_used_before_takes_another() {
    for again in [1, 250, 3] {
        let (mut a, mut b) = (End::new(CONFIG, TickRate::MEGAHERTZ, 1), End::new(CONFIG, TickRate::MEGAHERTZ, 3));
        settle(&mut a, &mut b, 0);
        a.send(Lane::Data, &[1]).unwrap();
        settle(&mut a, &mut b, 0);
        let mut b = End::new(CONFIG, TickRate::MEGAHERTZ, again);
        settle(&mut a, &mut b, 50);
        assert_eq!((a.phase(), b.phase()), (LinkPhase::Up, LinkPhase::Up));
        assert_eq!(b.ledger(Lane::Data).mine, 4);
        a.send(Lane::Data, &[2]).unwrap();
        settle(&mut a, &mut b, 50);
        assert_eq!(next(&mut b, Lane::Data), Some(2));
    }
}

#[test]
fn a_frame_from_or_to_an_earlier_incarnation_is_refused() {
    let (mut a, mut b) = up();
    let mut frames = [[0; WIRE]; 2];
    for (end, frame) in [&mut a, &mut b].into_iter().zip(&mut frames) {
        end.send(Lane::Data, &[1]).unwrap();
        assert!(end.poll_transmit(Ticks(0), frame).unwrap().is_some());
    }
    let mut a = End::new(CONFIG, TickRate::MEGAHERTZ, 2);
    settle(&mut a, &mut b, 0);
    for (end, frame) in [&mut b, &mut a].into_iter().zip(&frames) {
        let end_of_frame = frame.iter().position(|&byte| byte == 0).unwrap();
        assert_eq!(hear(end, &frame[..=end_of_frame], 0), None);
        assert_eq!((next(end, Lane::Data), end.counters().stale), (None, 1));
    }
}

#[test]
fn room_once_promised_is_not_taken_back_by_an_older_frame() {
    let (mut a, mut b) = up();
    a.send(Lane::Data, &[1]).unwrap();
    carry(&mut a, &mut b, 0);
    let mut old = [0; WIRE];
    let length = b.poll_transmit(Ticks(0), &mut old).unwrap().unwrap();
    b.take(Lane::Data);
    b.set_stopped(true);
    settle(&mut a, &mut b, 0); // any frame tells of the room; stopping makes one
    assert_eq!(hear(&mut a, &old[..length], 0), None);
    for item in [2, 3] {
        a.send(Lane::Data, &[item]).unwrap();
    }
    // Both leave at once: the old frame knew of room for one only.
    carry(&mut a, &mut b, 0);
    assert_eq!((next(&mut b, Lane::Data), next(&mut b, Lane::Data)), (Some(2), Some(3)));
}

#[test]
fn a_peer_of_another_version_is_reported_and_there_is_no_session() {
    let (mut a, _) = up();
    let before = a.clone();
    let header = Header {
        kind: Kind::Hello,
        flags: Flags::ASK,
        from: 2,
        to: 0,
        number: VERSION + 1,
        data_next: 0,
        control_next: 0,
        edge: 0,
    };
    let mut wire = [0; WIRE];
    let length = header.encode(&[], &mut wire).unwrap();
    assert_eq!(hear(&mut a, &wire[..length], 0), Some(LinkEvent::Incompatible { version: VERSION + 1 }));
    assert!(a == before);
}

#[test]
fn what_is_in_flight_is_counted_once_at_every_step_of_its_way() {
    let (mut a, mut b) = up();
    let count = |a: &End, b: &End| a.ledger(Lane::Data).in_flight_to(&b.ledger(Lane::Data));
    assert_eq!(count(&a, &b), Some(0));
    a.send(Lane::Data, &[1]).unwrap();
    assert_eq!(count(&a, &b), Some(1));
    carry(&mut a, &mut b, 0);
    assert_eq!((a.unacknowledged(Lane::Data), count(&a, &b)), (1, Some(1)));
    carry(&mut b, &mut a, 0);
    assert_eq!((a.unacknowledged(Lane::Data), count(&a, &b)), (0, Some(1)));
    b.take(Lane::Data);
    assert_eq!(count(&a, &b), Some(0));
    assert_eq!(count(&a, &End::new(CONFIG, TickRate::MEGAHERTZ, 9)), None);
}

#[test]
fn an_item_too_long_and_a_buffer_too_short_change_nothing() {
    let (mut a, _) = up();
    a.send(Lane::Data, &[1; 48]).unwrap();
    let before = a.clone();
    assert_eq!(a.send(Lane::Data, &[0; 49]), Err(SendError::TooLong { limit: 48 }));
    assert_eq!(a.send(Lane::Control, &[0; CONTROL_BYTES + 1]), Err(SendError::TooLong { limit: CONTROL_BYTES }));
    assert_eq!(a.poll_transmit(Ticks(0), &mut [0; 20]), Err(TooShort { need: WIRE }));
    assert!(a == before);
}

/// An explorer relies on it: a state reached twice must look the same.
#[test]
fn ends_that_will_behave_alike_are_equal_though_their_past_differs() {
    let (mut a, mut b) = up();
    let fresh = a.clone();
    assert_eq!(hear(&mut a, b"noise\0more\0", 0), None);
    assert!(a == fresh && a.counters() != fresh.counters());
    a.send(Lane::Data, &[1]).unwrap();
    assert!(a != fresh);
    settle(&mut a, &mut b, 0);
    b.take(Lane::Data);
    settle(&mut a, &mut b, 0);
    assert_eq!(a.unacknowledged(Lane::Data), 0);
}

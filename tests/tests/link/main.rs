//! The link keeps its promise on lines that break theirs: every message once, in order, or the loss is reported.

mod explore;
mod regular;
mod world;

use explore::{Budget, explore};
use proptest::prelude::*;
use stillpoint_core::link::{Config, FrameDecoder, Header, Lane, Link, wire_bytes};
use stillpoint_core::time::{TickRate, Ticks};
use stillpoint_tests::faulty::{Faults, Random};
use world::{Plan, Report, Sabotage, Violation, World};

/// One byte in a hundred wrong, and every other fault now and then.
const STORM: Faults = Faults {
    flip: 100,
    lose: 10,
    noise: 10,
    drop: 200,
    truncate: 100,
    duplicate: 500,
    delay: 300,
    cut: 20,
    longest_delay: 5_000,
    longest_cut: 400_000,
};

fn run<const W: usize, const F: usize>(plan: Plan) -> Report {
    World::<W, F>::run(plan).unwrap_or_else(|violation| panic!("{violation:?} in {plan:?}"))
}

#[test]
fn a_perfect_line_needs_no_repetition() {
    let report = run::<4, 64>(Plan { messages: 300, ..Plan::calm(1) });
    assert_eq!(report.delivered, 2 * (300 + 60));
    assert!(report.counters.iter().all(|counters| counters.retransmits == 0 && counters.duplicates == 0));
}

#[test]
fn with_one_byte_in_a_hundred_wrong_every_message_arrives_once_and_in_order() {
    for (config, byte_time) in [(Config::BAUD_115200, 87), (Config::BAUD_1M, 10)] {
        let faults = Faults { flip: 100, ..Faults::default() };
        let report = run::<4, 64>(Plan { config, byte_time, faults, messages: 600, appetite: 9_000, ..Plan::calm(7) });
        let (seconds, counters) = (f64::from(report.ticks) / 1e6, report.counters[0]);
        println!("{byte_time} us/byte: {} messages in {seconds:.2} s; {counters:?}", report.delivered);
        assert_eq!(report.delivered, 2 * (600 + 120));
        assert!(counters.checksum_errors > 100 && counters.retransmits > 100);
    }
}

#[test]
fn a_cut_line_is_reported_down_and_resumes_without_loss() {
    let faults = Faults { cut: 100, longest_cut: 2_000_000, ..Faults::default() };
    let report = run::<4, 64>(Plan { faults, messages: 400, ..Plan::calm(3) });
    println!("{report:?}");
    assert!(report.downs > 2 && report.resumed > 2);
    assert_eq!((report.delivered, report.lost_by_reset), (2 * (400 + 80), 0));
}

#[test]
fn numbers_wrap_many_times_in_a_storm() {
    let report = run::<8, 48>(Plan { faults: STORM, messages: 2_000, ..Plan::calm(11) });
    assert_eq!(report.delivered, 2 * 2_400);
}

#[test]
fn sides_that_are_reset_again_and_again_lose_only_what_they_report() {
    let (mut resets, mut lost) = (0, 0);
    for seed in 0..20 {
        let report = run::<4, 64>(Plan { faults: STORM, messages: 300, resets: 300, ..Plan::calm(seed) });
        (resets, lost) = (resets + report.resets, lost + report.lost_by_reset);
    }
    println!("{resets} resets, {lost} messages lost by reset and reported");
    assert!(resets > 100 && lost > 20);
}

#[test]
fn sides_without_memory_of_their_number_are_told_apart_from_their_past() {
    // No delay: a number that is used again is safe only if no frame outlives the reset.
    let faults = Faults { delay: 0, duplicate: 0, ..STORM };
    let mut resets = 0;
    for seed in 0..20 {
        let report = run::<4, 64>(Plan { faults, messages: 300, resets: 300, forgetful: true, ..Plan::calm(seed) });
        resets += report.resets;
    }
    assert!(resets > 100);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn every_message_arrives_once_and_in_order_whatever_the_line_does(
        seed: u64,
        window in 1_u8..=8,
        (flip, lose, noise) in (0_u32..150, 0_u32..50, 0_u32..50),
        (drop, truncate, duplicate) in (0_u32..2_000, 0_u32..1_000, 0_u32..2_000),
        (delay, longest_delay) in (0_u32..2_000, 0_u32..20_000),
        (cut, longest_cut) in (0_u32..50, 0_u32..500_000),
        appetite in 200_u32..10_000,
        resets in prop_oneof![3 => Just(0_u32), 1 => 1_u32..300],
        shape in 0..3,
    ) {
        let faults = Faults { flip, lose, noise, drop, truncate, duplicate, delay, cut, longest_delay, longest_cut };
        let config = Config { window, ..Config::BAUD_1M };
        let plan = Plan { config, faults, appetite, resets, messages: 60, ..Plan::calm(seed) };
        let result = match shape {
            0 => World::<1, 48>::run(plan),
            1 => World::<4, 64>::run(plan),
            _ => World::<8, 240>::run(plan),
        };
        prop_assert!(result.is_ok(), "{:?} in {:?}", result, plan);
    }

    #[test]
    fn any_bytes_leave_a_link_alive_and_deliver_nothing(bytes: Vec<u8>, more in any::<[u8; 32]>()) {
        let mut link = Link::<4, 64>::new(Config::BAUD_1M, TickRate::MEGAHERTZ, 1);
        let mut random = Random::new(u64::from_le_bytes(more[..8].try_into().unwrap()));
        for &byte in bytes.iter().chain(&more) {
            // Zeros often, so that many short frames are tried.
            let byte = if random.chance(1_000) { 0 } else { byte };
            prop_assert_eq!(link.on_byte(byte, Ticks(0)), None);
        }
        prop_assert!(link.front(Lane::Data).is_none() && link.front(Lane::Control).is_none());
    }
}

/// The stuffing and the checksum are written here for want of room; the well-known crates say whether rightly.
#[test]
fn frames_are_what_the_cobs_and_crc_crates_make_of_them() {
    const CRC: crc::Crc<u32> = crc::Crc::<u32>::new(&crc::CRC_32_ISO_HDLC);
    let mut random = Random::new(5);
    for _ in 0..5_000 {
        let payload: Vec<u8> =
            (0..random.below(241)).map(|_| if random.chance(2_000) { 0 } else { random.next() as u8 }).collect();
        let mut header = [0_u8; 7].map(|_| random.next() as u8);
        header[0] = header[0] & 0b0011_1100 | 1;
        header[1] = header[1].max(1);
        let mut frame = [&header[..], &payload].concat();
        frame.extend(CRC.checksum(&frame).to_le_bytes());
        let mut wire = vec![0; cobs::max_encoding_length(frame.len())];
        let length = cobs::encode(&frame, &mut wire);
        wire.truncate(length);
        let mut decoder = FrameDecoder::<240>::new();
        assert!(wire.iter().all(|&byte| decoder.push(byte).is_none()));
        let (seen, body): (Header, _) = decoder.push(0).expect("a frame ends").expect("and is whole");
        assert_eq!(body, payload);
        let mut ours = vec![0; wire_bytes(240)];
        let length = seen.encode(body, &mut ours).expect("the buffer is long enough");
        assert_eq!(cobs::decode_vec(&ours[..length - 1]).expect("stuffed as the crate expects"), frame);
    }
}

/// Runs worlds until one shows the sabotage; the same worlds without it are fine.
fn caught(sabotage: Sabotage, resets: u32) -> Violation {
    let plan = |seed| {
        // No flips: the tap re-encodes whole frames only.
        let faults = Faults { drop: 1_000, duplicate: 1_000, delay: 1_000, longest_delay: 5_000, ..Faults::default() };
        Plan { faults, messages: 200, resets, ..Plan::calm(seed) }
    };
    let seed = (0..50).find(|&seed| World::<4, 64>::run(Plan { sabotage: Some(sabotage), ..plan(seed) }).is_err());
    let seed = seed.expect("one of the worlds shows it");
    run::<4, 64>(plan(seed));
    World::<4, 64>::run(Plan { sabotage: Some(sabotage), ..plan(seed) }).expect_err("found above")
}

#[test]
fn a_link_that_accepts_out_of_order_is_caught() {
    assert_eq!(caught(Sabotage::AcceptOutOfOrder, 0), Violation::OutOfOrder);
}

#[test]
fn a_link_that_forgets_to_look_for_duplicates_is_caught() {
    assert_eq!(caught(Sabotage::ForgetDuplicates, 0), Violation::Twice);
}

#[test]
fn a_link_that_acknowledges_before_it_accepts_is_caught() {
    assert!(matches!(caught(Sabotage::AcknowledgeBeforeAccepting, 0), Violation::Missing | Violation::Stuck));
}

#[test]
fn a_link_that_acknowledges_one_too_many_is_caught() {
    assert!(matches!(caught(Sabotage::AcknowledgeOneTooMany, 0), Violation::Missing | Violation::Stuck));
}

#[test]
fn a_link_that_accepts_frames_of_an_earlier_incarnation_is_caught() {
    // The stale frame takes the number of a fresh one, which is then taken for a duplicate.
    let violation = caught(Sabotage::ForgetSessions, 2_000);
    assert!(matches!(violation, Violation::Twice | Violation::OutOfOrder | Violation::Missing), "{violation:?}");
}

/// Two messages, nothing else: each model adds what may go wrong.
const QUIET: Budget =
    Budget { data: 2, control: 0, losses: 0, repetitions: 0, swaps: 0, resets: 0, forgetful: false, retry_limit: None };

fn exhaust(name: &str, budget: Budget) {
    let explored = explore(budget).unwrap_or_else(|rule| panic!("{name}: {rule}"));
    println!("link, {name}: {} states, {} of them at the end, exhausted", explored.states, explored.ends);
    assert!(explored.ends > 0);
}

#[test]
fn explored_to_exhaustion_a_lossy_line_delivers_in_order_and_never_gets_stuck() {
    exhaust("a lost frame", Budget { losses: 1, ..QUIET });
    exhaust("a repeated frame", Budget { repetitions: 1, ..QUIET });
    exhaust("a frame that overtakes", Budget { swaps: 1, ..QUIET });
    exhaust("both lanes", Budget { data: 1, control: 1, ..QUIET });
}

#[test]
fn explored_to_exhaustion_a_line_that_goes_down_resumes() {
    exhaust("a retry limit of 0", Budget { data: 1, losses: 1, retry_limit: Some(0), ..QUIET });
}

#[test]
fn explored_to_exhaustion_a_reset_loses_only_what_is_reported() {
    exhaust("a reset", Budget { resets: 1, ..QUIET });
    exhaust("a reset and a repeated frame", Budget { data: 1, resets: 1, repetitions: 1, ..QUIET });
    exhaust("a reset to the same number", Budget { resets: 1, forgetful: true, ..QUIET });
}

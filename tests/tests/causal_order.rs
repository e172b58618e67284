//! The order that is rebuilt from logs is the order in which things happened.
//!
//! Random systems run random schedules in the simulator, which knows the true order. Their nodes write logs; the logs are
//! cut into pieces, shuffled between the nodes, and sorted as a trace is.
mod cases;
#[path = "causal_order/lives.rs"]
mod lives;
#[path = "causal_order/sorted.rs"]
mod sorted;
#[path = "causal_order/truth.rs"]
mod truth;

use cases::config;
use proptest::prelude::*;
use sorted::{Mistake, check, sort, sort_with};
use stillpoint_core::StampKind;
use stillpoint_tests::faulty::Random;
use stillpoint_tests::sim::{Adversity, Plan};

const CALM: Adversity = Adversity {
    links: false,
    resets: false,
    unread: false,
    twins: true,
    forgetful: false,
    haste: false,
    debugger: false,
};

fn cases() -> impl Strategy<Value = (usize, u64, Vec<u32>, u64)> {
    (2usize..=5, any::<u64>(), prop::collection::vec(any::<u32>(), 0..150), any::<u64>())
}

fn plan(nodes: usize, shape: u64, choices: Vec<u32>, adversity: Adversity, stamps: Option<StampKind>) -> Plan {
    let mut plan = Plan::random(nodes, shape, choices, adversity);
    if let Some(stamps) = stamps {
        plan.setup.stamps = stamps;
        plan.setup.recordings.clear();
    }
    plan
}

/// As elsewhere, and those that once failed.
fn with_saved_cases(cases: u32) -> ProptestConfig {
    ProptestConfig { failure_persistence: ProptestConfig::default().failure_persistence, ..config(cases) }
}

/// A log ring that holds a sync record and a few others.
const SMALL: usize = 256;

const STAMPS: [StampKind; 2] = [StampKind::Event, StampKind::Vector];

proptest! {
    #![proptest_config(with_saved_cases(1000))]

    #[test]
    fn where_everything_is_recorded_all_order_is_known_and_true((nodes, shape, choices, seed) in cases()) {
        for stamps in STAMPS {
            let recorded = plan(nodes, shape, choices.clone(), Adversity { links: true, ..CALM }, Some(stamps)).record::<8192>();
            let recorded = recorded.map_err(|failure| TestCaseError::fail(failure.to_string()))?;
            let sorted = sort(&recorded, seed);
            prop_assert_eq!(check(&recorded, &sorted), Ok(()));
            prop_assert_eq!(sorted.unknown(), 0);
            prop_assert_eq!(&sorted.notes, &[]);
        }
    }

    #[test]
    fn resets_leave_no_order_unknown_and_none_untrue((nodes, shape, choices, seed) in cases()) {
        for (stamps, forgetful) in [(StampKind::Event, false), (StampKind::Vector, true)] {
            let adversity = Adversity { resets: true, links: true, forgetful, ..CALM };
            let recorded = plan(nodes, shape, choices.clone(), adversity, Some(stamps)).record::<8192>();
            let recorded = recorded.map_err(|failure| TestCaseError::fail(failure.to_string()))?;
            let sorted = sort(&recorded, seed);
            prop_assert_eq!(check(&recorded, &sorted), Ok(()));
            prop_assert_eq!(sorted.unknown(), 0, "{:?}", sorted.events.iter().find(|(event, _)| !event.past.is_known()));
        }
    }

    /// A board that is reset loses what of its log was not read.
    #[test]
    fn what_a_reset_takes_unread_makes_no_order_untrue((nodes, shape, choices, seed) in cases()) {
        for (stamps, forgetful) in [(StampKind::Event, false), (StampKind::Vector, true)] {
            let adversity = Adversity { resets: true, links: true, unread: true, forgetful, ..CALM };
            let recorded = plan(nodes, shape, choices.clone(), adversity, Some(stamps)).record::<8192>();
            let recorded = recorded.map_err(|failure| TestCaseError::fail(failure.to_string()))?;
            prop_assert_eq!(check(&recorded, &sort(&recorded, seed)), Ok(()));
        }
    }

    /// Rings of 256 bytes drop most of what is written.
    #[test]
    fn what_is_lost_makes_no_order_untrue((nodes, shape, choices, seed) in cases()) {
        for stamps in STAMPS {
            for resets in [false, true] {
                let adversity = Adversity { resets, unread: shape % 2 == 0, links: shape % 3 == 0, ..CALM };
                let recorded = plan(nodes, shape, choices.clone(), adversity, Some(stamps)).record::<SMALL>();
                let recorded = recorded.map_err(|failure| TestCaseError::fail(failure.to_string()))?;
                let sorted = sort(&recorded, seed);
                prop_assert_eq!(check(&recorded, &sorted), Ok(()));
            }
        }
    }

    /// Hyder, table 3-1: what a node does not record it forwards, so that the order among what is recorded stays exact.
    #[test]
    fn restricted_recording_leaves_the_order_of_the_rest_exact((nodes, shape, choices, seed) in cases()) {
        for resets in [false, true] {
            let mut plan = plan(nodes, shape, choices.clone(), Adversity { resets, links: true, ..CALM }, None);
            plan.setup.stamps = StampKind::Vector;
            plan.setup.recordings.iter_mut().for_each(|recording| *recording = recording.with_causes());
            let recorded = plan.record::<8192>().map_err(|failure| TestCaseError::fail(failure.to_string()))?;
            let sorted = sort(&recorded, seed);
            prop_assert_eq!(check(&recorded, &sorted), Ok(()));
            prop_assert_eq!(sorted.unknown(), 0);
        }
    }

    /// Some nodes record a part and others do not say what they learned from it; rings drop; nodes are reset.
    #[test]
    fn everything_at_once_makes_no_order_untrue((nodes, shape, choices, seed) in cases()) {
        let adversity = Adversity { resets: true, links: true, unread: shape % 3 == 0, forgetful: shape % 2 == 0, ..CALM };
        for recorded in [plan(nodes, shape, choices.clone(), adversity, None).record::<8192>(), plan(nodes, shape, choices, adversity, None).record::<SMALL>()] {
            let recorded = recorded.map_err(|failure| TestCaseError::fail(failure.to_string()))?;
            let sorted = sort(&recorded, seed);
            prop_assert_eq!(check(&recorded, &sorted), Ok(()));
        }
    }
}

/// A check that nothing can fail proves nothing.
#[test]
fn every_mistake_in_sorting_is_noticed() {
    for mistake in [Mistake::MessageBefore, Mistake::NoMerge, Mistake::AsRead, Mistake::AllKnown] {
        let noticed = (0..40).filter(|seed| {
            let mut random = Random::new(*seed);
            let choices = (0..120).map(|_| random.next() as u32).collect();
            let adversity = Adversity { resets: true, ..CALM };
            let plan = plan(3, *seed, choices, adversity, Some(StampKind::Event));
            let recorded = if mistake == Mistake::AllKnown { plan.record::<SMALL>() } else { plan.record::<8192>() };
            let Ok(recorded) = recorded else { return false };
            assert_eq!(check(&recorded, &sort(&recorded, *seed)), Ok(()));
            check(&recorded, &sort_with(&recorded, *seed, mistake)).is_err()
        });
        assert!(noticed.count() >= 5, "{mistake:?} is not noticed");
    }
}

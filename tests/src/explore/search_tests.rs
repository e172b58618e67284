//! The search itself, on protocols whose states can be counted by hand.
use super::*;

const NO_LIMIT: Limits = Limits { states: usize::MAX, time: Duration::MAX };

/// Two tokens that walk `length` steps each, in any interleaving; walking round instead of stopping if `round`.
struct Walk {
    length: u8,
    round: bool,
    forbidden: Option<(u8, u8)>,
}

impl Model for Walk {
    type State = (u8, u8);
    type Action = bool;

    fn initial(&self) -> (u8, u8) {
        (0, 0)
    }

    fn actions(&self, _: &(u8, u8), into: &mut Vec<bool>) {
        into.extend([false, true]);
    }

    fn apply(&self, &(a, b): &(u8, u8), second: bool) -> Result<(u8, u8), Broken> {
        let step = |at: u8| match at == self.length {
            true if self.round => 0,
            true => at,
            false => at + 1,
        };
        Ok(if second { (a, step(b)) } else { (step(a), b) })
    }

    fn check(&self, state: &(u8, u8)) -> Result<(), Broken> {
        if Some(*state) == self.forbidden { Err(Broken::new("forbidden", "here")) } else { Ok(()) }
    }

    fn check_end(&self, state: &(u8, u8)) -> Result<(), Broken> {
        if *state == (self.length, self.length) { Ok(()) } else { Err(Broken::new("both arrive", "one did not")) }
    }

    fn say(&self, second: bool) -> String {
        if second { "b".into() } else { "a".into() }
    }

    fn show(&self, state: &(u8, u8)) -> String {
        format!("{state:?}")
    }
}

const WALK: Walk = Walk { length: 3, round: false, forbidden: None };

#[test]
fn a_grid_of_four_by_four_has_sixteen_states_six_deep_and_one_end() {
    let report = explore(&WALK, NO_LIMIT, |_| ());
    assert_eq!(report.verdict, Verdict::Exhausted);
    assert_eq!((report.states, report.transitions, report.depth, report.ends), (16, 24, 6, 1));
}

#[test]
fn a_limit_on_states_reads_as_not_exhausted() {
    let report = explore(&WALK, Limits { states: 15, ..NO_LIMIT }, |_| ());
    assert!(matches!(report.verdict, Verdict::NotExhausted(_)), "{:?}", report.verdict);
    assert_eq!(explore(&WALK, Limits { states: 16, ..NO_LIMIT }, |_| ()).verdict, Verdict::Exhausted);
}

#[test]
fn a_limit_on_time_reads_as_not_exhausted() {
    let long = Walk { length: 255, round: true, ..WALK };
    let report = explore(&long, Limits { time: Duration::ZERO, ..NO_LIMIT }, |_| ());
    assert!(matches!(report.verdict, Verdict::NotExhausted(_)), "{:?}", report.verdict);
}

#[test]
fn a_broken_state_is_reached_by_a_shortest_run() {
    let report = explore(&Walk { forbidden: Some((2, 1)), ..WALK }, NO_LIMIT, |_| ());
    let Verdict::Broken(found) = report.verdict else { panic!("{:?}", report.verdict) };
    assert_eq!((found.broken.property, found.steps.len()), ("forbidden", 3));
    assert_eq!(found.steps[2].1, "(2, 1)");
}

#[test]
fn a_run_that_goes_round_for_ever_is_not_taken_for_one_that_ends() {
    let report = explore(&Walk { round: true, ..WALK }, NO_LIMIT, |_| ());
    let Verdict::Broken(found) = report.verdict else { panic!("{:?}", report.verdict) };
    assert_eq!(found.broken.property, EVERY_RUN_ENDS);
    assert_eq!(report.states, 16);
}

//! Algorithm D, section 3.2, step by step.
use super::{Entry, Place, Program};

/// In which time step 3a asks whether a call or return comes later than the end of the fragment in hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step3a {
    /// As printed: in delayed time. What counts as later then depends on the delays already given out, and a thread can
    /// be made to wait for one that came after it.
    Printed,
    /// In the time of the undisturbed execution, whose order is the one to keep.
    Undelayed,
}

/// The delayed execution: how long each fragment of each thread is suspended at its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delayed<'a> {
    program: &'a Program,
    suspended: Vec<Vec<u64>>,
}

/// More rounds than any of our programs takes that ends: a front steps back at most once for each delay passed on.
const ROUNDS: usize = 20_000;

/// The algorithm was still handing out delays after so many rounds that it never ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NeverEnds {
    /// The longest delay of a thread by then.
    pub longest: u64,
}

/// Computes from an execution with its stops the delayed execution.
pub fn algorithm_d(program: &Program, step_3a: Step3a) -> Result<Delayed<'_>, NeverEnds> {
    let mut rounds = 0;
    let suspended = program.threads.iter().map(|row| row.iter().map(|fragment| fragment.stop).collect()).collect();
    let mut delayed = Delayed { program, suspended };
    let mut front = vec![0; program.threads.len()];
    // Step 1: the unfinished fragment that ends first.
    while let Some((end, i)) = program
        .threads
        .iter()
        .enumerate()
        .filter_map(|(i, row)| {
            Some((delayed.start(Place { thread: i, fragment: front[i] }) + row.get(front[i])?.run, i))
        })
        .min()
    {
        rounds += 1;
        if rounds > ROUNDS {
            let longest = delayed.suspended.iter().map(|row| row.iter().sum()).max().unwrap_or(0);
            return Err(NeverEnds { longest });
        }
        let place = Place { thread: i, fragment: front[i] };
        // Step 2.
        let delay = delayed.delay_before(Place { fragment: front[i] + 1, ..place });
        let end = match step_3a {
            Step3a::Printed => end,
            Step3a::Undelayed => program.undelayed_start(Place { fragment: front[i] + 1, ..place }),
        };
        for k in (0..program.threads.len()).filter(|&k| k != i) {
            // Step 3a: the first call or return of k that comes later, into a node that i may enter.
            let later = |l: usize| {
                let place = Place { thread: k, fragment: l };
                let start = match step_3a {
                    Step3a::Printed => delayed.start(place),
                    Step3a::Undelayed => program.undelayed_start(place),
                };
                let may_enter = program.threads[i].iter().any(|fragment| fragment.node == program.node(place));
                end < start && may_enter && program.is_entry(place)
            };
            let Some(l) = (front[k]..program.threads[k].len()).find(|&l| later(l)) else { continue };
            let missing = delay.saturating_sub(delayed.delay_before(Place { thread: k, fragment: l }));
            if missing == 0 {
                continue;
            }
            // Step 3b.
            delayed.suspended[k][l - 1] += missing;
            if l == front[k] {
                front[k] -= 1;
            }
            // Step 3c: what was given to later fragments of k need not be given twice.
            let mut excess = missing;
            for u in l..program.threads[k].len() {
                let given = delayed.suspended[k][u] - program.threads[k][u].stop;
                let taken_back = excess.min(given);
                delayed.suspended[k][u] -= taken_back;
                excess -= taken_back;
            }
        }
        // Step 4.
        front[i] += 1;
    }
    Ok(delayed)
}

impl Delayed<'_> {
    /// The delay of the thread when this fragment of it starts.
    #[must_use]
    pub fn delay_before(&self, place: Place) -> u64 {
        self.suspended[place.thread][..place.fragment].iter().sum()
    }

    /// When the fragment starts in the delayed execution.
    #[must_use]
    pub fn start(&self, place: Place) -> u64 {
        self.program.undelayed_start(place) + self.delay_before(place)
    }

    /// Every call and return, in the order of the threads.
    #[must_use]
    pub fn entries(&self) -> Vec<Entry> {
        let entries = self.program.places().filter(|&place| self.program.is_entry(place));
        entries.map(|place| Entry { place, at: self.start(place), delay: self.delay_before(place) }).collect()
    }

    /// The first pair, if any, that breaks Theorem 4.1: a fragment, and a later call or return into the same node that
    /// no longer comes later.
    #[must_use]
    pub fn broken_order(&self) -> Option<(Place, Place)> {
        let program = self.program;
        let entries = program.places().filter(|&place| program.is_entry(place));
        entries.into_iter().find_map(|later| {
            let earlier = program.places().find(|&place| {
                program.node(place) == program.node(later)
                    && program.undelayed_start(place) < program.undelayed_start(later)
                    && self.start(place) >= self.start(later)
            })?;
            Some((earlier, later))
        })
    }
}

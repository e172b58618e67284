//! What a linked predicate means, by brute force over the happened-before relation of a finished run.
use crate::system::{Happened, Linked, Simple, What};
use stillpoint_core::EventKind;

/// The happened-before relation of a run, by transitive closure.
pub struct HappenedBefore {
    /// Per event, the set of events after it, one bit each.
    after: Vec<u128>,
}

impl HappenedBefore {
    pub fn of(run: &[Happened]) -> Self {
        assert!(run.len() <= 128, "one bit per event");
        let mut after = vec![0u128; run.len()];
        for (later, event) in run.iter().enumerate() {
            for (earlier, other) in run[..later].iter().enumerate() {
                let directly = other.node == event.node || event.sent_by == Some(earlier);
                after[earlier] |= u128::from(directly) << later;
            }
        }
        for middle in 0..run.len() {
            for first in 0..run.len() {
                if after[first] >> middle & 1 != 0 {
                    after[first] |= after[middle];
                }
            }
        }
        Self { after }
    }

    pub fn relates(&self, earlier: usize, later: usize) -> bool {
        self.after[earlier] >> later & 1 != 0
    }
}

/// The events at which `linked` is detected, if its first stage counts from event `start`.
///
/// Stage k counts at an event if an event that satisfied stage k - 1 happened before it. It is satisfied there if, of
/// the events of this node at which it counts, this is the n-th occurrence of one of its terms. The predicate is
/// detected where the last stage is first satisfied: at no event that happened after another detection.
pub fn detections(run: &[Happened], start: usize, linked: &Linked) -> Vec<usize> {
    let before = HappenedBefore::of(run);
    let after_one_of = |set: &[usize], event: usize| set.iter().any(|&earlier| before.relates(earlier, event));
    let mut satisfied: Option<Vec<usize>> = None;
    for stage in linked {
        let counts = |&event: &usize| match &satisfied {
            None => event >= start,
            Some(previous) => after_one_of(previous, event),
        };
        let mut next: Vec<usize> = stage
            .iter()
            .filter_map(|simple| {
                let own = (start..run.len()).filter(|&event| run[event].node == simple.node).filter(counts);
                nth_occurrence(run, own, simple)
            })
            .collect();
        next.sort_unstable();
        next.dedup();
        let first_only = next.iter().copied().filter(|&event| !after_one_of(&next, event)).collect();
        satisfied = Some(first_only);
    }
    satisfied.unwrap_or_default()
}

fn nth_occurrence(run: &[Happened], own: impl Iterator<Item = usize>, simple: &Simple) -> Option<usize> {
    let mut was_true = false;
    let mut occurrences = own.filter(|&index| {
        let is_true = occurs(&run[index], simple.what);
        let occurs = is_true && !(was_true && matches!(simple.what, What::Above(_)));
        was_true = is_true;
        occurs
    });
    occurrences.nth(usize::from(simple.n) - 1)
}

/// Whether the event matches, or the condition holds at it.
pub fn occurs(happened: &Happened, what: What) -> bool {
    let is = |kind, arg: usize| happened.event.kind == kind && usize::from(happened.event.arg) == arg;
    match what {
        What::Tag(tag) => is(EventKind::Local, usize::from(tag)),
        What::SendTo(peer) => is(EventKind::Send, peer),
        What::ReceiveFrom(peer) => is(EventKind::Receive, peer),
        What::Above(constant) => happened.watch > constant,
    }
}

/// One letter of a regular expression over tags: any of a set, once or any number of times.
#[derive(Clone, Debug)]
pub struct Letter {
    pub set: Vec<u16>,
    pub starred: bool,
}

/// Whether the whole of `word` matches the expression.
pub fn matches(expression: &[Letter], word: &[u16]) -> bool {
    let Some((letter, rest)) = expression.split_first() else { return word.is_empty() };
    let first_fits = word.first().is_some_and(|tag| letter.set.contains(tag));
    if letter.starred {
        matches(rest, word) || first_fits && matches(expression, &word[1..])
    } else {
        first_fits && matches(rest, &word[1..])
    }
}

/// The regular expression of section 3.4: `DP1 [S - DP2]* DP2 [S - DP3]* DP3 ...`, after whatever precedes DP1.
pub fn expression_of(linked: &[Vec<u16>], alphabet: &[u16]) -> Vec<Letter> {
    let letters = |stage: &Vec<u16>| {
        let others = alphabet.iter().copied().filter(|tag| !stage.contains(tag)).collect();
        [Letter { set: others, starred: true }, Letter { set: stage.clone(), starred: false }]
    };
    linked.iter().flat_map(letters).collect()
}

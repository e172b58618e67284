//! What one event means for a check.
use super::watched::{NodeState, Watched};
use crate::Event;
use crate::order::clock::newer;

/// What one event means for a check.
#[derive(Default)]
pub(super) struct Decision {
    /// It is one of the check's events.
    pub concerns: bool,
    /// It would be a failure if its past were certain.
    pub undecided: bool,
    pub wrong: Option<String>,
}

/// An event with what is needed to decide about it.
pub(super) struct Now<'a> {
    pub event: &'a Event,
    pub clock: &'a [u32],
    pub nodes: &'a [NodeState],
    /// Its past is all known.
    pub is_sure: bool,
}

pub(super) enum LiveRule {
    Pred { of: Watched, sets: Vec<Vec<Watched>> },
    Never { sides: [Watched; 2], failed: bool },
}

pub(super) fn pred(of: &mut Watched, sets: &mut [Vec<Watched>], now: &Now<'_>) -> Decision {
    let Now { event, clock, nodes, is_sure } = *now;
    let state = &nodes[usize::from(event.id.node)];
    let occurs = of.occurs(event, state);
    let mut decision = Decision { concerns: occurs.is_some(), ..Decision::default() };
    if let Some(nth) = occurs {
        let variable = nth - of.pattern.index.as_ref().map_or(0, |(_, offset)| *offset);
        let lacks = |member: &Watched| {
            let wanted = member.pattern.index.as_ref().map(|(_, offset)| variable + offset);
            wanted.is_none_or(|wanted| wanted >= 1) && !member.any_before(wanted, event, clock)
        };
        let names: Vec<String> = sets
            .iter()
            .map(|set| set.iter().filter(|member| lacks(member)))
            .map(|lack| lack.map(|member| member.pattern.text.clone()).collect::<Vec<_>>().join(" and no "))
            .collect();
        if names.iter().all(|names| !names.is_empty()) {
            let is_doubtful = of.is_doubtful(nodes) || sets.iter().flatten().any(|member| member.is_doubtful(nodes));
            decision.undecided = !is_sure || is_doubtful;
            let what = || format!("has no {} before it", names.join(", nor, instead, no "));
            decision.wrong = (!decision.undecided).then(what);
        }
    }
    // The least value of the variable that may still come.
    let counts = of.terms.iter().map(|term| term.count);
    let next = counts.min().unwrap_or(0) + 1 - of.pattern.index.as_ref().map_or(0, |(_, offset)| *offset);
    for member in sets.iter_mut().flatten() {
        if let Some(nth) = member.occurs(event, state) {
            // Without a variable the first on each node is enough.
            let is_first = !member.kept.iter().any(|(node, ..)| *node == event.id.node);
            if member.pattern.index.is_some() || is_first {
                member.kept.push_back((event.id.node, event.id.number, nth));
            }
        }
        if let Some((_, offset)) = member.pattern.index {
            member.kept.retain(|(_, _, nth)| *nth >= next + offset);
        }
    }
    decision
}

pub(super) fn never(sides: &mut [Watched; 2], failed: &mut bool, now: &Now<'_>) -> Decision {
    let Now { event, clock, nodes, is_sure } = *now;
    let state = &nodes[usize::from(event.id.node)];
    let occurs = [0, 1].map(|side| sides[side].occurs(event, state));
    let mut concurrent = None;
    for side in 0..2 {
        let other = &sides[1 - side];
        if occurs[side].is_some() && is_sure && !*failed {
            let unknown = |(node, number, _): &&(u8, u32, i64)| {
                *node != event.id.node && newer(*number, clock[usize::from(*node)])
            };
            concurrent = concurrent.or(other.kept.iter().find(unknown).map(|_| other.pattern.text.clone()));
        }
    }
    for (side, occurs) in sides.iter_mut().zip(occurs) {
        if let Some(nth) = occurs.filter(|_| is_sure) {
            side.kept.push_back((event.id.node, event.id.number, nth));
        }
        // Whoever knows of an event is never concurrent with it again.
        side.kept.retain(|(node, number, _)| {
            let knows =
                |other: usize| nodes[other].clock.get(usize::from(*node)).is_some_and(|known| !newer(*number, *known));
            (0..nodes.len()).any(|other| other != usize::from(*node) && !knows(other))
        });
    }
    let concerns = occurs.iter().any(Option::is_some);
    let is_doubtful = sides.iter().any(|side| side.is_doubtful(nodes));
    let undecided = concerns && !*failed && (!is_sure || is_doubtful);
    let wrong = concurrent.filter(|_| !is_doubtful).map(|what| format!("is concurrent with {what}"));
    *failed |= wrong.is_some();
    Decision { concerns, undecided, wrong }
}

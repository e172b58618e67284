//! The first events of several sets that are pairwise concurrent (Garg & Waldecker 1994).
use crate::pattern::Matches;
use crate::{History, Past, Relation};

/// What a search found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// Events, one of each set, that are concurrent for certain.
    Certain(Vec<usize>),
    /// Some that may be: why that is not known.
    Perhaps(String),
    None,
}

/// What a search found, and how many pairs of events it compared.
pub(crate) struct Search {
    pub found: Found,
    pub steps: u64,
}

/// Looks for one event of each set such that none happened before another.
pub(crate) fn find(history: &History, sets: &[Matches]) -> Search {
    let mut search = Search { found: Found::None, steps: 0 };
    let nodes: Vec<Vec<usize>> =
        sets.iter().map(|set| (0..set.of_node.len()).filter(|node| !set.of_node[*node].is_empty()).collect()).collect();
    let mut best: Option<Vec<usize>> = None;
    for certain in [true, false] {
        each_choice(&nodes, &mut |choice| {
            let chains: Vec<&[usize]> =
                choice.iter().zip(sets).map(|(node, set)| set.of_node[*node].as_slice()).collect();
            let events = heads(history, &chains, certain, &mut search.steps);
            // Of several first ones the one that stands first in the trace.
            best = [best.take(), events].into_iter().flatten().min_by_key(|events| events.iter().copied().max());
        });
        match best.take() {
            Some(events) if certain => {
                search.found = Found::Certain(events);
                return search;
            }
            Some(events) => {
                let unknown = events.iter().find_map(|event| match history.events[*event].past {
                    Past::Unknown { why } => Some(why.say(history.node_name(why.node()))),
                    Past::Known => None,
                });
                search.found = Found::Perhaps(unknown.unwrap_or_default());
            }
            None => {}
        }
    }
    search
}

/// Every choice of one node for each set, no node twice: what one node does is never concurrent.
fn each_choice(nodes: &[Vec<usize>], each: &mut dyn FnMut(&[usize])) {
    fn go(nodes: &[Vec<usize>], chosen: &mut Vec<usize>, each: &mut dyn FnMut(&[usize])) {
        let Some(here) = nodes.get(chosen.len()) else { return each(chosen) };
        for node in here {
            if !chosen.contains(node) {
                chosen.push(*node);
                go(nodes, chosen, each);
                chosen.pop();
            }
        }
    }
    go(nodes, &mut Vec::new(), each);
}

/// The first events of these chains, one of each, that are pairwise concurrent. What happened before the head of another
/// chain happened before all that follow there, so it can be passed over.
fn heads(history: &History, chains: &[&[usize]], certain: bool, steps: &mut u64) -> Option<Vec<usize>> {
    let usable = |event: usize| !certain || history.events[event].past.is_known();
    let mut at = vec![0; chains.len()];
    let mut changed: Vec<usize> = (0..chains.len()).collect();
    let mut passed = vec![true; chains.len()];
    while let Some(one) = changed.pop() {
        passed[one] = false;
        while chains[one].get(at[one]).is_some_and(|event| !usable(*event)) {
            at[one] += 1;
            *steps += 1;
        }
        let mine = *chains[one].get(at[one])?;
        for other in (0..chains.len()).filter(|other| *other != one) {
            // It will be looked at by itself.
            if passed[other] {
                continue;
            }
            let theirs = *chains[other].get(at[other])?;
            *steps += 1;
            let late = match history.relation(mine, theirs) {
                Relation::Before => one,
                Relation::After => other,
                _ => continue,
            };
            at[late] += 1;
            if !passed[late] {
                passed[late] = true;
                changed.push(late);
            }
            if late == one {
                break;
            }
        }
    }
    chains.iter().zip(&at).map(|(chain, at)| chain.get(*at).copied()).collect()
}

//! `A -> B -> C`: each stage happened before the next (Miller & Choi, section 3; the detector of the target, afterwards).
use super::question::Local;
use crate::local::{Moment, truth, walk};
use crate::order::clock::newer;
use crate::pattern::Sight;

/// Events that satisfied one stage after another.
pub(super) type Chain = Vec<usize>;

/// What is known at a node of how far the chain has come.
#[derive(Default)]
struct Progress {
    /// When a stage was reached: the number of the event, how many stages, and the chain so far.
    reached: Vec<(u32, usize, usize)>,
    /// For each alternative of the present stage, whether it held last and how often it occurred.
    seen: Vec<(bool, u32)>,
}

impl Progress {
    /// How far one is who knows this node up to `number`.
    fn known(&self, number: u32) -> (usize, usize) {
        let count = self.reached.partition_point(|(at, ..)| !newer(*at, number));
        count.checked_sub(1).map_or((0, NOTHING), |at| (self.reached[at].1, self.reached[at].2))
    }
}

const NOTHING: usize = usize::MAX;

/// The events that completed the chain, each with the chain that led to it; the first `most` of them, and how many in all.
pub(super) fn chains(sight: &Sight<'_>, stages: &[Vec<Local>], most: usize) -> (Vec<Chain>, u64) {
    let history = sight.history;
    let truths = all_truths(sight, stages);
    let mut nodes: Vec<Progress> = (0..history.width()).map(|_| Progress::default()).collect();
    // Each link: its event, and the link before it.
    let mut links: Vec<(usize, usize)> = Vec::new();
    let (mut found, mut total) = (Vec::new(), 0);
    for (index, event) in history.events.iter().enumerate().filter(|(_, event)| event.counts()) {
        let node = usize::from(event.id.node);
        let knows = history.clock(index).iter().enumerate();
        let (stage, chain) =
            knows.map(|(of, number)| nodes[of].known(*number)).max_by_key(|(stage, _)| *stage).unwrap_or((0, NOTHING));
        let own = nodes[node].reached.last().map_or(0, |(_, stage, _)| *stage);
        if stage > own {
            nodes[node].reached.push((event.id.number, stage, chain));
            nodes[node].seen.clear();
        }
        let here = &stages[stage];
        nodes[node].seen.resize(here.len(), (false, 0));
        for (at, local) in here.iter().enumerate().filter(|(_, local)| usize::from(local.node) == node) {
            let holds = truths.holds(stage, at, index);
            let (held, count) = &mut nodes[node].seen[at];
            let occurs = holds && (local.is_event() || !*held);
            *held = holds;
            *count += u32::from(occurs);
            let nth = local.nth.map_or(1, u32::from);
            let fires = occurs && (sight.only)(index) && (*count == nth || nth == 1 && local.nth.is_none());
            if !fires {
                continue;
            }
            if stage + 1 == stages.len() {
                total += 1;
                if found.len() < most {
                    found.push(path(&links, chain, index));
                }
            } else {
                links.push((index, chain));
                nodes[node].reached.push((event.id.number, stage + 1, links.len() - 1));
                nodes[node].seen.clear();
            }
            // One event satisfies at most one stage.
            break;
        }
    }
    (found, total)
}

fn path(links: &[(usize, usize)], mut chain: usize, last: usize) -> Chain {
    let mut path = vec![last];
    while let Some((event, before)) = links.get(chain) {
        path.push(*event);
        chain = *before;
    }
    path.reverse();
    path
}

/// Where every alternative of every stage holds, as sorted lists of events.
struct Truths(Vec<Vec<Vec<u32>>>);

impl Truths {
    fn holds(&self, stage: usize, alternative: usize, index: usize) -> bool {
        self.0[stage][alternative].binary_search(&(index as u32)).is_ok()
    }
}

fn all_truths(sight: &Sight<'_>, stages: &[Vec<Local>]) -> Truths {
    let of = |local: &Local| {
        let mut holds = Vec::new();
        walk(sight.history, sight.coverage, local.node, &mut |moment| {
            if let Moment::Event { index, watches } = moment {
                let all = local.terms.iter().all(|term| truth(term, sight.history, index, watches) == Some(true));
                if all {
                    holds.push(index as u32);
                }
            }
        });
        holds
    };
    Truths(stages.iter().map(|stage| stage.iter().map(of).collect()).collect())
}

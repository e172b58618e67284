//! What one node does and knows, event by event: where its predicates hold.
use crate::coverage::{Coverage, Hole, Lack};
use crate::expr::{Formula, Match, Surroundings, Term};
use crate::{Event, History, Past, Why};
use stillpoint_core::{EventKind, EventNumber};

/// A moment of a node's life.
pub(crate) enum Moment<'a> {
    /// Events that the trace does not have.
    Hole(&'a Hole),
    /// An event, and what the watches are known to be after it.
    Event { index: usize, watches: &'a [Option<i32>] },
}

/// Whether an event lies behind the end of the recording as a whole. Rings are read one after the other, so at the end some
/// nodes have received what others sent after they were read last.
pub(crate) fn is_beyond(event: &Event) -> bool {
    matches!(event.past, Past::Unknown { why: Why::After(_) })
}

/// Walks through the life of a node, up to the end of the recording as a whole.
pub(crate) fn walk(history: &History, coverage: &Coverage, node: u8, each: &mut dyn FnMut(Moment<'_>)) {
    let count = history.header.node(node).map_or(0, |node| node.watches.len());
    // Firmware that starts has all watches at 0.
    let mut watches = vec![Some(0); count];
    let mut holes = coverage.holes(node).iter().peekable();
    for place in history.of_node(node) {
        let (index, event) = (*place as usize, &history.events[*place as usize]);
        if !event.counts() || is_beyond(event) {
            continue;
        }
        if let Some(hole) = holes.next_if(|hole| hole.until == Some(event.id.number)) {
            forget(&mut watches, coverage, node, hole);
            each(Moment::Hole(hole));
        }
        match event.kind() {
            EventKind::Watch => {
                let watch = usize::from(event.what.arg);
                if watch >= watches.len() {
                    watches.resize(watch + 1, None);
                }
                watches[watch] = Some(event.what.value as i32);
            }
            EventKind::Reset => watches.fill(Some(0)),
            _ => {}
        }
        each(Moment::Event { index, watches: &watches });
    }
    for hole in holes {
        each(Moment::Hole(hole));
    }
}

/// Whatever may have changed unseen is not known any more.
fn forget(watches: &mut [Option<i32>], coverage: &Coverage, node: u8, hole: &Hole) {
    for (watch, value) in watches.iter_mut().enumerate() {
        if hole.lack != Lack::Restricted || !coverage.records_watch(node, watch as u8) {
            *value = None;
        }
    }
}

/// Whether a term holds after an event; none if that is not known.
pub(crate) fn truth(term: &Term, history: &History, index: usize, watches: &[Option<i32>]) -> Option<bool> {
    let event = &history.events[index];
    match &term.what {
        Match::Event { kind, arguments } => Some(fits(event, *kind, arguments)),
        Match::Condition(formula) => holds(formula, history, index, watches),
    }
}

fn fits(event: &Event, kind: EventKind, arguments: &[u16]) -> bool {
    event.kind() == kind && (arguments.is_empty() || arguments.contains(&event.what.arg))
}

fn holds(formula: &Formula, history: &History, index: usize, watches: &[Option<i32>]) -> Option<bool> {
    let event = &history.events[index];
    let mut unknown = false;
    let reads_others =
        formula.reads(&mut |watch| unknown |= watches.get(usize::from(watch)).copied().flatten().is_none());
    if unknown || reads_others && !event.past.is_known() {
        return None;
    }
    let known: Vec<i32> = watches.iter().map(|value| value.unwrap_or(0)).collect();
    let clock: Vec<EventNumber> = if reads_others {
        history.clock(index).iter().map(|number| EventNumber(*number)).collect()
    } else {
        Vec::new()
    };
    Some(formula.holds(&Surroundings { watches: &known, number: EventNumber(event.id.number), clock: &clock }))
}

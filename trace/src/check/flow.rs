//! Received-from lists: the events of some actions that come immediately before each of them (Hyder 3.2.1, 3.3.2, table 3-1).
//!
//! A node carries the list of what it received from. An event of an action takes the list as its immediate predecessors and
//! leaves only itself in it; everything else that the node does relays the list. A send appends a copy to the message, a
//! receive joins the copy to the list, and so does an access of a shared object with those it depends on. Of two events of the same action on the same node the list keeps the later one. So
//! an event is immediately before another if a path of steps and messages leads there that meets no event of the actions on
//! its way, whatever other paths there are.
use crate::coverage::Hole;
use crate::local::is_beyond;
use crate::order::clock::newer;
use crate::pattern::{Sight, last_up_to};
use crate::{Event, Past};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::rc::Rc;
use stillpoint_core::EventKind;

/// An event and its action.
pub(crate) type Marked = (usize, usize);

/// What a node received from.
#[derive(Clone, Debug, Default)]
pub(crate) struct List {
    /// The latest event of each action on each node.
    events: BTreeMap<(usize, u8), usize>,
    /// Why something may be missing from it.
    pub unknown: Option<String>,
    /// Something arrived by messages that are not recorded: earlier events may be on the list that are hidden by later ones.
    pub relayed: bool,
}

impl List {
    /// The events with their actions.
    pub fn events(&self) -> Vec<Marked> {
        self.events.iter().map(|((action, _), event)| (*event, *action)).collect()
    }

    fn join(&mut self, other: &Self) {
        for (key, event) in &other.events {
            self.events.entry(*key).and_modify(|mine| *mine = (*mine).max(*event)).or_insert(*event);
        }
        self.unknown = self.unknown.take().or_else(|| other.unknown.clone());
        self.relayed |= other.relayed;
    }
}

/// The lists of all events of some actions.
pub(crate) struct Lists {
    /// For each event, in the order of the trace, its action and its list.
    pub of: Vec<(Marked, Rc<List>)>,
    /// The events that something may still follow immediately: they are on the list of a node or of a message under way.
    pub open: HashSet<usize>,
}

/// Follows the lists through a trace. `holes` are those in which an event of the actions may be, by node.
pub(super) fn lists(sight: &Sight<'_>, of_node: &[Vec<Marked>], holes: &[Vec<Hole>]) -> Lists {
    let history = sight.history;
    let action: HashMap<usize, usize> = of_node.iter().flatten().copied().collect();
    let mut follower = Follower { sight, holes, after: Vec::with_capacity(history.events.len()) };
    let mut now: Vec<Rc<List>> = (0..history.width()).map(|_| Rc::default()).collect();
    let mut last: Vec<Option<usize>> = vec![None; history.width()];
    let mut of = Vec::new();
    let mut under_way: HashSet<usize> = HashSet::new();
    for (place, event) in history.events.iter().enumerate() {
        let node = usize::from(event.id.node);
        if is_beyond(event) {
            // Nothing that is looked at comes after it, and what it would take is still under way at the end.
            follower.after.push(Rc::default());
            continue;
        }
        follower.arrive(&mut now[node], last[node], place);
        if let Some(action) = action.get(&place) {
            of.push(((place, *action), now[node].clone()));
            let events = BTreeMap::from([((*action, event.id.node), place)]);
            now[node] = Rc::new(List { events, ..List::default() });
        }
        follower.after.push(now[node].clone());
        match event.kind() {
            EventKind::Send => drop(under_way.insert(place)),
            EventKind::Receive => {
                if let Some(send) = follower.send_of(event) {
                    under_way.remove(&send);
                }
            }
            _ => {}
        }
        if event.counts() {
            last[node] = Some(place);
        }
    }
    let carried = under_way.iter().map(|send| &follower.after[*send]).chain(&now);
    let open = carried.flat_map(|list| list.events.values().copied()).collect();
    Lists { of, open }
}

struct Follower<'a> {
    sight: &'a Sight<'a>,
    holes: &'a [Vec<Hole>],
    /// The list of its node after each event so far.
    after: Vec<Rc<List>>,
}

impl Follower<'_> {
    fn send_of(&self, event: &Event) -> Option<usize> {
        let send = event.partner.filter(|_| event.kind() == EventKind::Receive)?;
        self.sight.history.index_of(send)
    }

    /// Joins what reached a node with the event at `place` or, unrecorded, since the one before it.
    fn arrive(&self, list: &mut Rc<List>, last: Option<usize>, place: usize) {
        let history = self.sight.history;
        let event = &history.events[place];
        let node = usize::from(event.id.node);
        let hole = self.holes[node].iter().find(|hole| hole.until == Some(event.id.number));
        if let Some(hole) = hole.filter(|_| event.counts()) {
            let why = self.sight.coverage.say(history, event.id.node, hole);
            Rc::make_mut(list).unknown.get_or_insert(why);
        }
        if let Past::Unknown { why } = event.past {
            Rc::make_mut(list).unknown.get_or_insert_with(|| why.say(history.node_name(why.node())));
        }
        let send = self.send_of(event);
        if let Some(send) = send {
            Rc::make_mut(list).join(&self.after[send]);
        }
        let through = history.accesses_before(place);
        for from in through {
            Rc::make_mut(list).join(&self.after[*from]);
        }
        // What else the clock has news of arrived by messages that are not recorded.
        let told = |other: usize| {
            let causes = last.into_iter().chain(send).chain(through.iter().copied());
            let known = causes.map(|place| history.clock(place)[other]);
            known.fold(0, |known, more| if newer(more, known) { more } else { known })
        };
        let clock = history.clock(place);
        let news = (0..clock.len()).filter(|other| *other != node && newer(clock[*other], told(*other)));
        let latest: Vec<(usize, Option<usize>)> =
            news.map(|other| (other, last_up_to(history, other as u8, clock[other]))).collect();
        for (other, at) in &latest {
            let known = clock[*other];
            let reaches = |hole: &&Hole| {
                hole.reaches(known) && hole.until.is_none_or(|until| newer(until, known))
                    || hole.until.is_none() && at.is_none()
            };
            if let Some(hole) = self.holes[*other].iter().find(reaches) {
                let why = self.sight.coverage.say(history, *other as u8, hole);
                Rc::make_mut(list).unknown.get_or_insert(why);
            }
            let Some(at) = at else { continue };
            let covered = latest.iter().any(|(_, later)| later.is_some_and(|later| history.before(*at, later)));
            if !covered {
                Rc::make_mut(list).join(&self.after[*at]);
            }
            Rc::make_mut(list).relayed = true;
        }
    }
}

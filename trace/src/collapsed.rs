//! Spans drawn as single events, with the order that their events have together.
use crate::causality::causes;
use crate::order::clock::newer;
use crate::pattern::last_up_to;
use crate::{Event, EventId, History, Past};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap};
use stillpoint_core::EventKind;

/// A span that becomes one event: the places of its events, in order.
type Members = Vec<usize>;

impl History {
    /// The same trace with each span as one event, which happens when the span ends and comes after whatever one of its events
    /// comes after. Its value is how many events it stands for.
    ///
    /// A span stays as it is if it cannot be one event: something of another node lies between two of its events, it has no end, or
    /// the node halted, crashed or was reset in it. Then those inside of it are tried.
    ///
    /// # Example: what b received inside of its span comes before what follows the span
    /// ```
    /// use stillpoint_core::{Event, EventKind::{Enter, Leave}};
    /// use stillpoint_trace::Sketch;
    /// let mut sketch = Sketch::new(&["a", "b"]);
    /// let cause = sketch.local(0, 7);
    /// sketch.event(1, Event::new(Enter, 1));
    /// sketch.message(0, 1);
    /// let span = sketch.event(1, Event::new(Leave, 1));
    /// let history = sketch.history().collapsed();
    /// let [cause, span] = [cause, span].map(|id| history.index_of(id).unwrap());
    /// assert_eq!(history.describe(&history.events[span]), "b#3 span(1), 3 events");
    /// assert!(history.before(cause, span) && history.events.len() == 3);
    /// ```
    #[must_use]
    pub fn collapsed(self) -> Self {
        let mut refused = BTreeSet::new();
        let mut spans = outermost(&self, &refused);
        if spans.is_empty() {
            return self;
        }
        let causes = causes(&self);
        loop {
            let groups = Groups::of(&self, &spans);
            match groups.sorted(&causes) {
                Ok(order) => return groups.rebuilt(&self, &causes, &order),
                // Two spans, each of which has something before the other and something after it.
                Err(enter) => {
                    refused.insert(enter);
                    spans = outermost(&self, &refused);
                }
            }
        }
    }
}

/// The spans that can be one event each, lie in no other such span and are not refused, by their first places.
fn outermost(history: &History, refused: &BTreeSet<usize>) -> BTreeMap<usize, Members> {
    let mut taken: BTreeSet<usize> = BTreeSet::new();
    let mut found = BTreeMap::new();
    for span in history.spans() {
        let Some(leave) = span.leave.filter(|_| !refused.contains(&span.enter)) else { continue };
        let places = history.of_node(span.node);
        let begin = places.partition_point(|place| (*place as usize) < span.enter);
        let end = places.partition_point(|place| *place as usize <= leave);
        let members: Members = places[begin..end].iter().map(|place| *place as usize).collect();
        let breaks = |place: &usize| {
            let kind = history.events[*place].kind();
            matches!(kind, EventKind::Halt | EventKind::Resume | EventKind::Fault | EventKind::Reset)
        };
        let is_free = !members.iter().any(|place| taken.contains(place) || breaks(place));
        if is_free && !is_interrupted(history, span.enter, leave) {
            taken.extend(&members);
            found.insert(span.enter, members);
        }
    }
    found
}

/// Whether something of another node happened after one of the span's events and before another.
fn is_interrupted(history: &History, enter: usize, leave: usize) -> bool {
    let EventId { node: own, number: first } = history.events[enter].id;
    let known = history.clock(leave).iter().enumerate();
    let mut others = known.filter(|(node, known)| *node != usize::from(own) && **known != 0);
    others.any(|(node, known)| {
        let last = last_up_to(history, node as u8, *known);
        last.is_some_and(|last| !newer(first, history.clock(last)[usize::from(own)]))
    })
}

/// Which event becomes part of which: each place has the first place of its group.
struct Groups<'a> {
    of: Vec<usize>,
    spans: &'a BTreeMap<usize, Members>,
}

impl<'a> Groups<'a> {
    fn of(history: &History, spans: &'a BTreeMap<usize, Members>) -> Self {
        let mut of: Vec<usize> = (0..history.events.len()).collect();
        for (first, members) in spans {
            members.iter().for_each(|place| of[*place] = *first);
        }
        Self { of, spans }
    }

    fn members(&self, group: usize) -> &[usize] {
        self.spans.get(&group).map_or(std::slice::from_ref(&self.of[group]), Vec::as_slice)
    }

    /// The groups that a group comes after.
    fn before<'b>(&'b self, group: usize, causes: &'b [Vec<usize>]) -> impl Iterator<Item = usize> + 'b {
        let all = self.members(group).iter().flat_map(|place| &causes[*place]).map(|place| self.of[*place]);
        all.filter(move |other| *other != group)
    }

    /// All groups so that causes come first; or a span that stands in a circle.
    fn sorted(&self, causes: &[Vec<usize>]) -> Result<Vec<usize>, usize> {
        let mut left: HashMap<usize, usize> = HashMap::new();
        let mut followers: HashMap<usize, Vec<usize>> = HashMap::new();
        let groups: BTreeSet<usize> = self.of.iter().copied().collect();
        for group in &groups {
            for from in self.before(*group, causes) {
                *left.entry(*group).or_default() += 1;
                followers.entry(from).or_default().push(*group);
            }
        }
        let is_ready = |group: &&usize| !left.contains_key(group);
        let mut ready: BinaryHeap<Reverse<usize>> = groups.iter().filter(is_ready).map(|of| Reverse(*of)).collect();
        let mut order = Vec::with_capacity(groups.len());
        while let Some(Reverse(group)) = ready.pop() {
            order.push(group);
            for follower in followers.remove(&group).unwrap_or_default() {
                let Some(count) = left.get_mut(&follower) else { continue };
                *count -= 1;
                if *count == 0 {
                    left.remove(&follower);
                    ready.push(Reverse(follower));
                }
            }
        }
        // From any group that is left, causes that are left lead into a circle, which only spans can close.
        let Some(mut at) = left.keys().min().copied() else { return Ok(order) };
        let mut seen = BTreeSet::new();
        while seen.insert(at) {
            at = self.before(at, causes).find(|from| left.contains_key(from)).unwrap_or(at);
        }
        let start = at;
        while !self.spans.contains_key(&at) {
            at = self.before(at, causes).find(|from| left.contains_key(from)).unwrap_or(at);
            if at == start {
                break;
            }
        }
        Err(if self.spans.contains_key(&at) { at } else { *self.spans.keys().next().unwrap_or(&at) })
    }

    fn rebuilt(&self, history: &History, causes: &[Vec<usize>], order: &[usize]) -> History {
        let now: HashMap<usize, usize> = order.iter().enumerate().map(|(at, group)| (*group, at)).collect();
        let mut made = history.empty();
        let mut data = BTreeMap::new();
        for group in order {
            let members = self.members(*group);
            let last = members.last().copied().unwrap_or(*group);
            let mut clock = history.clock(last).to_vec();
            for from in self.before(*group, causes) {
                for (mine, other) in clock.iter_mut().zip(made.clock(now[&from])) {
                    if newer(*other, *mine) {
                        *mine = *other;
                    }
                }
            }
            let accesses = members.iter().flat_map(|place| history.accesses_before(*place));
            let mut through: Vec<usize> = accesses.map(|place| now[&self.of[*place]]).collect();
            through.retain(|from| *from != now[group]);
            if !through.is_empty() {
                through.sort_unstable();
                through.dedup();
                data.insert(now[group], through);
            }
            let event = if members.len() > 1 { one_event(history, members, last) } else { history.events[last] };
            // What was sent or received inside of a span has the span as its other end.
            let partner = event.partner.map(|id| {
                let other = history.index_of(id).map(|place| self.members(self.of[place]));
                other.and_then(<[usize]>::last).map_or(id, |last| history.events[*last].id)
            });
            made.add(&Event { partner, ..event }, &clock);
        }
        made.data = data;
        made
    }
}

fn one_event(history: &History, members: &[usize], last: usize) -> Event {
    let first = &history.events[members[0]];
    let what = stillpoint_core::Event { value: members.len() as u32, ..first.what };
    let past = members.iter().map(|place| history.events[*place].past).find(|past| !past.is_known());
    let past = past.unwrap_or(Past::Known);
    Event { what, past, message: None, partner: None, ..history.events[last] }
}

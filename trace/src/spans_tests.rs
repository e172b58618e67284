//! Spans of random runs, collapsed and not, against an order by brute force.
use crate::show::{self, Selection};
use crate::{EventId, History, Sketch};
use proptest::prelude::*;
use stillpoint_core::{Event, EventKind};

/// A run, and which events happened right before which, in the order in which they were drawn.
struct Run {
    history: History,
    ids: Vec<EventId>,
    direct: Vec<(usize, usize)>,
    /// Finished spans: first and last event, as drawn.
    spans: Vec<(usize, usize)>,
}

fn run_of(nodes: usize, draws: &[(usize, u8, usize)], most_spans: usize) -> Run {
    let mut sketch = Sketch::new(&["a", "b", "c"][..nodes]);
    let (mut last, mut waiting) = (vec![None; nodes], vec![Vec::new(); nodes * nodes]);
    let (mut ids, mut direct, mut spans) = (Vec::new(), Vec::new(), Vec::new());
    let mut open: Vec<Vec<(u16, usize)>> = vec![Vec::new(); nodes];
    let mut begun = 0;
    for (node, what, which) in draws {
        let (node, peer, tag, now) = (node % nodes, which % nodes, (which % 2) as u16, ids.len());
        let id = match what {
            0..=2 if peer != node => {
                waiting[node * nodes + peer].push(now);
                sketch.send(node, peer)
            }
            3..=5 if peer != node && !waiting[peer * nodes + node].is_empty() => {
                direct.push((waiting[peer * nodes + node].remove(0), now));
                sketch.receive(peer, node)
            }
            6 if begun < most_spans => {
                begun += 1;
                open[node].push((tag, now));
                sketch.event(node, Event::new(EventKind::Enter, tag))
            }
            7 if open[node].iter().any(|(of, _)| *of == tag) => {
                let at = open[node].iter().rposition(|(of, _)| *of == tag).unwrap();
                spans.push((open[node].remove(at).1, now));
                sketch.event(node, Event::new(EventKind::Leave, tag))
            }
            _ => sketch.local(node, 9),
        };
        direct.extend(last[node].replace(now).map(|before| (before, now)));
        ids.push(id);
    }
    Run { history: sketch.history(), ids, direct, spans }
}

/// The closure of what is direct, between groups: `of` says in which group each event is. Groups in a circle are before themselves.
fn close(groups: usize, of: &[usize], direct: &[(usize, usize)]) -> Vec<Vec<bool>> {
    let mut before = vec![vec![false; groups]; groups];
    for (from, to) in direct.iter().map(|(from, to)| (of[*from], of[*to])).filter(|(from, to)| from != to) {
        before[from][to] = true;
    }
    for mid in 0..groups {
        for from in 0..groups {
            if before[from][mid] {
                let through = before[mid].clone();
                before[from].iter_mut().zip(through).for_each(|(known, more)| *known |= more);
            }
        }
    }
    before
}

/// The place in the collapsed history of each event that was drawn.
fn places(run: &Run, collapsed: &History) -> Vec<usize> {
    let of = |id: &EventId| {
        let is_in = |event: &crate::Event| {
            let value = if event.kind() == EventKind::Enter { event.what.value.max(1) } else { 1 };
            let first = event.id.number + 1 - value;
            event.id.node == id.node && (first..=event.id.number).contains(&id.number)
        };
        let found: Vec<usize> = (0..collapsed.events.len()).filter(|at| is_in(&collapsed.events[*at])).collect();
        assert_eq!(found.len(), 1, "{id:?} is in exactly one event");
        found[0]
    };
    run.ids.iter().map(of).collect()
}

fn draws(most: usize) -> impl Strategy<Value = (usize, Vec<(usize, u8, usize)>)> {
    (2..4_usize, proptest::collection::vec((0..3_usize, 0..9_u8, 0..6_usize), 1..most))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn collapsed_spans_have_the_order_that_all_of_their_events_make((nodes, draws) in draws(40)) {
        let run = run_of(nodes, &draws, usize::MAX);
        let collapsed = run.history.clone().collapsed();
        let of = places(&run, &collapsed);
        let before = close(collapsed.events.len(), &of, &run.direct);
        for a in 0..before.len() {
            prop_assert!(!before[a][a], "{} happened before itself", collapsed.describe(&collapsed.events[a]));
            for b in (0..before.len()).filter(|b| *b != a) {
                prop_assert_eq!(collapsed.before(a, b), before[a][b], "{} and {}", a, b);
            }
        }
        // Every picture of it can be drawn.
        let all = Selection::all(&collapsed);
        prop_assert!(show::diagram(&collapsed, &all).len() > collapsed.events.len());
        prop_assert!(show::svg(&collapsed, &all, "t").svg.ends_with("</svg>\n"));
    }

    #[test]
    fn a_lone_span_is_one_event_unless_another_node_comes_between((nodes, draws) in draws(40)) {
        let run = run_of(nodes, &draws, 1);
        let [(enter, leave)] = run.spans[..] else { return Ok(()) };
        let node = run.ids[enter].node;
        let count = run.ids.len();
        let before = close(count, &(0..count).collect::<Vec<_>>(), &run.direct);
        let members: Vec<usize> = (enter..=leave).filter(|at| run.ids[*at].node == node).collect();
        let between = |at: usize| {
            !members.contains(&at) && members.iter().any(|of| before[*of][at]) && members.iter().any(|of| before[at][*of])
        };
        let is_whole = !(0..count).any(between);
        let collapsed = run.history.clone().collapsed();
        let expected = if is_whole { count + 1 - members.len() } else { count };
        prop_assert_eq!(collapsed.events.len(), expected);
    }
}

/// Two spans that each have something before the other cannot both be one event.
#[test]
fn spans_that_cross_are_not_both_collapsed() {
    let mut sketch = Sketch::new(&["a", "b"]);
    for node in 0..2 {
        sketch.event(node, Event::new(EventKind::Enter, 1));
    }
    sketch.send(0, 1);
    sketch.send(1, 0);
    sketch.receive(0, 1);
    sketch.receive(1, 0);
    for node in 0..2 {
        sketch.event(node, Event::new(EventKind::Leave, 1));
    }
    let history = sketch.history().collapsed();
    assert_eq!(history.events.len(), 5, "one of the two is one event, the other still has four");
}

#[test]
fn a_span_is_a_bar_beside_its_events_and_a_heavy_line_in_the_terminal() {
    let mut sketch = Sketch::new(&["a", "b"]);
    sketch.local(0, 9);
    sketch.event(0, Event::new(EventKind::Enter, 1));
    sketch.local(0, 9);
    sketch.message(0, 1);
    sketch.event(0, Event::new(EventKind::Leave, 1));
    sketch.event(1, Event::new(EventKind::Enter, 2));
    sketch.local(0, 9);
    let history = sketch.history();
    let svg = show::svg(&history, &Selection::all(&history), "t").svg;
    assert_eq!(svg.matches("class=\"span\"").count(), 1, "{svg}");
    assert_eq!(svg.matches("class=\"span unended\"").count(), 1, "the trace ends before it does");
    let lines = show::diagram(&history, &Selection::all(&history));
    let heavy: Vec<&String> = lines.iter().filter(|line| line.contains('┃')).collect();
    assert_eq!(heavy.len(), 1, "while b received, a was inside: {lines:#?}");
    // Without its ends a span still lies behind what is shown of it.
    let middle = Selection::all(&history).only(|place| history.events[place].kind() == EventKind::Local);
    assert_eq!(show::svg(&history, &middle, "t").svg.matches("<title>span 1</title>").count(), 1);
}

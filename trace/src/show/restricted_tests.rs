//! Pictures of a part of a run, against the transitive reduction over what is shown, by brute force (Hyder 6.3.1).
use super::*;
use crate::export::{Format, export};
use crate::random_run::Run;
use crate::{EdgeKind, Restricted};
use proptest::strategy::{Strategy as _, ValueTree as _};
use std::collections::{BTreeMap, BTreeSet};
use stillpoint_core::EventKind;

type Pairs = BTreeSet<(usize, usize)>;

/// What happened before what among the shown events, without what follows from the rest. Places are those of the history.
fn reduction(run: &Run, shown: &[usize]) -> Pairs {
    let pairs = shown.iter().flat_map(|one| shown.iter().map(move |other| (*one, *other)));
    let before = |one: usize, other: usize| run.before[one][other];
    let between = |one, other| shown.iter().any(|mid| before(one, *mid) && before(*mid, other));
    pairs.filter(|(one, other)| before(*one, *other) && !between(*one, *other)).collect()
}

/// What a picture may draw besides: the next shown event of each node, and messages.
fn steps_and_messages(run: &Run, shown: &[usize]) -> Pairs {
    let mut pairs = Pairs::new();
    for (at, to) in shown.iter().enumerate() {
        let node = |place: usize| run.events[place].0;
        pairs.extend(shown[..at].iter().rev().find(|from| node(**from) == node(*to)).map(|from| (*from, *to)));
        let event = &run.history.events[*to];
        let send = event.partner.filter(|_| event.kind() == EventKind::Receive);
        let send = send.and_then(|send| run.history.index_of(send)).filter(|send| shown.contains(send));
        pairs.extend(send.map(|send| (send, *to)));
    }
    pairs
}

/// How a picture that draws `drawn` differs from what is so.
fn difference(run: &Run, shown: &[usize], drawn: &Pairs) -> Option<String> {
    let (needed, allowed) = (reduction(run, shown), steps_and_messages(run, shown));
    let missing: Vec<_> = needed.difference(drawn).collect();
    let invented: Vec<_> = drawn.iter().filter(|pair| !needed.contains(pair) && !allowed.contains(pair)).collect();
    (!missing.is_empty() || !invented.is_empty())
        .then(|| format!("missing {missing:?}, invented {invented:?}: {run:?}"))
}

fn edges(restricted: &Restricted<'_>) -> Pairs {
    let place = |at: usize| restricted.places()[at];
    restricted.edges().iter().map(|edge| (place(edge.from), place(edge.to))).collect()
}

/// The arrows of the diagram and, between them, the lanes.
fn diagram_of(run: &Run, selection: &Selection) -> Pairs {
    let lanes = Lanes::new(&run.history, selection);
    let place = |mark: usize| lanes.marks[mark].place;
    let mut pairs: Pairs = lanes
        .arrows
        .iter()
        .filter_map(|arrow| match arrow {
            Arrow::Hidden { from, to } | Arrow::Data { from, to } | Arrow::Message { from, to } => {
                Some((place(*from), place(*to)))
            }
            Arrow::Leaves { .. } | Arrow::Comes { .. } => None,
        })
        .collect();
    for lane in 0..lanes.nodes.len() {
        let of_lane: Vec<usize> = lanes.marks.iter().filter(|mark| mark.lane == lane).map(|mark| mark.place).collect();
        pairs.extend(of_lane.windows(2).map(|pair| (pair[0], pair[1])));
    }
    pairs
}

fn graph_of(run: &Run, selection: &Selection) -> Pairs {
    let graph = Graph::new(&run.history, selection, GraphKind::Event);
    graph.arcs.iter().map(|arc| (selection.places[arc.from], selection.places[arc.to])).collect()
}

/// ShiViz draws no edge twice, so its clocks are compared: they say what happened before what.
fn shiviz_order(run: &Run, restricted: &Restricted<'_>) -> Pairs {
    let mut bytes = Vec::new();
    export(restricted, Format::Shiviz, &mut bytes).unwrap();
    let text = String::from_utf8(bytes).unwrap();
    let clocks: Vec<(&str, BTreeMap<String, u64>)> = text
        .lines()
        .skip(1)
        .step_by(2)
        .map(|line| line.split_once(' ').unwrap())
        .map(|(host, clock)| (host, serde_json::from_str(clock).unwrap()))
        .collect();
    assert_eq!(clocks.len(), restricted.len(), "{run:?}");
    let mut pairs = Pairs::new();
    for (a, (host, clock)) in clocks.iter().enumerate() {
        for (b, (_, later)) in clocks.iter().enumerate() {
            if a != b && later.get(*host).is_some_and(|known| *known >= clock[*host]) {
                pairs.insert((restricted.places()[a], restricted.places()[b]));
            }
        }
    }
    pairs
}

/// How many runs: 150, or what `CASES` says.
fn cases() -> usize {
    std::env::var("CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(150)
}

fn each_case(mut each: impl FnMut(&Run, Vec<usize>)) {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let strategy = (crate::random_run::runs(40), proptest::num::u64::ANY, 0..4_u8);
    for _ in 0..cases() {
        let (run, hide, how) = strategy.new_tree(&mut runner).unwrap().current();
        let kind = |place: usize| run.history.events[place].kind();
        let keep = |place: &usize| match how {
            0 => kind(*place) == EventKind::Local,
            1 => kind(*place) == EventKind::Receive,
            2 => run.events[*place].0 != 1,
            _ => hide >> (place % 64) & 1 == 0,
        };
        let shown = (0..run.events.len()).filter(keep).collect();
        each(&run, shown);
    }
}

#[test]
fn restricted_pictures_draw_the_transitive_reduction_over_what_is_shown() {
    each_case(|run, shown| {
        let selection = Selection { places: shown.clone(), ..Selection::default() };
        let restricted = Restricted::new(&run.history, shown.clone());
        let pictures = [edges(&restricted), diagram_of(run, &selection), graph_of(run, &selection)];
        for (name, drawn) in ["edges", "diagram", "graph"].iter().zip(&pictures) {
            assert_eq!(difference(run, &shown, drawn), None, "{name}");
        }
        let order: Pairs = shiviz_order(run, &restricted);
        let all = shown.iter().flat_map(|one| shown.iter().map(move |other| (*one, *other)));
        let truth: Pairs = all.filter(|(one, other)| run.before[*one][*other]).collect();
        assert_eq!(order, truth, "ShiViz: {run:?}");
    });
}

/// Each arrow of the drawing is in the SVG, the page and the DOT text, and each flow in the Perfetto form.
#[test]
fn what_the_layout_has_is_in_every_form() {
    let mut hidden_arrows = 0;
    each_case(|run, shown| {
        let selection = Selection { places: shown.clone(), ..Selection::default() };
        let restricted = Restricted::new(&run.history, shown);
        let count = |kind| restricted.edges().iter().filter(|edge| edge.kind == kind).count();
        let (hidden, messages) = (count(EdgeKind::Hidden), count(EdgeKind::Message));
        hidden_arrows += hidden;
        for text in [svg(&run.history, &selection, "t").svg, html(&run.history, &selection, "t")] {
            assert_eq!(text.matches("class=\"msg hidden\"").count(), hidden, "{run:?}");
            assert_eq!(text.matches("class=\"msg\"").count(), messages, "{run:?}");
        }
        let dots = dot(&Graph::new(&run.history, &selection, GraphKind::Event), "t");
        assert_eq!(dots.matches("style=dotted").count(), hidden, "{run:?}");
        let text = diagram(&run.history, &selection).join("\n");
        // Two that arrive at one event may share a tip.
        let tips = text.matches(['▷', '◁', '▶', '◀', '⋯']).count();
        let arrive = restricted.edges().into_iter().filter(|edge| edge.kind != EdgeKind::Step).map(|edge| edge.to);
        assert!(tips >= arrive.collect::<BTreeSet<_>>().len(), "{text}");
        let mut bytes = Vec::new();
        export(&restricted, Format::Perfetto, &mut bytes).unwrap();
        // Field 47 of eight bytes: a flow begins.
        let flows = bytes.windows(2).filter(|pair| *pair == [0xf9, 0x02]).count();
        assert!(flows >= hidden + messages, "{flows} of {hidden} and {messages}");
    });
    assert!(hidden_arrows > cases() / 4, "the cases hide something: {hidden_arrows}");
}

/// What is nearly right must come out differently somewhere, or the tests above prove nothing.
#[test]
fn pictures_that_lose_or_invent_order_are_caught() {
    let mut caught = [false; 3];
    each_case(|run, shown| {
        let right = edges(&Restricted::new(&run.history, shown.clone()));
        // Messages and steps only: what pictures drew before they looked through hidden events.
        caught[0] |= difference(run, &shown, &steps_and_messages(run, &shown)).is_some();
        // The last shown event of each node, whether or not another lies between.
        let all = shown.iter().flat_map(|one| shown.iter().map(move |other| (*one, *other)));
        let every: Pairs = all.filter(|(one, other)| run.before[*one][*other]).collect();
        caught[1] |= difference(run, &shown, &every).is_some();
        // An edge less.
        let fewer: Pairs = right.iter().skip(1).copied().collect();
        caught[2] |= difference(run, &shown, &fewer).is_some();
    });
    assert_eq!(caught, [true; 3]);
}

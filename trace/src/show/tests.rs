//! Pictures of histories drawn by hand, and of any history.
use super::*;
use crate::export::{Format, export};
use crate::is_unprintable;
use crate::{Builder, EdgeKind, History, Item, Sketch};
use proptest::prelude::*;
use std::path::Path;
use stillpoint_core::{Event, EventKind};

/// Three nodes, a message that overtakes nothing, a gap, a halt of all with one message in flight.
fn example() -> History {
    let mut sketch = Sketch::new(&["motor", "sensor", "logger"]);
    let firmware = crate::BoardInfo {
        firmware: "target/motor.elf".into(),
        tick_hz: Some(stillpoint_core::time::TickRate::MEGAHERTZ),
        ..Default::default()
    };
    sketch.header().boards = vec![firmware];
    for node in 0..3 {
        sketch.event(node, Event::new(EventKind::Reset, 0));
    }
    sketch.local(1, 4);
    sketch.send(1, 0);
    sketch.send(1, 2);
    sketch.receive(1, 0);
    sketch.event(0, Event { kind: EventKind::Watch, arg: 0, value: 17 });
    sketch.receive(1, 2);
    sketch.send(0, 2);
    for node in 0..3 {
        sketch.event(node, Event::new(EventKind::Halt, 1));
    }
    for node in 0..3 {
        sketch.event(node, Event::new(EventKind::Resume, 1));
    }
    sketch.receive(0, 2);
    sketch.message(2, 1);
    sketch.local(1, 5);
    let items: Vec<(u8, Item)> = sketch.items().collect();
    let mut builder = Builder::new(sketch.header());
    let last = items.len() - 1;
    for (wall, (node, item)) in items.into_iter().enumerate() {
        if wall == last {
            builder.push(node, wall as u64, Item::Gap(12));
        }
        builder.push(node, wall as u64, item);
    }
    builder.finish(None)
}

/// Compares with a file, or writes it where `REWRITE` is set.
fn expect_file(path: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    if std::env::var_os("REWRITE").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(expected == text, "{} is not what is drawn now; look at it, then set REWRITE=1:\n{text}", path.display());
}

#[test]
fn the_listing_of_a_small_history() {
    let history = example();
    let lines: Vec<String> = listing(&history, &Selection::all(&history)).map(|line| line.to_string() + "\n").collect();
    expect_file("src/show/golden/listing.txt", &lines.concat());
}

#[test]
fn the_diagram_of_a_small_history() {
    let history = example();
    expect_file("src/show/golden/diagram.txt", &(diagram(&history, &Selection::all(&history)).join("\n") + "\n"));
}

#[test]
fn what_did_not_happen_before_the_chosen_event_is_drawn_faintly() {
    let history = example();
    let chosen = history.events.len() / 2;
    let selection = Selection { past_of: Some(chosen), ..Selection::all(&history) };
    let lanes = Lanes::new(&history, &selection);
    let past: Vec<usize> = history.past(chosen).chain([chosen]).collect();
    for mark in &lanes.marks {
        assert_eq!(mark.is_later, !past.contains(&mark.place), "event at {}", mark.place);
    }
    let drawn = svg(&history, &selection, "example").svg;
    assert_eq!(drawn.matches("class=\"event later\"").count(), history.events.len() - past.len());
    assert!(past.len() > 1 && past.len() < history.events.len(), "the example has both");
}

/// The picture of the README: it cannot rot, for it is drawn here.
#[test]
fn the_picture_in_the_documentation_is_what_is_drawn() {
    let history = example();
    expect_file("../docs/example.svg", &svg(&history, &Selection::all(&history), "example").svg);
}

#[test]
fn the_graphs_of_a_small_history() {
    let history = example();
    let of = |kind| dot(&Graph::new(&history, &Selection::all(&history), kind), "example");
    expect_file("src/show/golden/program.dot", &of(GraphKind::Program));
    expect_file("src/show/golden/elaborated.dot", &of(GraphKind::Elaborated));
    expect_file("src/show/golden/event.dot", &of(GraphKind::Event));
}

/// Hyder 3.2.4 and 6.4.1: folding the events of an action gives the elaborated graph, folding actions the program graph.
#[test]
fn every_event_maps_to_one_action_and_every_action_to_one_template() {
    let history = example();
    let all = Selection::all(&history);
    let [program, elaborated, events] =
        [GraphKind::Program, GraphKind::Elaborated, GraphKind::Event].map(|kind| Graph::new(&history, &all, kind));
    for event in &events.spots {
        let of_action = elaborated.spots.iter().filter(|spot| spot.action == event.action);
        assert_eq!(of_action.count(), 1, "{event:?}");
        assert_eq!(program.spots.iter().filter(|spot| spot.template == event.template).count(), 1);
    }
    for graph in [&program, &elaborated, &events] {
        assert_eq!(graph.spots.iter().map(|spot| spot.count).sum::<u64>() as usize, history.events.len());
        let taken = |kind| graph.arcs.iter().filter(|arc| arc.kind == kind).map(|arc| arc.count).sum::<u64>();
        let steps = history.events.len() as u64 - 3;
        assert_eq!((taken(EdgeKind::Message), taken(EdgeKind::Step)), (4, steps), "arcs are folded, none is lost");
        assert_eq!(taken(EdgeKind::Hidden), 0, "nothing is hidden");
    }
    assert!(
        program.arcs.iter().any(|arc| arc.kind == EdgeKind::Message && arc.count == 0),
        "channels that nobody used are in the program"
    );
}

#[test]
fn the_halts_of_one_halt_lie_on_one_line_and_messages_in_flight_cross_it() {
    let history = example();
    let lanes = Lanes::new(&history, &Selection::all(&history));
    let [cut] = &lanes.cuts[..] else { panic!("{:?}", lanes.cuts) };
    let row = |mark: &usize| lanes.marks[*mark].row;
    assert_eq!((cut.halt, cut.marks.len()), (1, 3));
    assert!(cut.marks.iter().all(|mark| row(mark) == row(&cut.marks[0])));
    let crossing = lanes.arrows.iter().filter(
        |arrow| matches!(arrow, Arrow::Message { from, to } if row(from) < row(&cut.marks[0]) && row(to) > row(&cut.marks[0])),
    );
    assert_eq!(crossing.count(), 1);
}

#[test]
fn gaps_and_unknown_pasts_are_visible_in_every_picture() {
    let mut sketch = Sketch::new(&["a", "b"]);
    sketch.local(0, 1);
    sketch.local(1, 1);
    sketch.receive(0, 1);
    let history = sketch.history();
    let all = Selection::all(&history);
    assert!(!history.events[2].past.is_known(), "the send is not in the trace");
    let text = diagram(&history, &all).join("\n");
    assert!(text.contains("?▶◌") || text.contains('◌'), "{text}");
    assert!(svg(&history, &all, "t").svg.contains("msg open"));
    assert!(
        html(&history, &all, "t").contains("is not in the trace") || html(&history, &all, "t").contains("recording")
    );
    let gap = example();
    let all = Selection::all(&gap);
    for text in [
        diagram(&gap, &all).join("\n"),
        svg(&gap, &all, "t").svg,
        listing(&gap, &all).map(|line| line.to_string()).collect(),
    ] {
        assert!(text.contains("12 records dropped"), "{text}");
    }
}

#[test]
fn a_window_says_that_it_is_one() {
    let history = example();
    let few = Selection::all(&history).within(Bounds { around: Some(8), most: Some(4), ..Bounds::default() });
    assert_eq!((few.places.len(), few.before, few.after), (4, 6, history.events.len() - 10));
    assert_eq!(few.extent().as_deref(), Some("events 7 to 10 of 20"));
    let text = diagram(&history, &few).join("\n");
    assert!(text.contains("... 6 events before") && text.contains("... 10 events after"), "{text}");
    assert!(svg(&history, &few, "t").svg.contains("events 7 to 10 of 20"));
    assert!(html(&history, &few, "t").contains("a window: events 7 to 10 of 20"));
}

/// A long recording, of which a picture has room for a part.
#[test]
fn what_ends_with_an_event_is_shown_from_its_end() {
    let mut sketch = Sketch::new(&["a", "b"]);
    for tag in 0..3000 {
        sketch.local(0, tag % 7);
    }
    let history = sketch.history();
    let shown = |bounds| Selection::all(&history).within(bounds);
    let to = Bounds { to: Some(2500), most: Some(2000), ..Bounds::default() };
    let ends = shown(to);
    assert_eq!((ends.places[0], ends.places[1999], ends.before, ends.after), (501, 2500, 501, 499));
    let begins = shown(Bounds { from: Some(100), ..to });
    assert_eq!((begins.places[0], begins.places.len()), (100, 2000), "both ends are given: from the beginning");
    let all = shown(Bounds { most: None, ..to });
    assert_eq!((all.places.len(), all.before), (2501, 0));
}

/// The page has a thousand rows on either side of it.
#[test]
fn a_page_about_an_event_opens_at_that_event() {
    let history = example();
    for bounds in [Bounds { around: Some(8), ..Bounds::default() }, Bounds { to: Some(8), ..Bounds::default() }] {
        let page = html(&history, &Selection::all(&history).within(bounds), "t");
        assert!(page.contains("if(data.about!==null)go(data.about)") && page.contains("\"about\":"), "{page}");
        assert!(!page.contains("\"about\":null"));
        let linked = linked_html(&history, &Selection::all(&history), &Selection::all(&history).within(bounds), "t");
        assert!(linked.contains("if(data.about!==null)go(data.about)") && !linked.contains("\"about\":null"));
    }
    let whole = html(&history, &Selection::all(&history), "t");
    assert!(whole.contains("\"about\":null"));
}

#[test]
fn nothing_is_drawn_of_nothing() {
    let history = Sketch::new(&["a", "b"]).history();
    let none = Selection::all(&history);
    assert!(listing(&history, &none).all(|line| matches!(line, Line::Note(_))), "nodes without a log are named");
    assert_eq!(diagram(&History::default(), &none), [""]);
    for text in [svg(&history, &none, "t").svg, graph_svg(&Graph::new(&history, &none, GraphKind::Elaborated), "t")] {
        roxmltree::Document::parse(&text).unwrap();
    }
    assert!(html(&History::default(), &none, "t").contains("0 events"));
}

/// Names that a terminal or a browser would obey: escape sequences, and overrides of the writing direction.
#[test]
fn names_that_change_the_display_are_escaped_in_every_picture_and_export() {
    let mut sketch = Sketch::new(&["a\u{1b}[31m\u{202e}b", "=\u{200f}cmd\u{9b}\u{7}"]);
    sketch.message(0, 1);
    sketch.local(1, 3);
    let history = sketch.history();
    let all = Selection::all(&history);
    let graph = Graph::new(&history, &all, GraphKind::Elaborated);
    let title = "run\u{2066}\u{1b}";
    let pictures = [
        svg(&history, &all, title).svg,
        html(&history, &all, title),
        linked_html(&history, &all, &all, title),
        graph_svg(&graph, title),
        dot(&graph, title),
    ];
    let exports = [Format::Shiviz, Format::Json, Format::Csv].map(|format| {
        let mut bytes = Vec::new();
        export(&crate::View::EVERYTHING.of(&history), format, &mut bytes).unwrap();
        String::from_utf8(bytes).unwrap()
    });
    for text in pictures.iter().chain(&exports) {
        let hidden: Vec<char> = text.chars().filter(|letter| is_unprintable(*letter)).collect();
        assert!(hidden.is_empty(), "{hidden:?} in {text}");
        assert!(text.contains("u{202e}") || text.contains("\\u202e") || text.contains("_b"), "{text}");
    }
    // A spreadsheet takes a cell that begins so for a formula.
    let mut csv = csv::Reader::from_reader(exports[2].as_bytes());
    let cells: Vec<String> =
        csv.records().flat_map(|row| row.unwrap().iter().map(str::to_owned).collect::<Vec<_>>()).collect();
    assert!(cells.iter().any(|cell| cell == r"'=\u{200f}cmd\u{9b}\u{7}"), "{cells:?}");
    assert!(cells.iter().all(|cell| !cell.starts_with('=')), "{cells:?}");
    // JSON keeps the names as they are.
    let json: serde_json::Value = serde_json::from_str(&exports[1]).unwrap();
    assert_eq!(json["events"][0]["node"], "a\u{1b}[31m\u{202e}b");
}

#[test]
fn names_that_are_markup_stay_names() {
    let mut sketch = Sketch::new(&["<b>&\"'", "</script><script>alert(1)</script>"]);
    sketch.message(0, 1);
    sketch.message(1, 0);
    let history = sketch.history();
    let all = Selection::all(&history);
    let drawn = svg(&history, &all, "<i>").svg;
    let document = roxmltree::Document::parse(&drawn).unwrap();
    let names: Vec<&str> = document.descendants().filter_map(|node| node.text()).collect();
    assert!(names.contains(&"<b>&\"'"), "{names:?}");
    let page = html(&history, &all, "<i>");
    assert_eq!(page.matches("<script>").count(), 1, "only our own");
    assert_eq!(page.matches("</script>").count(), 1);
    roxmltree::Document::parse(&graph_svg(&Graph::new(&history, &all, GraphKind::Program), "\u{1}")).unwrap();
}

/// Steps of a random history: who, what, with whom.
fn steps() -> impl Strategy<Value = Vec<(usize, u8, usize)>> {
    prop::collection::vec((0..4usize, 0..6u8, 0..4usize), 0..120)
}

/// A history of four nodes; what cannot be done at a step is left out.
fn history_of(steps: &[(usize, u8, usize)]) -> History {
    let mut sketch = Sketch::new(&["a", "b", "c", "d"]);
    let (mut under_way, mut halts) = ([[0u32; 4]; 4], 0);
    for (node, what, peer) in steps {
        match what {
            0 | 1 if node != peer => {
                sketch.send(*node, *peer);
                under_way[*node][*peer] += 1;
            }
            2 | 3 if under_way[*peer][*node] > 0 => {
                sketch.receive(*peer, *node);
                under_way[*peer][*node] -= 1;
            }
            4 => {
                sketch.local(*node, 1);
            }
            5 if *peer == 0 => {
                halts += 1;
                for node in 0..4 {
                    sketch.event(node, Event::new(EventKind::Halt, halts));
                }
            }
            _ => {}
        }
    }
    sketch.history()
}

/// What is known to have happened before each event, by following arcs: the next of a node, and messages.
fn closure(history: &History) -> Vec<Vec<bool>> {
    let count = history.events.len();
    let mut before = vec![vec![false; count]; count];
    for to in 0..count {
        let event = &history.events[to];
        let previous = (0..to).rev().find(|place| history.events[*place].id.node == event.id.node);
        let send = event.partner.filter(|_| event.kind() == EventKind::Receive).and_then(|id| history.index_of(id));
        for from in previous.into_iter().chain(send) {
            let led_there = before[from].clone();
            before[to][from] = true;
            before[to].iter_mut().zip(led_there).for_each(|(known, led)| *known |= led);
        }
    }
    before
}

proptest! {
    #[test]
    fn past_and_future_are_what_arcs_lead_from_and_to(steps in steps()) {
        let history = history_of(&steps);
        let before = closure(&history);
        for (event, known) in before.iter().enumerate() {
            let past: Vec<usize> = (0..history.events.len()).filter(|place| known[*place] || *place == event).collect();
            prop_assert_eq!(Selection::past(&history, event).places, past);
            let future: Vec<usize> = (0..history.events.len()).filter(|place| before[*place][event] || *place == event).collect();
            prop_assert_eq!(Selection::future(&history, event).places, future);
        }
    }

    /// Also where a part is shown, and whatever else is hidden between.
    #[test]
    fn what_happened_before_is_above_and_arrows_go_down(steps in steps(), hide in any::<u64>()) {
        let history = history_of(&steps);
        let before = closure(&history);
        let shown = Selection::all(&history).only(|place| hide >> (place % 64) & 1 == 0);
        let lanes = Lanes::new(&history, &shown);
        prop_assert_eq!(lanes.marks.len(), shown.places.len());
        for (at, one) in lanes.marks.iter().enumerate() {
            for (after, other) in lanes.marks.iter().enumerate() {
                if before[other.place][one.place] {
                    prop_assert!(one.row < other.row, "{} and {}", one.place, other.place);
                    prop_assert!(at < after, "the order of lines is a linear extension");
                }
            }
        }
        for arrow in &lanes.arrows {
            if let Arrow::Message { from, to } | Arrow::Hidden { from, to } | Arrow::Data { from, to } = arrow {
                prop_assert!(lanes.marks[*from].row < lanes.marks[*to].row);
            }
        }
        for (lane, row) in lanes.marks.iter().map(|mark| (mark.lane, mark.row)) {
            prop_assert_eq!(lanes.marks.iter().filter(|mark| (mark.lane, mark.row) == (lane, row)).count(), 1, "no two in one place");
        }
    }

    #[test]
    fn every_event_and_every_whole_message_is_in_every_picture(steps in steps()) {
        let history = history_of(&steps);
        let all = Selection::all(&history);
        let lines = listing(&history, &all).filter(|line| matches!(line, Line::Event { .. })).count();
        let drawn = svg(&history, &all, "t").svg;
        let document = roxmltree::Document::parse(&drawn).unwrap();
        let of_class = |class: &str| document.descendants().filter(|node| node.attribute("class") == Some(class)).count();
        let whole = history.events.iter().filter(|event| event.kind() == EventKind::Receive).count();
        prop_assert_eq!((lines, of_class("event"), of_class("msg")), (history.events.len(), history.events.len(), whole));
        let text = diagram(&history, &all).join("\n");
        prop_assert_eq!(text.matches(['▶', '◀', '⋯']).count() >= whole, true, "{}", text);
        for event in history.events.iter().filter(|event| event.counts()) {
            prop_assert!(text.contains(&history.header.event_name(event.id)));
        }
    }
}

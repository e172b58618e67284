//! Where everything lies in a space-time diagram: a lane for each node, rows downwards in causal order.
use super::{PlacedNotes, Selection, place_notes};
use crate::{Edge, EdgeKind, History, Note, Restricted};
use std::collections::HashMap;
use stillpoint_core::EventKind;

/// The layout of a space-time diagram.
#[derive(Clone, Debug)]
pub struct Lanes<'a> {
    /// What it is of.
    pub history: &'a History,
    /// The node of each lane.
    pub nodes: Vec<u8>,
    /// The events.
    pub marks: Vec<Mark<'a>>,
    /// The messages of which an end is shown, and the order between nodes that comes from what is not shown.
    pub arrows: Vec<Arrow>,
    /// The cuts at which nodes were halted.
    pub cuts: Vec<CutLine>,
    /// The spans of which something is shown.
    pub bars: Vec<Bar>,
    /// Notes without a place in the diagram.
    pub general: Vec<&'a Note>,
    /// How many rows there are.
    pub rows: usize,
    /// How many chosen events come before and after what is shown.
    pub hidden: (usize, usize),
    /// The event that the picture is about, as its place in the history.
    pub about: Option<usize>,
    /// Pairs of marks that nothing orders.
    pub unordered: Vec<(usize, usize)>,
}

/// An event in a diagram.
#[derive(Clone, Debug)]
pub struct Mark<'a> {
    /// Its place in the history.
    pub place: usize,
    /// Which lane.
    pub lane: usize,
    /// Which row.
    pub row: usize,
    /// What is missing, broken or contradictory in front of it; drawn in the row above it.
    pub notes: Vec<&'a Note>,
    /// It is highlighted: what is written beside it.
    pub marked: Option<String>,
    /// It did not happen before the event whose past is marked.
    pub is_later: bool,
}

/// An arrow between lanes: its ends are numbers of marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrow {
    /// One event happened before another through events or messages that are not shown.
    Hidden {
        /// The earlier event.
        from: usize,
        /// The later event.
        to: usize,
    },
    /// One access of a shared object depends on another.
    Data {
        /// The earlier access.
        from: usize,
        /// The later access.
        to: usize,
    },
    /// A message of which both ends are shown.
    Message {
        /// The send.
        from: usize,
        /// The receive.
        to: usize,
    },
    /// A message of which the receive is not shown.
    Leaves {
        /// The send.
        from: usize,
        /// The receiver's lane, if that is shown.
        lane: Option<usize>,
        /// The trace has the receive; otherwise it is in flight or lost at the end.
        received: bool,
    },
    /// A message of which the send is not shown.
    Comes {
        /// The receive.
        to: usize,
        /// The sender's lane, if that is shown.
        lane: Option<usize>,
        /// The trace has the send; otherwise nobody knows what led to it.
        sent: bool,
    },
}

/// A span in a lane: from its first mark that is shown to its last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bar {
    /// Its name.
    pub name: String,
    /// How many spans of the node it lies in or overlaps.
    pub depth: usize,
    /// The marks at its ends.
    pub ends: (usize, usize),
    /// The trace has its end.
    pub is_ended: bool,
}

/// Where nodes were halted in one halt: what is above the line is the state that was seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CutLine {
    /// The halt's number.
    pub halt: u16,
    /// The marks of its halt records, by lane.
    pub marks: Vec<usize>,
}

impl<'a> Lanes<'a> {
    /// Lays out a selection.
    #[must_use]
    pub fn new(history: &'a History, selection: &Selection) -> Self {
        let nodes: Vec<u8> = selection.nodes(history).into_iter().collect();
        let lane_of: HashMap<u8, usize> = nodes.iter().enumerate().map(|(lane, node)| (*node, lane)).collect();
        let phases = phases(history);
        let mut places = selection.places.clone();
        // Stable, and phases never fall along causes: it stays a linear extension.
        places.sort_by_key(|place| phases[*place]);
        let PlacedNotes { mut before, general } = place_notes(history);
        let mut marks: Vec<Mark<'a>> = Vec::with_capacity(places.len());
        let mut lanes: Vec<Vec<usize>> = vec![Vec::new(); nodes.len()];
        let (mut at, mut rows) = (0, 0);
        while at < places.len() {
            // The halts of one cut lie in one row.
            let length =
                places[at..].iter().take_while(|place| same_cut(history, &phases, places[at], **place)).count();
            let group = &places[at..at + length.max(1)];
            let mut row = 0;
            for place in group {
                let above = if before.contains_key(place) { 1 } else { 0 };
                row = row.max(first_free_row(history, &marks, &lanes, *place) + above);
            }
            for place in group {
                let lane = lane_of[&history.events[*place].id.node];
                lanes[lane].push(marks.len());
                let marked = selection.marked.get(place).cloned();
                let is_later = selection.past_of.is_some_and(|of| *place != of && !history.before(*place, of));
                let notes = before.remove(place).unwrap_or_default();
                marks.push(Mark { place: *place, lane, row, notes, marked, is_later });
            }
            rows = rows.max(row + 1);
            at += group.len();
        }
        let (arrows, cuts) = (arrows(history, selection, &marks, &lane_of), cuts(history, &marks));
        let bars = bars(history, &marks, &lanes, &lane_of);
        let hidden = (selection.before, selection.after);
        let mark = |place: usize| marks.iter().position(|mark| mark.place == place);
        let unordered =
            selection.unordered.iter().filter_map(|(one, other)| Some((mark(*one)?, mark(*other)?))).collect();
        Self { history, nodes, marks, arrows, cuts, bars, general, rows, hidden, about: selection.about, unordered }
    }
}

/// For each event, how many halts had happened: an odd number for the halt itself. Never falls along causes.
fn phases(history: &History) -> Vec<u32> {
    let mut ordinals: HashMap<u16, u32> = HashMap::new();
    let mut of_node: HashMap<u8, u32> = HashMap::new();
    let mut phases: Vec<u32> = Vec::with_capacity(history.events.len());
    for event in &history.events {
        let mine = of_node.entry(event.id.node).or_default();
        let sent = event.partner.filter(|_| event.kind() == EventKind::Receive).and_then(|send| history.index_of(send));
        let mut phase = (*mine).max(sent.and_then(|send| phases.get(send)).copied().unwrap_or(0));
        *mine = phase;
        if event.kind() == EventKind::Halt {
            let next = 2 * ordinals.len() as u32 + 1;
            phase = phase.max(*ordinals.entry(event.what.arg).or_insert(next));
            *mine = phase + 1;
        }
        phases.push(phase);
    }
    phases
}

fn same_cut(history: &History, phases: &[u32], one: usize, other: usize) -> bool {
    let halt = |place: usize| {
        let event = &history.events[place];
        (event.kind() == EventKind::Halt).then_some((event.what.arg, phases[place]))
    };
    one == other || halt(one).is_some() && halt(one) == halt(other)
}

/// The first row below everything shown that happened before.
fn first_free_row(history: &History, marks: &[Mark<'_>], lanes: &[Vec<usize>], place: usize) -> usize {
    let below = |lane: &Vec<usize>| {
        let known = lane.partition_point(|mark| history.before(marks[*mark].place, place));
        known.checked_sub(1).map_or(0, |last| marks[lane[last]].row + 1)
    };
    lanes.iter().map(below).max().unwrap_or(0)
}

fn arrows(history: &History, selection: &Selection, marks: &[Mark<'_>], lane_of: &HashMap<u8, usize>) -> Vec<Arrow> {
    let shown: HashMap<usize, usize> = marks.iter().enumerate().map(|(at, mark)| (mark.place, at)).collect();
    let mut arrows = order_arrows(history, selection, &shown);
    // Between these lanes an arrow says already where the mark's order comes from or leads to.
    let lane = |mark: usize| marks[mark].lane;
    let ends = arrows.iter().map(|arrow| match *arrow {
        Arrow::Hidden { from, to } => [(from, true, lane(to)), (to, false, lane(from))],
        _ => [(0, false, usize::MAX); 2],
    });
    let said: std::collections::HashSet<(usize, bool, usize)> = ends.flatten().collect();
    for (at, mark) in marks.iter().enumerate() {
        let event = &history.events[mark.place];
        let partner = event.partner.and_then(|id| history.index_of(id));
        let partner_mark = partner.and_then(|place| shown.get(&place).copied());
        let ports = history.header.node(event.id.node).into_iter().flat_map(|node| &node.ports);
        let peer = || ports.into_iter().find(|port| u16::from(port.id) == event.what.arg).map(|port| port.peer);
        let is_said = |sends, lane: Option<usize>| {
            partner.is_some() && lane.is_some_and(|lane| said.contains(&(at, sends, lane)))
        };
        match (event.kind(), partner_mark) {
            (EventKind::Receive, Some(from)) => arrows.push(Arrow::Message { from, to: at }),
            (EventKind::Receive, None) => {
                let lane = peer().and_then(|peer| lane_of.get(&peer).copied());
                if !is_said(false, lane) {
                    arrows.push(Arrow::Comes { to: at, lane, sent: partner.is_some() });
                }
            }
            (EventKind::Send, None) => {
                let lane = peer().and_then(|peer| lane_of.get(&peer).copied());
                if !is_said(true, lane) {
                    arrows.push(Arrow::Leaves { from: at, lane, received: partner.is_some() });
                }
            }
            _ => {}
        }
    }
    arrows
}

fn order_arrows(history: &History, selection: &Selection, shown: &HashMap<usize, usize>) -> Vec<Arrow> {
    let mark = |at: usize| shown[&selection.places[at]];
    let edges = Restricted::new(history, selection.places.clone()).edges().into_iter();
    let drawn = edges.filter_map(|Edge { from, to, kind }| {
        let (from, to) = (mark(from), mark(to));
        match kind {
            EdgeKind::Hidden => Some(Arrow::Hidden { from, to }),
            EdgeKind::Data => Some(Arrow::Data { from, to }),
            EdgeKind::Step | EdgeKind::Message => None,
        }
    });
    drawn.collect()
}

fn bars(history: &History, marks: &[Mark<'_>], lanes: &[Vec<usize>], lane_of: &HashMap<u8, usize>) -> Vec<Bar> {
    let of = |span: crate::Span| {
        let lane = &lanes[*lane_of.get(&span.node)?];
        let begin = lane.partition_point(|mark| marks[*mark].place < span.enter);
        let end = span.leave.map_or(lane.len(), |leave| lane.partition_point(|mark| marks[*mark].place <= leave));
        let (first, last) = (*lane[begin..end.max(begin)].first()?, *lane[begin..end].last()?);
        let name = history.header.about(span.node, &history.events[span.enter].what).unwrap_or_default();
        Some(Bar { name, depth: span.depth, ends: (first, last), is_ended: span.leave.is_some() })
    };
    // A span that was collapsed is an event and has no length.
    history.spans().into_iter().filter(|span| history.events[span.enter].what.value == 0).filter_map(of).collect()
}

fn cuts(history: &History, marks: &[Mark<'_>]) -> Vec<CutLine> {
    let mut cuts: Vec<CutLine> = Vec::new();
    for (at, mark) in marks.iter().enumerate() {
        let event = &history.events[mark.place];
        if event.kind() != EventKind::Halt {
            continue;
        }
        // A node that is halted again under an old number, after a reset, is on another line.
        let same =
            |cut: &&mut CutLine| cut.halt == event.what.arg && cut.marks.iter().all(|of| marks[*of].lane != mark.lane);
        match cuts.iter_mut().find(same) {
            Some(cut) => cut.marks.push(at),
            None => cuts.push(CutLine { halt: event.what.arg, marks: vec![at] }),
        }
    }
    for cut in &mut cuts {
        cut.marks.sort_by_key(|mark| marks[*mark].lane);
    }
    cuts
}

//! Program graph, elaborated graph and event graph (Hyder 3.1, 6.4), and what maps between them.
//!
//! A template is an action as the firmware's source has it: `send(ring)` of the program. An action is what one node makes
//! of it: `send(ring)` of left0. An event is one time it happened. The event graph has an arc from each event to the next
//! of its node and from each send to its receive, and, where what lies between two events is not shown, from one to the
//! other (table 6-4); folding all events of an action into one gives the elaborated graph, and folding all actions of a
//! template the program graph.
use super::Selection;
use crate::{Edge, EdgeKind, History, Restricted};
use serde::Serialize;
use std::collections::BTreeMap;

/// Which graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GraphKind {
    /// Templates: actions as the source of each firmware has them.
    Program,
    /// Actions of each node.
    Elaborated,
    /// Events.
    Event,
}

/// A graph of a trace.
#[derive(Clone, Debug, Serialize)]
pub struct Graph {
    /// The points, in the order in which they first happened.
    pub spots: Vec<Spot>,
    /// What leads to what.
    pub arcs: Vec<Arc>,
    /// The names of the groups: firmware images, or nodes.
    pub groups: Vec<String>,
}

/// A point of a graph.
#[derive(Clone, Debug, Serialize)]
pub struct Spot {
    /// `send(ring)`, with its number for an event.
    pub label: String,
    /// Which group.
    pub group: usize,
    /// How often it happened.
    pub count: u64,
    /// Its action, which maps an event to the elaborated graph: `left0 send(ring)`. None of a template.
    pub action: Option<String>,
    /// Its template, which maps it to the program graph: `firmware.elf send(ring)`.
    pub template: String,
    /// The name of the first event, and of the last.
    pub events: Option<(String, String)>,
}

/// An arc of a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Arc {
    /// From which spot.
    pub from: usize,
    /// To which.
    pub to: usize,
    /// What it stands for.
    pub kind: EdgeKind,
    /// How often it was taken; 0 for a channel that the program has and nobody used.
    pub count: u64,
}

/// An action without the value it had: all of its events are one.
fn action(history: &History, place: usize) -> String {
    let event = &history.events[place];
    let text = history.header.action(event.id.node, &event.what);
    text.split(" = ").next().unwrap_or_default().into()
}

/// What a node's program is called: the firmware's file, without its folder.
fn program(history: &History, node: u8) -> String {
    let board = history.header.node(node).and_then(|node| history.header.boards.get(node.board));
    let file = board.map_or("firmware", |board| board.firmware.as_str());
    let name = file.rsplit(['/', '\\']).next().filter(|name| !name.is_empty()).unwrap_or("firmware");
    let same = |other: &&crate::BoardInfo| {
        board.is_some_and(|board| board.identity != other.identity && board.firmware.ends_with(name))
    };
    // Two builds under one name are two programs.
    match (history.header.boards.iter().find(same), board) {
        (Some(_), Some(board)) => format!("{name} {}", board.identity),
        _ => name.into(),
    }
}

impl Graph {
    /// The graph of a selection.
    #[must_use]
    pub fn new(history: &History, selection: &Selection, kind: GraphKind) -> Self {
        let mut builder = Builder {
            graph: Self { spots: Vec::new(), arcs: Vec::new(), groups: Vec::new() },
            keys: BTreeMap::new(),
            arcs: BTreeMap::new(),
            kind,
        };
        let spots: Vec<usize> = selection.places.iter().map(|place| builder.spot(history, *place)).collect();
        for Edge { from, to, kind } in Restricted::new(history, selection.places.clone()).edges() {
            builder.arc(spots[from], spots[to], kind, 1);
        }
        if kind == GraphKind::Program {
            builder.add_unused_channels(history);
        }
        let Builder { mut graph, arcs, .. } = builder;
        graph.arcs = arcs.into_iter().map(|((from, to, kind), count)| Arc { from, to, kind, count }).collect();
        graph
    }
}

struct Builder {
    graph: Graph,
    keys: BTreeMap<String, usize>,
    arcs: BTreeMap<(usize, usize, EdgeKind), u64>,
    kind: GraphKind,
}

impl Builder {
    fn spot(&mut self, history: &History, place: usize) -> usize {
        let event = &history.events[place];
        let (what, program, node) =
            (action(history, place), program(history, event.id.node), history.node_name(event.id.node));
        let (name, template) = (history.header.event_name(event.id), format!("{program} {what}"));
        let action = format!("{node} {what}");
        let (key, group, label) = match self.kind {
            GraphKind::Program => (template.clone(), program, what),
            GraphKind::Elaborated => (action.clone(), node, what),
            GraphKind::Event => {
                (place.to_string(), node, format!("{name} {}", history.header.action(event.id.node, &event.what)))
            }
        };
        let action = (self.kind != GraphKind::Program).then_some(action);
        let spot = self.ensure(key, group, label, action, template);
        let spot_data = &mut self.graph.spots[spot];
        spot_data.count += 1;
        let first = spot_data.events.take().map_or_else(|| name.clone(), |(first, _)| first);
        spot_data.events = Some((first, name));
        spot
    }

    fn ensure(&mut self, key: String, group: String, label: String, action: Option<String>, template: String) -> usize {
        let groups = &mut self.graph.groups;
        let group = groups.iter().position(|name| *name == group).unwrap_or_else(|| {
            groups.push(group);
            groups.len() - 1
        });
        let spots = &mut self.graph.spots;
        *self.keys.entry(key).or_insert_with(|| {
            spots.push(Spot { label, group, count: 0, action, template, events: None });
            spots.len() - 1
        })
    }

    fn arc(&mut self, from: usize, to: usize, kind: EdgeKind, count: u64) {
        *self.arcs.entry((from, to, kind)).or_default() += count;
    }

    /// The program has its channels whether or not anything was sent.
    fn add_unused_channels(&mut self, history: &History) {
        for channel in &history.header.channels {
            let mut end = |node: u8, port: u8, verb: &str| {
                let what = format!("{verb}({})", history.port_name(node, port));
                let program = program(history, node);
                let template = format!("{program} {what}");
                self.ensure(template.clone(), program, what, None, template)
            };
            let (from, to) = (end(channel.from, channel.out, "send"), end(channel.to, channel.into, "recv"));
            self.arc(from, to, EdgeKind::Message, 0);
        }
    }
}

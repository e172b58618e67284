//! The control flow of the tasks of a node.
use super::setup::Spawn;
use super::sources::Index;
use super::value::{Env, Value};
use super::{Node, Note, Place, Port};
use crate::{Action, Builder, ChannelId, StatementId, TaskId, WatchId};
use std::collections::{HashMap, HashSet};
use stillpoint_core::NodeId;
use syn::{Block, Stmt};

/// The statements after which control goes on.
pub type Ends = Vec<StatementId>;

/// The variant that says which way control went, with the ends of that way and the value in it.
pub type Way = (&'static str, Ends, Value);

/// Where control is after an expression, and its value.
#[derive(Default)]
pub struct After {
    pub ends: Ends,
    pub value: Value,
    /// If the value says which way control went: every way.
    pub ways: Vec<Way>,
}

impl After {
    pub fn new(ends: Ends, value: Value) -> Self {
        Self { ends, value, ways: Vec::new() }
    }

    pub fn clean(ends: Ends) -> Self {
        Self::new(ends, Value::Clean)
    }

    /// After one of several ways, each of which is told by its variant.
    pub fn one_of(ways: Vec<Way>) -> Self {
        let mut ends = Ends::new();
        ways.iter().for_each(|(_, way, _)| merge(&mut ends, way));
        let value = Value::one_of(ways.iter().map(|(_, _, value)| value.clone()));
        Self { ends, value, ways }
    }
}

pub fn merge(into: &mut Ends, more: &[StatementId]) {
    for end in more {
        if !into.contains(end) {
            into.push(*end);
        }
    }
}

/// Where control leaves a loop or a labelled block, with its label.
pub struct Around {
    pub label: Option<String>,
    /// Where a loop goes on; a block has none.
    pub head: Option<StatementId>,
    pub ends: Ends,
    pub value: Value,
}

/// What is known of the whole system while it is lowered.
pub struct System<'a> {
    pub ports: &'a [Port],
    pub channels: Vec<ChannelId>,
    pub builder: Builder,
    pub notes: Vec<Note>,
    pub places: HashMap<StatementId, Place>,
    watches: HashMap<(NodeId, String), WatchId>,
    /// Statements that may set any watch of their node; they get one statement for each watch at the end.
    pub unknown_sets: Vec<(NodeId, TaskId, StatementId, StatementId)>,
    pub names: Vec<String>,
}

impl<'a> System<'a> {
    pub fn new(mut builder: Builder, ports: &'a [Port]) -> Self {
        let name = |port: &Port| format!("{}.{}", port.from.0.0, port.from.1);
        let channels = ports.iter().map(|port| builder.channel(&name(port), port.from.0, port.to.0)).collect();
        let (watches, places) = (HashMap::new(), HashMap::new());
        Self {
            ports,
            channels,
            builder,
            notes: Vec::new(),
            places,
            watches,
            unknown_sets: Vec::new(),
            names: Vec::new(),
        }
    }

    pub fn finish(&mut self) {
        for (node, task, before, after) in std::mem::take(&mut self.unknown_sets) {
            let mut own: Vec<_> = self.watches.iter().filter(|((of, _), _)| *of == node).map(|(_, id)| *id).collect();
            own.sort_unstable();
            for watch in own {
                let id = self.builder.statement(task, Action::Write(watch));
                self.places.extend(self.places.get(&before).cloned().map(|place| (id, place)));
                self.builder.edge(before, id);
                self.builder.edge(id, after);
            }
        }
        self.notes.sort_by(|one, other| (&one.place, &one.text).cmp(&(&other.place, &other.text)));
    }
}

/// Lowers the firmware of one node.
pub struct Lowering<'a, 's> {
    pub system: &'s mut System<'a>,
    pub index: &'s Index,
    pub inert: &'s [bool],
    pub node: &'s Node,
    pub task: TaskId,
    /// Whether this thread of control is that of the node; unknown before its agent begins.
    pub here: Option<bool>,
    pub file: String,
    pub env: Env,
    pub loops: Vec<Around>,
    pub returns: Vec<(Ends, Value)>,
    pub calls: Vec<usize>,
    /// How many loops and closures are around that may run more than once.
    pub repeats: usize,
    pub spawns: Vec<Spawn>,
    /// The tasks that are spawned by some node.
    pub called: &'s mut HashSet<usize>,
    pub begun: bool,
    /// Whether something is kept that may use ports and watches at any time.
    pub escaped: Option<Place>,
}

impl<'a, 's> Lowering<'a, 's> {
    /// Begins with a node.
    pub fn new(
        system: &'s mut System<'a>,
        (index, inert): (&'s Index, &'s [bool]),
        node: &'s Node,
        called: &'s mut HashSet<usize>,
    ) -> Self {
        Self {
            system,
            index,
            inert,
            node,
            task: TaskId(0),
            here: Some(true),
            file: String::new(),
            env: Env::new(),
            loops: Vec::new(),
            returns: Vec::new(),
            calls: Vec::new(),
            repeats: 0,
            spawns: Vec::new(),
            called,
            begun: false,
            escaped: None,
        }
    }
}

impl Lowering<'_, '_> {
    /// A port of the node by its name and direction.
    pub fn port(&self, name: &str, out: bool) -> Value {
        if self.here != Some(true) {
            return Value::Absent;
        }
        let is_own = |end: &(NodeId, String)| end.0 == self.node.id && end.1 == name;
        let mut ports = self.system.ports.iter();
        let known = ports.clone().any(|port| is_own(if out { &port.from } else { &port.to }));
        let is_paired = ports.any(|port| is_own(&port.from) || is_own(&port.to));
        let unpaired = !is_paired && self.node.ports.iter().any(|port| port == name);
        if known || unpaired { Value::Port(name.to_owned()) } else { Value::Absent }
    }

    /// A watch of the node by its name.
    pub fn watch(&mut self, name: &str) -> Value {
        if self.here != Some(true) {
            return Value::Absent;
        }
        let (node, full) = (self.node.id, format!("{}.{name}", self.node.id.0));
        let builder = &mut self.system.builder;
        Value::Watch(*self.system.watches.entry((node, name.to_owned())).or_insert_with(|| builder.watch(&full, node)))
    }

    pub fn place(&self, at: proc_macro2::Span) -> Place {
        Place { file: self.file.clone(), line: at.start().line }
    }

    pub fn note_at(&mut self, place: Place, text: String) {
        let note = Note { place, text };
        if self.here == Some(true) && !self.system.notes.contains(&note) {
            self.system.notes.push(note);
        }
    }

    pub fn statement(&mut self, action: Action, place: &Place, from: &[StatementId]) -> StatementId {
        let id = self.system.builder.statement(self.task, action);
        self.system.places.insert(id, place.clone());
        from.iter().for_each(|last| self.system.builder.edge(*last, id));
        id
    }

    pub fn block(&mut self, block: &Block, from: Ends) -> After {
        let outer = self.env.clone();
        let mut after = After::clean(from);
        let count = block.stmts.len();
        for (at, statement) in block.stmts.iter().enumerate() {
            let is_last = at + 1 == count;
            after = match statement {
                Stmt::Local(local) => After::clean(self.local(local, after.ends)),
                Stmt::Expr(expression, semicolon) => {
                    let done = self.expression(expression, after.ends);
                    if is_last && semicolon.is_none() { done } else { After::clean(done.ends) }
                }
                Stmt::Macro(call) => {
                    let done = self.macro_call(&call.mac, after.ends);
                    if is_last && call.semi_token.is_none() { done } else { After::clean(done.ends) }
                }
                Stmt::Item(_) => After::clean(after.ends),
            };
        }
        // Names that the block has bound end with it; what it has assigned to names outside is noted where it does so.
        self.env = outer;
        after
    }

    fn local(&mut self, local: &syn::Local, from: Ends) -> Ends {
        let Some(init) = &local.init else {
            Value::Clean.bind(&local.pat, &mut self.env);
            return from;
        };
        let after = self.expression(&init.expr, from);
        let mut ends = after.ends;
        if let Some((_, otherwise)) = &init.diverge {
            let (fits, differs) = self.split(&local.pat, after.ways, &ends);
            self.expression(otherwise, differs);
            ends = fits;
        }
        after.value.bind(&local.pat, &mut self.env);
        ends
    }

    /// A send or receive on one port, or on any port of the node.
    pub fn on_port(&mut self, port: Option<&str>, receives: bool, place: &Place, from: &Ends) -> Ends {
        let of = |end: &(NodeId, String)| end.0 == self.node.id && port.is_none_or(|port| end.1 == port);
        let all = self.system.ports.iter().zip(&self.system.channels);
        let found = all.filter(|(ends, _)| of(if receives { &ends.to } else { &ends.from })).map(|(_, id)| *id);
        let action = |id| if receives { Action::Receive(id) } else { Action::Send(id) };
        let actions: Vec<_> = found.map(action).collect();
        if actions.is_empty() {
            // A port whose other end is unknown: nothing of the analysis goes through it.
            return vec![self.statement(Action::Wait, place, from)];
        }
        actions.into_iter().map(|action| self.statement(action, place, from)).collect()
    }

    pub fn any_watch(&mut self, place: &Place, why: &str, from: Ends) -> Ends {
        if self.here != Some(true) {
            return from;
        }
        self.note_at(place.clone(), format!("{why}: taken for any watch of the node"));
        self.set_any(place, from)
    }

    fn set_any(&mut self, place: &Place, from: Ends) -> Ends {
        let before = self.statement(Action::Local, place, &from);
        let after = self.statement(Action::Local, place, &[before]);
        self.system.builder.edge(before, after);
        self.system.unknown_sets.push((self.node.id, self.task, before, after));
        vec![after]
    }

    /// Something that may use any port and any watch of the node, any number of times.
    pub fn anything(&mut self, place: &Place, why: &str, from: Ends) -> Ends {
        if self.here != Some(true) {
            return from;
        }
        self.note_at(place.clone(), format!("{why}: taken for any use of the node's ports and watches"));
        let head = self.statement(Action::Local, place, &from);
        let mut again = self.on_port(None, true, place, &vec![head]);
        again.extend(self.on_port(None, false, place, &vec![head]));
        again.push(self.statement(Action::Wait, place, &[head]));
        again.extend(self.set_any(place, vec![head]));
        again.iter().for_each(|last| self.system.builder.edge(*last, head));
        vec![head]
    }

    /// The same for something that is kept: it may happen at any time from now on.
    pub fn escape(&mut self, place: &Place, why: &str, from: Ends) -> Ends {
        if self.here == Some(true) {
            self.escaped.get_or_insert_with(|| place.clone());
        }
        self.anything(place, why, from)
    }

    /// Takes the statements since `first` as running in any order and any number of times, from `from` on.
    pub fn shuffle(&mut self, first: usize, place: &Place, from: &Ends) -> Ends {
        let head = self.statement(Action::Wait, place, from);
        for at in first..head.index() {
            let one = StatementId(at as u32);
            self.system.builder.edge(head, one);
            self.system.builder.edge(one, head);
        }
        vec![head]
    }
}

//! The control flow of task bodies.
use super::{ExtractError, Instance, Note, Place, Port};
use crate::{Action, Builder, ChannelId, StatementId, TaskId, WatchId};
use std::collections::HashMap;
use stillpoint_core::NodeId;
use syn::{Block, Expr, Item, Pat, Stmt};

#[path = "expression.rs"]
mod expression;

/// A function or method with a body.
pub struct Function {
    file: String,
    parameters: Vec<Option<String>>,
    body: Block,
}

fn name_of(pattern: &Pat) -> Option<String> {
    match pattern {
        Pat::Ident(ident) => Some(ident.ident.to_string()),
        Pat::Type(typed) => name_of(&typed.pat),
        _ => None,
    }
}

/// Collects the functions of a file by their names.
pub fn collect(file: &str, items: &[Item], into: &mut HashMap<String, Vec<Function>>) {
    let mut add = |signature: &syn::Signature, body: &Block| {
        let parameters = signature.inputs.iter().filter_map(|input| match input {
            syn::FnArg::Receiver(_) => None,
            syn::FnArg::Typed(typed) => Some(name_of(&typed.pat)),
        });
        let function = Function { file: file.into(), parameters: parameters.collect(), body: body.clone() };
        into.entry(signature.ident.to_string()).or_default().push(function);
    };
    for item in items {
        match item {
            Item::Fn(function) => add(&function.sig, &function.block),
            Item::Impl(block) => block.items.iter().for_each(|item| {
                if let syn::ImplItem::Fn(function) = item {
                    add(&function.sig, &function.block);
                }
            }),
            _ => {}
        }
    }
    for item in items {
        if let Item::Mod(syn::ItemMod { content: Some((_, items)), .. }) = item {
            collect(file, items, into);
        }
    }
}

/// What a variable is.
#[derive(Clone)]
enum Value {
    Port(String),
    Watch(WatchId),
}

/// Where control leaves a loop, with the loop's label.
struct Around {
    label: Option<String>,
    head: StatementId,
    ends: Vec<StatementId>,
}

/// The statements after which control goes on.
type Ends = Vec<StatementId>;

/// Lowers tasks one after another.
pub struct Lowering<'a> {
    builder: Builder,
    functions: &'a HashMap<String, Vec<Function>>,
    ports: &'a [Port],
    channels: &'a [ChannelId],
    watches: HashMap<(NodeId, String), WatchId>,
    notes: Vec<Note>,
    places: HashMap<StatementId, Place>,
    /// Statements that may set any watch of their node; they get one statement for each watch at the end.
    unknown_sets: Vec<(NodeId, TaskId, StatementId, StatementId)>,
    task: TaskId,
    node: NodeId,
    file: String,
    values: HashMap<String, Value>,
    loops: Vec<Around>,
    returns: Vec<Ends>,
    calls: Vec<String>,
}

impl<'a> Lowering<'a> {
    pub fn new(
        builder: Builder,
        functions: &'a HashMap<String, Vec<Function>>,
        ports: &'a [Port],
        channels: &'a [ChannelId],
    ) -> Self {
        Self {
            builder,
            functions,
            ports,
            channels,
            watches: HashMap::new(),
            notes: Vec::new(),
            places: HashMap::new(),
            unknown_sets: Vec::new(),
            task: TaskId(0),
            node: NodeId(0),
            file: String::new(),
            values: HashMap::new(),
            loops: Vec::new(),
            returns: Vec::new(),
            calls: Vec::new(),
        }
    }

    pub fn task(&mut self, instance: &Instance) -> Result<(), ExtractError> {
        let missing = || ExtractError::NoFunction(instance.function.clone());
        let function = self.functions.get(&instance.function).and_then(|all| all.first()).ok_or_else(missing)?;
        self.values.clear();
        for (parameter, port) in &instance.ports {
            let has = |end: &(NodeId, String)| end.0 == instance.node && end.1 == *port;
            if !self.ports.iter().any(|channel| has(&channel.from) || has(&channel.to)) {
                let (node, function) = (instance.node.0, instance.function.clone());
                return Err(ExtractError::NoPort { node, port: port.clone(), function });
            }
            self.values.insert(parameter.clone(), Value::Port(port.clone()));
        }
        (self.node, self.task) = (instance.node, self.builder.task(instance.node, instance.preempts));
        self.file.clone_from(&function.file);
        self.calls = vec![instance.function.clone()];
        self.returns.push(Vec::new());
        let entry = self.builder.entry(self.task);
        self.block(&function.body, vec![entry]);
        self.returns.pop();
        Ok(())
    }

    pub fn finish(mut self) -> (Builder, Vec<Note>, HashMap<StatementId, Place>) {
        for (node, task, before, after) in std::mem::take(&mut self.unknown_sets) {
            let own: Vec<_> = self.watches.iter().filter(|((of, _), _)| *of == node).map(|(_, watch)| *watch).collect();
            for watch in own {
                let id = self.builder.statement(task, Action::Write(watch));
                self.places.extend(self.places.get(&before).cloned().map(|place| (id, place)));
                self.builder.edge(before, id);
                self.builder.edge(id, after);
            }
        }
        (self.builder, self.notes, self.places)
    }

    fn place(&self, at: proc_macro2::Span) -> Place {
        Place { file: self.file.clone(), line: at.start().line }
    }

    fn note(&mut self, at: proc_macro2::Span, text: String) {
        let note = Note { place: self.place(at), text };
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    fn statement(&mut self, action: Action, at: proc_macro2::Span, from: &[StatementId]) -> StatementId {
        let id = self.builder.statement(self.task, action);
        self.places.insert(id, self.place(at));
        from.iter().for_each(|last| self.builder.edge(*last, id));
        id
    }

    fn block(&mut self, block: &Block, mut from: Ends) -> Ends {
        let outer = self.values.clone();
        for statement in &block.stmts {
            from = match statement {
                Stmt::Local(local) => self.local(local, from),
                Stmt::Expr(expression, _) => self.expression(expression, from),
                Stmt::Macro(call) => self.tokens(&call.mac, from),
                Stmt::Item(_) => from,
            };
        }
        self.values = outer;
        from
    }

    fn local(&mut self, local: &syn::Local, from: Ends) -> Ends {
        let Some(init) = &local.init else { return from };
        let after = self.expression(&init.expr, from);
        if let Some((_, otherwise)) = &init.diverge {
            self.expression(otherwise, after.clone());
        }
        if let Some(name) = name_of(&local.pat) {
            match self.value(&init.expr) {
                Some(value) => self.values.insert(name, value),
                None => self.values.remove(&name),
            };
        }
        after
    }

    /// The port or watch that an expression is.
    fn value(&mut self, expression: &Expr) -> Option<Value> {
        match expression {
            Expr::Path(path) => self.values.get(&path.path.get_ident()?.to_string()).cloned(),
            Expr::Reference(reference) => self.value(&reference.expr),
            Expr::Paren(inner) => self.value(&inner.expr),
            Expr::Try(inner) => self.value(&inner.expr),
            Expr::MethodCall(call) if call.method == "unwrap" || call.method == "expect" => self.value(&call.receiver),
            Expr::Macro(call) if call.mac.path.segments.last().is_some_and(|last| last.ident == "watch") => {
                let text = call.mac.tokens.clone().into_iter().last()?.to_string();
                let name = text.strip_prefix('"')?.strip_suffix('"')?.to_string();
                let (node, builder) = (self.node, &mut self.builder);
                let full = format!("{}.{name}", node.0);
                Some(Value::Watch(*self.watches.entry((node, name)).or_insert_with(|| builder.watch(&full, node))))
            }
            _ => None,
        }
    }
}

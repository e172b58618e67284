//! Which tasks and interrupt handlers a node has.
use super::inert::hidden_uses;
use super::lower::Lowering;
use super::value::{Env, Value};
use super::{ExtractError, Place};
use crate::Action;

/// A task that is spawned.
#[derive(Clone, PartialEq)]
pub struct Spawn {
    pub function: usize,
    pub arguments: Vec<Value>,
    pub copies: usize,
}

/// Most tasks of a node, and most statements of a system. Beyond them sources are not those of a firmware.
const TASKS: usize = 256;
const STATEMENTS: usize = 200_000;

impl Lowering<'_, '_> {
    /// Adds the tasks and interrupt handlers of the node.
    pub fn firmware(&mut self) -> Result<(), ExtractError> {
        self.setup()?;
        self.tasks()?;
        self.handlers();
        Ok(())
    }

    fn setup(&mut self) -> Result<(), ExtractError> {
        let before = (self.system.builder.clone(), self.system.places.clone(), self.system.unknown_sets.len());
        self.begin_task(false, "main");
        let first = self.system.builder.len();
        for at in 0..self.index.functions.len() {
            if self.index.functions[at].is_entry {
                let entry = self.system.builder.entry(self.task);
                self.here = None;
                self.inline(&[at], &[], vec![entry]);
            }
        }
        if !self.begun {
            return Err(ExtractError::NoNode(self.node.name.clone()));
        }
        let silent = |action: Action| matches!(action, Action::Local | Action::Wait);
        if self.system.builder.actions(first).all(silent) && self.system.unknown_sets.len() == before.2 {
            // A `main` that only opens ports and spawns is no task.
            (self.system.builder, self.system.places) = (before.0, before.1);
            self.system.names.pop();
        }
        self.here = Some(true);
        Ok(())
    }

    fn tasks(&mut self) -> Result<(), ExtractError> {
        let preempts = self.index.interrupt_executor.is_some();
        let mut at = 0;
        while let Some(spawn) = self.spawns.get(at).cloned() {
            at += 1;
            if spawn.arguments.iter().any(Value::has_absent) {
                // A task of another node: this one does not have its ports.
                continue;
            }
            if at > TASKS || self.system.builder.len() > STATEMENTS {
                return Err(ExtractError::TooLarge(self.node.name.clone()));
            }
            for _ in 0..spawn.copies {
                self.run_task(spawn.function, &spawn.arguments, preempts);
            }
        }
        Ok(())
    }

    fn run_task(&mut self, function: usize, arguments: &[Value], preempts: bool) {
        let name = self.index.functions[function].name.clone();
        self.begin_task(preempts, &name);
        let entry = self.system.builder.entry(self.task);
        let (file, line) = (self.index.functions[function].file.clone(), self.index.functions[function].line);
        self.system.places.insert(entry, Place { file, line });
        self.inline(&[function], arguments, vec![entry]);
    }

    /// Interrupt handlers run between any two statements.
    fn handlers(&mut self) {
        for at in hidden_uses(self.index, self.inert) {
            let function = &self.index.functions[at];
            let place = Place { file: function.file.clone(), line: function.line };
            let text = format!("`{}` is called without a name, and may use a port or watch", function.name);
            self.note_at(place.clone(), text);
            self.escaped.get_or_insert(place);
        }
        for at in 0..self.index.functions.len() {
            if self.index.functions[at].is_handler && !self.inert[at] {
                self.run_task(at, &[], true);
            }
        }
        if let Some(place) = self.escaped.take() {
            self.begin_task(true, "kept code");
            let entry = self.system.builder.entry(self.task);
            self.system.places.insert(entry, place.clone());
            self.anything(&place, "code that is kept may run at any time", vec![entry]);
        }
    }

    /// Adds the tasks that no node is seen to spawn: they may run on any.
    pub fn unspawned(&mut self) {
        for at in 0..self.index.functions.len() {
            let function = &self.index.functions[at];
            if function.pool.is_none() || self.called.contains(&at) {
                continue;
            }
            let place = Place { file: function.file.clone(), line: function.line };
            let name = &function.name;
            let text = format!("task `{name}` is spawned nowhere: taken for a task of each node with any of its ports");
            self.note_at(place, text);
            let arguments = vec![Value::Unknown; function.parameters.len()];
            self.run_task(at, &arguments, true);
        }
    }

    fn begin_task(&mut self, preempts: bool, name: &str) {
        self.task = self.system.builder.task(self.node.id, preempts);
        self.system.names.push(name.to_owned());
        (self.repeats, self.calls, self.loops, self.returns) = (0, Vec::new(), Vec::new(), Vec::new());
        self.env = Env::new();
    }

    /// The agent of the calling core begins under one of these names.
    pub fn begin_agent(&mut self, name: &Value) -> Value {
        let may_be = |value: &Value| match value {
            Value::Name(name) => *name == self.node.name,
            _ => true,
        };
        let is_here = match name {
            Value::OneOf(all) => all.iter().any(may_be),
            other => may_be(other),
        };
        self.here = Some(is_here);
        self.begun |= is_here;
        Value::Agent
    }

    pub fn spawn(&mut self, function: usize, arguments: Vec<Value>) {
        self.called.insert(function);
        if self.here != Some(true) {
            return;
        }
        let pool = self.index.functions[function].pool.unwrap_or(1);
        let copies = if self.repeats > 0 { pool } else { 1 };
        let spawn = Spawn { function, arguments, copies };
        // Two spawns in a row of the same task fill its pool.
        let same = self.spawns.iter().filter(|known| **known == spawn).count();
        if same < pool {
            self.spawns.push(spawn);
        }
    }
}

//! Variables of tasks, as they are written: `left1/pass.token`, `left0/pass[1].inbox.peer`, `left0/core.count`.
use super::parse::{Query, Step, parse};
use super::read::Reader;
use super::{Limits, PrintError, Read};
use crate::Memory;
use crate::dwarf::{DebugTypes, Place};
use crate::expr::{ExprError, Word};

/// A variable of a task, or all of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskQuery {
    /// The whole text.
    pub text: String,
    /// The node.
    pub node: String,
    /// The function of the task.
    pub task: String,
    /// Which of a pool.
    pub instance: Option<u64>,
    /// The variable; without one all are meant.
    pub variable: Option<Word>,
    steps: Vec<Step>,
}

/// Reads what to print if it is of a task: a node and a slash come first.
pub fn parse_task(text: &str) -> Option<Result<TaskQuery, ExprError>> {
    let (before, rest) = text.split_once('/')?;
    let stars = before.len() - before.trim_start_matches(['*', ' ', '(']).len();
    let node = before[stars..].trim();
    if node.is_empty() {
        return None;
    }
    // Without the node it reads like the path of a static.
    let query = parse(&format!("{}{rest}", &before[..stars]));
    let ahead = node.len() + 1;
    Some(query.map(|query| build(text, node, query)).map_err(|error| {
        let span = error.span.start + ahead..error.span.end + ahead;
        ExprError { text: text.to_owned(), span, ..error }
    }))
}

fn build(text: &str, node: &str, query: Query) -> TaskQuery {
    let mut steps = query.steps.into_iter().peekable();
    let instance = match steps.peek() {
        Some(Step::Index(index, _)) => Some(*index),
        _ => None,
    };
    if instance.is_some() {
        steps.next();
    }
    let variable = match steps.peek() {
        Some(Step::Field(word)) => Some(word.clone()),
        _ => None,
    };
    if variable.is_some() {
        steps.next();
    }
    TaskQuery {
        text: text.to_owned(),
        node: node.to_owned(),
        task: query.path.text,
        instance,
        variable,
        steps: steps.collect(),
    }
}

impl TaskQuery {
    /// Reads the part of a variable that was asked for.
    pub(crate) fn read(
        &self,
        mut place: Place,
        types: &DebugTypes,
        memory: &mut dyn Memory,
        limits: Limits,
    ) -> Result<Read, PrintError> {
        let mut reader = Reader::new(types, memory, limits);
        for step in &self.steps {
            place = reader.step(place, step, &self.text)?;
        }
        let value = reader.whole(place)?;
        Ok(Read { address: place.address, ty: types.type_name(place.ty), value })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_a_task_one_of_a_pool_and_a_variable_are_told_apart() {
        let read = |text: &str| parse_task(text).unwrap().unwrap();
        let query = read("left0/pass[1].token.lap");
        let variable = query.variable.as_ref().map(|word| word.text.as_str());
        assert_eq!(
            (query.node.as_str(), query.task.as_str(), query.instance, variable),
            ("left0", "pass", Some(1), Some("token"))
        );
        assert_eq!(query.steps.len(), 1);
        let query = read("left0/pass");
        assert_eq!((query.instance, query.variable), (None, None));
        let query = read("*left0/pass.next");
        assert_eq!((query.node.as_str(), query.steps.len()), ("left0", 1));
        assert_eq!(parse_task("RING.slots"), None);
        assert!(parse_task("left0/").unwrap().is_err());
        assert!(parse_task("left0/pass.").unwrap().is_err());
    }
}

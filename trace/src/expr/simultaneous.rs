//! Simultaneous events: local conditions of different nodes, joined by `===`.
use super::ast::{Expression, Operator, Simple, Value, ValueKind, What};
use super::names::Directory;
use super::resolve::resolve_any;
use super::span::ExprError;
use std::ops::Range;
use stillpoint_core::NodeId;
use stillpoint_core::predicate::Relation;

/// Most components of a simultaneous event.
pub const MAX_COMPONENTS: usize = 8;

/// A local condition of one node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalCondition {
    /// What it says.
    pub text: String,
    /// Whose it is.
    pub node: NodeId,
    /// The watches that it reads.
    pub watches: Vec<String>,
    /// Whether it is one comparison by `>=` or `>` of a watch with a number: true for ever once the watch only grows.
    pub grows: bool,
}

/// Whether an expression joins conditions by `===`.
#[must_use]
pub fn is_simultaneous(text: &str) -> bool {
    text.contains("===")
}

/// Reads a simultaneous event and looks up its names.
///
/// # Errors
/// It has fewer than two components or more than [`MAX_COMPONENTS`], a component is not a condition of one node on its
/// watches, or two components are of one node.
///
/// # Example: an event is no condition
/// ```
/// use stillpoint_trace::{Sketch, expr};
/// let directory = expr::Directory::of_trace(Sketch::new(&["a", "b"]).header());
/// let error = expr::simultaneous("a:send(to_b) === b:recv(from_a)", &directory).unwrap_err();
/// assert_eq!(error.problem, "an event is over at once, so it cannot hold together with others");
/// ```
pub fn simultaneous(text: &str, directory: &Directory) -> Result<Vec<LocalCondition>, ExprError> {
    let parts = parts(text);
    if parts.len() < 2 {
        let advice = "join conditions of different nodes by `===`: left0.lap == 4 === right1.lap == 5";
        return Err(ExprError::new(text, 0..text.len(), "this is one condition, not several at once", advice));
    }
    if let Some(extra) = parts.get(MAX_COMPONENTS) {
        let problem = format!("an event has at most {MAX_COMPONENTS} components, this has {}", parts.len());
        return Err(ExprError::new(text, extra.clone(), problem, "leave out those that the others imply"));
    }
    let mut event: Vec<LocalCondition> = Vec::new();
    for part in parts {
        let component = component(text, part.clone(), directory)?;
        if let Some(same) = event.iter().find(|known| known.node == component.node) {
            let advice = format!("join the two by `&&`: {} && ...", same.text);
            return Err(ExprError::new(text, part, "two components are of one node", advice));
        }
        event.push(component);
    }
    Ok(event)
}

/// The parts between `===`, without the blanks around them.
fn parts(text: &str) -> Vec<Range<usize>> {
    let mut start = 0;
    let mut parts = Vec::new();
    for part in text.split("===") {
        let begin = start + part.len() - part.trim_start().len();
        parts.push(begin..(start + part.trim_end().len()).max(begin));
        start += part.len() + 3;
    }
    parts
}

fn component(text: &str, part: Range<usize>, directory: &Directory) -> Result<LocalCondition, ExprError> {
    let error = |problem: &str, advice: &str| Err(ExprError::new(text, part.clone(), problem, advice));
    // Blanks before it keep every place of a message where it is in the whole text.
    let padded = format!("{}{}", " ".repeat(part.start), &text[part.clone()]);
    let mut expression = super::parse(&padded).map_err(|error| error.within(text))?;
    expression.text = text.to_owned();
    let Some(simple) = only(&expression) else {
        return error("a component is one condition of one node", "leave out `->`, `|` and `&`, or use `&&` and `||`");
    };
    let What::Condition(value) = &simple.what else {
        return error(
            "an event is over at once, so it cannot hold together with others",
            "name a condition on a watch",
        );
    };
    if simple.occurrence.is_some() {
        return error("`^n` counts occurrences, and a condition that holds has none", "leave out `^n`");
    }
    let resolved = resolve_any(&expression, directory)?;
    let Some((_, term)) = resolved.terms().next() else { return error("there is no condition", "name one") };
    let own = directory.nodes.iter().find(|node| node.id == term.node);
    let own: Vec<_> = own.into_iter().flat_map(|node| node.watches.iter().flatten().cloned()).collect();
    let mut watches = Vec::new();
    if let Err(name) = collect(value, (&simple.node.text, &own), &mut watches) {
        let problem = format!("`{name}` is not a watch of {}", simple.node.text);
        return error(&problem, "each component reads watches of its own node only");
    }
    let grows = matches!(&value.kind, ValueKind::Binary(Operator::Compare(Relation::AtLeast | Relation::Greater), left, right)
        if matches!(left.kind, ValueKind::Name(..)) && matches!(right.kind, ValueKind::Number(_)));
    Ok(LocalCondition { text: text[part].to_owned(), node: term.node, watches, grows })
}

fn only(expression: &Expression) -> Option<&Simple> {
    let [stage] = expression.stages.as_slice() else { return None };
    let [alternative] = stage.alternatives.as_slice() else { return None };
    let [simple] = alternative.as_slice() else { return None };
    Some(simple)
}

/// The watches that a value reads; the name of something else that it reads.
fn collect(value: &Value, node: (&str, &[String]), watches: &mut Vec<String>) -> Result<(), String> {
    match &value.kind {
        ValueKind::Number(_) => Ok(()),
        ValueKind::Name(Some(other), name) if other.text != node.0 => Err(format!("{}.{}", other.text, name.text)),
        // `count` and `epoch`, unless the node has a watch of that name.
        ValueKind::Name(_, name) if !node.1.contains(&name.text) => Err(name.text.clone()),
        ValueKind::Name(_, name) => {
            if !watches.contains(&name.text) {
                watches.push(name.text.clone());
            }
            Ok(())
        }
        ValueKind::Pred(other) => Err(format!("pred({})", other.text)),
        ValueKind::Negate(inner) | ValueKind::Not(inner) => collect(inner, node, watches),
        ValueKind::Binary(_, left, right) => {
            collect(left, node, watches)?;
            collect(right, node, watches)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::resolve::tests;
    use super::*;

    fn directory() -> Directory {
        let mut directory = tests::directory();
        directory.nodes[1].name = Some("right".into());
        directory
    }

    fn problem(text: &str) -> String {
        simultaneous(text, &directory()).unwrap_err().problem
    }

    #[test]
    fn each_component_is_a_condition_of_its_own_node() {
        let event =
            simultaneous("left.holding == 1 === right.holding >= 2 && right.holding < 9", &directory()).unwrap();
        let seen: Vec<_> = event.iter().map(|one| (one.text.as_str(), one.watches.clone(), one.grows)).collect();
        let holding = vec!["holding".to_owned()];
        assert_eq!(seen[0], ("left.holding == 1", holding.clone(), false));
        assert_eq!(seen[1], ("right.holding >= 2 && right.holding < 9", holding, false));
        assert!(simultaneous("left.holding >= 4 === right.holding == 1", &directory()).unwrap()[0].grows);
    }

    #[test]
    fn what_cannot_be_a_component_is_refused_with_a_sentence() {
        assert_eq!(problem("left.holding == 1"), "this is one condition, not several at once");
        assert_eq!(problem("left.holding == 1 === left.holding == 2"), "two components are of one node");
        assert_eq!(
            problem("left.holding == 1 === right:fault"),
            "an event is over at once, so it cannot hold together with others"
        );
        assert_eq!(problem("left.holding == 1 === right.count > 3"), "`count` is not a watch of right");
        assert_eq!(
            problem("left.holding == 1 === right.holding == left.holding"),
            "a condition of right cannot read a watch of left"
        );
        assert_eq!(
            problem("left.holding == 1 -> left:fault === right.holding == 1"),
            "a component is one condition of one node"
        );
        assert_eq!(
            problem("left.holding == 1 === right.holding == 1^2"),
            "`^n` counts occurrences, and a condition that holds has none"
        );
        let many = ["left.holding == 1"; 9].join(" === ");
        assert_eq!(problem(&many), "an event has at most 8 components, this has 9");
    }

    #[test]
    fn a_mistake_is_shown_where_it_is_in_the_whole_text() {
        let error = simultaneous("left.holding == 1 === right.holdin == 1", &directory()).unwrap_err();
        assert_eq!(&error.text[error.span.clone()], "holdin");
        let error = simultaneous("left.holding == 1 === right.holding ==", &directory()).unwrap_err();
        assert_eq!((error.text.as_str(), error.span.start), ("left.holding == 1 === right.holding ==", 38));
    }
}

//! Values of watches, computed by the host from what the nodes' control blocks say: of several nodes in one expression, too.
use crate::Node;
use crate::expr::{self, Directory, ExprError, NodeNames, Operator, Span, Value, ValueKind, What, Word};
use crate::nearest;
use stillpoint_core::predicate::Relation;
use stillpoint_core::{EventNumber, NodeId};

/// An expression over watches whose names all exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Watch {
    /// As it was written.
    pub text: String,
    term: Term,
}

/// What is computed. Numbers have 64 bits: here is room for a difference of two watches.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Term {
    Number(i64),
    Watch(NodeId, usize),
    Count(NodeId),
    Epoch(NodeId),
    /// The last event of the second node that the first one knows of.
    Pred(NodeId, NodeId),
    Negate(Box<Term>),
    Not(Box<Term>),
    Binary(Operator, Box<Term>, Box<Term>),
}

/// Why an expression has no value now.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoValue {
    /// A node that it is about cannot be read.
    #[error("node {} is missing", .0.0)]
    Missing(NodeId),
    /// The node does not have the watch any more, or not yet.
    #[error("node {} has no such watch now", .0.0)]
    NoWatch(NodeId),
    /// It divides by zero.
    #[error("division by zero")]
    DivisionByZero,
    /// It is too large.
    #[error("too large")]
    Overflow,
}

impl Watch {
    /// Reads `left0.holding` or `left0.laps - right1.laps`: the conditions of breakpoints, over any nodes.
    pub fn parse(text: &str, directory: &Directory) -> Result<Self, ExprError> {
        let expression = expr::parse(text)?;
        let error = |span: Span, problem: &str, advice: &str| {
            Err(ExprError { problem: problem.into(), advice: advice.into(), text: text.into(), span })
        };
        let everything = 0..text.len();
        let simples: Vec<_> = expression.stages.iter().flat_map(|stage| stage.alternatives.iter().flatten()).collect();
        let [simple] = simples.as_slice() else {
            return error(everything, "a value has no stages and no alternatives", "write several expressions instead");
        };
        if let Some((_, span)) = &simple.occurrence {
            return error(span.clone(), "a value does not occur", "leave out `^`; that is for breakpoints");
        }
        let What::Condition(value) = &simple.what else {
            let advice = "write `node.watch`; `stillpoint break` waits for events";
            return error(simple.span.clone(), "an event has no value", advice);
        };
        let lookup = Lookup { text, directory };
        let node = lookup.node(&simple.node)?;
        Ok(Self { text: text.trim().to_owned(), term: lookup.term(node, value)? })
    }

    /// Every watch of every node.
    #[must_use]
    pub fn all(directory: &Directory) -> Vec<Self> {
        let of_node = |node: &NodeNames| {
            let (id, name) = (node.id, node.display());
            let watch = move |(index, watch): (usize, &Option<String>)| Self {
                text: format!("{name}.{}", watch.clone().unwrap_or_else(|| format!("watch{index}"))),
                term: Term::Watch(id, index),
            };
            node.watches.iter().enumerate().map(watch).collect::<Vec<_>>()
        };
        directory.nodes.iter().flat_map(of_node).collect()
    }

    /// Its value, by what the nodes say.
    pub fn value(&self, nodes: &[Node]) -> Result<i64, NoValue> {
        self.term.value(nodes)
    }
}

struct Lookup<'a> {
    text: &'a str,
    directory: &'a Directory,
}

impl<'a> Lookup<'a> {
    fn unknown<T>(&self, word: &Word, problem: String, names: &[String]) -> Result<T, ExprError> {
        let question = nearest(&word.text, names.iter().map(String::as_str))
            .map_or_else(String::new, |name| format!("did you mean `{name}`? "));
        let advice = format!("{question}there are {}", names.join(", "));
        Err(ExprError { problem, advice, text: self.text.to_owned(), span: word.span.clone() })
    }

    fn node(&self, word: &Word) -> Result<&'a NodeNames, ExprError> {
        self.directory.node(&word.text).map_err(|why| {
            let (problem, advice) = self.directory.explain(&word.text, &why);
            ExprError { problem, advice, text: self.text.to_owned(), span: word.span.clone() }
        })
    }

    fn term(&self, node: &NodeNames, value: &Value) -> Result<Term, ExprError> {
        let boxed = |value: &Value| self.term(node, value).map(Box::new);
        Ok(match &value.kind {
            ValueKind::Number(number) => Term::Number(*number),
            ValueKind::Name(of, name) => self.name(of.as_ref().map_or(Ok(node), |of| self.node(of))?, name)?,
            ValueKind::Pred(of) => Term::Pred(node.id, self.node(of)?.id),
            ValueKind::Negate(inner) => Term::Negate(boxed(inner)?),
            ValueKind::Not(inner) => Term::Not(boxed(inner)?),
            ValueKind::Binary(operator, left, right) => Term::Binary(*operator, boxed(left)?, boxed(right)?),
        })
    }

    fn name(&self, node: &NodeNames, name: &Word) -> Result<Term, ExprError> {
        let named = |(index, watch): &(usize, &Option<String>)| match watch {
            Some(watch) => *watch == name.text,
            None => format!("watch{index}") == name.text,
        };
        // A watch first: whoever called it `count` means it.
        match (node.watches.iter().enumerate().find(named), name.text.as_str()) {
            (Some((index, _)), _) => Ok(Term::Watch(node.id, index)),
            (None, "count") => Ok(Term::Count(node.id)),
            (None, "epoch") => Ok(Term::Epoch(node.id)),
            (None, unknown) => {
                let watches = node.watches.iter().flatten().cloned();
                let names: Vec<String> = watches.chain(["count", "epoch"].map(String::from)).collect();
                self.unknown(name, format!("{} has no watch `{unknown}`", node.display()), &names)
            }
        }
    }
}

impl Term {
    fn value(&self, nodes: &[Node]) -> Result<i64, NoValue> {
        let node = |id: &NodeId| nodes.iter().find(|node| node.id == *id).ok_or(NoValue::Missing(*id));
        Ok(match self {
            Self::Number(number) => *number,
            Self::Watch(id, index) => {
                node(id)?.watches.get(*index).map(|(_, value)| i64::from(*value)).ok_or(NoValue::NoWatch(*id))?
            }
            Self::Count(id) => node(id)?.event().into(),
            Self::Epoch(id) => node(id)?.epoch().into(),
            Self::Pred(id, of) => {
                let entry = node(id)?.clock.get(usize::from(of.0)).copied().unwrap_or(0);
                EventNumber(entry).count().into()
            }
            Self::Negate(inner) => inner.value(nodes)?.checked_neg().ok_or(NoValue::Overflow)?,
            Self::Not(inner) => i64::from(inner.value(nodes)? == 0),
            Self::Binary(operator, left, right) => apply(*operator, left.value(nodes)?, right.value(nodes)?)?,
        })
    }
}

fn apply(operator: Operator, left: i64, right: i64) -> Result<i64, NoValue> {
    let fits = |value: Option<i64>| value.ok_or(NoValue::Overflow);
    Ok(match operator {
        Operator::Add => fits(left.checked_add(right))?,
        Operator::Subtract => fits(left.checked_sub(right))?,
        Operator::Multiply => fits(left.checked_mul(right))?,
        Operator::Divide | Operator::Remainder if right == 0 => return Err(NoValue::DivisionByZero),
        Operator::Divide => fits(left.checked_div(right))?,
        Operator::Remainder => fits(left.checked_rem(right))?,
        Operator::Compare(relation) => i64::from(match relation {
            Relation::Less => left < right,
            Relation::Equal => left == right,
            Relation::AtMost => left <= right,
            Relation::Greater => left > right,
            Relation::Unequal => left != right,
            Relation::AtLeast => left >= right,
        }),
        Operator::And => i64::from(left != 0 && right != 0),
        Operator::Or => i64::from(left != 0 || right != 0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn directory() -> Directory {
        let node = |id: u8, name: &str| NodeNames {
            id: NodeId(id),
            name: Some(name.into()),
            aliases: Vec::new(),
            watches: vec![Some("laps".into()), None],
            ports: Vec::new(),
            tags: Vec::new(),
            knows_all_clocks: true,
        };
        Directory { nodes: vec![node(0, "left"), node(1, "right")], recorded: false }
    }

    #[test]
    fn a_name_that_two_nodes_have_is_refused() {
        let mut directory = directory();
        directory.nodes[1].name = Some("left".into());
        let error = Watch::parse("left.laps", &directory).unwrap_err().to_string();
        assert!(error.contains("several nodes are called `left`") && error.contains("n0"), "{error}");
    }

    fn nodes() -> Vec<Node> {
        use stillpoint_core::StampKind;
        use stillpoint_core::control::{ControlLayout, StateCode};
        let layout =
            |id: u8| ControlLayout { nodes: 2, ports: 0, node: NodeId(id), stamps: StampKind::Vector, size: 0 };
        (0..2u8)
            .map(|id| {
                let mut node = Node::parse(&layout(id), &[]);
                node.watches = vec![(1, 10 * i32::from(id) + 5), (2, i32::MIN)];
                node.clock = vec![3, 0x0100_0007];
                node.state = Some(StateCode::Running);
                node
            })
            .collect()
    }

    fn value(text: &str) -> Result<i64, NoValue> {
        Watch::parse(text, &directory()).unwrap_or_else(|error| panic!("{error}")).value(&nodes())
    }

    #[test]
    fn watches_of_several_nodes_are_computed_with() {
        assert_eq!(value("left.laps"), Ok(5));
        assert_eq!(value("left.laps - right.laps"), Ok(-10));
        assert_eq!(value("right.laps > 7 && left.laps == 5"), Ok(1));
        assert_eq!(value("right.count + right.epoch"), Ok(8));
        assert_eq!(value("left.pred(right)"), Ok(7));
        // What would wrap on the target does not here.
        assert_eq!(value("left.watch1 - right.laps"), Ok(i64::from(i32::MIN) - 15));
        assert_eq!(value("left.laps / 0"), Err(NoValue::DivisionByZero));
        assert_eq!(
            Watch::all(&directory()).iter().map(|of| &*of.text).collect::<Vec<_>>(),
            ["left.laps", "left.watch1", "right.laps", "right.watch1"]
        );
    }

    #[test]
    fn a_node_that_is_not_there_has_no_value() {
        let watch = Watch::parse("right.laps", &directory()).unwrap();
        assert_eq!(watch.value(&nodes()[..1]), Err(NoValue::Missing(NodeId(1))));
    }

    #[test]
    fn what_is_no_value_is_pointed_at_with_the_nearest_name() {
        let error = |text: &str| Watch::parse(text, &directory()).unwrap_err().to_string();
        assert!(error("left.lasp").contains("did you mean `laps`?"), "{}", error("left.lasp"));
        assert!(error("letf.laps").contains("did you mean `left`?"), "{}", error("letf.laps"));
        assert!(
            error("left.laps - rihgt.laps").contains("              ^^^^^\n"),
            "{}",
            error("left.laps - rihgt.laps")
        );
        assert!(error("left:fault").contains("an event has no value"));
        assert!(error("left.laps -> right.laps").contains("no stages"));
        assert!(error("left.laps^2").contains("does not occur"));
    }
}

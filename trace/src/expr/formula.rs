//! Conditions with every name looked up: what they mean, and the instructions that compute it.
use super::ast::Operator;
use stillpoint_core::predicate::{Op, Relation};
use stillpoint_core::{EventNumber, NodeId};

/// A condition of one node. Arithmetic is that of wrapping `i32`; anything but 0 is true.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Formula {
    /// A constant.
    Const(i32),
    /// A watch of the node.
    Watch(u8),
    /// The number of the event within its epoch.
    Count,
    /// The node's epoch.
    Epoch,
    /// The number of the last event of another node that happened before.
    Pred(NodeId),
    /// `!x`
    Not(Box<Formula>),
    /// `x + y` and the like.
    Binary(Operator, Box<Formula>, Box<Formula>),
}

/// What a condition can ask about, at one event.
#[derive(Clone, Copy, Debug)]
pub struct Surroundings<'a> {
    /// The values of the node's watches.
    pub watches: &'a [i32],
    /// The number of the event, with its epoch.
    pub number: EventNumber,
    /// The node's clock.
    pub clock: &'a [EventNumber],
}

impl Formula {
    /// Two formulas joined.
    #[must_use]
    pub fn binary(operator: Operator, left: Self, right: Self) -> Self {
        Self::Binary(operator, Box::new(left), Box::new(right))
    }

    /// Gives `each` every watch it reads; whether it reads the numbers of other nodes' events.
    pub fn reads(&self, each: &mut impl FnMut(u8)) -> bool {
        match self {
            Self::Watch(watch) => {
                each(*watch);
                false
            }
            Self::Pred(_) => true,
            Self::Not(inner) => inner.reads(each),
            Self::Binary(_, left, right) => {
                let left = left.reads(each);
                right.reads(each) || left
            }
            Self::Const(_) | Self::Count | Self::Epoch => false,
        }
    }

    /// Whether its value depends on which event it is asked at, and not on watches alone.
    #[must_use]
    pub fn reads_place(&self) -> bool {
        match self {
            Self::Count | Self::Epoch | Self::Pred(_) => true,
            Self::Const(_) | Self::Watch(_) => false,
            Self::Not(inner) => inner.reads_place(),
            Self::Binary(_, left, right) => left.reads_place() || right.reads_place(),
        }
    }

    /// Whether the condition holds. A division by zero anywhere makes it false.
    #[must_use]
    pub fn holds(&self, at: &Surroundings<'_>) -> bool {
        self.value(at).is_some_and(|value| value != 0)
    }

    fn value(&self, at: &Surroundings<'_>) -> Option<i32> {
        Some(match self {
            Self::Const(value) => *value,
            Self::Watch(watch) => at.watches.get(usize::from(*watch)).copied().unwrap_or(0),
            Self::Count => at.number.count() as i32,
            Self::Epoch => at.number.epoch().into(),
            Self::Pred(node) => at.clock.get(usize::from(node.0)).map_or(0, |number| number.count() as i32),
            Self::Not(inner) => i32::from(inner.value(at)? == 0),
            Self::Binary(operator, left, right) => {
                // Both sides always, as on the target: there is nothing to skip them with.
                let (left, right) = (left.value(at)?, right.value(at)?);
                apply(*operator, left, right)?
            }
        })
    }

    /// The instructions that leave its value on the stack: short ones where there are any, and no deeper than needed.
    #[must_use]
    pub fn instructions(&self) -> Vec<Op> {
        let mut code = Vec::new();
        self.simplified().emit(&mut code);
        code
    }

    /// The same with its constant parts computed. What divides by zero stays: it makes the whole condition false.
    fn simplified(&self) -> Self {
        match self {
            Self::Not(inner) => match inner.simplified() {
                Self::Const(value) => Self::Const(i32::from(value == 0)),
                // `!(x < y)` is `x >= y`.
                Self::Binary(Operator::Compare(relation), left, right) => {
                    Self::Binary(Operator::Compare(complement(relation)), left, right)
                }
                inner => Self::Not(Box::new(inner)),
            },
            Self::Binary(operator, left, right) => match (operator, left.simplified(), right.simplified()) {
                (_, Self::Const(left), Self::Const(right)) if apply(*operator, left, right).is_some() => {
                    Self::Const(apply(*operator, left, right).unwrap_or(0))
                }
                // The short instruction has the watch on the left.
                (Operator::Compare(relation), left @ Self::Const(_), right) => {
                    Self::binary(Operator::Compare(mirror(*relation)), right, left)
                }
                (operator, left, right) => Self::binary(*operator, left, right),
            },
            other => other.clone(),
        }
    }

    fn emit(&self, code: &mut Vec<Op>) {
        match self {
            Self::Const(value) => code.push(Op::Const(*value)),
            Self::Watch(watch) => code.push(Op::Watch(*watch)),
            Self::Count => code.push(Op::Count),
            Self::Epoch => code.push(Op::Epoch),
            Self::Pred(node) => code.push(Op::Pred(*node)),
            Self::Not(inner) => {
                inner.emit(code);
                code.push(Op::Not);
            }
            Self::Binary(operator, left, right) => {
                if let Some(short) = short_form(*operator, left, right) {
                    return code.push(short);
                }
                // The side that needs more of the stack goes first, where the operator allows it.
                let (left, right, operator) = match mirrored(*operator) {
                    Some(mirrored) if right.depth() > left.depth() => (right, left, mirrored),
                    _ => (left, right, *operator),
                };
                left.emit(code);
                right.emit(code);
                code.push(instruction(operator));
            }
        }
    }

    /// How much of the stack it needs.
    fn depth(&self) -> usize {
        match self {
            Self::Not(inner) => inner.depth(),
            Self::Binary(operator, left, right) if short_form(*operator, left, right).is_some() => 1,
            Self::Binary(operator, left, right) => {
                let (left, right) = (left.depth(), right.depth());
                let in_order = left.max(right + 1);
                if mirrored(*operator).is_some() { in_order.min(right.max(left + 1)) } else { in_order }
            }
            _ => 1,
        }
    }
}

/// The one instruction for a watch compared with a constant.
fn short_form(operator: Operator, left: &Formula, right: &Formula) -> Option<Op> {
    match (operator, left, right) {
        (Operator::Compare(relation), Formula::Watch(watch), Formula::Const(constant)) => {
            Some(Op::WatchCompare { watch: *watch, relation, constant: *constant })
        }
        _ => None,
    }
}

/// What an operator makes of two values; `None` if it divides by zero.
fn apply(operator: Operator, left: i32, right: i32) -> Option<i32> {
    Some(match operator {
        Operator::Add => left.wrapping_add(right),
        Operator::Subtract => left.wrapping_sub(right),
        Operator::Multiply => left.wrapping_mul(right),
        Operator::Divide if right == 0 => return None,
        Operator::Divide => left.wrapping_div(right),
        Operator::Remainder if right == 0 => return None,
        Operator::Remainder => left.wrapping_rem(right),
        Operator::Compare(Relation::Less) => i32::from(left < right),
        Operator::Compare(Relation::Equal) => i32::from(left == right),
        Operator::Compare(Relation::AtMost) => i32::from(left <= right),
        Operator::Compare(Relation::Greater) => i32::from(left > right),
        Operator::Compare(Relation::Unequal) => i32::from(left != right),
        Operator::Compare(Relation::AtLeast) => i32::from(left >= right),
        Operator::And => i32::from(left != 0 && right != 0),
        Operator::Or => i32::from(left != 0 || right != 0),
    })
}

fn instruction(operator: Operator) -> Op {
    match operator {
        Operator::Add => Op::Add,
        Operator::Subtract => Op::Subtract,
        Operator::Multiply => Op::Multiply,
        Operator::Divide => Op::Divide,
        Operator::Remainder => Op::Remainder,
        Operator::Compare(relation) => Op::Compare(relation),
        Operator::And => Op::And,
        Operator::Or => Op::Or,
    }
}

/// The operator for which the sides can be exchanged, if there is one.
fn mirrored(operator: Operator) -> Option<Operator> {
    match operator {
        Operator::Add | Operator::Multiply | Operator::And | Operator::Or => Some(operator),
        Operator::Compare(relation) => Some(Operator::Compare(mirror(relation))),
        Operator::Subtract | Operator::Divide | Operator::Remainder => None,
    }
}

const fn mirror(relation: Relation) -> Relation {
    match relation {
        Relation::Less => Relation::Greater,
        Relation::AtMost => Relation::AtLeast,
        Relation::Greater => Relation::Less,
        Relation::AtLeast => Relation::AtMost,
        Relation::Equal | Relation::Unequal => relation,
    }
}

const fn complement(relation: Relation) -> Relation {
    match relation {
        Relation::Less => Relation::AtLeast,
        Relation::AtMost => Relation::Greater,
        Relation::Greater => Relation::AtMost,
        Relation::AtLeast => Relation::Less,
        Relation::Equal => Relation::Unequal,
        Relation::Unequal => Relation::Equal,
    }
}

#[cfg(test)]
#[path = "formula_tests.rs"]
mod tests;

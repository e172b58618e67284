//! The instructions of a condition, and their bytes.
//!
//! | byte | operands | instruction |
//! |---|---|---|
//! | `01` `02` `03` | i8, i16, i32 | push a constant |
//! | `04` `05` | | push `count`, `epoch` |
//! | `06` | node | push `pred(node)` |
//! | `08 + k` | | push watch k |
//! | `10` .. `14` | | `+ - * / %` |
//! | `18 + r` | | compare |
//! | `20` `21` `22` | | `and or not` |
//! | `40 + 8r + k`, `80 + 8r + k`, `c0 + 8r + k` | i8, i16, i32 | watch k compared with a constant |
//!
//! All operands are little-endian. `r` is the [`Relation`]: bit 0 = holds for less, bit 1 = for equal, bit 2 = for
//! greater. There are no jumps, so a condition takes exactly as many steps as it has instructions.
use super::{Defect, WATCHES};
use crate::{MAX_NODES, NodeId};

/// The opcodes of the table above.
pub(super) mod opcode {
    pub const CONST_I8: u8 = 0x01;
    pub const CONST_I16: u8 = 0x02;
    pub const CONST_I32: u8 = 0x03;
    pub const COUNT: u8 = 0x04;
    pub const EPOCH: u8 = 0x05;
    pub const PRED: u8 = 0x06;
    pub const WATCH: u8 = 0x08;
    pub const WATCH_LAST: u8 = 0x0f;
    pub const ADD: u8 = 0x10;
    pub const SUBTRACT: u8 = 0x11;
    pub const MULTIPLY: u8 = 0x12;
    pub const DIVIDE: u8 = 0x13;
    pub const REMAINDER: u8 = 0x14;
    pub const COMPARE: u8 = 0x18;
    pub const COMPARE_LAST: u8 = 0x1f;
    pub const AND: u8 = 0x20;
    pub const OR: u8 = 0x21;
    pub const NOT: u8 = 0x22;
    pub const WATCH_COMPARE: u8 = 0x40;
}

/// How two numbers must compare.
///
/// # Example: a relation is the set of outcomes it allows
/// ```
/// use stillpoint_core::predicate::Relation;
/// assert!(Relation::AtMost.holds(3, 3) && Relation::AtMost.holds(2, 3) && !Relation::AtMost.holds(4, 3));
/// assert_eq!(Relation::AtMost as u8, Relation::Less as u8 | Relation::Equal as u8);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[repr(u8)]
pub enum Relation {
    /// `<`
    Less = 1,
    /// `==`
    Equal = 2,
    /// `<=`
    AtMost = 3,
    /// `>`
    Greater = 4,
    /// `!=`
    Unequal = 5,
    /// `>=`
    AtLeast = 6,
}

impl Relation {
    /// Every relation, in the order of their numbers.
    pub const ALL: [Self; 6] = [Self::Less, Self::Equal, Self::AtMost, Self::Greater, Self::Unequal, Self::AtLeast];

    /// Whether `left` stands in this relation to `right`.
    #[inline]
    #[must_use]
    pub const fn holds(self, left: i32, right: i32) -> bool {
        holds(self as u8, left, right)
    }

    /// The operator as one writes it.
    #[must_use]
    pub const fn symbol(self) -> &'static str {
        match self {
            Self::Less => "<",
            Self::Equal => "==",
            Self::AtMost => "<=",
            Self::Greater => ">",
            Self::Unequal => "!=",
            Self::AtLeast => ">=",
        }
    }

    fn from_bits(bits: u8) -> Option<Self> {
        Self::ALL.get(usize::from(bits).wrapping_sub(1)).copied()
    }
}

/// Whether the relation with these three bits holds: picks the bit of the outcome instead of branching six ways.
#[inline]
pub(super) const fn holds(relation: u8, left: i32, right: i32) -> bool {
    let outcome = if left < right {
        1
    } else if left == right {
        2
    } else {
        4
    };
    relation & outcome != 0
}

/// One instruction of a condition.
///
/// Arithmetic is that of wrapping `i32`; dividing by zero makes the whole condition false. Truth is "not zero".
///
/// # Example: watch0 + watch1 > 100, or watch2 is 0
/// ```
/// use stillpoint_core::predicate::{Op, ProgramBuilder, Relation};
/// let condition = [
///     Op::Watch(0),
///     Op::Watch(1),
///     Op::Add,
///     Op::Const(100),
///     Op::Compare(Relation::Greater),
///     Op::WatchCompare { watch: 2, relation: Relation::Equal, constant: 0 },
///     Op::Or,
/// ];
/// let program = ProgramBuilder::new(1).push_condition_term(1, 1, &condition).finish().unwrap();
/// assert_eq!(program.to_string(), "of 1: 1: watch0 watch1 + 100 > watch2==0 or");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Op {
    /// Push a constant.
    Const(i32),
    /// Push the value of a watch.
    Watch(u8),
    /// Push the number of this event within the epoch.
    Count,
    /// Push this node's epoch.
    Epoch,
    /// Push the number of the latest event of a node that happened before this one; 0 if none is known.
    Pred(NodeId),
    /// Replace the two topmost values by their sum.
    Add,
    /// ... by their difference.
    Subtract,
    /// ... by their product.
    Multiply,
    /// ... by their quotient.
    Divide,
    /// ... by the remainder, which has the sign of the left value.
    Remainder,
    /// ... by 1 if the relation holds, else 0.
    Compare(Relation),
    /// ... by 1 if both are true, else 0.
    And,
    /// ... by 1 if any is true, else 0.
    Or,
    /// Replace the topmost value by 1 if it is 0, else by 0.
    Not,
    /// Push 1 if a watch stands in the relation to the constant, else 0: the common condition in one instruction.
    WatchCompare {
        /// The watch on the left.
        watch: u8,
        /// The operator.
        relation: Relation,
        /// The right side.
        constant: i32,
    },
}

impl Op {
    /// How many values it takes from the stack and how many it puts there.
    pub(super) const fn stack_effect(self) -> (u8, u8) {
        match self {
            Self::Const(_) | Self::Watch(_) | Self::Count | Self::Epoch | Self::Pred(_) => (0, 1),
            Self::WatchCompare { .. } => (0, 1),
            Self::Not => (1, 1),
            Self::Add | Self::Subtract | Self::Multiply | Self::Divide | Self::Remainder => (2, 1),
            Self::Compare(_) | Self::And | Self::Or => (2, 1),
        }
    }

    /// Reads the instruction at the start of `code`; also says how many bytes it takes.
    #[inline]
    pub(super) fn decode(code: &[u8]) -> Result<(Self, usize), Defect> {
        let &byte = code.first().ok_or(Defect::Truncated)?;
        let unknown = Defect::UnknownOpcode(byte);
        let low = byte & 7;
        let op = match byte {
            opcode::CONST_I8..=opcode::CONST_I32 => {
                let (constant, width) = constant(code, byte)?;
                return Ok((Self::Const(constant), 1 + width));
            }
            opcode::COUNT => Self::Count,
            opcode::EPOCH => Self::Epoch,
            opcode::PRED => {
                let &node = code.get(1).ok_or(Defect::Truncated)?;
                if usize::from(node) >= MAX_NODES {
                    return Err(Defect::NodeOutOfRange(node));
                }
                return Ok((Self::Pred(NodeId(node)), 2));
            }
            opcode::WATCH..=opcode::WATCH_LAST => Self::Watch(low),
            opcode::ADD => Self::Add,
            opcode::SUBTRACT => Self::Subtract,
            opcode::MULTIPLY => Self::Multiply,
            opcode::DIVIDE => Self::Divide,
            opcode::REMAINDER => Self::Remainder,
            opcode::COMPARE..=opcode::COMPARE_LAST => Self::Compare(Relation::from_bits(low).ok_or(unknown)?),
            opcode::AND => Self::And,
            opcode::OR => Self::Or,
            opcode::NOT => Self::Not,
            opcode::WATCH_COMPARE.. => {
                let relation = Relation::from_bits(byte >> 3 & 7).ok_or(unknown)?;
                let (constant, width) = constant(code, byte >> 6)?;
                return Ok((Self::WatchCompare { watch: low, relation, constant }, 1 + width));
            }
            _ => return Err(unknown),
        };
        Ok((op, 1))
    }

    /// Hands the instruction's bytes to `put` one by one.
    pub(super) fn encode(self, mut put: impl FnMut(u8)) -> Result<(), Defect> {
        let watch_in_range = |watch: u8| {
            if usize::from(watch) < WATCHES { Ok(watch) } else { Err(Defect::WatchOutOfRange(watch)) }
        };
        match self {
            Self::Const(value) => put_constant(value, |width| width, put),
            Self::Watch(watch) => put(opcode::WATCH | watch_in_range(watch)?),
            Self::Count => put(opcode::COUNT),
            Self::Epoch => put(opcode::EPOCH),
            Self::Pred(node) => {
                put(opcode::PRED);
                put(node.0);
            }
            Self::Add => put(opcode::ADD),
            Self::Subtract => put(opcode::SUBTRACT),
            Self::Multiply => put(opcode::MULTIPLY),
            Self::Divide => put(opcode::DIVIDE),
            Self::Remainder => put(opcode::REMAINDER),
            Self::Compare(relation) => put(opcode::COMPARE | relation as u8),
            Self::And => put(opcode::AND),
            Self::Or => put(opcode::OR),
            Self::Not => put(opcode::NOT),
            Self::WatchCompare { watch, relation, constant } => {
                let watch = watch_in_range(watch)?;
                put_constant(constant, |width| width << 6 | (relation as u8) << 3 | watch, put);
            }
        }
        Ok(())
    }
}

/// The constant after the opcode; `width` is 1 for i8, 2 for i16, 3 for i32. Also says how many bytes it takes.
#[inline]
fn constant(code: &[u8], width: u8) -> Result<(i32, usize), Defect> {
    match (width, code) {
        (1, &[_, a, ..]) => Ok((i32::from(a as i8), 1)),
        (2, &[_, a, b, ..]) => Ok((i32::from(i16::from_le_bytes([a, b])), 2)),
        (3, &[_, a, b, c, d, ..]) => Ok((i32::from_le_bytes([a, b, c, d]), 4)),
        _ => Err(Defect::Truncated),
    }
}

fn put_constant(value: i32, opcode: impl Fn(u8) -> u8, mut put: impl FnMut(u8)) {
    let (width, len) = match value {
        -0x80..=0x7f => (1, 1),
        -0x8000..=0x7fff => (2, 2),
        _ => (3, 4),
    };
    put(opcode(width));
    value.to_le_bytes().into_iter().take(len).for_each(put);
}

#[cfg(any(test, on_target))]
mod tests {
    use super::*;
    use stillpoint_test::test;

    fn encoded(op: Op) -> ([u8; 8], usize) {
        let (mut bytes, mut len) = ([0; 8], 0);
        op.encode(|byte| {
            bytes[len] = byte;
            len += 1;
        })
        .unwrap();
        (bytes, len)
    }

    #[test]
    fn every_opcode_byte_is_either_refused_or_decodes_to_an_instruction_that_encodes_to_it() {
        let mut valid = 0;
        for opcode in 0..=u8::MAX {
            // Operands that need the full width, so that the shortest encoding is the one that was decoded.
            let operands: &[u8] = match opcode {
                0x06 => &[31],
                0x01 | 0x40..=0x7f => &[0x80],
                0x02 | 0x80..=0xbf => &[0x80, 0x7f],
                0x03 | 0xc0..=0xff => &[1, 2, 3, 0x84],
                _ => &[],
            };
            let mut code = [opcode, 0, 0, 0, 0];
            code[1..=operands.len()].copy_from_slice(operands);
            match Op::decode(&code) {
                Ok((op, len)) => {
                    let (bytes, encoded_len) = encoded(op);
                    assert_eq!(bytes[..encoded_len], code[..len], "{op:?}");
                    for short in 0..len {
                        assert_eq!(Op::decode(&code[..short]), Err(Defect::Truncated), "{op:?}");
                    }
                    valid += 1;
                }
                Err(defect) => assert_eq!(defect, Defect::UnknownOpcode(opcode)),
            }
        }
        assert_eq!(valid, 6 + 8 + 5 + 6 + 3 + 3 * 6 * 8);
    }

    #[test]
    fn a_constant_takes_the_shortest_form_that_keeps_its_sign() {
        for (value, len) in [(0, 2), (-128, 2), (127, 2), (128, 3), (-129, 3), (32767, 3), (-32769, 5), (i32::MIN, 5)] {
            let (bytes, encoded_len) = encoded(Op::Const(value));
            assert_eq!(encoded_len, len);
            assert_eq!(Op::decode(&bytes[..len]), Ok((Op::Const(value), len)));
        }
    }

    #[test]
    fn a_relation_holds_exactly_when_its_operator_says_so() {
        for (left, right) in [(0, 0), (1, 2), (2, 1), (i32::MIN, i32::MAX), (i32::MAX, i32::MIN), (-1, 1)] {
            assert_eq!(Relation::Less.holds(left, right), left < right);
            assert_eq!(Relation::Equal.holds(left, right), left == right);
            assert_eq!(Relation::AtMost.holds(left, right), left <= right);
            assert_eq!(Relation::Greater.holds(left, right), left > right);
            assert_eq!(Relation::Unequal.holds(left, right), left != right);
            assert_eq!(Relation::AtLeast.holds(left, right), left >= right);
        }
    }

    #[test]
    fn a_node_beyond_the_last_is_refused() {
        assert_eq!(Op::decode(&[0x06, 32]), Err(Defect::NodeOutOfRange(32)));
    }
}

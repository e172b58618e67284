//! Running conditions.
use super::op::{self, opcode};
use super::program::STACK_DEPTH;
use super::{PROGRAM_BYTES, Program, SLOTS, WATCHES};
use crate::{EventNumber, NodeId};

/// The most instructions that the conditions of one program can hold, and so the most steps it can take per event.
///
/// Every instruction takes at least one byte and none is run twice; a header, a tag and a length take three.
pub const MAX_STEPS: usize = PROGRAM_BYTES - 3;

/// The most steps that all armed predicates together can take per event.
pub const MAX_STEPS_PER_EVENT: usize = SLOTS * MAX_STEPS;

/// What conditions can ask about beside the watches.
///
/// # Example
/// ```
/// use stillpoint_core::predicate::EvalContext;
/// // The fifth event of epoch 1, on a node that heard of node 1's event 7 and of no other.
/// let context = EvalContext { count: 5, epoch: 1, clock: &[0x0100_0005, 0x0100_0007, 0] };
/// # let _ = context;
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct EvalContext<'a> {
    /// The number of the event within this epoch.
    pub count: u32,
    /// This node's epoch.
    pub epoch: u8,
    /// The node's clock after the event: per node the epoch in the upper 8 bits and the event number in the lower 24.
    /// Nodes beyond its end count as never heard of.
    pub clock: &'a [u32],
}

/// Whether the condition whose length stands at `at` is one comparison of a watch with a constant, as most are.
pub(super) fn is_comparison(program: &Program, at: usize) -> bool {
    let width = program.byte(at.wrapping_add(1)) >> 6;
    // 1, 2 and 3 stand for constants of 1, 2 and 4 bytes.
    width != 0 && program.byte(at) == 1 + (1 << (width - 1))
}

/// Whether the comparison at `at` holds although it did not, or the other way round.
#[inline(always)]
pub(super) fn comparison_changed(program: &Program, at: usize, watches: &[i32; WATCHES], was_true: bool) -> bool {
    let opcode = program.byte(at);
    let constant = match opcode >> 6 {
        1 => i32::from(program.byte(at.wrapping_add(1)) as i8),
        2 => i32::from(program.half_word(at.wrapping_add(1)) as i16),
        _ => program.word(at.wrapping_add(1)) as i32,
    };
    // A relation is a set of outcomes: what changes a true one is the complement.
    let sought = opcode >> 3 ^ if was_true { 0xff } else { 0 };
    op::holds(sought & 7, watches[usize::from(opcode & 7)], constant)
}

/// Whether the condition whose length stands at `at` holds; `false` too if it divides by zero.
///
/// Reads the opcodes itself instead of going through [`Op`](super::Op), which would take several times as long.
#[inline(never)]
pub(super) fn condition_holds(
    program: &Program,
    at: usize,
    watches: &[i32; WATCHES],
    context: &EvalContext<'_>,
) -> bool {
    let mut next = at.wrapping_add(1);
    let end = next.wrapping_add(usize::from(program.byte(at)));
    // The topmost value stays out of memory; what is below it goes round if it does not fit, which verified code
    // never does.
    let (mut below, mut depth, mut top) = ([0i32; STACK_DEPTH], 0usize, 0i32);
    while next < end {
        let byte = program.byte(next);
        let operand = next.wrapping_add(1);
        next = operand;
        let pushed = match byte {
            opcode::WATCH..=opcode::WATCH_LAST => watches[usize::from(byte & 7)],
            opcode::WATCH_COMPARE.. => {
                next = operand.wrapping_add(1 << ((byte >> 6) - 1));
                i32::from(comparison_changed(program, operand.wrapping_sub(1), watches, false))
            }
            opcode::CONST_I8 => {
                next = operand.wrapping_add(1);
                i32::from(program.byte(operand) as i8)
            }
            opcode::CONST_I16 => {
                next = operand.wrapping_add(2);
                i32::from(program.half_word(operand) as i16)
            }
            opcode::CONST_I32 => {
                next = operand.wrapping_add(4);
                program.word(operand) as i32
            }
            opcode::COUNT => context.count as i32,
            opcode::EPOCH => i32::from(context.epoch),
            opcode::PRED => {
                next = operand.wrapping_add(1);
                known(context.clock, NodeId(program.byte(operand)))
            }
            opcode::NOT => {
                top = i32::from(top == 0);
                continue;
            }
            _ => {
                depth = depth.wrapping_sub(1);
                let Some(value) = combine(byte, below[depth % STACK_DEPTH], top) else { return false };
                top = value;
                continue;
            }
        };
        below[depth % STACK_DEPTH] = top;
        depth = depth.wrapping_add(1);
        top = pushed;
    }
    top != 0
}

/// What an instruction makes of two values; `None` if it divides by zero.
#[inline(always)]
fn combine(byte: u8, left: i32, right: i32) -> Option<i32> {
    Some(match byte {
        opcode::ADD => left.wrapping_add(right),
        opcode::SUBTRACT => left.wrapping_sub(right),
        opcode::MULTIPLY => left.wrapping_mul(right),
        opcode::DIVIDE | opcode::REMAINDER if right == 0 => return None,
        // What `checked` still refuses is MIN / -1: wrapping, as everywhere.
        opcode::DIVIDE => left.checked_div(right).unwrap_or(i32::MIN),
        opcode::REMAINDER => left.checked_rem(right).unwrap_or(0),
        opcode::AND => i32::from(left != 0 && right != 0),
        opcode::OR => i32::from(left != 0 || right != 0),
        _ => i32::from(op::holds(byte & 7, left, right)),
    })
}

/// The number of the latest event of `node` that the clock knows of.
fn known(clock: &[u32], node: NodeId) -> i32 {
    clock.get(usize::from(node.0)).map_or(0, |&entry| EventNumber(entry).count() as i32)
}

#[cfg(any(test, on_target))]
mod tests {
    use super::*;
    use crate::predicate::{Op, ProgramBuilder, Relation};
    use stillpoint_test::test;

    const WATCH_VALUES: [i32; WATCHES] = [7, -3, 0, i32::MIN, i32::MAX, 1, 100, -1];

    fn truth(condition: &[Op]) -> bool {
        let program = ProgramBuilder::new(1).push_condition_term(1, 1, condition).finish().unwrap();
        let context = EvalContext { count: 41, epoch: 2, clock: &[0x0200_0029, 0x0500_0009] };
        let holds = condition_holds(&program, 2, &WATCH_VALUES, &context);
        if is_comparison(&program, 2) {
            for was_true in [false, true] {
                let changed = comparison_changed(&program, 3, &WATCH_VALUES, was_true);
                assert_eq!(changed, holds != was_true);
            }
        }
        holds
    }

    /// Whether the expression (without its comparison) has this value.
    fn gives(expression: &[Op], value: i32) -> bool {
        let mut condition = [Op::Not; 8];
        let len = expression.len();
        condition[..len].copy_from_slice(expression);
        condition[len] = Op::Const(value);
        condition[len + 1] = Op::Compare(Relation::Equal);
        truth(&condition[..len + 2])
    }

    #[test]
    fn every_value_reads_what_it_names() {
        for (watch, value) in WATCH_VALUES.into_iter().enumerate() {
            assert!(gives(&[Op::Watch(watch as u8)], value));
        }
        assert!(gives(&[Op::Count], 41));
        assert!(gives(&[Op::Epoch], 2));
        assert!(gives(&[Op::Pred(NodeId(1))], 9));
    }

    #[test]
    fn a_node_never_heard_of_has_done_nothing() {
        assert!(gives(&[Op::Pred(NodeId(31))], 0));
    }

    #[test]
    fn arithmetic_is_total() {
        assert!(gives(&[Op::Const(7), Op::Const(-2), Op::Add], 5));
        assert!(gives(&[Op::Const(7), Op::Const(-2), Op::Subtract], 9));
        assert!(gives(&[Op::Const(7), Op::Const(-2), Op::Multiply], -14));
        assert!(gives(&[Op::Const(7), Op::Const(-2), Op::Divide], -3));
        assert!(gives(&[Op::Const(-7), Op::Const(2), Op::Remainder], -1));
        assert!(gives(&[Op::Watch(4), Op::Const(1), Op::Add], i32::MIN));
        assert!(gives(&[Op::Watch(3), Op::Const(-1), Op::Divide], i32::MIN));
        assert!(gives(&[Op::Watch(3), Op::Const(-1), Op::Remainder], 0));
    }

    #[test]
    fn dividing_by_zero_makes_the_whole_condition_false_even_under_not() {
        for divide in [Op::Divide, Op::Remainder] {
            assert!(!truth(&[Op::Const(1), Op::Watch(2), divide]));
            assert!(!truth(&[Op::Const(1), Op::Watch(2), divide, Op::Not]));
            assert!(!truth(&[Op::Const(1), Op::Const(1), Op::Watch(2), divide, Op::Or]));
        }
    }

    #[test]
    fn anything_but_zero_is_true() {
        let (yes, no) = (Op::Watch(1), Op::Watch(2));
        assert!(truth(&[yes]) && !truth(&[no]) && truth(&[no, Op::Not]) && !truth(&[yes, Op::Not]));
        for (left, right) in [(yes, yes), (yes, no), (no, yes), (no, no)] {
            assert_eq!(truth(&[left, right, Op::And]), left == yes && right == yes);
            assert_eq!(truth(&[left, right, Op::Or]), left == yes || right == yes);
        }
    }

    #[test]
    fn the_short_way_of_a_single_comparison_agrees_with_the_long_way() {
        for watch in 0..WATCHES as u8 {
            for constant in [0, 7, -3, 127, -128, 128, -30000, 70000, i32::MIN, i32::MAX] {
                for relation in Relation::ALL {
                    let short = truth(&[Op::WatchCompare { watch, relation, constant }]);
                    let long = truth(&[Op::Watch(watch), Op::Const(constant), Op::Compare(relation)]);
                    let doubly_negated = truth(&[Op::WatchCompare { watch, relation, constant }, Op::Not, Op::Not]);
                    assert_eq!(short, relation.holds(WATCH_VALUES[usize::from(watch)], constant));
                    assert_eq!((short, short), (long, doubly_negated));
                }
            }
        }
    }

    #[test]
    fn the_longest_condition_takes_the_stated_number_of_steps() {
        let mut longest = [Op::Not; MAX_STEPS];
        longest[0] = Op::Count;
        assert!(truth(&longest));
        let program = ProgramBuilder::new(1).push_condition_term(1, 1, &longest).finish().unwrap();
        assert_eq!(program.as_bytes().len(), PROGRAM_BYTES);
        assert!(ProgramBuilder::new(1).push_condition_term(1, 1, &[Op::Count; MAX_STEPS + 1]).finish().is_err());
    }

    #[test]
    fn eight_values_fit_on_the_stack() {
        let mut condition = [Op::Add; 15];
        condition[..8].copy_from_slice(&[Op::Const(1); 8]);
        assert!(truth(&condition));
        let program = ProgramBuilder::new(1).push_condition_term(1, 1, &[Op::Const(1); 9]).finish();
        assert_eq!(program.unwrap_err().defect, crate::predicate::Defect::StackOverflow);
    }
}

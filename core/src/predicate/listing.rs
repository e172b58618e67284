//! Programs in words.
use super::program::Cursor;
use super::{Matcher, Op, Program};
use crate::EventKind;
use core::fmt;

/// Prints any bytes as a program: up to the first defect, which it names.
///
/// One line, for error reports and transcripts. Conditions are shown as they are run: operands first.
///
/// # Example
/// ```
/// use stillpoint_core::predicate::Listing;
/// let good = [0x22, 0x61, 3, 0, 1, 2, 0, 0x12, 2, 0x60, 10];
/// assert_eq!(Listing(&good).to_string(), "of 2: 1: send(2)^3; 2: watch0>10");
/// let bad = [0x22, 0x61, 3, 0, 1, 2, 0, 0x12, 1, 0x3f];
/// let said = Listing(&bad).to_string();
/// assert_eq!(said, "of 2: 1: send(2)^3; <byte 9: there is no instruction 0x3f>");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Listing<'a>(pub &'a [u8]);

impl fmt::Display for Listing<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verdict = Program::verify(self.0);
        if let Ok(cursor) = Cursor::start(self.0) {
            list_terms(cursor, f)?;
        }
        match verdict {
            Err(error) => write!(f, "<{error}>"),
            Ok(_) => Ok(()),
        }
    }
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Listing(self.as_bytes()).fmt(f)
    }
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = match *self {
            Self::Const(value) => return value.fmt(f),
            Self::Watch(watch) => return write!(f, "watch{watch}"),
            Self::Pred(node) => return write!(f, "pred({})", node.0),
            Self::WatchCompare { watch, relation, constant } => {
                return write!(f, "watch{watch}{}{constant}", relation.symbol());
            }
            Self::Compare(relation) => relation.symbol(),
            Self::Count => "count",
            Self::Epoch => "epoch",
            Self::Add => "+",
            Self::Subtract => "-",
            Self::Multiply => "*",
            Self::Divide => "/",
            Self::Remainder => "%",
            Self::And => "and",
            Self::Or => "or",
            Self::Not => "not",
        };
        f.write_str(word)
    }
}

/// Lists as many terms as can be read.
fn list_terms(mut cursor: Cursor<'_>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    write!(f, "of {}:", cursor.stages)?;
    if cursor.left == 0 {
        f.write_str(" nothing here")?;
    }
    let mut separator = " ";
    while cursor.left > 0 {
        f.write_str(separator)?;
        separator = "; ";
        let Ok(term) = cursor.term() else { return Ok(()) };
        write!(f, "{}: ", term.stage)?;
        match term.matcher {
            Matcher::Event { kind, argument: None } => f.write_str(name(kind))?,
            Matcher::Event { kind, argument: Some(argument) } => write!(f, "{}({argument})", name(kind))?,
            Matcher::Condition(code) => list_condition(code, f)?,
        }
        if term.occurrences != 1 {
            write!(f, "^{}", term.occurrences)?;
        }
        if term.held {
            f.write_str(", which held")?;
        }
    }
    Ok(())
}

fn list_condition(mut code: &[u8], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let mut separator = "";
    while let Ok((op, size)) = Op::decode(code) {
        code = code.get(size..).unwrap_or_default();
        write!(f, "{separator}{op}")?;
        separator = " ";
    }
    Ok(())
}

/// The event as predicates spell it.
const fn name(kind: EventKind) -> &'static str {
    match kind {
        EventKind::Local => "local",
        EventKind::Send => "send",
        EventKind::Receive => "recv",
        EventKind::Call => "call",
        EventKind::Return => "return",
        EventKind::Timer => "timer",
        EventKind::Access => "access",
        EventKind::Watch => "watch",
        EventKind::Enter => "enter",
        EventKind::Leave => "leave",
        EventKind::Halt => "halt",
        EventKind::Resume => "resume",
        EventKind::Fault => "fault",
        EventKind::Reset => "reset",
        EventKind::LinkUp => "up",
        EventKind::LinkDown => "down",
        EventKind::Poll => "poll",
        EventKind::RecvNone => "recv_none",
        EventKind::SendFull => "send_full",
        EventKind::Now => "now",
        EventKind::Input => "input",
    }
}

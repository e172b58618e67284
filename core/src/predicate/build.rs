//! Writing programs.
use super::program::tag;
use super::{Defect, Op, PROGRAM_BYTES, Program, VerifyError};
use crate::EventKind;

/// Assembles a [`Program`], term by term, without allocating.
///
/// Whatever goes wrong on the way (too long, a condition that does not balance ...) is reported by
/// [`finish`](Self::finish).
///
/// # Example: this node's part of `a:send(2)^3 -> a.w0 > 10 | b:fault`, on node a
/// ```
/// use stillpoint_core::EventKind;
/// use stillpoint_core::predicate::{Op, ProgramBuilder, Relation};
/// let full = Op::WatchCompare { watch: 0, relation: Relation::Greater, constant: 10 };
/// let program = ProgramBuilder::new(2)
///     .push_event_term(1, 3, EventKind::Send, Some(2))
///     .push_condition_term(2, 1, &[full])
///     .finish()
///     .unwrap();
/// assert_eq!(program.as_bytes(), [0x22, 0x61, 3, 0, 1, 2, 0, 0x12, 2, 0x60, 10]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ProgramBuilder {
    bytes: [u8; PROGRAM_BYTES],
    len: usize,
    terms: usize,
    failed: Option<VerifyError>,
}

impl ProgramBuilder {
    /// A node's part of a predicate that has `stages` stages in all; no terms yet.
    #[must_use]
    pub const fn new(stages: u8) -> Self {
        let mut bytes = [0; PROGRAM_BYTES];
        // A count that does not fit the header becomes one that the verifier refuses.
        bytes[0] = if stages < 16 { stages } else { 15 };
        Self { bytes, len: 1, terms: 0, failed: None }
    }

    /// Adds: stage `stage` is satisfied by the `occurrences`-th event of this kind (and argument, if given).
    #[must_use]
    pub fn push_event_term(mut self, stage: u8, occurrences: u16, kind: EventKind, argument: Option<u16>) -> Self {
        let argument_bit = if argument.is_some() { tag::ARGUMENT } else { 0 };
        self.open_term(stage, occurrences, argument_bit);
        self.put(kind as u8);
        if let Some(argument) = argument {
            self.put_all(&argument.to_le_bytes());
        }
        self
    }

    /// Adds: stage `stage` is satisfied when the condition comes true for the `occurrences`-th time.
    #[must_use]
    pub fn push_condition_term(mut self, stage: u8, occurrences: u16, condition: &[Op]) -> Self {
        self.open_term(stage, occurrences, tag::CONDITION);
        let length_at = self.len;
        self.put(0);
        for op in condition {
            let at = self.len;
            if let Err(defect) = op.encode(|byte| self.put(byte)) {
                self.fail(at, defect);
            }
        }
        let length = self.len.wrapping_sub(length_at).wrapping_sub(1);
        if let Some(byte) = self.bytes.get_mut(length_at) {
            *byte = length as u8;
        }
        self
    }

    /// The program, verified.
    ///
    /// # Errors
    /// What [`Program::verify`] would say, or [`Defect::WatchOutOfRange`].
    pub fn finish(mut self) -> Result<Program, VerifyError> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        if self.len > PROGRAM_BYTES {
            return Err(VerifyError::new(PROGRAM_BYTES, Defect::TooLong(self.len)));
        }
        self.bytes[0] |= (if self.terms < 16 { self.terms as u8 } else { 15 }) << 4;
        Program::verify(self.bytes.get(..self.len).unwrap_or_default())
    }

    fn open_term(&mut self, stage: u8, occurrences: u16, bits: u8) {
        let counted = if occurrences == 1 { 0 } else { tag::COUNTED };
        // As above: what does not fit becomes what the verifier refuses.
        let stage = if stage <= tag::STAGE { stage } else { tag::STAGE };
        self.put(stage | counted | bits);
        if occurrences != 1 {
            self.put_all(&occurrences.to_le_bytes());
        }
        self.terms = self.terms.saturating_add(1);
    }

    fn put_all(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.put(byte));
    }

    /// Counts on past the end, so that `finish` can say how long it would have been.
    fn put(&mut self, byte: u8) {
        if let Some(place) = self.bytes.get_mut(self.len) {
            *place = byte;
        }
        self.len = self.len.saturating_add(1);
    }

    fn fail(&mut self, at: usize, defect: Defect) {
        if self.failed.is_none() {
            self.failed = Some(VerifyError::new(at, defect));
        }
    }
}

#[cfg(any(test, on_target))]
mod tests {
    use super::*;
    use stillpoint_test::test;

    fn defect(builder: ProgramBuilder) -> Defect {
        builder.finish().unwrap_err().defect
    }

    #[test]
    fn what_cannot_be_written_is_reported_at_the_end() {
        let watch = |watch| ProgramBuilder::new(1).push_condition_term(1, 1, &[Op::Watch(watch)]);
        assert_eq!(defect(watch(8)), Defect::WatchOutOfRange(8));
        assert!(watch(7).finish().is_ok());
        assert_eq!(defect(ProgramBuilder::new(0)), Defect::StageCount(0));
        assert_eq!(defect(ProgramBuilder::new(200)), Defect::StageCount(15));
        let term = |stage, n| ProgramBuilder::new(2).push_event_term(stage, n, EventKind::Fault, None);
        assert_eq!(defect(term(0, 1)), Defect::StageOutOfRange(0));
        assert_eq!(defect(term(255, 1)), Defect::StageOutOfRange(15));
        assert_eq!(defect(term(1, 0)), Defect::ZeroOccurrences);
    }

    #[test]
    fn a_program_that_does_not_fit_says_how_long_it_would_be() {
        let mut builder = ProgramBuilder::new(1);
        for _ in 0..7 {
            builder = builder.push_event_term(1, 2, EventKind::Send, Some(1));
        }
        assert_eq!(defect(builder), Defect::TooLong(1 + 7 * 6));
        let long = ProgramBuilder::new(1).push_condition_term(1, 1, &[Op::Count; 300]);
        assert_eq!(defect(long), Defect::TooLong(303));
    }

    #[test]
    fn a_node_without_terms_still_knows_how_many_stages_there_are() {
        let program = ProgramBuilder::new(3).finish().unwrap();
        assert_eq!((program.as_bytes(), program.stages()), (&[3][..], 3));
    }
}

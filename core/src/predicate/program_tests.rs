use super::*;
use stillpoint_test::test;

fn refused(bytes: &[u8]) -> (u8, Defect) {
    let error = Program::verify(bytes).unwrap_err();
    (error.at, error.defect)
}

const GOOD: [u8; 11] = [0x22, 0x61, 3, 0, 1, 2, 0, 0x12, 2, 0x60, 10];

#[test]
fn a_program_gives_back_its_bytes_and_terms() {
    let program = Program::verify(&GOOD).unwrap();
    assert_eq!(program.as_bytes(), GOOD);
    assert_eq!(program.stages(), 2);
    let send = Matcher::Event { kind: EventKind::Send, argument: Some(2) };
    assert!(program.terms().eq([
        Term { stage: 1, occurrences: 3, held: false, matcher: send },
        Term { stage: 2, occurrences: 1, held: false, matcher: Matcher::Condition(&[0x60, 10]) },
    ]));
}

#[test]
fn every_truncation_of_a_program_is_refused() {
    for len in 0..GOOD.len() {
        let (at, defect) = refused(&GOOD[..len]);
        assert_eq!((usize::from(at), defect), (len, Defect::Truncated));
    }
}

#[test]
fn every_defect_is_found_where_it_is() {
    assert_eq!(refused(&[0x01; 33]), (32, Defect::TooLong(33)));
    assert_eq!(refused(&[0x01, 0x00]), (1, Defect::TrailingBytes));
    assert_eq!(refused(&[0x00]), (0, Defect::StageCount(0)));
    assert_eq!(refused(&[0x09]), (0, Defect::StageCount(9)));
    assert_eq!(refused(&[0x91]), (0, Defect::TooManyTerms(9)));
    assert_eq!(refused(&[0x11, 0x00, 11]), (1, Defect::StageOutOfRange(0)));
    assert_eq!(refused(&[0x12, 0x03, 11]), (1, Defect::StageOutOfRange(3)));
    assert_eq!(refused(&[0x11, 0x21, 0, 0, 11]), (2, Defect::ZeroOccurrences));
    assert_eq!(refused(&[0x11, 0x81, 11]), (1, Defect::BadTag(0x81)));
    assert_eq!(refused(&[0x11, 0x01, 21]), (2, Defect::UnknownEvent(21)));
    assert_eq!(refused(&[0x11, 0x11, 2, 0x04, 0x30]), (4, Defect::UnknownOpcode(0x30)));
    assert_eq!(refused(&[0x11, 0x11, 2, 0x06, 32]), (3, Defect::NodeOutOfRange(32)));
    assert_eq!(refused(&[0x11, 0x11, 1, 0x22]), (3, Defect::StackUnderflow));
    assert_eq!(refused(&[0x11, 0x11, 9, 4, 4, 4, 4, 4, 4, 4, 4, 4]), (11, Defect::StackOverflow));
    assert_eq!(refused(&[0x11, 0x11, 2, 4, 4]), (5, Defect::NotOneResult(2)));
    assert_eq!(refused(&[0x11, 0x11, 0]), (3, Defect::NotOneResult(0)));
}

#[test]
fn an_instruction_cannot_reach_over_the_end_of_its_condition() {
    // The i8 of the comparison would be the tag of the second term.
    assert_eq!(refused(&[0x21, 0x11, 1, 0x60, 0x01, 11]), (3, Defect::Truncated));
}

#[test]
fn five_terms_of_one_node_in_one_stage_are_too_many_and_four_are_not() {
    let mut bytes = [0x52, 1, 11, 2, 11, 1, 11, 1, 11, 1, 11];
    assert!(Program::verify(&bytes).is_ok());
    bytes[3] = 1;
    assert_eq!(refused(&bytes), (9, Defect::StageTooWide(1)));
}

#[test]
fn no_single_byte_change_makes_the_verifier_or_the_program_misbehave() {
    for at in 0..GOOD.len() {
        for value in 0..=u8::MAX {
            let mut bytes = GOOD;
            bytes[at] = value;
            match Program::verify(&bytes) {
                Ok(program) => {
                    assert_eq!(program.as_bytes(), bytes);
                    assert_eq!(program.terms().count(), usize::from(bytes[0] >> 4));
                }
                Err(error) => assert!(usize::from(error.at) <= GOOD.len()),
            }
        }
    }
}

#[test]
fn the_watches_it_reads_are_found_in_every_term_and_form() {
    let compare = Op::WatchCompare { watch: 7, relation: crate::predicate::Relation::Less, constant: 0x1234 };
    let program = crate::predicate::ProgramBuilder::new(2)
        .push_condition_term(1, 1, &[Op::Const(0x0d0d), Op::Watch(2), Op::Add])
        .push_event_term(1, 1, EventKind::Send, Some(5))
        .push_condition_term(2, 3, &[compare])
        .finish()
        .unwrap();
    assert_eq!(program.watches_read(), 1 << 2 | 1 << 7);
    assert_eq!(Program::verify(&[0x01]).unwrap().watches_read(), 0);
}

#[test]
fn programs_that_differ_in_one_byte_have_different_checksums() {
    let of = |bytes: &[u8]| Program::verify(bytes).unwrap().checksum();
    let mut other = GOOD;
    other[10] = 12;
    assert_ne!(of(&GOOD), of(&other));
    assert_ne!(of(&[0x01]), of(&[0x02]));
}

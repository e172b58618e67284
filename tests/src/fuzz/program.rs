//! The bytecode: any bytes through the verifier, and what it accepts through the evaluator.
use super::Bytes;
use super::script::any_event;
use stillpoint_core::predicate::{
    Carry, Detector, EvalContext, Generation, Listing, MAX_STAGES, Matcher, PROGRAM_BYTES, Predicates, Program, SlotId,
    WATCHES,
};

const GENERATION: Generation = Generation(1);

/// A program, and after it what happens while it is armed.
pub fn program(data: &[u8]) {
    let mut bytes = Bytes(data);
    let code = bytes.piece(PROGRAM_BYTES as u8 + 2);
    let listing = Listing(code).to_string();
    let program = match Program::verify(code) {
        Ok(program) => program,
        Err(error) => {
            assert!(usize::from(error.at) <= PROGRAM_BYTES && listing.ends_with('>'), "{error}: {listing}");
            return;
        }
    };
    assert_eq!(program.as_bytes(), code, "a program is the bytes that were verified");
    assert_eq!(program.to_string(), listing);
    assert!((1..=MAX_STAGES).contains(&program.stages()));
    assert_eq!(program.terms().count(), usize::from(code[0] >> 4), "every term can be read");
    run(&program, bytes);
}

/// Armed in a slot, with any events and watches: it advances one stage an event, and at the end it has fired once.
fn run(program: &Program, mut bytes: Bytes<'_>) {
    let detector = if bytes.flag() { Detector::Marker } else { Detector::Causal };
    let slot = SlotId::ALL[3];
    let mut predicates = Predicates::new();
    predicates.install(slot, GENERATION, detector, program).expect("the slot is empty");
    predicates.enable(slot, GENERATION).expect("it was installed");
    let (mut stage, mut fired, mut watches) = (0, false, [0; WATCHES]);
    for count in 1..64 {
        let (watch, value) = (bytes.below(WATCHES as u8 + 1), any_value(&mut bytes));
        match watches.get_mut(usize::from(watch)) {
            Some(place) => *place = value,
            None => assert!(predicates.set_watch(watch, value).is_err()),
        }
        if usize::from(watch) < WATCHES {
            predicates.set_watch(watch, value).expect("there is such a watch");
        }
        let event = any_event(&mut bytes);
        let clock = [count, 0x0100_0000 | bytes.word() & 0xFF];
        let context = EvalContext { count, epoch: 0, clock: &clock };
        let sole = sole_condition(program).filter(|_| stage == 0 && count == 1);
        let outcome = predicates.after_event(&event, &context);
        if let Some(code) = sole {
            let holds = evaluate(code, &watches, &context);
            assert_eq!(outcome.advanced.contains(slot), holds, "{program} of {watches:?}");
        }
        let reached = predicates.reached(slot).map_or(0, |reached| reached.stage());
        assert_eq!(reached, stage + u8::from(outcome.advanced.contains(slot)), "one event, one stage");
        stage = reached;
        assert!(stage <= program.stages());
        assert!(!(fired && outcome.fired.contains(slot)), "it fires once");
        fired |= outcome.fired.contains(slot);
        assert_eq!(fired, stage == program.stages());
        let carry = predicates.carry();
        assert_eq!(carry.is_empty(), stage == 0 || detector == Detector::Marker);
        let mut room = [0; Carry::MAX_BYTES];
        let length = carry.encode(&mut room).expect("a carry fits its room");
        assert_eq!(Carry::decode(&room[..length]), Ok((carry, length)));
    }
}

/// Mostly small, as constants are; sometimes at the ends of the range.
fn any_value(bytes: &mut Bytes<'_>) -> i32 {
    match bytes.byte() {
        254 => i32::MIN,
        255 => bytes.word() as i32,
        byte => i32::from(byte as i8),
    }
}

/// The condition of a program that has nothing else in its first stage, and wants it once.
fn sole_condition(program: &Program) -> Option<&[u8]> {
    let mut first = program.terms().filter(|term| term.stage == 1);
    let term = first.next()?;
    match term.matcher {
        Matcher::Condition(code) if first.next().is_none() && term.occurrences == 1 => Some(code),
        Matcher::Condition(_) | Matcher::Event { .. } => None,
    }
}

/// A second opinion: verified instructions as `docs/WIRE.md` lists them.
fn evaluate(code: &[u8], watches: &[i32; WATCHES], context: &EvalContext<'_>) -> bool {
    let (mut code, mut stack) = (Bytes(code), Vec::new());
    let relate = |relation: u8, left: i32, right: i32| {
        let outcome = [1, 2, 4][(left.cmp(&right) as i8 + 1) as usize];
        i32::from(relation & outcome != 0)
    };
    while !code.is_empty() {
        let op = code.byte();
        let mut constant = |width: u8| match width {
            1 => i32::from(code.byte() as i8),
            2 => i32::from(code.half_word() as i16),
            _ => code.word() as i32,
        };
        let value = match op {
            1..=3 => constant(op),
            4 => context.count as i32,
            5 => context.epoch.into(),
            6 => context.clock.get(usize::from(code.byte())).map_or(0, |entry| (entry & 0xFF_FFFF) as i32),
            8..=15 => watches[usize::from(op & 7)],
            0x40.. => relate(op >> 3 & 7, watches[usize::from(op & 7)], constant(op >> 6)),
            0x22 => i32::from(stack.pop() == Some(0)),
            _ => {
                let (right, left): (i32, i32) = (stack.pop().unwrap(), stack.pop().unwrap());
                match op {
                    0x10 => left.wrapping_add(right),
                    0x11 => left.wrapping_sub(right),
                    0x12 => left.wrapping_mul(right),
                    0x13 | 0x14 if right == 0 => return false,
                    0x13 => left.wrapping_div(right),
                    0x14 => left.wrapping_rem(right),
                    0x20 => i32::from(left != 0 && right != 0),
                    0x21 => i32::from(left != 0 || right != 0),
                    _ => relate(op & 7, left, right),
                }
            }
        };
        stack.push(value);
    }
    assert_eq!(stack.len(), 1);
    stack != [0]
}

/// Programs with events, counts, comparisons, arithmetic and several stages, each with something that happens.
pub fn seeds() -> Vec<Vec<u8>> {
    let programs: [&[u8]; 11] = [
        &[0x22, 0x61, 3, 0, 1, 2, 0, 0x12, 2, 0x60, 10],
        &[0x11, 0x11, 6, 0x08, 0x09, 0x10, 0x01, 100, 0x1c],
        &[0x11, 0x11, 2, 0x46, 10],
        &[0x11, 0x11, 9, 0x08, 0x03, 0, 0, 0, 0x80, 0x14, 0x09, 0x13],
        &[0x11, 0x31, 2, 0, 5, 0x04, 0x06, 1, 0x19, 0x22],
        &[0x11, 0x11, 8, 0x03, 0, 0, 0, 0x80, 0x01, 0xff, 0x13],
        &[0x11, 0x11, 8, 0x03, 0, 0, 0, 0x80, 0x01, 0xff, 0x14],
        &[0x11, 0x11, 5, 0x60, 10, 0x51, 0, 0x21],
        &[0x11, 0x11, 8, 0x5a, 0, 0x53, 0, 0x20, 0x22, 0x05, 0x20],
        &[0x42, 0x01, 5, 0x01, 8, 0x02, 9, 0x02, 10],
        &[0x03],
    ];
    let happenings = (0..150).map(|place| (place * 11 % 64) as u8);
    programs
        .map(|program| [program.len() as u8].iter().chain(program).copied().chain(happenings.clone()).collect())
        .into()
}

//! Inputs for a smoke run: right ones, damaged ones, and noise.
use super::Target;

/// SplitMix64: the same inputs for the same seed, on every machine.
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ mixed >> 31
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit.max(1) as u64) as usize
    }

    fn byte(&mut self) -> u8 {
        // The edges of ranges are where decoders are wrong.
        match self.below(4) {
            0 => [0, 1, 0x1f, 0x20, 0x7f, 0x80, 0xfe, 0xff][self.below(8)],
            _ => self.next() as u8,
        }
    }
}

/// `count` inputs for a target: its seeds as they are, then in turn seeds with a few changes, two seeds spliced, and noise.
///
/// # Example: the same every time
/// ```
/// use stillpoint_tests::fuzz::{inputs, target};
/// let hello = target("hello").unwrap();
/// assert!(inputs(hello, 100, 7).eq(inputs(hello, 100, 7)));
/// ```
pub fn inputs(target: &Target, count: usize, seed: u64) -> impl Iterator<Item = Vec<u8>> {
    let seeds = (target.seeds)();
    let mut dice = Dice(seed);
    (0..count).map(move |turn| match seeds.get(turn) {
        Some(seed) => seed.clone(),
        None if turn % 4 == 0 => (0..dice.below(200)).map(|_| dice.byte()).collect(),
        None => {
            let mut input = seeds[dice.below(seeds.len())].clone();
            if turn % 4 == 1 {
                let other = &seeds[dice.below(seeds.len())];
                input.truncate(dice.below(input.len() + 1));
                input.extend(&other[dice.below(other.len() + 1)..]);
            }
            for _ in 0..=dice.below(4) {
                change(&mut input, &mut dice);
            }
            input
        }
    })
}

fn change(input: &mut Vec<u8>, dice: &mut Dice) {
    let at = dice.below(input.len());
    match dice.below(6) {
        _ if input.is_empty() => input.push(dice.byte()),
        0 => input[at] ^= 1 << dice.below(8),
        1 => input[at] = dice.byte(),
        2 => input.insert(at, dice.byte()),
        3 => drop(input.remove(at)),
        4 => input.truncate(at),
        _ => {
            let again = input[at..].to_vec();
            input.extend(again);
        }
    }
}

//! A wire that loses, flips, repeats, delays and cuts, the same way for the same seed.
//!
//! [`Faulty`] goes around any [`Pipe`]; [`Line`] is the pipe that does no harm and takes the time a UART takes.

use std::collections::VecDeque;

/// One direction of a serial line.
pub trait Pipe {
    /// Whether the last bytes have left, so that more can be put.
    fn is_ready(&self, now: u32) -> bool;
    /// Hands bytes over to be carried.
    fn put(&mut self, bytes: &[u8], now: u32);
    /// The next byte that has arrived by now.
    fn get(&mut self, now: u32) -> Option<u8>;
}

/// A perfect line: every byte arrives, in order, `byte_time` ticks after the one before it.
///
/// # Example
/// ```
/// use stillpoint_tests::faulty::{Line, Pipe};
/// let mut line = Line::new(87);
/// line.put(b"ab", 1000);
/// assert_eq!((line.get(1086), line.get(1087), line.get(1087)), (None, Some(b'a'), None));
/// assert!(!line.is_ready(1173) && line.is_ready(1174));
/// ```
#[derive(Clone, Debug)]
pub struct Line {
    byte_time: u32,
    free_at: u32,
    bytes: VecDeque<(u32, u8)>,
}

impl Line {
    /// A line that takes `byte_time` ticks for a byte.
    #[must_use]
    pub fn new(byte_time: u32) -> Self {
        Self { byte_time, free_at: 0, bytes: VecDeque::new() }
    }
}

impl Pipe for Line {
    fn is_ready(&self, now: u32) -> bool {
        now >= self.free_at
    }

    fn put(&mut self, bytes: &[u8], now: u32) {
        self.free_at = self.free_at.max(now);
        for &byte in bytes {
            self.free_at += self.byte_time;
            self.bytes.push_back((self.free_at, byte));
        }
    }

    fn get(&mut self, now: u32) -> Option<u8> {
        self.bytes.pop_front_if(|&mut (at, _)| at <= now).map(|(_, byte)| byte)
    }
}

/// How often what goes wrong: each number is a chance in 10,000.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    /// Per byte: it arrives with at least one bit flipped.
    pub flip: u32,
    /// Per byte: it does not arrive.
    pub lose: u32,
    /// Per byte: a random byte arrives before it.
    pub noise: u32,
    /// Per put: none of it arrives.
    pub drop: u32,
    /// Per put: only a beginning of it arrives.
    pub truncate: u32,
    /// Per put: it arrives twice.
    pub duplicate: u32,
    /// Per put: it arrives later, overtaken by what was put after it.
    pub delay: u32,
    /// Per put: the line is cut for a while.
    pub cut: u32,
    /// The longest delay, in ticks.
    pub longest_delay: u32,
    /// The longest cut, in ticks.
    pub longest_cut: u32,
}

/// A [`Pipe`] with [`Faults`].
///
/// # Example: the same seed, the same faults
/// ```
/// use stillpoint_tests::faulty::{Faults, Faulty, Line, Pipe};
/// let through = |seed| {
///     let mut wire = Faulty::new(Line::new(1), Faults { flip: 5000, lose: 1000, ..Faults::default() }, seed);
///     wire.put(&[0; 32], 0);
///     std::iter::from_fn(|| wire.get(1000)).collect::<Vec<_>>()
/// };
/// assert_eq!(through(1), through(1));
/// assert_ne!(through(1), through(2));
/// ```
#[derive(Clone, Debug)]
pub struct Faulty<P> {
    inner: P,
    faults: Faults,
    random: Random,
    cut_until: u32,
    late: Vec<(u32, Vec<u8>)>,
}

impl<P: Pipe> Faulty<P> {
    /// Puts faults around `inner`.
    pub fn new(inner: P, faults: Faults, seed: u64) -> Self {
        Self { inner, faults, random: Random::new(seed), cut_until: 0, late: Vec::new() }
    }

    /// From now on these faults; what is delayed stays delayed.
    pub fn set_faults(&mut self, faults: Faults) {
        self.faults = faults;
    }

    /// Nothing that is put before `until` arrives.
    pub fn cut(&mut self, until: u32) {
        self.cut_until = self.cut_until.max(until);
    }

    fn damage(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut damaged = Vec::with_capacity(bytes.len());
        for &byte in bytes {
            if self.random.chance(self.faults.noise) {
                damaged.push(self.random.next() as u8);
            }
            if self.random.chance(self.faults.lose) {
                continue;
            }
            let flip = if self.random.chance(self.faults.flip) { self.random.below(255) as u8 + 1 } else { 0 };
            damaged.push(byte ^ flip);
        }
        if self.random.chance(self.faults.truncate) {
            damaged.truncate(self.random.below(damaged.len() as u32 + 1) as usize);
        }
        damaged
    }
}

impl<P: Pipe> Pipe for Faulty<P> {
    fn is_ready(&self, now: u32) -> bool {
        self.inner.is_ready(now)
    }

    fn put(&mut self, bytes: &[u8], now: u32) {
        if self.random.chance(self.faults.cut) {
            let length = self.random.below(self.faults.longest_cut + 1);
            self.cut(now + length);
        }
        if now < self.cut_until || self.random.chance(self.faults.drop) {
            return;
        }
        for _ in 0..1 + u32::from(self.random.chance(self.faults.duplicate)) {
            let damaged = self.damage(bytes);
            if self.random.chance(self.faults.delay) {
                let until = now + self.random.below(self.faults.longest_delay + 1);
                self.late.push((until, damaged));
            } else {
                self.inner.put(&damaged, now);
            }
        }
    }

    fn get(&mut self, now: u32) -> Option<u8> {
        while let Some(index) = self.late.iter().position(|&(at, _)| at <= now) {
            let (_, bytes) = self.late.remove(index);
            self.inner.put(&bytes, now);
        }
        self.inner.get(now)
    }
}

/// SplitMix64 (Steele, Lea & Flood 2014): small, seeded, the same on every machine.
///
/// # Example
/// ```
/// use stillpoint_tests::faulty::Random;
/// assert_eq!(Random::new(0).next(), 0xE220_A839_7B1D_CDAF);
/// ```
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// A generator that yields the same numbers for the same seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number.
    #[expect(clippy::should_implement_trait, reason = "it never ends, so it is not an iterator")]
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ mixed >> 31
    }

    /// A number below `bound`; 0 if there is none.
    pub fn below(&mut self, bound: u32) -> u32 {
        (self.next() >> 32).checked_rem(u64::from(bound)).unwrap_or(0) as u32
    }

    /// Whether something with this chance in 10,000 happens.
    pub fn chance(&mut self, chance: u32) -> bool {
        chance > 0 && self.below(10_000) < chance
    }
}

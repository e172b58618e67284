//! A serial line that loses, flips, repeats, delays and is cut, the same way for the same seed: for tests.
//!
//! [`Faulty`] goes around either half of any UART, so a [`Serial`](crate::serial::Serial) link cannot tell it from a bad
//! line. Bytes never overtake each other, as on a real line; a delay holds back everything behind it.
use crate::serial::CancelSafe;
use core::future::poll_fn;
use core::sync::atomic::{AtomicU32, Ordering};
use core::task::Poll;
use embedded_io_async::{ErrorType, Read, Write};

/// How often what goes wrong: each rate is a chance in a million per byte. Lengths are in counts of the line's clock.
///
/// # Example: one byte in a hundred is spoiled, one way or another
/// ```
/// use stillpoint_agent::faulty::Faults;
/// let faults = Faults::bytes(10_000);
/// assert_eq!(faults.drop + faults.flip + faults.duplicate, 10_000);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    /// The byte does not arrive.
    pub drop: u32,
    /// It arrives with at least one bit flipped.
    pub flip: u32,
    /// It arrives twice.
    pub duplicate: u32,
    /// It arrives, and the line stands still for [`delay_length`](Self::delay_length) behind it.
    pub delay: u32,
    /// The line is cut with it: this byte and all of [`cut_length`](Self::cut_length) are lost.
    pub cut: u32,
    /// How long a delay is.
    pub delay_length: u32,
    /// How long a cut is.
    pub cut_length: u32,
}

impl Faults {
    /// Nothing goes wrong.
    pub const NONE: Self = Self { drop: 0, flip: 0, duplicate: 0, delay: 0, cut: 0, delay_length: 0, cut_length: 0 };

    /// So many bytes in a million are lost, flipped or repeated, in equal parts.
    #[must_use]
    pub const fn bytes(rate: u32) -> Self {
        Self { drop: rate / 3, duplicate: rate / 3, flip: rate - 2 * (rate / 3), ..Self::NONE }
    }
}

/// What a [`Faulty`] half has done since the start. Every count wraps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FaultCounts {
    /// Bytes that came to the line.
    pub bytes: u32,
    /// Bytes that were dropped, those of cuts not counted.
    pub dropped: u32,
    /// Bytes with a flipped bit.
    pub flipped: u32,
    /// Bytes that arrived twice.
    pub duplicated: u32,
    /// How often the line stood still.
    pub delayed: u32,
    /// How often the line was cut.
    pub cuts: u32,
    /// Bytes lost by that.
    pub cut_off: u32,
}

/// What one [`Faulty`] half shall do, and what it has done: usually a `static`, changed and read while the line works.
///
/// # Example: rates may change at any time
/// ```
/// use stillpoint_agent::faulty::{FaultPlan, Faults};
/// static TO_US: FaultPlan = FaultPlan::new(Faults::NONE);
/// TO_US.set(Faults::bytes(10_000));
/// TO_US.cut();
/// assert!(TO_US.is_cut() && TO_US.done().bytes == 0);
/// TO_US.mend();
/// ```
pub struct FaultPlan {
    rates: [AtomicU32; 5],
    lengths: [AtomicU32; 2],
    is_cut: AtomicU32,
    /// Written by the line's core alone.
    done: [AtomicU32; 7],
}

impl FaultPlan {
    /// These faults, and nothing done yet.
    #[must_use]
    pub const fn new(faults: Faults) -> Self {
        let Faults { drop, flip, duplicate, delay, cut, delay_length, cut_length } = faults;
        let word = AtomicU32::new;
        Self {
            rates: [word(drop), word(flip), word(duplicate), word(delay), word(cut)],
            lengths: [word(delay_length), word(cut_length)],
            is_cut: word(0),
            done: [const { AtomicU32::new(0) }; 7],
        }
    }

    /// From now on these faults. A cut or a delay that has begun lasts as long as it was to.
    pub fn set(&self, faults: Faults) {
        let fresh = Self::new(faults);
        let words = self.rates.iter().chain(&self.lengths);
        for (word, new) in words.zip(fresh.rates.into_iter().chain(fresh.lengths)) {
            word.store(new.into_inner(), Ordering::Relaxed);
        }
    }

    /// Cuts the line until it is [mended](Self::mend).
    pub fn cut(&self) {
        self.is_cut.store(1, Ordering::Relaxed);
    }

    /// Mends a line that was cut by [`cut`](Self::cut).
    pub fn mend(&self) {
        self.is_cut.store(0, Ordering::Relaxed);
    }

    /// Whether the line is cut until it is mended.
    #[must_use]
    pub fn is_cut(&self) -> bool {
        self.is_cut.load(Ordering::Relaxed) != 0
    }

    /// What was done so far.
    #[must_use]
    pub fn done(&self) -> FaultCounts {
        let [bytes, dropped, flipped, duplicated, delayed, cuts, cut_off] =
            self.done.each_ref().map(|word| word.load(Ordering::Relaxed));
        FaultCounts { bytes, dropped, flipped, duplicated, delayed, cuts, cut_off }
    }

    fn count(&self, what: Done) {
        let word = &self.done[what as usize];
        word.store(word.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
    }
}

/// Places of the counts, in the order of [`FaultCounts`].
#[derive(Clone, Copy)]
enum Done {
    Bytes,
    Dropped,
    Flipped,
    Duplicated,
    Delayed,
    Cuts,
    CutOff,
}

/// Either half of a serial line, with faults.
///
/// # Example: around a UART, or here around plain bytes
/// ```
/// use stillpoint_agent::faulty::{FaultPlan, Faults, Faulty};
/// static PLAN: FaultPlan = FaultPlan::new(Faults { drop: 1_000_000, ..Faults::NONE });
/// let line: &[u8] = b"nothing of this arrives";
/// let receiver = Faulty::new(line, &PLAN, 7, || 0);
/// # let _ = receiver;
/// ```
pub struct Faulty<L> {
    line: L,
    plan: &'static FaultPlan,
    clock: fn() -> u32,
    random: Random,
    /// When the cut or the delay ends that has begun.
    cut_until: Option<u32>,
    still_until: Option<u32>,
    was_cut: bool,
    /// Of a sending half: what becomes of the byte that is next, once that is decided.
    next: Option<Fate>,
    /// Of a receiving half: the second copy of a byte for which there was no room.
    again: Option<u8>,
}

/// What becomes of one byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Fate {
    flip: u8,
    copies: u8,
}

impl<L> Faulty<L> {
    /// Puts the faults of `plan` around a line. `clock` is real time: it must go on while the core is parked.
    pub fn new(line: L, plan: &'static FaultPlan, seed: u64, clock: fn() -> u32) -> Self {
        let random = Random(seed);
        Self { line, plan, clock, random, cut_until: None, still_until: None, was_cut: false, next: None, again: None }
    }

    /// Whether a stretch of time has not ended yet; forgets it when it has.
    fn lasts(until: &mut Option<u32>, now: u32) -> bool {
        *until = until.filter(|until| (until.wrapping_sub(now) as i32) > 0);
        until.is_some()
    }

    /// Decides what becomes of the next byte.
    fn decide(&mut self) -> Fate {
        let plan = self.plan;
        let now = (self.clock)();
        plan.count(Done::Bytes);
        let mut draw = self.random.below(1_000_000);
        let mut happens = |rate: &AtomicU32| {
            let rate = rate.load(Ordering::Relaxed);
            let happens = draw < rate;
            draw = if happens { u32::MAX } else { draw - rate };
            happens
        };
        let [drop, flip, duplicate, delay, cut] = plan.rates.each_ref().map(&mut happens);
        let [delay_length, cut_length] = plan.lengths.each_ref().map(|length| length.load(Ordering::Relaxed));
        if cut {
            plan.count(Done::Cuts);
            self.cut_until = Some(now.wrapping_add(cut_length));
        }
        let is_cut = plan.is_cut();
        if is_cut && !self.was_cut {
            plan.count(Done::Cuts);
        }
        self.was_cut = is_cut;
        if is_cut || cut || Self::lasts(&mut self.cut_until, now) {
            plan.count(Done::CutOff);
            return Fate { flip: 0, copies: 0 };
        }
        if delay {
            plan.count(Done::Delayed);
            self.still_until = Some(now.wrapping_add(delay_length));
        }
        let (what, fate) = match (drop, flip, duplicate) {
            (true, ..) => (Done::Dropped, Fate { flip: 0, copies: 0 }),
            (_, true, _) => (Done::Flipped, Fate { flip: self.random.below(255) as u8 + 1, copies: 1 }),
            (.., true) => (Done::Duplicated, Fate { flip: 0, copies: 2 }),
            (false, false, false) => return Fate { flip: 0, copies: 1 },
        };
        plan.count(what);
        fate
    }

    /// Waits while the line stands still. It has no alarm, so it asks to be polled again at once.
    async fn move_again(&mut self) {
        poll_fn(|context| {
            if Self::lasts(&mut self.still_until, (self.clock)()) {
                context.waker().wake_by_ref();
                return Poll::Pending;
            }
            Poll::Ready(())
        })
        .await;
    }
}

impl<L: ErrorType> ErrorType for Faulty<L> {
    type Error = L::Error;
}

/// What a transfer has taken or decided is kept until the next one.
impl<L: CancelSafe> CancelSafe for Faulty<L> {}

impl<L: Read> Read for Faulty<L> {
    async fn read(&mut self, into: &mut [u8]) -> Result<usize, L::Error> {
        if into.is_empty() {
            return Ok(0);
        }
        if let Some(byte) = self.again.take() {
            into[0] = byte;
            return Ok(1);
        }
        self.move_again().await;
        let mut chunk = [0; 32];
        loop {
            // Every byte may come out twice.
            let room = (into.len() / 2).clamp(1, chunk.len());
            let count = self.line.read(&mut chunk[..room]).await?;
            if count == 0 {
                return Ok(0);
            }
            let mut filled = 0;
            for byte in &chunk[..count] {
                let fate = self.decide();
                for _ in 0..fate.copies {
                    match into.get_mut(filled) {
                        Some(place) => *place = byte ^ fate.flip,
                        None => self.again = Some(byte ^ fate.flip),
                    }
                    filled += 1;
                }
            }
            // No byte at all would mean that the line has ended.
            if filled > 0 {
                return Ok(filled.min(into.len()));
            }
        }
    }
}

impl<L: Write> Write for Faulty<L> {
    /// Takes one byte at a time, so that what was taken has left, whoever stops polling.
    async fn write(&mut self, from: &[u8]) -> Result<usize, L::Error> {
        let Some(byte) = from.first() else { return Ok(0) };
        self.move_again().await;
        let mut fate = match self.next {
            Some(fate) => fate,
            None => self.decide(),
        };
        self.next = Some(fate);
        while fate.copies > 0 {
            if self.line.write(&[byte ^ fate.flip]).await? == 0 {
                return Ok(0);
            }
            fate.copies -= 1;
            self.next = Some(fate);
        }
        self.next = None;
        Ok(1)
    }

    async fn flush(&mut self) -> Result<(), L::Error> {
        self.line.flush().await
    }
}

/// SplitMix64 (Steele, Lea & Flood 2014): small, seeded, the same on every machine.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u32) -> u32 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        let high = (mixed ^ mixed >> 31) >> 32;
        ((high * u64::from(bound)) >> 32) as u32
    }
}

#[cfg(test)]
mod tests;

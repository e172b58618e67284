//! What a node records: Hyder's recording options, section 5.3.
use crate::{Event, EventKind, KindSet};

/// How much is recorded.
///
/// # Example: each recording has one
/// ```
/// use stillpoint_core::log::{Recording, RecordingMode};
/// assert_eq!(Recording::FULL.mode(), RecordingMode::Full);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[repr(u8)]
pub enum RecordingMode {
    /// Nothing. Causality is still forwarded.
    Off = 0,
    /// A chosen set of kinds and actions. The order among recorded events stays exact.
    Restricted = 1,
    /// Every event.
    Full = 2,
    /// Every event, and what else a replay needs: polls, empty receives, full sends, clock reads, inputs.
    Replay = 3,
}

/// What a node records.
///
/// # Example: only messages and what tag 3 marks
/// ```
/// use stillpoint_core::{log::Recording, Event, EventKind, KindSet, PortId};
/// let kinds = KindSet::EMPTY.with(EventKind::Send).with(EventKind::Local);
/// let recording = Recording::restricted(kinds, 1 << 3);
/// assert!(recording.records(&Event::send(PortId(0))));
/// assert!(recording.records(&Event::local(3)) && !recording.records(&Event::local(4)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Recording {
    mode: RecordingMode,
    /// Whether records carry the clock entries that changed since the last one; needed as soon as any node of the
    /// system does not record everything.
    with_causes: bool,
    kinds: KindSet,
    /// Which tracepoints, by the lowest five bits of their tag; none if their kind is not recorded.
    actions: u32,
    /// The kinds of which only what is named is recorded.
    named: KindSet,
    /// Of messages, those of these ports.
    ports: u32,
    /// Of other kinds, what has one of these numbers as its argument; 0 is none.
    names: [u16; Recording::NAMES],
}

/// In the first word: the mode, whether causes are recorded, that it is one at all, and from here on the kinds.
const MODE: u32 = 3;
const CAUSES: u32 = 4;
const VALID: u32 = 8;
const KINDS: u32 = 8;
/// Recorded in every restricted mode.
const ALWAYS: KindSet =
    KindSet::EMPTY.with(EventKind::Halt).with(EventKind::Resume).with(EventKind::Fault).with(EventKind::Reset);
const _: () = assert!(EventKind::ALL.len() <= 32 - KINDS as usize);

impl Recording {
    /// How many names can be chosen, besides ports.
    pub const NAMES: usize = 8;
    /// Words of a recording in a control block or in memory that survives a reset.
    pub const WORDS: usize = 4 + Self::NAMES / 2;
    /// Records nothing.
    pub const OFF: Self = Self {
        mode: RecordingMode::Off,
        with_causes: false,
        kinds: KindSet::EMPTY,
        actions: 0,
        named: KindSet::EMPTY,
        ports: 0,
        names: [0; Self::NAMES],
    };
    /// Records every event.
    pub const FULL: Self = Self { mode: RecordingMode::Full, kinds: KindSet::ORDINARY, actions: u32::MAX, ..Self::OFF };
    /// Records every event and what replay needs.
    pub const REPLAY: Self = Self { mode: RecordingMode::Replay, kinds: KindSet::ALL, actions: u32::MAX, ..Self::OFF };

    /// Records these kinds, and of the tracepoints those with `actions` bit `tag % 32` set. Halts, resumes, faults and
    /// resets are always among them.
    #[must_use]
    pub const fn restricted(kinds: KindSet, actions: u32) -> Self {
        let kinds = KindSet(kinds.0 & KindSet::ORDINARY.0 | ALWAYS.0);
        let actions = if kinds.contains(EventKind::Local) { actions } else { 0 };
        Self { mode: RecordingMode::Restricted, with_causes: true, kinds, actions, ..Self::OFF }
    }

    /// Of the kinds in `named`, records only sends and receives of `ports`, one bit each, and what has one of `names` as its
    /// argument: a tracepoint, an object, a span, a procedure. A name of 0 is none. Only a restricted recording can be narrowed.
    ///
    /// # Example: one tracepoint of many, exactly
    /// ```
    /// use stillpoint_core::{log::Recording, EventKind, KindSet};
    /// let traces = KindSet::EMPTY.with(EventKind::Local);
    /// let one = Recording::restricted(traces, u32::MAX).only(traces, 0, [7, 0, 0, 0, 0, 0, 0, 0]);
    /// assert_eq!(one.actions(), 1 << 7);
    /// assert_eq!(one.names(), (traces, 0, [7, 0, 0, 0, 0, 0, 0, 0]));
    /// ```
    #[must_use]
    pub const fn only(self, named: KindSet, ports: u32, names: [u16; Self::NAMES]) -> Self {
        let named = KindSet(named.0 & self.kinds.0 & !ALWAYS.0);
        if !matches!(self.mode, RecordingMode::Restricted) || named.0 == 0 {
            return self;
        }
        // Most of what is not named is so left out at once, and the rest when its record would be written.
        let mut tags = 0;
        let mut at = 0;
        while at < Self::NAMES {
            if names[at] != 0 {
                tags |= 1 << (names[at] & 31);
            }
            at += 1;
        }
        let actions = if named.contains(EventKind::Local) { self.actions & tags } else { self.actions };
        Self { named, ports, names, actions, ..self }
    }

    /// The same, with the clock entries that changed: for a node that records everything beside one that does not.
    #[must_use]
    pub const fn with_causes(self) -> Self {
        Self { with_causes: true, ..self }
    }

    /// The same as words, for a control block or memory that survives a reset; the first is never 0.
    ///
    /// # Example: there and back
    /// ```
    /// use stillpoint_core::log::Recording;
    /// let recording = Recording::OFF.with_causes();
    /// assert_eq!(Recording::from_words(recording.to_words()), Some(recording));
    /// assert_eq!(Recording::from_words([0; Recording::WORDS]), None);
    /// ```
    #[must_use]
    pub const fn to_words(self) -> [u32; Self::WORDS] {
        let causes = if self.with_causes { CAUSES } else { 0 };
        let first = self.mode as u32 | causes | VALID | self.kinds.0 << KINDS;
        let [a, b, c, d] = self.name_words();
        [first, self.actions, self.named.0, self.ports, a, b, c, d]
    }

    /// The names, two in a word.
    pub(crate) const fn name_words(&self) -> [u32; Self::NAMES / 2] {
        let [a, b, c, d, e, f, g, h] = self.names;
        [pair(a, b), pair(c, d), pair(e, f), pair(g, h)]
    }

    /// The names in words.
    pub(crate) const fn names_of([a, b, c, d]: [u32; Self::NAMES / 2]) -> [u16; Self::NAMES] {
        [a as u16, high(a), b as u16, high(b), c as u16, high(c), d as u16, high(d)]
    }

    /// What [`Recording::to_words`] gave; none for other words.
    #[must_use]
    pub fn from_words(words: [u32; Self::WORDS]) -> Option<Self> {
        let [first, actions, named, ports, a, b, c, d] = words;
        let recording = match first & MODE {
            0 => Self::OFF,
            1 => Self::restricted(KindSet(first >> KINDS), actions),
            2 => Self::FULL,
            _ => Self::REPLAY,
        };
        let recording = Self { with_causes: first & CAUSES != 0, ..recording };
        let recording = recording.only(KindSet(named), ports, Self::names_of([a, b, c, d]));
        (recording.to_words() == words).then_some(recording)
    }

    /// How much is recorded.
    #[must_use]
    pub const fn mode(&self) -> RecordingMode {
        self.mode
    }

    /// Which kinds are recorded.
    #[must_use]
    pub const fn kinds(&self) -> KindSet {
        self.kinds
    }

    /// Which tracepoints are recorded, by the lowest five bits of their tag.
    #[must_use]
    pub const fn actions(&self) -> u32 {
        self.actions
    }

    /// The kinds of which only what is named is recorded, the ports and the names: see [`Recording::only`].
    #[must_use]
    pub const fn names(&self) -> (KindSet, u32, [u16; Self::NAMES]) {
        (self.named, self.ports, self.names)
    }

    /// Whether an event of a recorded kind is left out because it is not named.
    #[must_use]
    pub(crate) fn leaves_out(&self, event: &Event) -> bool {
        self.named.contains(event.kind)
            && match event.kind {
                EventKind::Send | EventKind::Receive => self.ports >> (event.arg & 31) & 1 == 0,
                _ => event.arg == 0 || !self.names.contains(&event.arg),
            }
    }

    /// Whether records carry the clock entries that changed since the last one.
    #[must_use]
    pub const fn carries_causes(&self) -> bool {
        self.with_causes
    }

    /// Whether events of this kind happen at all for the node: what only replay needs is no event otherwise.
    #[inline(always)]
    pub(crate) const fn observes(&self, kind: EventKind) -> bool {
        KindSet::ORDINARY.contains(kind) || matches!(self.mode, RecordingMode::Replay)
    }

    /// Whether `event` is recorded, as far as its kind and the lowest bits of its tag tell. Of a kind that records only what is named the
    /// [`LogWriter`](super::LogWriter) leaves out the rest: a check here would cost every event.
    #[must_use]
    #[inline(always)]
    pub const fn records(&self, event: &Event) -> bool {
        match event.kind {
            // A rotation takes its distance modulo 32 by itself.
            EventKind::Local => self.actions.rotate_right(event.arg as u32) & 1 != 0,
            kind => self.kinds.contains(kind),
        }
    }
}

const fn high(word: u32) -> u16 {
    (word >> 16) as u16
}

const fn pair(low: u16, high: u16) -> u32 {
    low as u32 | (high as u32) << 16
}

#[cfg(any(test, on_target))]
mod tests {
    use super::*;
    use stillpoint_test::test;

    #[test]
    fn words_that_no_recording_has_are_none() {
        let some = Recording::restricted(KindSet::EMPTY.with(EventKind::Send).with(EventKind::Local), 0xF0);
        let names = [9, 300, 0, 0, 0, 0, 0, 65535];
        let named = Recording::restricted(some.kinds(), u32::MAX).only(some.kinds(), 5, names);
        for recording in [Recording::OFF, some, named, Recording::FULL, Recording::REPLAY] {
            for recording in [recording, recording.with_causes()] {
                let words = recording.to_words();
                let with = |at: usize, bits: u32| {
                    let mut words = words;
                    words[at] ^= bits;
                    Recording::from_words(words)
                };
                assert_eq!(Recording::from_words(words), Some(recording));
                assert_eq!(with(0, VALID), None);
                assert_eq!(with(0, 1 << 31), None);
                assert_ne!(with(3, 1), Some(recording));
            }
        }
        assert_eq!(Recording::from_words([u32::MAX; Recording::WORDS]), None);
        let mut off = Recording::OFF.to_words();
        off[1] = 1;
        assert_eq!(Recording::from_words(off), None);
    }

    #[test]
    fn each_mode_records_what_it_says() {
        let poll = Event::new(EventKind::Poll, 0);
        assert!(EventKind::ALL.into_iter().all(|kind| !Recording::OFF.records(&Event::new(kind, 0))));
        assert!(Recording::FULL.records(&Event::local(9)) && !Recording::FULL.records(&poll));
        assert!(Recording::REPLAY.records(&poll));
        let crashes_only = Recording::restricted(KindSet::EMPTY, 0);
        assert!(crashes_only.records(&Event::new(EventKind::Fault, 0)) && !crashes_only.records(&Event::local(0)));
    }
}

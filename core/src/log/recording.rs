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
}

/// In the first word: the mode, whether causes are recorded, that it is one at all, and from here on the kinds.
const MODE: u32 = 3;
const CAUSES: u32 = 4;
const VALID: u32 = 8;
const KINDS: u32 = 8;
const _: () = assert!(EventKind::ALL.len() <= 32 - KINDS as usize);

impl Recording {
    /// Records nothing.
    pub const OFF: Self = Self { mode: RecordingMode::Off, with_causes: false, kinds: KindSet::EMPTY, actions: 0 };
    /// Records every event.
    pub const FULL: Self =
        Self { mode: RecordingMode::Full, with_causes: false, kinds: KindSet::ORDINARY, actions: u32::MAX };
    /// Records every event and what replay needs.
    pub const REPLAY: Self =
        Self { mode: RecordingMode::Replay, with_causes: false, kinds: KindSet::ALL, actions: u32::MAX };

    /// Records these kinds, and of the tracepoints those with `actions` bit `tag % 32` set. Halts, resumes, faults and
    /// resets are always among them.
    #[must_use]
    pub const fn restricted(kinds: KindSet, actions: u32) -> Self {
        let kinds = KindSet(kinds.0 & KindSet::ORDINARY.0)
            .with(EventKind::Halt)
            .with(EventKind::Resume)
            .with(EventKind::Fault)
            .with(EventKind::Reset);
        let actions = if kinds.contains(EventKind::Local) { actions } else { 0 };
        Self { mode: RecordingMode::Restricted, with_causes: true, kinds, actions }
    }

    /// The same, with the clock entries that changed: for a node that records everything beside one that does not.
    #[must_use]
    pub const fn with_causes(self) -> Self {
        Self { with_causes: true, ..self }
    }

    /// The same as two words, for a control block or memory that survives a reset; the first is never 0.
    ///
    /// # Example: there and back
    /// ```
    /// use stillpoint_core::log::Recording;
    /// let recording = Recording::OFF.with_causes();
    /// assert_eq!(Recording::from_words(recording.to_words()), Some(recording));
    /// assert_eq!(Recording::from_words([0, 0]), None);
    /// ```
    #[must_use]
    pub const fn to_words(self) -> [u32; 2] {
        let causes = if self.with_causes { CAUSES } else { 0 };
        [self.mode as u32 | causes | VALID | self.kinds.0 << KINDS, self.actions]
    }

    /// What [`Recording::to_words`] gave; none for other words.
    #[must_use]
    pub const fn from_words([first, actions]: [u32; 2]) -> Option<Self> {
        let recording = match first & MODE {
            0 => Self::OFF,
            1 => Self::restricted(KindSet(first >> KINDS), actions),
            2 => Self::FULL,
            _ => Self::REPLAY,
        };
        let recording = Self { with_causes: first & CAUSES != 0, ..recording };
        let [same_first, same_actions] = recording.to_words();
        if same_first == first && same_actions == actions { Some(recording) } else { None }
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

    /// Whether `event` is recorded.
    #[must_use]
    #[inline(always)]
    pub const fn records(&self, event: &Event) -> bool {
        match event.kind {
            EventKind::Local => self.actions >> (event.arg & 31) & 1 != 0,
            kind => self.kinds.contains(kind),
        }
    }
}

#[cfg(any(test, on_target))]
mod tests {
    use super::*;
    use stillpoint_test::test;

    #[test]
    fn words_that_no_recording_has_are_none() {
        let some = Recording::restricted(KindSet::EMPTY.with(EventKind::Send).with(EventKind::Local), 0xF0);
        for recording in [Recording::OFF, some, Recording::FULL, Recording::REPLAY] {
            for recording in [recording, recording.with_causes()] {
                let [first, actions] = recording.to_words();
                assert_eq!(Recording::from_words([first, actions]), Some(recording));
                assert_eq!(Recording::from_words([first ^ VALID, actions]), None);
                assert_eq!(Recording::from_words([first ^ 1 << 31, actions]), None);
            }
        }
        assert_eq!(Recording::from_words([u32::MAX; 2]), None);
        assert_eq!(Recording::from_words([Recording::OFF.to_words()[0], 1]), None);
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

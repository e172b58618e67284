//! What is armed on one node, and how far each predicate has come as far as this node knows.
use super::slot::{EventKey, Phase, Slot};
use super::{BUILT_IN, Carry, Detector, EvalContext, Generation, Program, Reached, SLOTS, SlotId, SlotSet, WATCHES};
use crate::control::SlotState;
use crate::{Event, PortId, PortSet};
use core::fmt;

/// The predicates of one node.
///
/// The node calls, in this order, at each event:
/// 1. [`merge`](Self::merge) what a received message carried, *before* its receive event is evaluated, so that the
///    receive itself can satisfy the next stage;
/// 2. [`after_event`](Self::after_event), when the clock already counts the event;
/// 3. [`carry_on`](Self::carry_on) for a message that is sent, *after* its send event was evaluated: the send happened before
///    its receive, so a stage that the send satisfied must travel with it.
///
/// The rules (Miller & Choi 1988, section 3, with the points it leaves open decided):
/// - One event advances a predicate by at most one stage.
/// - An event term occurs at every event that matches. A condition occurs when it becomes true, or if it is true at
///   the first evaluation after its stage arrived (after an advance by this node: at the next event). `^n` counts from
///   there. So `c^2` waits for `c` to become false and true again, while the second stage of `c -> c` looks afresh. A
///   condition that [held](Program::with_held) when it was armed occurs only after it was false.
/// - A node passes on what it hears also of predicates it has no program for.
/// - A newer generation replaces what is in the slot, an older one is ignored, and so is one that was removed.
/// - Stage 1 counts only after [`enable`](Self::enable), which the host calls when all nodes have their program. Later
///   stages need no enabling: hearing of them proves that somebody was enabled.
/// - Who satisfies the last stage has *fired*: reported once, and the node halts. Nodes that hear of it stop looking.
/// - A piggyback never advances a predicate of the marker detector, nor a marker one of the causal detector.
/// - A node that resets starts with a new, empty table.
///
/// # Example: one event after another on one node
/// ```
/// use stillpoint_core::predicate::{Detector, EvalContext, Generation, Predicates, ProgramBuilder, SlotId};
/// use stillpoint_core::{Event, EventKind, PortId};
///
/// let slot = SlotId::ALL[0];
/// let program = ProgramBuilder::new(2)
///     .push_event_term(1, 1, EventKind::Send, Some(2))
///     .push_event_term(2, 2, EventKind::Timer, None)
///     .finish()?;
/// let mut predicates = Predicates::new();
/// predicates.install(slot, Generation(1), Detector::Causal, &program)?;
/// predicates.enable(slot, Generation(1))?;
///
/// let context = EvalContext { count: 1, epoch: 0, clock: &[] };
/// let timer = Event::new(EventKind::Timer, 0);
/// assert!(predicates.after_event(&timer, &context).is_empty());
/// assert!(predicates.after_event(&Event::send(PortId(2)), &context).advanced.contains(slot));
/// assert_eq!(predicates.carry().iter().next().map(|reached| reached.stage()), Some(1));
/// assert!(predicates.after_event(&timer, &context).is_empty());
/// assert!(predicates.after_event(&timer, &context).fired.contains(slot));
/// assert!(predicates.after_event(&timer, &context).is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Predicates {
    watches: [i32; WATCHES],
    slots: [Slot; if BUILT_IN { SLOTS } else { 0 }],
    /// Slots with terms to evaluate after each event.
    live: SlotSet,
    /// Slots whose stage travels on messages.
    carried: SlotSet,
}

const _: () = assert!(size_of::<Predicates>() <= 256);

impl Predicates {
    /// Nothing armed, all watches 0.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            watches: [0; WATCHES],
            slots: [Slot::EMPTY; if BUILT_IN { SLOTS } else { 0 }],
            live: SlotSet::EMPTY,
            carried: SlotSet::EMPTY,
        }
    }

    /// Whether no event of this node can advance anything just now.
    #[inline]
    #[must_use]
    pub const fn is_idle(&self) -> bool {
        !BUILT_IN || self.live.is_empty()
    }

    /// Whether messages have anything to carry.
    #[inline]
    #[must_use]
    pub const fn has_carry(&self) -> bool {
        BUILT_IN && !self.carried.is_empty()
    }

    /// Puts this node's part of a predicate into a slot. Its first stage waits for [`enable`](Self::enable).
    ///
    /// Installing the same again changes nothing, so a host that is in doubt can repeat itself. What was already heard
    /// of this generation is kept.
    ///
    /// # Errors
    /// The generation is older than one the slot has seen, or was used for something else; nothing has changed.
    pub fn install(
        &mut self,
        slot: SlotId,
        generation: Generation,
        detector: Detector,
        program: &Program,
    ) -> Result<(), InstallError> {
        let entry = self.slots.get_mut(slot.index()).ok_or(InstallError::NotBuiltIn)?;
        entry.install(generation, detector, program)?;
        self.note_changed(slot);
        Ok(())
    }

    /// Lets stage 1 be satisfied on this node. Repeating it changes nothing.
    ///
    /// # Errors
    /// The slot holds no program of this generation; nothing has changed.
    pub fn enable(&mut self, slot: SlotId, generation: Generation) -> Result<(), EnableError> {
        self.slots.get_mut(slot.index()).ok_or(EnableError::NotInstalled)?.enable(generation)?;
        self.note_changed(slot);
        Ok(())
    }

    /// Names the ports whose messages need not carry the stages of a slot, because they lead to no node that looks for the next
    /// one. Messages on all other ports carry them.
    pub fn silence(&mut self, slot: SlotId, ports: PortSet) {
        if let Some(entry) = self.slots.get_mut(slot.index()) {
            entry.silent = ports;
        }
    }

    /// Disarms a slot, whatever it holds. Late news of what it held is ignored from now on.
    pub fn remove(&mut self, slot: SlotId) {
        if let Some(entry) = self.slots.get_mut(slot.index()) {
            entry.remove();
            self.note_changed(slot);
        }
    }

    /// Gives a watch its new value; conditions see it from the next event on.
    ///
    /// # Errors
    /// There is no such watch; nothing has changed.
    #[inline]
    pub fn set_watch(&mut self, watch: u8, value: i32) -> Result<(), WatchError> {
        *self.watches.get_mut(usize::from(watch)).ok_or(WatchError::OutOfRange(watch))? = value;
        Ok(())
    }

    /// The value of a watch, if there is such a watch.
    #[inline]
    #[must_use]
    pub fn watch(&self, watch: u8) -> Option<i32> {
        self.watches.get(usize::from(watch)).copied()
    }

    /// Takes in what a received message carried. Returns the slots in which it was news.
    #[inline]
    pub fn merge(&mut self, carry: &Carry) -> SlotSet {
        let mut news = SlotSet::EMPTY;
        for reached in carry.iter() {
            if self.hear(reached, Detector::Causal) {
                news = news.with(reached.slot());
            }
        }
        news
    }

    /// Takes in a predicate marker. `true`: it was news, forward it to all other ports.
    pub fn on_marker(&mut self, reached: Reached) -> bool {
        self.hear(reached, Detector::Marker)
    }

    /// Evaluates what is armed after an event; a received message's [`Carry`] has been merged before.
    #[inline]
    pub fn after_event(&mut self, event: &Event, context: &EvalContext<'_>) -> Outcome {
        if self.is_idle() {
            return Outcome::NOTHING;
        }
        let satisfied = self.satisfied_by(EventKey::of(event), || *context);
        if satisfied.is_empty() { Outcome::NOTHING } else { self.advance(satisfied) }
    }

    /// Every stage that is known, for whoever reads what this node writes into a shared object.
    #[inline]
    #[must_use]
    pub fn carry(&self) -> Carry {
        self.carry_where(|_| true)
    }

    /// What a message sent on this port now has to carry.
    #[inline]
    #[must_use]
    pub fn carry_on(&self, port: PortId) -> Carry {
        self.carry_where(|slot| !slot.silent.contains(port))
    }

    fn carry_where(&self, is_told: impl Fn(&Slot) -> bool) -> Carry {
        let mut carry = Carry::EMPTY;
        for slot in self.carried.iter() {
            if let Some(reached) = self.reached(slot).filter(|_| self.slots.get(slot.index()).is_some_and(&is_told)) {
                carry.set(reached);
            }
        }
        carry
    }

    /// The ports of `all` whose messages carry no stage just now.
    #[must_use]
    pub(crate) fn without_carry(&self, all: PortSet) -> PortSet {
        let silent = self.carried.iter().filter_map(|slot| self.slots.get(slot.index())).map(|slot| slot.silent.0);
        PortSet(silent.fold(all.0, |ports, silent| ports & silent))
    }

    /// The last stage known to be satisfied, if any: what a predicate marker for this slot says.
    #[inline]
    #[must_use]
    pub fn reached(&self, slot: SlotId) -> Option<Reached> {
        let entry = self.slots.get(slot.index())?;
        Reached::new(slot, entry.generation, entry.awaits.saturating_sub(1)).ok()
    }

    /// The slots whose stage is known by predicate marker: what a peer must be told that missed the markers.
    #[must_use]
    pub fn announced(&self) -> SlotSet {
        let by_marker =
            |slot: &SlotId| self.slots.get(slot.index()).is_some_and(|entry| entry.detector != Detector::Causal);
        let known = SlotId::ALL.into_iter().filter(|slot| by_marker(slot) && self.reached(*slot).is_some());
        known.fold(SlotSet::EMPTY, SlotSet::with)
    }

    /// The program in a slot, with its generation and detector.
    #[must_use]
    pub fn installed(&self, slot: SlotId) -> Option<(Generation, Detector, &Program)> {
        let entry = self.slots.get(slot.index())?;
        entry.has_program().then_some((entry.generation, entry.detector, &entry.program))
    }

    /// How far the predicate in a slot has come, as far as this node knows.
    #[must_use]
    pub fn state(&self, slot: SlotId) -> SlotState {
        let Slot { phase, generation, awaits, detector, .. } = *self.slots.get(slot.index()).unwrap_or(&Slot::EMPTY);
        SlotState { phase, generation, stage: awaits.saturating_sub(1), detector, enabled: awaits > 0 }
    }

    /// Whether the predicate in this slot fired on this node.
    #[must_use]
    pub fn has_fired(&self, slot: SlotId) -> bool {
        self.slots.get(slot.index()).is_some_and(|entry| entry.phase == Phase::Fired)
    }

    /// Ends a simultaneous event of which a node or a link began anew; the others are told by predicate marker. `false` if it
    /// was over before.
    pub(crate) fn end(&mut self, slot: SlotId) -> bool {
        let Some(entry) = self.slots.get_mut(slot.index()).filter(|entry| entry.goes_on()) else { return false };
        entry.end();
        self.note_changed(slot);
        true
    }

    /// Whether what is known of the simultaneous event in a slot still counts, and how its condition stands.
    pub(crate) fn component(&self, slot: SlotId) -> bool {
        self.slots.get(slot.index()).is_some_and(|entry| entry.goes_on() && entry.holds())
    }

    /// Whether the simultaneous event in a slot may fire.
    pub(crate) fn is_enabled(&self, slot: SlotId) -> bool {
        self.slots.get(slot.index()).is_some_and(|entry| entry.goes_on() && entry.awaits == 1)
    }

    /// Looks on for the own condition of a simultaneous event.
    pub(crate) fn look_again(&mut self, slot: SlotId) {
        if let Some(entry) = self.slots.get_mut(slot.index()) {
            entry.look_again();
        }
    }

    /// Finds out which slots advance before any does: they are independent, and nearly always none does. Who is told of
    /// any goes on with [`advance`](Self::advance).
    #[inline(always)]
    pub(crate) fn satisfied_by<'a>(&mut self, event: EventKey, context: impl Fn() -> EvalContext<'a>) -> SlotSet {
        let (mut live, mut satisfied) = (self.live, SlotSet::EMPTY);
        while let Some(slot) = live.pop() {
            if BUILT_IN && self.slots[slot.index()].satisfied_by(event, &self.watches, &context) {
                satisfied = satisfied.with(slot);
            }
        }
        satisfied
    }

    /// Moves these slots on by one stage.
    #[cold]
    #[inline(never)]
    pub(crate) fn advance(&mut self, satisfied: SlotSet) -> Outcome {
        let mut outcome = Outcome { advanced: satisfied, ..Outcome::NOTHING };
        for slot in satisfied.iter() {
            let Some(entry) = self.slots.get_mut(slot.index()) else { continue };
            entry.advance();
            if entry.phase == Phase::Fired {
                outcome.fired = outcome.fired.with(slot);
            }
            if entry.detector == Detector::Marker {
                outcome.announce = outcome.announce.with(slot);
            }
            self.note_changed(slot);
        }
        outcome
    }

    fn hear(&mut self, reached: Reached, detector: Detector) -> bool {
        let news = self.slots.get_mut(reached.slot().index()).is_some_and(|entry| entry.hear(reached, detector));
        if news {
            self.note_changed(reached.slot());
        }
        news
    }

    /// Brings the two sets up to date with a slot.
    fn note_changed(&mut self, slot: SlotId) {
        let Some(entry) = self.slots.get(slot.index()) else { return };
        self.live = if entry.is_live() { self.live.with(slot) } else { self.live.without(slot) };
        self.carried = if entry.is_carried() { self.carried.with(slot) } else { self.carried.without(slot) };
    }
}

impl Default for Predicates {
    fn default() -> Self {
        Self::new()
    }
}

/// What an event did to the predicates, and what follows: announce first, then halt.
///
/// # Example
/// ```
/// use stillpoint_core::predicate::{Outcome, SlotSet};
/// assert!(Outcome::NOTHING.is_empty() && Outcome::NOTHING.fired == SlotSet::EMPTY);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[must_use]
pub struct Outcome {
    /// Predicates that this event advanced by one stage.
    pub advanced: SlotSet,
    /// Those of them whose new stage must be told to all ports by predicate marker; see [`Predicates::reached`].
    pub announce: SlotSet,
    /// Those of them whose last stage this was: initiate the halt.
    pub fired: SlotSet,
}

impl Outcome {
    /// Nothing happened.
    pub const NOTHING: Self = Self { advanced: SlotSet::EMPTY, announce: SlotSet::EMPTY, fired: SlotSet::EMPTY };

    /// Whether nothing happened.
    #[inline]
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.advanced.is_empty()
    }
}

/// Why a program was not installed.
///
/// # Example: an old generation
/// ```
/// use stillpoint_core::EventKind;
/// use stillpoint_core::predicate::{Detector, Generation, Predicates, ProgramBuilder, SlotId};
/// let program = ProgramBuilder::new(1).push_event_term(1, 1, EventKind::Send, None).finish().unwrap();
/// let (slot, mut predicates) = (SlotId::ALL[0], Predicates::new());
/// predicates.install(slot, Generation(5), Detector::Causal, &program).unwrap();
/// assert!(predicates.install(slot, Generation(4), Detector::Causal, &program).is_err());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum InstallError {
    /// The slot has seen a newer generation; take the one after it.
    OldGeneration {
        /// The newest one seen.
        known: Generation,
    },
    /// This generation was removed here, or belongs to another program or detector; take the next one.
    GenerationUsed,
    /// The node was built without predicates; build it with the feature `predicates`.
    NotBuiltIn,
}

/// Why a predicate was not enabled.
///
/// # Example: nothing is installed
/// ```
/// use stillpoint_core::predicate::{EnableError, Generation, Predicates, SlotId};
/// assert_eq!(Predicates::new().enable(SlotId::ALL[0], Generation(1)), Err(EnableError::NotInstalled));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum EnableError {
    /// There is no program in the slot; install it first.
    NotInstalled,
    /// The program in the slot is of another generation.
    OtherGeneration {
        /// The one that is installed.
        installed: Generation,
    },
}

/// Why a watch was not set.
///
/// # Example: no such watch
/// ```
/// use stillpoint_core::predicate::{Predicates, WatchError};
/// assert_eq!(Predicates::new().set_watch(99, 1), Err(WatchError::OutOfRange(99)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum WatchError {
    /// Watches are numbered below [`WATCHES`].
    OutOfRange(u8),
}

impl fmt::Display for InstallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OldGeneration { known } => {
                write!(f, "the slot has seen generation {}: install with generation {}", known.0, known.next().0)
            }
            Self::GenerationUsed => f.write_str("this generation of the slot is used up: install with the next one"),
            Self::NotBuiltIn => f.write_str("the node was built without the feature `predicates`: build it with that"),
        }
    }
}

impl fmt::Display for EnableError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotInstalled => f.write_str("the slot holds no program: install it, then enable it"),
            Self::OtherGeneration { installed } => {
                write!(f, "the slot holds generation {}: enable that one or install anew", installed.0)
            }
        }
    }
}

impl fmt::Display for WatchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::OutOfRange(watch) = self;
        write!(f, "there is no watch {watch}: they are 0 to {}", WATCHES - 1)
    }
}

impl core::error::Error for InstallError {}
impl core::error::Error for EnableError {}
impl core::error::Error for WatchError {}

#[cfg(any(test, on_target))]
#[path = "table_tests.rs"]
mod tests;

//! One slot of the table: a predicate as far as this node knows it.
use super::program::tag;
use super::table::{EnableError, InstallError};
use super::{Detector, EvalContext, Generation, MAX_STAGES, MAX_TERMS_PER_STAGE, Program, Reached, WATCHES, eval};
use crate::{Event, EventKind, PortSet};

/// What the node knows of the predicate in a slot.
///
/// # Example: a slot that was never used
/// ```
/// use stillpoint_core::predicate::{Predicates, SlotId, SlotPhase};
/// assert_eq!(Predicates::new().state(SlotId::ALL[0]).phase, SlotPhase::Unknown);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[repr(u8)]
pub enum Phase {
    /// The slot was never used, as far as this node knows.
    Unknown,
    /// Others look for something that this node has no program for: it passes on what it hears.
    Heard,
    /// The program is here.
    Installed,
    /// The program is here, and the last stage was satisfied here.
    Fired,
    /// Disarmed; only the generation is remembered, so that late news do not bring it back.
    Removed,
}

/// The bits of a live term: where to start in the program, how, and what was seen there last.
mod live {
    pub const BODY: u32 = 0x1f;
    /// What stands there; one of the four below.
    pub const HOW: u32 = 0x60;
    /// The instruction of a condition that is one comparison of a watch with a constant.
    pub const COMPARISON: u32 = 0x00;
    /// The kind of an event.
    pub const EVENT: u32 = 0x20;
    /// The kind of an event, and its argument.
    pub const ARGUMENT: u32 = 0x40;
    /// The length of a condition, and the condition.
    pub const CONDITION: u32 = 0x60;
    /// The condition held at the last evaluation.
    pub const WAS_TRUE: u32 = 0x80;
    /// How many bits one term takes.
    pub const BITS: u32 = 8;
}

/// A predicate as far as this node knows it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub(super) struct Slot {
    pub program: Program,
    /// Per live term: how many occurrences are still missing.
    missing: [u16; MAX_TERMS_PER_STAGE],
    /// The terms of the awaited stage, found once when it arrived, the first in the lowest byte. No term has its body
    /// at 0, so 0 is the end.
    terms: u32,
    /// The ports whose messages do not carry its stage: they lead to no node that looks for it.
    pub silent: PortSet,
    pub generation: Generation,
    /// The stage that is looked for: one above the last known to be satisfied; 0 until enabled.
    pub awaits: u8,
    pub detector: Detector,
    pub phase: Phase,
}

impl Slot {
    pub const EMPTY: Self = Self {
        program: Program::NONE,
        missing: [0; MAX_TERMS_PER_STAGE],
        terms: 0,
        silent: PortSet::EMPTY,
        generation: Generation(0),
        awaits: 0,
        detector: Detector::Causal,
        phase: Phase::Unknown,
    };

    /// Whether events of this node can advance it just now.
    #[inline]
    pub const fn is_live(&self) -> bool {
        self.terms != 0
    }

    /// Whether messages carry its stage.
    #[inline]
    pub const fn is_carried(&self) -> bool {
        self.awaits > 1 && matches!(self.detector, Detector::Causal)
    }

    /// Whether the program is here.
    pub const fn has_program(&self) -> bool {
        matches!(self.phase, Phase::Installed | Phase::Fired)
    }

    /// Takes a program; keeps what was heard of its generation.
    pub fn install(
        &mut self,
        generation: Generation,
        detector: Detector,
        program: &Program,
    ) -> Result<(), InstallError> {
        let is_new = self.phase == Phase::Unknown || generation.is_newer_than(self.generation);
        let is_known = generation == self.generation && detector == self.detector;
        if !is_new && generation != self.generation {
            return Err(InstallError::OldGeneration { known: self.generation });
        }
        let awaits = match self.phase {
            _ if is_new => 0,
            Phase::Heard if is_known => self.awaits,
            Phase::Installed | Phase::Fired if is_known && self.program == *program => return Ok(()),
            _ => return Err(InstallError::GenerationUsed),
        };
        *self = Self { program: *program, generation, awaits, detector, phase: Phase::Installed, ..Self::EMPTY };
        self.look_for_stage();
        Ok(())
    }

    /// Starts looking for stage 1.
    pub fn enable(&mut self, generation: Generation) -> Result<(), EnableError> {
        if !self.has_program() {
            return Err(EnableError::NotInstalled);
        }
        if generation != self.generation {
            return Err(EnableError::OtherGeneration { installed: self.generation });
        }
        if self.awaits == 0 {
            self.awaits = 1;
            self.look_for_stage();
        }
        Ok(())
    }

    /// Forgets all but the generation.
    pub fn remove(&mut self) {
        if self.phase != Phase::Unknown {
            *self = Self { generation: self.generation, phase: Phase::Removed, ..Self::EMPTY };
        }
    }

    /// Takes in news from elsewhere; `false` if it was none.
    #[inline]
    pub fn hear(&mut self, reached: Reached, detector: Detector) -> bool {
        let (generation, awaits) = (reached.generation(), reached.stage().saturating_add(1));
        if self.phase == Phase::Unknown || generation.is_newer_than(self.generation) {
            *self = Self { generation, awaits, detector, phase: Phase::Heard, ..Self::EMPTY };
            return true;
        }
        // A marker about a simultaneous event says that it is over; its stage means nothing else.
        let is_over = (detector, self.detector) == (Detector::Marker, Detector::Simultaneous);
        if generation != self.generation || awaits <= self.awaits || detector != self.detector && !is_over {
            return false;
        }
        let known_stages = match self.phase {
            Phase::Heard => u8::MAX,
            Phase::Installed => self.program.stages(),
            Phase::Unknown | Phase::Fired | Phase::Removed => return false,
        };
        if reached.stage() > known_stages && !is_over {
            return false;
        }
        self.awaits = awaits;
        self.look_for_stage();
        true
    }

    /// This node satisfied the awaited stage.
    pub fn advance(&mut self) {
        self.awaits = self.awaits.saturating_add(1);
        if self.awaits > self.program.stages() {
            self.phase = Phase::Fired;
        }
        self.look_for_stage();
    }

    /// A simultaneous event can be recognised no more: a node or a link of its plan began anew.
    pub fn end(&mut self) {
        self.awaits = MAX_STAGES + 1;
        self.look_for_stage();
    }

    /// Whether what is known of a simultaneous event still counts.
    #[inline]
    pub const fn goes_on(&self) -> bool {
        self.awaits <= 1 && matches!(self.phase, Phase::Installed)
    }

    /// Whether the condition of a simultaneous event's component held at the node's last event, since it is enabled. Only events
    /// change watches. A node without a condition has nothing against it.
    #[inline]
    pub const fn holds(&self) -> bool {
        self.program.len() == 0 || self.terms & live::WAS_TRUE != 0
    }

    /// Looks on for a condition that came true while other components did not hold.
    pub fn look_again(&mut self) {
        self.missing[0] = 1;
    }

    /// Starts looking for the terms of the awaited stage from scratch: nothing has occurred, and no condition was true but
    /// those of which the program says so.
    pub fn look_for_stage(&mut self) {
        self.terms = 0;
        self.missing = [0; MAX_TERMS_PER_STAGE];
        if self.phase != Phase::Installed || self.awaits > self.program.stages() {
            return;
        }
        let mut places = self.missing.iter_mut();
        let (mut at, mut shift) = (1usize, 0);
        for _ in 0..self.program.len() {
            let tag = self.program.byte(at);
            let counted = tag & tag::COUNTED != 0;
            let body = at.wrapping_add(if counted { 3 } else { 1 });
            let (how, start, size) = if tag & tag::CONDITION != 0 {
                let size = usize::from(self.program.byte(body)).wrapping_add(1);
                let code = body.wrapping_add(1);
                if eval::is_comparison(&self.program, body) {
                    (live::COMPARISON, code, size)
                } else {
                    (live::CONDITION, body, size)
                }
            } else if tag & tag::ARGUMENT != 0 {
                (live::ARGUMENT, body, 3)
            } else {
                (live::EVENT, body, 1)
            };
            if tag & tag::STAGE == self.awaits
                && let Some(missing) = places.next()
            {
                *missing = if counted { self.program.half_word(at.wrapping_add(1)) } else { 1 };
                let held = if tag & tag::CONDITION != 0 && tag & tag::HELD != 0 { live::WAS_TRUE } else { 0 };
                self.terms |= (start as u32 & live::BODY | how | held).wrapping_shl(shift);
                shift = shift.wrapping_add(live::BITS);
            }
            at = body.wrapping_add(size);
        }
    }

    /// Whether this event is the last occurrence that the awaited stage was missing.
    ///
    /// The usual case, one term that is an event or a single comparison, is decided right here: it is what every event
    /// of a node pays while something is armed.
    #[inline(always)]
    pub fn satisfied_by<'a>(
        &mut self,
        event: EventKey,
        watches: &[i32; WATCHES],
        context: &impl Fn() -> EvalContext<'a>,
    ) -> bool {
        let term = self.terms;
        let body = (term & live::BODY) as usize;
        match term & !(live::BODY | live::WAS_TRUE) {
            live::COMPARISON => {
                let was_true = term & live::WAS_TRUE != 0;
                eval::comparison_changed(&self.program, body, watches, was_true) && self.changes(0) && self.occurs(0)
            }
            live::EVENT => event.is_kind_at(&self.program, body) && self.occurs(0),
            live::ARGUMENT => {
                event.is_kind_at(&self.program, body) && event.has_argument_at(&self.program, body) && self.occurs(0)
            }
            _ => self.any_satisfied_in(event, watches, context),
        }
    }

    /// The context is made only where it is needed.
    #[inline(never)]
    fn any_satisfied_in<'a>(
        &mut self,
        event: EventKey,
        watches: &[i32; WATCHES],
        context: &impl Fn() -> EvalContext<'a>,
    ) -> bool {
        self.any_satisfied_by(event, watches, &context())
    }

    /// The same for any terms.
    fn any_satisfied_by(&mut self, event: EventKey, watches: &[i32; WATCHES], context: &EvalContext<'_>) -> bool {
        let (mut terms, mut place) = (self.terms, 0);
        while terms != 0 {
            let body = (terms & live::BODY) as usize;
            let occurs = match terms & live::HOW {
                live::EVENT => event.is_kind_at(&self.program, body),
                live::ARGUMENT => event.is_kind_at(&self.program, body) && event.has_argument_at(&self.program, body),
                how => {
                    let was_true = terms & live::WAS_TRUE != 0;
                    let changed = match how {
                        live::COMPARISON => eval::comparison_changed(&self.program, body, watches, was_true),
                        _ => eval::condition_holds(&self.program, body, watches, context) != was_true,
                    };
                    changed && self.changes(place)
                }
            };
            if occurs && self.occurs(place) {
                return true;
            }
            terms >>= live::BITS;
            place = place.wrapping_add(1);
        }
        false
    }

    /// The condition of the term at `place` became true or false; whether it became true.
    #[inline(always)]
    fn changes(&mut self, place: u32) -> bool {
        let bit = live::WAS_TRUE.wrapping_shl(place.wrapping_mul(live::BITS));
        self.terms ^= bit;
        self.terms & bit != 0
    }

    /// The term at `place` occurred; whether that was the last time it had to.
    #[inline(always)]
    fn occurs(&mut self, place: u32) -> bool {
        let missing = &mut self.missing[place as usize % MAX_TERMS_PER_STAGE];
        *missing = missing.wrapping_sub(1);
        *missing == 0
    }
}

/// The kind and argument of an event.
#[derive(Clone, Copy)]
pub(crate) struct EventKey {
    pub kind: EventKind,
    pub arg: u16,
}

impl EventKey {
    #[inline(always)]
    pub fn of(event: &Event) -> Self {
        Self { kind: event.kind, arg: event.arg }
    }

    #[inline(always)]
    fn is_kind_at(self, program: &Program, at: usize) -> bool {
        program.byte(at) == self.kind as u8
    }

    #[inline(always)]
    fn has_argument_at(self, program: &Program, at: usize) -> bool {
        program.half_word(at.wrapping_add(1)) == self.arg
    }
}

//! One slot of the table: a predicate as far as this node knows it.
use super::program::tag;
use super::table::{EnableError, InstallError};
use super::{Detector, EvalContext, Generation, MAX_TERMS_PER_STAGE, Program, Reached, WATCHES, eval};
use crate::Event;

/// What the node knows of the predicate in a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub(super) enum Phase {
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

/// The bits of a live term: where its body starts in the program, and what to do with it.
mod live {
    pub const BODY: u8 = 0x1f;
    pub const CONDITION: u8 = 0x20;
    pub const ARGUMENT: u8 = 0x40;
    /// The condition held at the last evaluation.
    pub const WAS_TRUE: u8 = 0x80;
}

/// A predicate as far as this node knows it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub(super) struct Slot {
    pub program: Program,
    /// Per live term: how many occurrences are still missing.
    missing: [u16; MAX_TERMS_PER_STAGE],
    /// The terms of the awaited stage, found once when it arrived; the body of no term is at 0, so 0 is the end.
    terms: [u8; MAX_TERMS_PER_STAGE],
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
        terms: [0; MAX_TERMS_PER_STAGE],
        generation: Generation(0),
        awaits: 0,
        detector: Detector::Causal,
        phase: Phase::Unknown,
    };

    /// Whether events of this node can advance it just now.
    #[inline]
    pub const fn is_live(&self) -> bool {
        self.terms[0] != 0
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
        if generation != self.generation || awaits <= self.awaits || detector != self.detector {
            return false;
        }
        let known_stages = match self.phase {
            Phase::Heard => u8::MAX,
            Phase::Installed => self.program.stages(),
            Phase::Unknown | Phase::Fired | Phase::Removed => return false,
        };
        if reached.stage() > known_stages {
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

    /// Starts looking for the terms of the awaited stage from scratch: nothing has occurred, no condition was true.
    pub fn look_for_stage(&mut self) {
        self.terms = [0; MAX_TERMS_PER_STAGE];
        self.missing = [0; MAX_TERMS_PER_STAGE];
        if self.phase != Phase::Installed || self.awaits == 0 || self.awaits > self.program.stages() {
            return;
        }
        let mut places = self.terms.iter_mut().zip(&mut self.missing);
        let mut at = 1usize;
        for _ in 0..self.program.len() {
            let tag = self.program.byte(at);
            let counted = tag & tag::COUNTED != 0;
            let body = at.wrapping_add(if counted { 3 } else { 1 });
            let (bits, size) = if tag & tag::CONDITION != 0 {
                (live::CONDITION, usize::from(self.program.byte(body)).wrapping_add(1))
            } else if tag & tag::ARGUMENT != 0 {
                (live::ARGUMENT, 3)
            } else {
                (0, 1)
            };
            if tag & tag::STAGE == self.awaits
                && let Some((term, missing)) = places.next()
            {
                *term = body as u8 & live::BODY | bits;
                *missing = if counted { self.program.half_word(at.wrapping_add(1)) } else { 1 };
            }
            at = body.wrapping_add(size);
        }
    }

    /// Whether this event is the last occurrence that the awaited stage was missing.
    #[inline]
    pub fn satisfied_by(&mut self, event: &Event, watches: &[i32; WATCHES], context: &EvalContext<'_>) -> bool {
        for (term, missing) in self.terms.iter_mut().zip(&mut self.missing) {
            if *term == 0 {
                break;
            }
            let body = usize::from(*term & live::BODY);
            let occurs = if *term & live::CONDITION != 0 {
                let was_true = *term & live::WAS_TRUE != 0;
                let is_true = eval::holds(&self.program, body, watches, context);
                *term = *term & !live::WAS_TRUE | if is_true { live::WAS_TRUE } else { 0 };
                is_true && !was_true
            } else {
                self.program.byte(body) == event.kind as u8
                    && (*term & live::ARGUMENT == 0 || self.program.half_word(body.wrapping_add(1)) == event.arg)
            };
            if occurs {
                *missing = missing.wrapping_sub(1);
                if *missing == 0 {
                    return true;
                }
            }
        }
        false
    }
}

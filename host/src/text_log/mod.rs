//! What the programs of all nodes say, in causal order.
//!
//! Every line that firmware logs with defmt carries the clock of its node (`docs/WIRE.md`, section "Text log"). A [`TextLog`]
//! reads the rings of all nodes, while they run or are halted, and gives the lines out in causal order; what is
//! concurrent comes in the order of time. It needs nothing but [`Memory`](crate::Memory) and the ELF files, and writes to
//! the boards only when it is told to free what was read.
mod accesses;
mod decode;
mod entry;
mod filter;
mod merge;
mod ring;
mod tap;

pub use decode::{Texts, TextsError};
pub use entry::{Entry, Level, Line, Said};
pub use filter::{Filter, is_inside};

use crate::{BoardError, System, SystemError};
use accesses::{Accesses, LiveAccesses};
use merge::Merge;
use std::path::PathBuf;
use std::sync::Arc;
use stillpoint_core::StampKind;
use tap::Tap;

/// Why the text logs cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum TextLogError {
    /// A board does not answer.
    #[error(transparent)]
    System(#[from] Box<SystemError>),
    /// What a firmware's lines mean is not known.
    #[error(transparent)]
    Texts(#[from] TextsError),
    /// No node has a text log.
    #[error("no node keeps a text log: log with defmt, through the logger of `stillpoint_agent`")]
    None,
}

impl From<SystemError> for TextLogError {
    fn from(error: SystemError) -> Self {
        Self::System(Box::new(error))
    }
}

/// Reads the text logs of all nodes of a system.
///
/// [`TextLog::poll`] reads what is there, [`TextLog::release`] gives out what can be put in order by now: a line is held
/// until everything that may have happened before it has been read, which is one poll later.
pub struct TextLog {
    taps: Vec<Tap>,
    /// The texts of each tap's firmware.
    texts: Vec<Arc<Texts>>,
    merge: Merge,
    stamps: Vec<StampKind>,
    accesses: Option<Accesses>,
    live: Option<LiveAccesses>,
    /// Lines from before the oldest event of their node in the log rings.
    older: u64,
}

impl TextLog {
    /// Finds the text logs of a system. Reads only.
    pub fn open(system: &mut System) -> Result<Self, TextLogError> {
        let nodes = system.nodes()?;
        let mut known: Vec<(PathBuf, Arc<Texts>)> = Vec::new();
        let (mut taps, mut texts, mut stamps) = (Vec::new(), Vec::new(), Vec::new());
        for (at, node) in system.addresses().into_iter().zip(&nodes) {
            stamps.push(node.stamps);
            let (address, size) = node.text;
            if address == 0 {
                continue;
            }
            let path = system.boards()[at.board].firmware().path.clone();
            texts.push(match known.iter().find(|(of, _)| *of == path) {
                Some((_, texts)) => texts.clone(),
                None => {
                    let read = Arc::new(Texts::read(&path)?);
                    known.push((path, read.clone()));
                    read
                }
            });
            taps.push(Tap::new(at, node.id, system.node_name(at), ring::Ring::new(address, size)));
        }
        if taps.is_empty() {
            return Err(TextLogError::None);
        }
        let merge = Merge::new(taps.iter().map(Tap::id));
        Ok(Self { taps, texts, merge, stamps, accesses: None, live: None, older: 0 })
    }

    /// Whether a line's clock tells of everything that happened before it. With event stamps it tells of who sent
    /// something to the line's node, not of who sent something to those.
    #[must_use]
    pub fn is_exact(&self) -> bool {
        self.stamps.iter().all(|stamps| *stamps == StampKind::Vector)
    }

    /// Reads the log rings, so that lines given out from now on are ordered by causality: also by the accesses of shared objects that
    /// the rings have. Call it after the [`poll`](Self::poll) that read the lines. Without it messages and calls alone order lines.
    ///
    /// # Errors
    /// A board could not be reached.
    pub fn read_accesses(&mut self, system: &mut System) -> Result<(), TextLogError> {
        self.accesses = Accesses::read(system)?;
        Ok(())
    }

    /// Reads the log rings with every [`poll`](Self::poll) from now on, for who follows a log: lines are ordered by causality while it
    /// runs. Without it, or [`read_accesses`](Self::read_accesses), messages and calls alone order lines.
    ///
    /// # Errors
    /// A board could not be reached.
    pub fn follow_accesses(&mut self, system: &mut System) -> Result<(), TextLogError> {
        self.live = LiveAccesses::start(system)?;
        Ok(())
    }

    /// Whether a firmware of the system has shared objects.
    #[must_use]
    pub fn shares_objects(system: &mut System) -> bool {
        accesses::shares(system)
    }

    /// Whether every node records its accesses of shared objects now.
    ///
    /// # Errors
    /// A board could not be reached.
    pub fn records_accesses(system: &mut System) -> Result<bool, TextLogError> {
        Ok(accesses::are_recorded(system)?)
    }

    /// How many lines were given out whose node has no event in the log rings from before them: what they know through shared
    /// objects is not known.
    #[must_use]
    pub fn lines_before_events(&self) -> u64 {
        self.older
    }

    /// The modules that can log, on any node.
    #[must_use]
    pub fn modules(&self) -> Vec<&str> {
        let mut modules: Vec<&str> = self.texts.iter().flat_map(|texts| texts.modules()).collect();
        modules.sort_unstable();
        modules.dedup();
        modules
    }

    /// Reads what the rings hold. Returns how many lines were new.
    pub fn poll(&mut self, system: &mut System) -> Result<usize, TextLogError> {
        let mut lines = 0;
        for tap in &mut self.taps {
            lines += on_board(system, tap, Tap::read)?;
        }
        if let Some(live) = &mut self.live {
            live.poll(system)?;
        }
        Ok(lines)
    }

    /// Makes room in the rings: all that was read may be written over. It is for who follows a log for long; whoever
    /// ends before everything was given out loses the rest.
    pub fn free_read(&mut self, system: &mut System) -> Result<(), TextLogError> {
        self.taps.iter_mut().try_for_each(|tap| on_board(system, tap, Tap::free_read))
    }

    /// Makes room in the rings: all that was given out may be written over, the rest is there for the next reader.
    pub fn free_released(&mut self, system: &mut System) -> Result<(), TextLogError> {
        self.taps.iter_mut().try_for_each(|tap| on_board(system, tap, Tap::free_released))
    }

    /// Gives out, in order, all that was read before the last [`TextLog::poll`], and what must come before it.
    pub fn release(&mut self) -> Vec<Entry> {
        for (place, (tap, texts)) in self.taps.iter_mut().zip(&self.texts).enumerate() {
            let node = tap.id().0;
            tap.decode(texts, |mut pending| {
                if let Some(accesses) = &self.accesses {
                    self.older += u64::from(pending.number.is_some_and(|number| accesses.is_older(node, number)));
                    accesses.add_to(&mut pending, node);
                }
                self.merge.push(place, pending);
            });
        }
        let taps = &mut self.taps;
        if let Some(live) = &self.live {
            // The records of the events before a line are read with the line, and what those come after with the next round.
            self.merge.each_due(|place, pending| live.add_to(pending, taps[place].id().0));
        }
        let mut out = Vec::new();
        self.merge.release(|place, pending| {
            let tap = &mut taps[place];
            tap.released(&pending);
            out.push(Entry { node: tap.name().to_owned(), said: pending.said });
        });
        out
    }

    /// What is to be said of lines that are in no ring: those that were dropped after the last line of each.
    #[must_use]
    pub fn dropped_since(&self) -> Vec<Entry> {
        let since = self.taps.iter().filter(|tap| tap.pending_drops() > 0);
        since.map(|tap| Entry { node: tap.name().to_owned(), said: Said::Dropped(tap.pending_drops()) }).collect()
    }
}

fn on_board<R>(
    system: &mut System,
    tap: &mut Tap,
    act: impl FnOnce(&mut Tap, &mut dyn crate::Memory) -> Result<R, crate::MemoryError>,
) -> Result<R, TextLogError> {
    Ok(system.on(tap.board(), |board| act(tap, board.memory()).map_err(BoardError::Memory))?)
}

//! Halting by the probe, core by core or board by board: what a debugger can do without help from the firmware.
use crate::trace::{Item, Ring, Stream};
use crate::{Board, BoardError, NodeAddress, System, SystemError};
use std::time::{Duration, Instant};

/// How the probe halts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProbeHalt {
    /// One core after the other.
    Sequential,
    /// All cores of a board as one, board after board.
    Group,
}

/// How one node was stopped by the probe.
#[derive(Clone, Debug)]
pub struct ProbeStop {
    /// Its name.
    pub name: String,
    /// When, after the first.
    pub after_first: Duration,
    /// The events that it recorded after the first had stopped; `None` if its log has overwritten some of them.
    pub events_after: Option<u32>,
}

impl System {
    /// Halts every core by the probe. They stay stopped until they are let go.
    pub fn halt_by_probe(&mut self, how: ProbeHalt) -> Result<Vec<ProbeStop>, SystemError> {
        let places = self.addresses();
        let mut first: Option<(Instant, Vec<u32>)> = None;
        let (mut times, mut last) = (Vec::new(), Instant::now());
        for at in &places {
            let board = &mut self.boards()[at.board];
            if how == ProbeHalt::Sequential || at.core == 0 {
                let name = board.name().to_owned();
                let stopped = board.session().and_then(|session| match how {
                    ProbeHalt::Sequential => session.halt_core(at.core),
                    ProbeHalt::Group => session.halt_group(),
                });
                stopped.map_err(|source| SystemError::Session { board: name, source })?;
                last = Instant::now();
            }
            times.push(last);
            if first.is_none() {
                first = Some((last, self.written_so_far(&places)?));
            }
        }
        let (began, before) = first.unwrap_or((Instant::now(), Vec::new()));
        let mut stops = Vec::new();
        for ((at, time), before) in places.into_iter().zip(times).zip(before) {
            let board = &mut self.boards()[at.board];
            let board_name = board.name().to_owned();
            let name = board.node_name(at.core);
            let counted = events_since(board, at, before);
            let events_after = counted.map_err(|source| SystemError::Board { board: board_name, source })?;
            stops.push(ProbeStop { name, after_first: time.saturating_duration_since(began), events_after });
        }
        Ok(stops)
    }

    /// How many bytes were written to the log ring of each node.
    fn written_so_far(&mut self, places: &[NodeAddress]) -> Result<Vec<u32>, SystemError> {
        let written = |board: &mut Board, at| Ok(ring_of(board, at)?.head(board.memory())?.written);
        places.iter().map(|at| self.on(at.board, |board| written(board, *at))).collect()
    }
}

fn ring_of(board: &mut Board, at: NodeAddress) -> Result<Ring, BoardError> {
    Ok(Ring::new(board.node(at.core)?.log.0))
}

/// Counts the records that a ring got since `before` bytes were written to it; `None` if a part is overwritten.
fn events_since(board: &mut Board, at: NodeAddress, before: u32) -> Result<Option<u32>, BoardError> {
    let ring = ring_of(board, at)?;
    let head = ring.head(board.memory())?;
    let look = ring.look_from(board.memory(), &head, before)?;
    let mut events = 0;
    Stream::new().push(look.position, &look.bytes, |item| {
        events += u32::from(matches!(item, Item::Record(_) | Item::Unplaced(_)));
    });
    Ok((look.position == before).then_some(events))
}

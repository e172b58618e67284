//! Halting by the probe, core by core or board by board: what a debugger can do without help from the firmware.
use crate::{Board, BoardError, NodeAddress, SessionError, System, SystemError};
use std::time::{Duration, Instant};
use stillpoint_core::log::{LogItem, LogReader};

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
    /// The events that it recorded after the first had stopped; `None` if its log cannot be read from its beginning.
    pub events_after: Option<u32>,
}

/// Where a log ring stood: bytes ever written, bytes ever read, records dropped, size.
type RingHead = [u32; 4];

impl System {
    /// Halts every core by the probe. They stay stopped until they are let go.
    pub fn halt_by_probe(&mut self, how: ProbeHalt) -> Result<Vec<ProbeStop>, SystemError> {
        let places = self.addresses();
        let mut first: Option<(Instant, Vec<RingHead>)> = None;
        let (mut times, mut last) = (Vec::new(), Instant::now());
        for at in &places {
            let board = &mut self.boards()[at.board];
            if how == ProbeHalt::Sequential || at.core == 0 {
                let name = board.name().to_owned();
                let session = board.session().ok_or(SessionError::NoGroup);
                let stopped = session.and_then(|session| match how {
                    ProbeHalt::Sequential => session.halt_core(at.core),
                    ProbeHalt::Group => session.halt_group(),
                });
                stopped.map_err(|source| SystemError::Session { board: name, source })?;
                last = Instant::now();
            }
            times.push(last);
            if first.is_none() {
                first = Some((last, self.ring_heads(&places)?));
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

    fn ring_heads(&mut self, places: &[NodeAddress]) -> Result<Vec<RingHead>, SystemError> {
        places.iter().map(|at| self.on(at.board, |board| ring_head(board, *at))).collect()
    }
}

fn ring_head(board: &mut Board, at: NodeAddress) -> Result<RingHead, BoardError> {
    let (ring, _) = board.node(at.core)?.log;
    let mut head = [0; 4];
    board.memory().read(ring, &mut head)?;
    Ok(head)
}

/// Counts the records between where a ring stood and where it stands, by reading the log from its beginning.
fn events_since(board: &mut Board, at: NodeAddress, before: RingHead) -> Result<Option<u32>, BoardError> {
    let [written, read, dropped, size] = ring_head(board, at)?;
    let length = written.wrapping_sub(read);
    if length > size || size == 0 || !size.is_multiple_of(4) {
        return Ok(None);
    }
    let (ring, _) = board.node(at.core)?.log;
    let mut words = vec![0; (size / 4) as usize];
    board.memory().read(ring + 16, &mut words)?;
    let bytes: Vec<u8> = words.into_iter().flat_map(u32::to_le_bytes).collect();
    let log: Vec<u8> = (0..length).map(|offset| bytes[(read.wrapping_add(offset) % size) as usize]).collect();
    let mut events = dropped.wrapping_sub(before[2]);
    let mut reader = LogReader::new();
    let mut position = 0;
    loop {
        match reader.next(&log[position..]) {
            Ok(Some((item, length))) => {
                position += length;
                let is_new = (read.wrapping_add(position as u32).wrapping_sub(before[0]) as i32) > 0;
                events += u32::from(is_new && matches!(item, LogItem::Record(_)));
            }
            Ok(None) => return Ok(Some(events)),
            // Somebody has read the beginning, and with it where the rest goes on from.
            Err(_) => return Ok(None),
        }
    }
}

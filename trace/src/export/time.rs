//! One time line for all boards, which have no common clock.
use crate::History;
use std::collections::BTreeMap;
use stillpoint_core::EventKind;
use stillpoint_core::time::TickRate;

/// When each event happened, in nanoseconds of one time line on which no message arrives before it left.
///
/// Boards count from moments of their own. What is between two boards is taken from their messages: halfway between the
/// fastest ones in either direction. What still does not fit, because clocks drift, is moved later, never earlier. The
/// differences within a board are as measured wherever that is possible; those between boards are an estimate.
#[must_use]
pub fn common_time(history: &History) -> Vec<u64> {
    let own: Vec<i128> = own_times(history);
    let offsets = offsets(history, &own);
    let mut times: Vec<i128> = Vec::with_capacity(own.len());
    let mut last: BTreeMap<u8, usize> = BTreeMap::new();
    for (place, event) in history.events.iter().enumerate() {
        let offset = offsets.get(&board_of(history, event.id.node)).copied().unwrap_or(0);
        let mut time = own[place] + offset;
        let before = last.insert(event.id.node, place);
        if let Some(before) = before {
            time = time.max(times[before] + 1);
        }
        for cause in learned(history, before, place) {
            time = time.max(times.get(cause).map_or(time, |earlier| earlier + 1));
        }
        times.push(time);
    }
    let first = times.iter().min().copied().unwrap_or(0);
    times.into_iter().map(|time| u64::try_from(time - first).unwrap_or(u64::MAX)).collect()
}

/// The last event of each other node that a node learned of between the event `before` and the one at `place`.
fn learned(history: &History, before: Option<usize>, place: usize) -> impl Iterator<Item = usize> {
    let mine = usize::from(history.events[place].id.node);
    let news = history.clock(place).iter().enumerate().filter(move |(node, entry)| {
        *node != mine && **entry != before.map_or(0, |before| history.clock(before)[*node])
    });
    news.filter_map(move |(node, _)| {
        let places = history.of_node(node as u8);
        let known = places.partition_point(|other| history.before(*other as usize, place));
        known.checked_sub(1).map(|last| places[last] as usize)
    })
}

fn send_of(history: &History, place: usize) -> Option<usize> {
    let event = &history.events[place];
    event.partner.filter(|_| event.kind() == EventKind::Receive).and_then(|send| history.index_of(send))
}

fn board_of(history: &History, node: u8) -> usize {
    history.header.node(node).map_or(usize::MAX, |node| node.board)
}

/// Each event's time on its own board, in nanoseconds; without a rate a tick counts as a microsecond.
fn own_times(history: &History) -> Vec<i128> {
    let mut last: BTreeMap<u8, i128> = BTreeMap::new();
    let mut times = Vec::with_capacity(history.events.len());
    for event in &history.events {
        let board = history.header.boards.get(board_of(history, event.id.node));
        let rate = board.and_then(crate::BoardInfo::tick_rate).unwrap_or(TickRate::MEGAHERTZ);
        let before = last.get(&event.id.node).copied().unwrap_or(0);
        let time = event.time.and_then(|time| rate.nanos(time)?.try_into().ok()).unwrap_or(before + 1);
        last.insert(event.id.node, time);
        times.push(time);
    }
    times
}

/// What to add to the times of each board, counted from the first.
fn offsets(history: &History, own: &[i128]) -> BTreeMap<usize, i128> {
    // The least difference of receive and send from one board to another.
    let mut fastest: BTreeMap<(usize, usize), i128> = BTreeMap::new();
    for (place, event) in history.events.iter().enumerate() {
        let Some(send) = send_of(history, place) else { continue };
        let pair = (board_of(history, history.events[send].id.node), board_of(history, event.id.node));
        let took = own[place] - own[send];
        fastest.entry(pair).and_modify(|least| *least = took.min(*least)).or_insert(took);
    }
    let boards: Vec<usize> = (0..history.header.boards.len()).collect();
    let mut offsets: BTreeMap<usize, i128> = BTreeMap::new();
    for root in &boards {
        if offsets.contains_key(root) {
            continue;
        }
        offsets.insert(*root, 0);
        let mut reached = vec![*root];
        while let Some(board) = reached.pop() {
            for other in boards.iter().filter(|other| **other != board) {
                let between = match (fastest.get(&(board, *other)), fastest.get(&(*other, board))) {
                    (Some(there), Some(back)) => (back - there) / 2,
                    (Some(there), None) => 1 - there,
                    (None, Some(back)) => back - 1,
                    (None, None) => continue,
                };
                if !offsets.contains_key(other) {
                    offsets.insert(*other, offsets[&board] + between);
                    reached.push(*other);
                }
            }
        }
    }
    offsets
}

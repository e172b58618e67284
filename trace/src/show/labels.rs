//! What stands beside the dots of a space-time diagram, and how much room that takes.
use super::lanes::{Arrow, Lanes, Mark};
use super::listing::partner;
use super::style::width;
use super::time_text;
use crate::{History, Note, Past};
use std::collections::HashMap;
use std::fmt::Write as _;

/// Around the whole.
pub(super) const EDGE: f64 = 24.0;
/// From a dot to its label: the tip of an arrow has room between them.
pub(super) const BESIDE: f64 = 17.0;

/// Number and action.
pub(super) fn label(lanes: &Lanes<'_>, mark: &Mark<'_>) -> (String, String) {
    let event = &lanes.history.events[mark.place];
    let number = match (event.counts(), event.id.epoch()) {
        (false, _) => String::new(),
        (true, 0) => event.id.count().to_string(),
        (true, epoch) => format!("@{epoch}#{}", event.id.count()),
    };
    let doubt = if event.past.is_known() { "" } else { " ?" };
    let beside = mark.marked.as_ref().filter(|text| !text.is_empty()).map(|text| format!("  {text}"));
    let action = lanes.history.header.action(event.id.node, &event.what);
    (number, format!("{action}{doubt}{}", beside.unwrap_or_default()))
}

pub(super) fn span((number, action): &(String, String)) -> f64 {
    BESIDE + width(number) + width(action) + width(" ")
}

/// The short form of what is missing in front of an event.
pub(super) fn short(mark: &Mark<'_>) -> String {
    let dropped: u32 = mark
        .notes
        .iter()
        .filter_map(|note| if let Note::Gap { dropped, .. } = note { Some(*dropped) } else { None })
        .sum();
    match mark.notes.first() {
        _ if dropped > 0 => format!("{dropped} records dropped"),
        Some(Note::Reset { .. }) => "reset".into(),
        Some(Note::Restart { .. }) => "log begins anew".into(),
        Some(Note::Broken { .. }) => "bytes that are no log".into(),
        _ => "log damage".into(),
    }
}

/// All that is known of an event, for a reader who points at it.
pub(super) fn details(history: &History, place: usize) -> String {
    let event = &history.events[place];
    let header = &history.header;
    let mut text = format!(
        "{} {}\nat {}",
        header.event_name(event.id),
        header.action(event.id.node, &event.what),
        time_text(header, event)
    );
    let partner = partner(&history.header, event);
    if !partner.is_empty() {
        let _ = write!(text, "\n{partner}");
    }
    let known = header.nodes.iter().filter_map(|node| Some((node, *history.clock(place).get(usize::from(node.id))?)));
    let clock: Vec<String> = known
        .filter(|(_, number)| *number != 0)
        .map(|(node, number)| header.event_name(crate::EventId { node: node.id, number }))
        .collect();
    let _ = write!(text, "\nknows {}", clock.join(" "));
    if let Past::Unknown { why } = event.past {
        let _ = write!(text, "\n? {}", why.say(history.node_name(why.node())));
    }
    text
}

/// A label stands on the side where the mark's own message does not run.
pub(super) fn sides(lanes: &Lanes<'_>) -> Vec<bool> {
    let mut right = vec![true; lanes.marks.len()];
    let lane = |mark: usize| lanes.marks[mark].lane;
    // Of an event with both, an arrow to another event is longer than one that leaves the picture, so it decides.
    let is_short = |arrow: &&Arrow| matches!(arrow, Arrow::Leaves { .. } | Arrow::Comes { .. });
    let (short, long): (Vec<&Arrow>, Vec<&Arrow>) = lanes.arrows.iter().partition(is_short);
    for arrow in short.into_iter().chain(long) {
        match *arrow {
            Arrow::Hidden { from, to } | Arrow::Data { from, to } | Arrow::Message { from, to } => {
                right[from] = lane(to) < lane(from);
                right[to] = lane(from) < lane(to);
            }
            Arrow::Leaves { from: mark, lane: peer, .. } => right[mark] = peer.is_some_and(|peer| peer < lane(mark)),
            Arrow::Comes { to: mark, lane: peer, .. } => right[mark] = peer.is_none_or(|peer| peer < lane(mark)),
        }
    }
    right
}

/// The middle of each lane: labels of neighbours in one row do not meet, and none reaches the next lane.
pub(super) fn columns(lanes: &Lanes<'_>, right: &[bool], labels: &[(String, String)]) -> Vec<f64> {
    let count = lanes.nodes.len();
    // In each row, what reaches into the space left of each lane: from the lane before it, and from itself.
    let mut into = vec![HashMap::<usize, (f64, f64)>::new(); count + 1];
    for (at, mark) in lanes.marks.iter().enumerate() {
        let space = if right[at] { mark.lane + 1 } else { mark.lane };
        let both = into[space].entry(mark.row).or_default();
        if right[at] {
            both.0 = span(&labels[at])
        } else {
            both.1 = span(&labels[at])
        }
        if !mark.notes.is_empty() {
            into[mark.lane + 1].entry(mark.row.saturating_sub(1)).or_default().0 = BESIDE + width(&short(mark));
        }
    }
    let room = |space: usize| into[space].values().map(|(left, right)| left + right).fold(0.0, f64::max);
    let name = |lane: usize| width(&lanes.history.node_name(lanes.nodes[lane])) * 0.6;
    let mut at = EDGE;
    let mut columns = Vec::with_capacity(count);
    for lane in 0..count {
        let names = name(lane) + if lane > 0 { name(lane - 1) } else { 0.0 };
        at += if lane == 0 { room(0).max(names) } else { (room(lane) + 18.0).max(names + 20.0).max(110.0) };
        columns.push(at);
    }
    columns
}

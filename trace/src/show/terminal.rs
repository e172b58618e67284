//! The space-time diagram as text: a column for each node, a line for each event, messages between the columns.
use super::Selection;
use super::lanes::{Lanes, Message};
use super::listing::partner;
use crate::{History, Past};
use std::collections::HashMap;
use stillpoint_core::EventKind;

/// Messages under way at once that are drawn beside a lane, on each side; more are only named.
const MOST_TRACKS: usize = 4;

/// Draws a selection, line by line.
#[must_use]
pub fn diagram(history: &History, selection: &Selection) -> Vec<String> {
    let lanes = Lanes::new(history, selection);
    let lines = Lines::of(&lanes);
    let tracks = Tracks::of(&lanes, &lines);
    let mut passing = Passing::default();
    let columns = tracks.columns(&lanes);
    let width = columns.last().map_or(0, |last| last + 2 + 2 * tracks.count(lanes.nodes.len() - 1, true));
    let mut text: Vec<String> =
        lanes.general.iter().map(|note| format!("  ~~~ {}", note.say(&history.header))).collect();
    text.extend((lanes.hidden.0 > 0).then(|| format!("  ... {} events before", lanes.hidden.0)));
    text.push(heads(&lanes, &columns));
    for line in 0..lines.count {
        let mut row = vec![' '; width];
        columns.iter().for_each(|column| row[*column] = '│');
        passing.draw(&tracks, &mut row, &columns, line);
        let label = match &lines.what[line] {
            What::Note(lane, note) => {
                row[columns[*lane]] = '┇';
                format!("~~~ {note}")
            }
            What::Marks(marks) => {
                for mark in marks {
                    tracks.draw_ends(&lanes, &mut row, &columns, *mark);
                    row[columns[lanes.marks[*mark].lane]] = symbol(history, lanes.marks[*mark].place);
                }
                draw_cut(&lanes, &mut row, &columns, marks);
                label(&lanes, marks)
            }
        };
        let drawn: String = row.into_iter().collect();
        text.push(format!("{drawn} {label}").trim_end().to_owned());
    }
    text.extend((lanes.hidden.1 > 0).then(|| format!("  ... {} events after", lanes.hidden.1)));
    text
}

fn heads(lanes: &Lanes<'_>, columns: &[usize]) -> String {
    let mut line = String::new();
    for (node, column) in lanes.nodes.iter().zip(columns) {
        let name = lanes.history.node_name(*node);
        let start = column.saturating_sub(name.chars().count() / 2);
        let gap = start.saturating_sub(line.chars().count());
        line.extend(std::iter::repeat_n(' ', gap));
        line.push_str(&name);
    }
    line
}

fn symbol(history: &History, place: usize) -> char {
    let event = &history.events[place];
    match event.kind() {
        EventKind::Halt => '■',
        EventKind::Resume => '□',
        EventKind::Fault => '✖',
        EventKind::Reset => '◆',
        _ if !event.past.is_known() => '◌',
        EventKind::Send | EventKind::Receive => '●',
        _ => '•',
    }
}

fn label(lanes: &Lanes<'_>, marks: &[usize]) -> String {
    let (history, header) = (lanes.history, &lanes.history.header);
    let event = |mark: usize| &history.events[lanes.marks[mark].place];
    if let [mark] = marks {
        let event = event(*mark);
        let mut text = format!("{} {}", header.event_name(event.id), header.action(event.id.node, &event.what));
        let partner = partner(&history.header, event);
        if !partner.is_empty() {
            text = format!("{text} {partner}");
        }
        if let Past::Unknown { why } = event.past {
            text = format!("{text} ({})", why.say(history.node_name(why.node())));
        }
        return text;
    }
    let names: Vec<String> = marks.iter().map(|mark| header.event_name(event(*mark).id)).collect();
    format!("halt({}) after {}", event(marks[0]).what.arg, names.join(", "))
}

/// Joins the halts of one cut.
fn draw_cut(lanes: &Lanes<'_>, row: &mut [char], columns: &[usize], marks: &[usize]) {
    let halted: Vec<usize> = marks.iter().map(|mark| columns[lanes.marks[*mark].lane]).collect();
    if let (true, Some(first), Some(last)) = (marks.len() > 1, halted.iter().min(), halted.iter().max()) {
        for cell in row[*first..=*last].iter_mut().filter(|cell| matches!(cell, ' ' | '│')) {
            *cell = '╌';
        }
    }
}

/// What a line shows.
enum What {
    Note(usize, String),
    Marks(Vec<usize>),
}

/// The lines of a diagram.
struct Lines {
    what: Vec<What>,
    count: usize,
    /// The line of each mark.
    of_mark: Vec<usize>,
}

impl Lines {
    fn of(lanes: &Lanes<'_>) -> Self {
        let (mut what, mut of_mark) = (Vec::new(), vec![0; lanes.marks.len()]);
        let is_halt = |mark: usize| lanes.history.events[lanes.marks[mark].place].kind() == EventKind::Halt;
        for (at, mark) in lanes.marks.iter().enumerate() {
            let notes = mark.notes.iter().map(|note| What::Note(mark.lane, note.say(&lanes.history.header)));
            what.extend(notes);
            match what.last_mut() {
                Some(What::Marks(marks))
                    if is_halt(at) && is_halt(marks[0]) && lanes.marks[marks[0]].row == mark.row =>
                {
                    marks.push(at);
                }
                _ => what.push(What::Marks(vec![at])),
            }
            of_mark[at] = what.len() - 1;
        }
        Self { count: what.len(), what, of_mark }
    }
}

/// Where messages run between their ends: beside the sender's lane, on the receiver's side.
struct Tracks {
    /// For each message with both ends: mark of the send, of the receive, to the right, which track if there is one.
    whole: Vec<(usize, usize, bool, Option<usize>)>,
    /// The same by the mark of either end.
    of_mark: HashMap<usize, usize>,
    /// The others: mark, to the right, an arrow towards the mark.
    halves: HashMap<usize, (bool, bool)>,
    lines: Vec<usize>,
    lane_of: Vec<usize>,
    counts: Vec<[usize; 2]>,
}

impl Tracks {
    fn of(lanes: &Lanes<'_>, lines: &Lines) -> Self {
        let lane_of: Vec<usize> = lanes.marks.iter().map(|mark| mark.lane).collect();
        let mut tracks = Self {
            whole: Vec::new(),
            of_mark: HashMap::new(),
            halves: HashMap::new(),
            lines: lines.of_mark.clone(),
            lane_of,
            counts: vec![[0; 2]; lanes.nodes.len()],
        };
        // The line from which on each track is free again.
        let mut free: HashMap<(usize, bool), Vec<usize>> = HashMap::new();
        let mut messages = lanes.messages.clone();
        messages.sort_by_key(|message| match message {
            Message::Whole { from, .. } | Message::Leaves { from, .. } => lines.of_mark[*from],
            Message::Comes { to, .. } => lines.of_mark[*to],
        });
        for message in messages {
            match message {
                Message::Whole { from, to } => {
                    let (lane, right) = (tracks.lane_of[from], tracks.lane_of[to] > tracks.lane_of[from]);
                    let (begins, ends) = (lines.of_mark[from], lines.of_mark[to]);
                    let free = free.entry((lane, right)).or_default();
                    let track = match free.iter().position(|until| *until < begins) {
                        Some(track) => Some(track),
                        None if free.len() < MOST_TRACKS => {
                            free.push(0);
                            Some(free.len() - 1)
                        }
                        None => None,
                    };
                    if let Some(track) = track {
                        free[track] = ends;
                        tracks.counts[lane][usize::from(right)] = free.len();
                    }
                    tracks.of_mark.extend([(from, tracks.whole.len()), (to, tracks.whole.len())]);
                    tracks.whole.push((from, to, right, track));
                }
                Message::Leaves { from, lane, .. } => {
                    tracks.halves.insert(from, (lane.is_none_or(|lane| lane > tracks.lane_of[from]), false));
                }
                Message::Comes { to, lane, .. } => {
                    tracks.halves.insert(to, (lane.is_some_and(|lane| lane > tracks.lane_of[to]), true));
                }
            }
        }
        tracks
    }

    /// Tracks beside a lane.
    fn count(&self, lane: usize, right: bool) -> usize {
        self.counts.get(lane).map_or(0, |counts| counts[usize::from(right)])
    }

    /// The column of each lane: room for tracks, stubs and names.
    fn columns(&self, lanes: &Lanes<'_>) -> Vec<usize> {
        let names: Vec<usize> = lanes.nodes.iter().map(|node| lanes.history.node_name(*node).chars().count()).collect();
        let mut columns = Vec::new();
        let mut at = names.first().map_or(0, |name| (name / 2).max(3 + 2 * self.count(0, false)));
        for lane in 0..lanes.nodes.len() {
            columns.push(at);
            let between = 2 * (self.count(lane, true) + self.count(lane + 1, false)) + 4;
            let next_name = names.get(lane + 1).map_or(0, |name| name / 2);
            at += between.max(names[lane].div_ceil(2) + next_name + 2);
        }
        columns
    }

    fn column(&self, columns: &[usize], from: usize, right: bool, track: usize) -> usize {
        let lane = columns[self.lane_of[from]];
        if right { lane + 2 * (track + 1) } else { lane - 2 * (track + 1) }
    }

    /// Draws the end of a message at a mark.
    fn draw_ends(&self, lanes: &Lanes<'_>, row: &mut [char], columns: &[usize], mark: usize) {
        let at = columns[lanes.marks[mark].lane];
        if let Some((right, comes)) = self.halves.get(&mark) {
            let (near, far) = if *right { (at + 1, at + 2) } else { (at - 1, at - 2) };
            let arrow = if *right { '◀' } else { '▶' };
            row[near] = if *comes { arrow } else { '─' };
            if let Some(cell) = row.get_mut(far) {
                *cell = if *comes { '?' } else { '╴' };
            }
        }
        let Some((from, _, right, track)) = self.of_mark.get(&mark).map(|message| self.whole[*message]) else { return };
        let sends = from == mark;
        let Some(track) = track else {
            // No room: the label names the other end.
            let near = if right == sends { at + 1 } else { at - 1 };
            row[near] = '⋯';
            return;
        };
        let bend = self.column(columns, from, right, track);
        for cell in &mut row[at.min(bend)..=at.max(bend)] {
            *cell = if matches!(cell, '│' | '┊') { '┼' } else { '─' };
        }
        row[bend] = match (sends, right) {
            (true, true) => '╮',
            (true, false) => '╭',
            (false, true) => '╰',
            (false, false) => '╯',
        };
        if !sends {
            if right { row[at - 1] = '▶' } else { row[at + 1] = '◀' }
        }
    }
}

/// The messages under way, from line to line.
#[derive(Default)]
struct Passing {
    next: usize,
    under_way: Vec<usize>,
}

impl Passing {
    fn draw(&mut self, tracks: &Tracks, row: &mut [char], columns: &[usize], line: usize) {
        while tracks.whole.get(self.next).is_some_and(|(from, ..)| tracks.lines[*from] < line) {
            self.under_way.push(self.next);
            self.next += 1;
        }
        self.under_way.retain(|message| tracks.lines[tracks.whole[*message].1] > line);
        for message in &self.under_way {
            let (from, _, right, track) = tracks.whole[*message];
            if let Some(track) = track {
                row[tracks.column(columns, from, right, track)] = '┊';
            }
        }
    }
}

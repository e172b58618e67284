//! Where arrows run in a diagram made of text: beside the lane of their earlier end, on the side of the later one.
use super::lanes::{Arrow, Lanes};
use std::collections::HashMap;

/// Arrows under way at once that are drawn beside a lane, on each side; more are only hinted at.
const MOST_TRACKS: usize = 4;

/// How an arrow is drawn: its line, and its tip to the right and to the left.
#[derive(Clone, Copy)]
struct Line(char, char, char);

impl Line {
    const MESSAGE: Self = Self('─', '▶', '◀');
    const HIDDEN: Self = Self('╌', '▷', '◁');
    const DATA: Self = Self('═', '▸', '◂');
}

/// An arrow with both ends.
struct Whole {
    from: usize,
    to: usize,
    right: bool,
    line: Line,
    /// None if there is no room.
    track: Option<usize>,
}

pub(super) struct Tracks {
    /// In the order of the lines of their earlier ends.
    whole: Vec<Whole>,
    /// The same by the mark of either end.
    of_mark: HashMap<usize, Vec<usize>>,
    /// The others: mark, to the right, an arrow towards the mark.
    halves: HashMap<usize, (bool, bool)>,
    lines: Vec<usize>,
    lane_of: Vec<usize>,
    counts: Vec<[usize; 2]>,
}

impl Tracks {
    /// Finds room for every arrow; `lines` are the lines of the marks.
    pub(super) fn of(lanes: &Lanes<'_>, lines: &[usize]) -> Self {
        let lane_of: Vec<usize> = lanes.marks.iter().map(|mark| mark.lane).collect();
        let mut tracks = Self {
            whole: Vec::new(),
            of_mark: HashMap::new(),
            halves: HashMap::new(),
            lines: lines.to_vec(),
            lane_of,
            counts: vec![[0; 2]; lanes.nodes.len()],
        };
        // The line from which on each track is free again.
        let mut free: HashMap<(usize, bool), Vec<usize>> = HashMap::new();
        let mut arrows = lanes.arrows.clone();
        arrows.sort_by_key(|arrow| match arrow {
            Arrow::Hidden { from, .. }
            | Arrow::Data { from, .. }
            | Arrow::Message { from, .. }
            | Arrow::Leaves { from, .. } => lines[*from],
            Arrow::Comes { to, .. } => lines[*to],
        });
        for arrow in arrows {
            match arrow {
                Arrow::Hidden { from, to } => tracks.add(&mut free, from, to, Line::HIDDEN),
                Arrow::Data { from, to } => tracks.add(&mut free, from, to, Line::DATA),
                Arrow::Message { from, to } => tracks.add(&mut free, from, to, Line::MESSAGE),
                Arrow::Leaves { from, lane, .. } => {
                    tracks.halves.insert(from, (lane.is_none_or(|lane| lane > tracks.lane_of[from]), false));
                }
                Arrow::Comes { to, lane, .. } => {
                    tracks.halves.insert(to, (lane.is_some_and(|lane| lane > tracks.lane_of[to]), true));
                }
            }
        }
        tracks
    }

    fn add(&mut self, free: &mut HashMap<(usize, bool), Vec<usize>>, from: usize, to: usize, line: Line) {
        let (lane, right) = (self.lane_of[from], self.lane_of[to] > self.lane_of[from]);
        let (begins, ends) = (self.lines[from], self.lines[to]);
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
            self.counts[lane][usize::from(right)] = free.len();
        }
        for mark in [from, to] {
            self.of_mark.entry(mark).or_default().push(self.whole.len());
        }
        self.whole.push(Whole { from, to, right, line, track });
    }

    /// Tracks beside a lane.
    pub(super) fn count(&self, lane: usize, right: bool) -> usize {
        self.counts.get(lane).map_or(0, |counts| counts[usize::from(right)])
    }

    /// The column of each lane: room for tracks, stubs and names.
    pub(super) fn columns(&self, lanes: &Lanes<'_>) -> Vec<usize> {
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

    fn column(&self, columns: &[usize], arrow: &Whole, track: usize) -> usize {
        let lane = columns[self.lane_of[arrow.from]];
        if arrow.right { lane + 2 * (track + 1) } else { lane - 2 * (track + 1) }
    }

    /// Draws the ends of arrows at a mark.
    pub(super) fn draw_ends(&self, lanes: &Lanes<'_>, row: &mut [char], columns: &[usize], mark: usize) {
        let at = columns[lanes.marks[mark].lane];
        if let Some((right, comes)) = self.halves.get(&mark) {
            let (near, far) = if *right { (at + 1, at + 2) } else { (at - 1, at - 2) };
            let arrow = if *right { '◀' } else { '▶' };
            row[near] = if *comes { arrow } else { '─' };
            if let Some(cell) = row.get_mut(far) {
                *cell = if *comes { '?' } else { '╴' };
            }
        }
        let ends = self.of_mark.get(&mark).into_iter().flatten().map(|arrow| &self.whole[*arrow]);
        // What arrives first: its tip stays.
        for arrow in ends.clone().filter(|arrow| arrow.from == mark) {
            self.draw_end(row, columns, arrow, at, true);
        }
        for arrow in ends.filter(|arrow| arrow.to == mark) {
            self.draw_end(row, columns, arrow, at, false);
        }
    }

    fn draw_end(&self, row: &mut [char], columns: &[usize], arrow: &Whole, at: usize, begins: bool) {
        let Some(track) = arrow.track else {
            // No room: the label of a message names the other end.
            let near = if arrow.right == begins { at + 1 } else { at - 1 };
            row[near] = '⋯';
            return;
        };
        let bend = self.column(columns, arrow, track);
        let Line(line, to_right, to_left) = arrow.line;
        for cell in &mut row[at.min(bend)..=at.max(bend)] {
            *cell = match cell {
                '│' | '┊' | '┼' => '┼',
                '╮' | '╭' | '┬' => '┬',
                '╯' | '╰' | '┴' => '┴',
                '▶' | '◀' | '▷' | '◁' | '▸' | '◂' => *cell,
                _ => line,
            };
        }
        let is_crossed = matches!(row[bend], '┬' | '┴');
        row[bend] = match (begins, arrow.right) {
            (true, _) if is_crossed => '┬',
            (false, _) if is_crossed => '┴',
            (true, true) => '╮',
            (true, false) => '╭',
            (false, true) => '╰',
            (false, false) => '╯',
        };
        if !begins {
            if arrow.right {
                row[at - 1] = to_right;
            } else {
                row[at + 1] = to_left;
            }
        }
    }
}

/// The arrows under way, from line to line.
#[derive(Default)]
pub(super) struct Passing {
    next: usize,
    under_way: Vec<usize>,
}

impl Passing {
    pub(super) fn draw(&mut self, tracks: &Tracks, row: &mut [char], columns: &[usize], line: usize) {
        while tracks.whole.get(self.next).is_some_and(|arrow| tracks.lines[arrow.from] < line) {
            self.under_way.push(self.next);
            self.next += 1;
        }
        self.under_way.retain(|arrow| tracks.lines[tracks.whole[*arrow].to] > line);
        for arrow in self.under_way.iter().map(|arrow| &tracks.whole[*arrow]) {
            if let Some(track) = arrow.track {
                row[tracks.column(columns, arrow, track)] = '┊';
            }
        }
    }
}

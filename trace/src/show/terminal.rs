//! The space-time diagram as text: a column for each node, a line for each event, arrows between the columns.
use super::Selection;
use super::lanes::{Bar, Lanes};
use super::listing::partner;
use super::tracks::{Passing, Tracks};
use crate::{History, Past};
use stillpoint_core::EventKind;

/// Draws a selection, line by line.
#[must_use]
pub fn diagram(history: &History, selection: &Selection) -> Vec<String> {
    let lanes = Lanes::new(history, selection);
    let lines = Lines::of(&lanes);
    let tracks = Tracks::of(&lanes, &lines.of_mark);
    let mut passing = Passing::default();
    let columns = tracks.columns(&lanes);
    let width = columns.last().map_or(0, |last| last + 2 + 2 * tracks.count(lanes.nodes.len() - 1, true));
    let mut text: Vec<String> =
        lanes.general.iter().map(|note| format!("  ~~~ {}", note.say(&history.header))).collect();
    text.extend((lanes.hidden.0 > 0).then(|| format!("  ... {} events before", lanes.hidden.0)));
    text.push(heads(&lanes, &columns));
    for line in 0..lines.count {
        let mut row = vec![' '; width];
        for (lane, column) in columns.iter().enumerate() {
            let is_inside = |bar: &Bar| {
                let (first, last) = bar.ends;
                lanes.marks[first].lane == lane && (lines.of_mark[first]..=lines.of_mark[last]).contains(&line)
            };
            row[*column] = if lanes.bars.iter().any(is_inside) { '┃' } else { '│' };
        }
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

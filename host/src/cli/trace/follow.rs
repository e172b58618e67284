//! Events on the screen while they are recorded, in causal order.
use crate::cli::{Output, paint};
use serde::Serialize;
use std::fmt;
use std::time::Duration;
use stillpoint::trace::show::Line;
use stillpoint::trace::{Chunk, Event, Follower, Header, Note, Past, Row, View, Why};

/// What was shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Followed {
    /// Events in order.
    pub events: u64,
    /// Those of them that were not chosen to be shown.
    pub hidden: u64,
    /// Those that were shown before all that led to them was read, because a node was silent.
    pub hurried: u64,
    /// Records that nodes dropped because their rings were full, or that lie before the first sync record.
    pub left_out: u64,
}

/// Where events appear as they come.
pub struct Screen {
    follower: Follower,
    paper: Paper,
}

struct Paper {
    header: Header,
    view: View,
    out: Output,
    /// Lines that are not written yet.
    text: String,
    so_far: Followed,
}

impl Screen {
    /// For the system that a header describes, and the events that a view shows.
    pub fn new(header: &Header, view: View, out: Output) -> Self {
        let so_far = Followed::default();
        let paper = Paper { header: header.clone(), view, out, text: String::new(), so_far };
        Self { follower: Follower::new(header), paper }
    }

    /// A piece of a log was saved.
    pub fn take(&mut self, chunk: &Chunk) {
        let Self { follower, paper } = self;
        follower.chunk(chunk, &mut |event, clock| paper.event(event, clock));
        follower.take_notes().iter().for_each(|note| paper.note(note));
    }

    /// All logs were read once more. Returns whether the reader of standard output is still there.
    pub fn show(&mut self, elapsed: Duration) -> bool {
        let Self { follower, paper } = self;
        follower.wait_no_longer(elapsed.as_micros() as u64, &mut |event, clock| paper.event(event, clock));
        paper.flush()
    }

    /// Nothing more comes.
    pub fn finish(self) -> Followed {
        let Self { mut follower, mut paper } = self;
        follower.finish(&mut |event, clock| paper.event(event, clock));
        follower.take_notes().iter().for_each(|note| paper.note(note));
        paper.flush();
        paper.so_far
    }
}

impl Paper {
    /// Writes what there is; false if no more can be written.
    fn flush(&mut self) -> bool {
        let text = std::mem::take(&mut self.text);
        self.out.write_lines(&text)
    }

    fn event(&mut self, event: &Event, clock: &[u32]) {
        let place = self.so_far.events as usize;
        self.so_far.events += 1;
        self.so_far.hurried += u64::from(matches!(event.past, Past::Unknown { why: Why::Silent(_) }));
        if !self.view.shows(event, &self.header) {
            self.so_far.hidden += 1;
            return;
        }
        let text = if self.out.is_json() {
            serde_json::to_string(&Row::new(&self.header, place, event, clock)).unwrap_or_default()
        } else {
            Line::of(&self.header, event).to_string()
        };
        self.text += &text;
        self.text.push('\n');
    }

    fn note(&mut self, note: &Note) {
        self.so_far.left_out += match note {
            Note::Gap { dropped, .. } => u64::from(*dropped),
            Note::Unplaced { records, .. } => *records,
            Note::Backwards { left_out, .. } => *left_out,
            _ => 0,
        };
        let text = note.say(&self.header);
        self.text += &if self.out.is_json() {
            format!("{}\n", serde_json::json!({ "note": text }))
        } else {
            format!("{}{}{:#}\n", paint::WARN, Line::Note(text), paint::WARN)
        };
    }
}

impl fmt::Display for Followed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { events, hidden, hurried, left_out } = self;
        write!(f, "{events} events")?;
        for (count, what) in [
            (hidden, "not shown"),
            (hurried, "shown without waiting for a silent node"),
            (left_out, "records dropped or without a place"),
        ] {
            if *count > 0 {
                write!(f, ", {count} {what}")?;
            }
        }
        Ok(())
    }
}

//! The space-time diagram as one self-contained SVG: lanes downwards, a dot for each event, an arrow for
//! each message, a dotted one for order through what is not shown, a dashed one for a dependence through a shared object.
use super::Selection;
use super::labels::{BESIDE, EDGE, columns, details, label, short, sides, span};
use super::lanes::{Arrow, Lanes};
use super::style::{escape, style, width};
use crate::History;
use std::fmt::Write as _;
use stillpoint_core::EventKind;

const ROW: f64 = 28.0;
const TOP: f64 = 84.0;

/// A drawn diagram.
#[derive(Clone, Debug)]
pub struct Picture {
    /// The markup, from `<svg` on.
    pub svg: String,
    /// How wide it is, in pixels.
    pub width: f64,
    /// How high it is.
    pub height: f64,
}

/// Draws a selection. `title` is what stands above it.
#[must_use]
pub fn svg(history: &History, selection: &Selection, title: &str) -> Picture {
    Drawing::new(&Lanes::new(history, selection), title).picture()
}

pub(super) struct Drawing<'a> {
    lanes: &'a Lanes<'a>,
    title: &'a str,
    /// The middle of each lane.
    x: Vec<f64>,
    /// For each mark, whether its label is on the right.
    right: Vec<bool>,
    labels: Vec<(String, String)>,
}

impl<'a> Drawing<'a> {
    pub(super) fn new(lanes: &'a Lanes<'a>, title: &'a str) -> Self {
        let labels: Vec<_> = lanes.marks.iter().map(|mark| label(lanes, mark)).collect();
        let right = sides(lanes);
        let x = columns(lanes, &right, &labels);
        Self { lanes, title, x, right, labels }
    }

    pub(super) fn picture(&self) -> Picture {
        let mut body = String::new();
        self.draw_lanes(&mut body);
        self.draw_cuts(&mut body);
        for (number, arrow) in self.lanes.arrows.iter().enumerate() {
            self.draw_arrow(&mut body, number, arrow);
        }
        for (one, other) in &self.lanes.unordered {
            let ((x1, y1), (x2, y2)) = (self.at(*one), self.at(*other));
            let _ = writeln!(
                body,
                "<line class=\"unordered\" x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\"><title>nothing orders these two</title></line>"
            );
        }
        for at in 0..self.lanes.marks.len() {
            self.draw_mark(&mut body, at);
        }
        self.draw_heads(&mut body);
        let bottom = TOP + ROW * (self.lanes.rows as f64 + 0.5);
        let notes: Vec<String> = self.lanes.general.iter().map(|note| note.say(&self.lanes.history.header)).collect();
        for (line, note) in notes.iter().enumerate() {
            let y = bottom + 20.0 * (line as f64 + 1.0);
            let _ = write!(body, "<text class=\"warn\" x=\"{EDGE}\" y=\"{y:.0}\">{}</text>", escape(note));
        }
        let height = bottom + 20.0 * (notes.len() as f64 + 1.0);
        let widest = |texts: &[String]| texts.iter().map(|text| width(text)).fold(0.0, f64::max);
        let lanes_end = self.x.last().map_or(EDGE, |x| x + self.reach(self.x.len() - 1, true) + EDGE);
        let width = lanes_end.max(widest(&notes) + 2.0 * EDGE).max(width(&self.heading()) * 1.2 + 2.0 * EDGE);
        let svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\" \
             height=\"{height:.0}\" role=\"img\"><style>{}</style>\
             <rect class=\"ground\" width=\"100%\" height=\"100%\"/>\n{body}</svg>\n",
            style()
        );
        Picture { svg, width, height }
    }

    fn heading(&self) -> String {
        let lanes = self.lanes;
        let total = lanes.hidden.0 + lanes.marks.len() + lanes.hidden.1;
        match lanes.hidden {
            (0, 0) => format!("{}: {total} events", self.title),
            (before, _) => {
                format!("{}: events {} to {} of {total}", self.title, before + 1, before + lanes.marks.len())
            }
        }
    }

    fn y(&self, row: usize) -> f64 {
        TOP + ROW * (row as f64 + 0.5)
    }

    fn at(&self, mark: usize) -> (f64, f64) {
        let mark = &self.lanes.marks[mark];
        (self.x[mark.lane], self.y(mark.row))
    }

    /// How far the labels of a lane reach to one side.
    fn reach(&self, lane: usize, right: bool) -> f64 {
        let marks =
            self.lanes.marks.iter().enumerate().filter(|(at, mark)| mark.lane == lane && self.right[*at] == right);
        let name = width(&self.lanes.history.node_name(self.lanes.nodes[lane])) * 0.6;
        marks.map(|(at, _)| span(&self.labels[at])).fold(name, f64::max)
    }

    fn draw_lanes(&self, body: &mut String) {
        let end = self.y(self.lanes.rows) - ROW * 0.25;
        for x in &self.x {
            let _ = writeln!(body, "<line class=\"lane\" x1=\"{x:.0}\" y1=\"{TOP}\" x2=\"{x:.0}\" y2=\"{end:.0}\"/>");
        }
        for bar in &self.lanes.bars {
            let ((x, from), (_, to)) = (self.at(bar.ends.0), self.at(bar.ends.1));
            // What lies inside is narrower; deeper than this it cannot be told apart.
            let half = 9.0 - 2.5 * bar.depth.min(2) as f64;
            let class = if bar.is_ended { "span" } else { "span unended" };
            let _ = writeln!(
                body,
                "<rect class=\"{class}\" x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" rx=\"4\"><title>span {}</title></rect>",
                x - half,
                from - 9.0,
                2.0 * half,
                to - from + 18.0,
                escape(&bar.name),
            );
        }
        for mark in self.lanes.marks.iter().filter(|mark| !mark.notes.is_empty()) {
            let (x, y) = (self.x[mark.lane], self.y(mark.row));
            let (y1, y2) = (y - ROW * 1.4, y - ROW * 0.3);
            let said: Vec<String> = mark.notes.iter().map(|note| note.say(&self.lanes.history.header)).collect();
            let _ = writeln!(
                body,
                "<g class=\"note\"><line class=\"lane\" style=\"stroke:#ffffff;stroke:var(--bg);stroke-width:4\" x1=\"{x:.0}\" y1=\"{y1:.0}\" x2=\"{x:.0}\" \
                 y2=\"{y2:.0}\"/><line class=\"lost\" x1=\"{x:.0}\" y1=\"{y1:.0}\" x2=\"{x:.0}\" y2=\"{y2:.0}\"/>\
                 <text class=\"label warn\" x=\"{:.0}\" y=\"{:.0}\">{}<title>{}</title></text></g>",
                x + BESIDE,
                (y1 + y2) / 2.0 + 4.0,
                escape(&short(mark)),
                escape(&said.join("\n")),
            );
        }
    }

    fn draw_heads(&self, body: &mut String) {
        let _ = writeln!(
            body,
            "<text class=\"title\" x=\"{EDGE}\" y=\"28\">{}</text><g id=\"heads\">",
            escape(&self.heading())
        );
        let right = self.x.last().map_or(0.0, |x| x + self.reach(self.x.len() - 1, true) + EDGE);
        let _ = writeln!(
            body,
            "<rect x=\"0\" y=\"42\" width=\"{right:.0}\" height=\"30\" class=\"ground\" opacity=\".85\"/>"
        );
        for (node, x) in self.lanes.nodes.iter().zip(&self.x) {
            let name = escape(&self.lanes.history.node_name(*node));
            let _ = writeln!(body, "<text class=\"head\" x=\"{x:.0}\" y=\"64\">{name}</text>");
        }
        body.push_str("</g>\n");
    }

    fn draw_cuts(&self, body: &mut String) {
        for cut in &self.lanes.cuts {
            let places: Vec<(f64, f64)> = cut.marks.iter().map(|mark| self.at(*mark)).collect();
            let (Some(first), Some(last)) = (places.first(), places.last()) else { continue };
            let mut line = format!("M{:.0} {:.0}", first.0 - 16.0, first.1);
            for (x, y) in &places {
                let _ = write!(line, "L{x:.0} {y:.0}");
            }
            let _ = writeln!(
                body,
                "<path class=\"cut\" d=\"{line}L{:.0} {:.0}\"><title>halt {}: what is above was seen, {} of {} lanes</title></path>",
                last.0 + 16.0,
                last.1,
                cut.halt,
                cut.marks.len(),
                self.x.len(),
            );
        }
    }

    fn draw_arrow(&self, body: &mut String, number: usize, arrow: &Arrow) {
        let toward = |from: f64, lane: Option<usize>, otherwise: f64| {
            let side = lane.map_or(otherwise, |lane| (self.x[lane] - from).signum());
            if side == 0.0 { otherwise } else { side }
        };
        let (class, from, to, head) = match *arrow {
            Arrow::Hidden { from, to } => ("msg hidden", self.at(from), self.at(to), true),
            Arrow::Data { from, to } => ("msg data", self.at(from), self.at(to), true),
            Arrow::Message { from, to } => ("msg", self.at(from), self.at(to), true),
            Arrow::Leaves { from, lane, received } => {
                let at = self.at(from);
                let side = toward(at.0, lane, 1.0);
                (if received { "msg away" } else { "msg open" }, at, (at.0 + side * 26.0, at.1 + ROW * 0.45), false)
            }
            Arrow::Comes { to, lane, sent } => {
                let at = self.at(to);
                let side = toward(at.0, lane, -1.0);
                (if sent { "msg away" } else { "msg open" }, (at.0 + side * 26.0, at.1 - ROW * 0.45), at, true)
            }
        };
        let ends = match *arrow {
            Arrow::Hidden { from, to } | Arrow::Data { from, to } | Arrow::Message { from, to } => [from, to],
            Arrow::Leaves { from, .. } => [from, from],
            Arrow::Comes { to, .. } => [to, to],
        };
        let later = if ends.iter().any(|end| self.lanes.marks[*end].is_later) { " later" } else { "" };
        let length = ((to.0 - from.0).powi(2) + (to.1 - from.1).powi(2)).sqrt().max(1.0);
        let (dx, dy) = ((to.0 - from.0) / length, (to.1 - from.1) / length);
        // The arrow ends at the rim of the dot.
        let tip = if head { (to.0 - dx * 6.0, to.1 - dy * 6.0) } else { to };
        let _ = write!(
            body,
            "<g class=\"message{later}\" id=\"m{number}\"><line class=\"{class}\" x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\"/>",
            from.0, from.1, tip.0, tip.1
        );
        if head {
            let (back, half) = ((tip.0 - dx * 9.0, tip.1 - dy * 9.0), 4.0);
            let tip_class = match class {
                "msg open" => "tip open",
                "msg hidden" => "tip hidden",
                "msg data" => "tip data",
                _ => "tip",
            };
            let _ = write!(
                body,
                "<path class=\"{tip_class}\" d=\"M{:.1} {:.1}L{:.1} {:.1}L{:.1} {:.1}Z\"/>",
                tip.0,
                tip.1,
                back.0 - dy * half,
                back.1 + dx * half,
                back.0 + dy * half,
                back.1 - dx * half
            );
        }
        body.push_str("</g>\n");
    }

    fn draw_mark(&self, body: &mut String, at: usize) {
        let (history, mark) = (self.lanes.history, &self.lanes.marks[at]);
        let event = &history.events[mark.place];
        let (x, y) = self.at(at);
        let about = match (&mark.marked, self.lanes.about == Some(mark.place)) {
            (Some(_), _) => " found",
            (None, true) => " about",
            (None, false) => "",
        };
        let later = if mark.is_later { " later" } else { "" };
        let _ = write!(
            body,
            "<g class=\"event{about}{later}\" id=\"e{at}\"><title>{}</title>",
            escape(&details(history, mark.place))
        );
        let kind = match event.kind() {
            EventKind::Halt | EventKind::Resume | EventKind::Fault => "h",
            _ if !event.past.is_known() => "u",
            EventKind::Send | EventKind::Receive => "m",
            _ => "",
        };
        let _ = match event.kind() {
            EventKind::Halt => write!(
                body,
                "<rect class=\"dot h\" x=\"{:.0}\" y=\"{:.0}\" width=\"10\" height=\"10\"/>",
                x - 5.0,
                y - 5.0
            ),
            EventKind::Reset => {
                write!(body, "<path class=\"dot {kind}\" d=\"M{x:.0} {:.0}l7 7l-7 7l-7 -7Z\"/>", y - 7.0)
            }
            _ => write!(body, "<circle class=\"dot {kind}\" cx=\"{x:.0}\" cy=\"{y:.0}\" r=\"5.5\"/>"),
        };
        let (number, action) = &self.labels[at];
        let (place, anchor) = if self.right[at] { (x + BESIDE, "start") } else { (x - BESIDE, "end") };
        let _ = writeln!(
            body,
            "<text class=\"label\" x=\"{place:.0}\" y=\"{:.0}\" text-anchor=\"{anchor}\"><tspan class=\"dim\">{}</tspan> {}</text></g>",
            // The cut line runs through a halt: its label stands above.
            if event.kind() == EventKind::Halt { y - 6.0 } else { y + 4.0 },
            escape(number),
            escape(action),
        );
    }
}

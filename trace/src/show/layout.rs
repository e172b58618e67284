//! Program and elaborated graph as one self-contained SVG: a column for each group, actions in the order they first happened.
use super::style::{escape, style, width};
use super::{Arc, Graph};
use crate::EdgeKind;
use std::fmt::Write as _;

const BOX: f64 = 30.0;
const STEP: f64 = 58.0;
const TOP: f64 = 84.0;
const EDGE: f64 = 24.0;

/// Draws a graph. `title` is what stands above it.
#[must_use]
pub fn graph_svg(graph: &Graph, title: &str) -> String {
    let plan = Plan::of(graph);
    let mut body = String::new();
    for (group, name) in graph.groups.iter().enumerate() {
        let _ = writeln!(body, "<text class=\"head\" x=\"{:.0}\" y=\"64\">{}</text>", plan.middle[group], escape(name));
    }
    graph.arcs.iter().for_each(|arc| plan.draw_arc(&mut body, arc));
    for at in 0..graph.spots.len() {
        plan.draw_spot(&mut body, at);
    }
    // Counts last, so that no line runs through them.
    graph.arcs.iter().filter(|arc| arc.count > 0).for_each(|arc| plan.draw_count(&mut body, arc));
    let (wide, high) = (plan.wide.max(width(title) * 1.2 + 2.0 * EDGE), plan.high);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {wide:.0} {high:.0}\" width=\"{wide:.0}\" height=\"{high:.0}\" \
         role=\"img\"><style>{}</style><rect class=\"ground\" width=\"100%\" height=\"100%\"/>\n\
         <text class=\"title\" x=\"{EDGE}\" y=\"28\">{}</text>\n{body}</svg>\n",
        style(),
        escape(title)
    )
}

struct Plan<'a> {
    graph: &'a Graph,
    /// The middle of each column, and half the width of its boxes.
    middle: Vec<f64>,
    half: Vec<f64>,
    /// The place of each spot in its column.
    place: Vec<usize>,
    wide: f64,
    high: f64,
}

/// Where an arc runs: from, towards, towards, to; and between, if columns lie between its ends, straight between two rows
/// of boxes: where that begins and ends, and how high.
struct Curve {
    points: [(f64, f64); 4],
    between: Option<(f64, f64, f64)>,
}

impl Curve {
    fn plain(points: [(f64, f64); 4]) -> Self {
        Self { points, between: None }
    }

    fn path(&self) -> String {
        let [a, b, c, d] = self.points;
        let curve = |b: (f64, f64), c: (f64, f64), d: (f64, f64)| {
            format!("C{:.1} {:.1} {:.1} {:.1} {:.1} {:.1}", b.0, b.1, c.0, c.1, d.0, d.1)
        };
        let begin = format!("M{:.1} {:.1}", a.0, a.1);
        match self.between {
            None => begin + &curve(b, c, d),
            Some((from, to, y)) => {
                let turn = (to - from).signum() * 24.0;
                let out = curve(b, (from - turn, y), (from, y));
                format!("{begin}{out}L{to:.1} {y:.1}{}", curve((to + turn, y), c, d))
            }
        }
    }
}

impl<'a> Plan<'a> {
    fn of(graph: &'a Graph) -> Self {
        let groups = graph.groups.len();
        let mut next = vec![0; groups];
        let mut place = Vec::new();
        for spot in &graph.spots {
            place.push(next[spot.group]);
            next[spot.group] += 1;
        }
        let mut half: Vec<f64> = graph.groups.iter().map(|name| width(name) * 0.6).collect();
        for spot in &graph.spots {
            half[spot.group] = half[spot.group].max(width(&label(spot)) / 2.0 + 12.0);
        }
        let mut plan = Self { graph, middle: vec![0.0; groups], half, place, wide: 0.0, high: 0.0 };
        let (mut at, between) = (EDGE, 90.0);
        for group in 0..groups {
            at += plan.bulge(group, false) + plan.half[group];
            plan.middle[group] = at;
            at += plan.half[group] + plan.bulge(group, true) + if group + 1 < groups { between } else { EDGE };
        }
        (plan.wide, plan.high) = (at, TOP + STEP * next.into_iter().max().unwrap_or(0) as f64);
        plan
    }

    fn group(&self, spot: usize) -> usize {
        self.graph.spots[spot].group
    }

    fn middle_of(&self, spot: usize) -> (f64, f64) {
        (self.middle[self.group(spot)], TOP + STEP * self.place[spot] as f64 + BOX / 2.0)
    }

    /// How far the arcs beside a column reach out: messages on the right, steps on the left.
    fn bulge(&self, group: usize, right: bool) -> f64 {
        let inside = self.graph.arcs.iter().filter(|arc| self.group(arc.from) == group && self.group(arc.to) == group);
        let beside = inside.filter(|arc| is_step(arc) != right && !self.is_next(arc));
        beside.map(|arc| self.reach(arc)).fold(0.0, f64::max)
    }

    fn reach(&self, arc: &Arc) -> f64 {
        let far = self.place[arc.from].abs_diff(self.place[arc.to]);
        (20.0 + 12.0 * far as f64).min(150.0)
    }

    /// A step straight down to the next box.
    fn is_next(&self, arc: &Arc) -> bool {
        is_step(arc) && self.group(arc.from) == self.group(arc.to) && self.place[arc.to] == self.place[arc.from] + 1
    }

    fn curve(&self, arc: &Arc) -> Curve {
        let (from, to) = (self.middle_of(arc.from), self.middle_of(arc.to));
        let (of_from, of_to) = (self.half[self.group(arc.from)], self.half[self.group(arc.to)]);
        if self.is_next(arc) {
            let (a, b) = ((from.0, from.1 + BOX / 2.0), (to.0, to.1 - BOX / 2.0));
            return Curve::plain([a, a, b, b]);
        }
        if self.group(arc.from) == self.group(arc.to) {
            let side = if is_step(arc) { -1.0 } else { 1.0 };
            // Leaving below the middle and arriving above it, so that both ways can be told apart.
            let (a, b) = ((from.0 + side * of_from, from.1 + 6.0), (to.0 + side * of_to, to.1 - 6.0));
            let out = side * self.reach(arc) * 4.0 / 3.0;
            let loops = if arc.from == arc.to { 16.0 } else { 0.0 };
            return Curve::plain([a, (a.0 + out, a.1 + loops), (b.0 + out, b.1 - loops), b]);
        }
        let side = (to.0 - from.0).signum();
        let (a, b) = ((from.0 + side * of_from, from.1), (to.0 - side * of_to, to.1));
        let bend = side * ((b.0 - a.0).abs() * 0.4).clamp(30.0, 70.0);
        let (first, last) =
            (self.group(arc.from).min(self.group(arc.to)) + 1, self.group(arc.from).max(self.group(arc.to)));
        let between = (first < last).then(|| {
            let edges =
                (self.middle[first] - self.half[first] - 6.0, self.middle[last - 1] + self.half[last - 1] + 6.0);
            let gap = (((a.1 + b.1) / 2.0 - TOP + (STEP - BOX) / 2.0) / STEP).round().max(1.0);
            let y = TOP + gap * STEP - (STEP - BOX) / 2.0;
            if side > 0.0 { (edges.0, edges.1, y) } else { (edges.1, edges.0, y) }
        });
        Curve { points: [a, (a.0 + bend, a.1), (b.0 - bend, b.1), b], between }
    }

    fn draw_arc(&self, body: &mut String, arc: &Arc) {
        let curve = self.curve(arc);
        let [_, _, c, d] = curve.points;
        let length = ((d.0 - c.0).powi(2) + (d.1 - c.1).powi(2)).sqrt();
        let (dx, dy) = if length > 0.0 { ((d.0 - c.0) / length, (d.1 - c.1) / length) } else { (0.0, 1.0) };
        let back = (d.0 - dx * 9.0, d.1 - dy * 9.0);
        let (class, verb) = match (arc.kind, arc.count) {
            (EdgeKind::Message, 0) => ("msg never", "sends to"),
            (EdgeKind::Message, _) => ("msg", "sends to"),
            (EdgeKind::Hidden, _) => ("msg hidden", "happened before"),
            (EdgeKind::Data, _) => ("msg data", "accessed an object before"),
            (EdgeKind::Step, _) => ("then", "is followed by"),
        };
        let fill = match arc.kind {
            EdgeKind::Message => "fill:var(--msg)",
            EdgeKind::Data => "fill:var(--data)",
            EdgeKind::Hidden => "fill:var(--bg);stroke:var(--msg)",
            EdgeKind::Step => "fill:var(--dim)",
        };
        let said = format!("{} {verb} {}", self.graph.spots[arc.from].label, self.graph.spots[arc.to].label);
        let _ = writeln!(
            body,
            "<g class=\"arc\" data-f=\"{}\" data-t=\"{}\"><path class=\"{class}\" d=\"{}\"><title>{}: {} times</title></path>\
             <path style=\"{fill}\" d=\"M{:.1} {:.1}L{:.1} {:.1}L{:.1} {:.1}Z\"/></g>",
            arc.from,
            arc.to,
            curve.path(),
            escape(&said),
            arc.count,
            d.0,
            d.1,
            back.0 - dy * 4.0,
            back.1 + dx * 4.0,
            back.0 + dy * 4.0,
            back.1 - dx * 4.0
        );
    }

    /// How often an arc was taken, at its middle.
    fn draw_count(&self, body: &mut String, arc: &Arc) {
        let Curve { points: [a, b, mut c, mut d], between } = self.curve(arc);
        if let Some((from, _, y)) = between {
            (c, d) = ((from, y), (from, y));
        }
        // Nearer to the start where arcs of neighbours would meet in the middle.
        let t = if self.group(arc.from) == self.group(arc.to) { 0.5 } else { 0.3 };
        let weights: [f64; 4] =
            [(1.0f64 - t).powi(3), 3.0 * (1.0f64 - t).powi(2) * t, 3.0 * (1.0 - t) * t * t, t * t * t];
        let at = |of: fn((f64, f64)) -> f64| {
            weights.iter().zip([a, b, c, d]).map(|(weight, point)| weight * of(point)).sum::<f64>()
        };
        let (x, y) = (at(|point| point.0), at(|point| point.1));
        let beside = if self.is_next(arc) { 8.0 } else { 0.0 };
        let anchor = if self.is_next(arc) { "start" } else { "middle" };
        let _ = writeln!(
            body,
            "<text class=\"label dim\" style=\"font-size:10px\" text-anchor=\"{anchor}\" x=\"{:.0}\" y=\"{:.0}\">{}</text>",
            x + beside,
            y + 3.5,
            arc.count
        );
    }

    fn draw_spot(&self, body: &mut String, at: usize) {
        let (spot, (x, y)) = (&self.graph.spots[at], self.middle_of(at));
        let half = self.half[spot.group];
        let events = spot
            .events
            .as_ref()
            .map_or_else(|| "never in this trace".into(), |(first, last)| format!("{first} to {last}"));
        let _ = writeln!(
            body,
            "<g class=\"spot\" data-at=\"{at}\"><title>{}\ntemplate {}\n{}</title>\
             <rect class=\"box\" x=\"{:.0}\" y=\"{:.0}\" width=\"{:.0}\" height=\"{BOX}\" rx=\"7\"/>\
             <text x=\"{x:.0}\" y=\"{:.0}\" text-anchor=\"middle\">{}</text></g>",
            escape(spot.action.as_deref().unwrap_or(&spot.label)),
            escape(&spot.template),
            escape(&events),
            x - half,
            y - BOX / 2.0,
            2.0 * half,
            y + 4.0,
            escape(&label(spot)),
        );
    }
}

fn is_step(arc: &Arc) -> bool {
    arc.kind == EdgeKind::Step
}

fn label(spot: &super::Spot) -> String {
    format!("{} ×{}", spot.label, spot.count)
}

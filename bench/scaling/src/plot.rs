//! A line plot on logarithmic axes as SVG, readable on light and on dark pages.
use std::fmt::Write as _;

/// One line of a plot.
pub struct Line {
    pub name: String,
    pub points: Vec<(f64, f64)>,
}

/// A plot. Both axes are logarithmic.
pub struct Plot<'a> {
    pub title: &'a str,
    pub x: &'a str,
    pub y: &'a str,
    pub lines: Vec<Line>,
}

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 420.0;
/// Of the area in which lines are: left, right, top, bottom.
const AREA: [f64; 4] = [64.0, 700.0, 84.0, 366.0];
const STYLE: &str = "\
.page{fill:#fff}text{fill:#1f2328;font:13px sans-serif}.title{font-size:16px;font-weight:600}.grid{stroke:#d1d9e0}\
.l0{stroke:#0969da;fill:#0969da}.l1{stroke:#bc4c00;fill:#bc4c00}.l2{stroke:#1a7f37;fill:#1a7f37}.l3{stroke:#8250df;fill:#8250df}\
@media(prefers-color-scheme:dark){.page{fill:#0d1117}text{fill:#e6edf3}.grid{stroke:#30363d}\
.l0{stroke:#58a6ff;fill:#58a6ff}.l1{stroke:#ffa657;fill:#ffa657}.l2{stroke:#56d364;fill:#56d364}.l3{stroke:#d2a8ff;fill:#d2a8ff}}";
/// Ways to draw a line, so that colour is not needed to tell them apart.
const DASHES: [&str; 4] = ["", "7 4", "2 4", "10 3 2 3"];

/// One axis: from the least to the greatest value, on a range of pixels.
struct Axis {
    least: f64,
    most: f64,
    pixels: (f64, f64),
}

impl Axis {
    fn place(&self, value: f64) -> f64 {
        let part = (value / self.least).ln() / (self.most / self.least).ln();
        self.pixels.0 + part * (self.pixels.1 - self.pixels.0)
    }
}

impl Plot<'_> {
    /// The picture.
    pub fn svg(&self) -> String {
        let [left, right, top, bottom] = AREA;
        // What is not above zero has no place on a logarithmic axis.
        let drawn = |line: &Line| line.points.iter().copied().filter(|(x, y)| *x > 0.0 && *y > 0.0).collect::<Vec<_>>();
        let points = || self.lines.iter().flat_map(drawn);
        let mut xs: Vec<f64> = points().map(|(x, _)| x).collect();
        xs.sort_by(f64::total_cmp);
        xs.dedup();
        let (least, most) = points().fold((f64::MAX, 0.0_f64), |(least, most), (_, y)| (least.min(y), most.max(y)));
        let ticks = ticks(least, most);
        let ends = |values: &[f64]| (values.first().copied().unwrap_or(1.0), values.last().copied().unwrap_or(10.0));
        let ((x_least, x_most), (y_least, y_most)) = (ends(&xs), ends(&ticks));
        let x_axis = Axis { least: x_least, most: x_most, pixels: (left + 16.0, right - 16.0) };
        let y_axis = Axis { least: y_least, most: y_most, pixels: (bottom, top) };
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" width=\"{WIDTH}\" height=\"{HEIGHT}\" \
             role=\"img\"><title>{0}</title><style>{STYLE}</style><rect class=\"page\" width=\"{WIDTH}\" height=\"{HEIGHT}\"/>\n\
             <text class=\"title\" x=\"16\" y=\"26\">{0}</text><text x=\"16\" y=\"74\">{1}</text>\n",
            self.title, self.y
        );
        let middle = (left + right) / 2.0;
        let _ = writeln!(svg, "<text x=\"{middle}\" y=\"{}\" text-anchor=\"middle\">{}</text>", HEIGHT - 10.0, self.x);
        for tick in &ticks {
            let y = y_axis.place(*tick);
            let _ = writeln!(svg, "<line class=\"grid\" x1=\"{left}\" x2=\"{right}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>");
            let text = shown(*tick);
            let _ = writeln!(svg, "<text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{text}</text>", left - 8.0, y + 4.5);
        }
        for x in &xs {
            let (at, text) = (x_axis.place(*x), shown(*x));
            let _ = writeln!(svg, "<line class=\"grid\" x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"{top}\" y2=\"{bottom}\"/>");
            let _ = writeln!(svg, "<text x=\"{at:.1}\" y=\"{}\" text-anchor=\"middle\">{text}</text>", bottom + 20.0);
        }
        let mut legend = 16.0;
        for (index, line) in self.lines.iter().enumerate() {
            let (class, dash) = (index % 4, DASHES[index % 4]);
            let place = |(x, y): &(f64, f64)| (x_axis.place(*x), y_axis.place(*y));
            let points = drawn(line);
            let path: Vec<String> = points.iter().map(place).map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
            let pen = format!("class=\"l{class}\" stroke-width=\"2\" stroke-dasharray=\"{dash}\" style=\"fill:none\"");
            let _ = writeln!(svg, "<polyline {pen} points=\"{}\"/>", path.join(" "));
            for (x, y) in points.iter().map(place) {
                let _ = writeln!(svg, "<circle class=\"l{class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3.5\"/>");
            }
            let _ = writeln!(svg, "<line {pen} x1=\"{legend}\" x2=\"{}\" y1=\"46\" y2=\"46\"/>", legend + 28.0);
            let _ = writeln!(svg, "<text x=\"{}\" y=\"50.5\">{}</text>", legend + 34.0, line.name);
            // Seven pixels a letter are enough in any sans-serif.
            legend += 54.0 + 7.0 * line.name.chars().count() as f64;
        }
        svg + "</svg>\n"
    }
}

/// Powers of ten with 2 and 5 between them, from just below the least value to just above the greatest.
fn ticks(least: f64, most: f64) -> Vec<f64> {
    let all: Vec<f64> = (-3..10).flat_map(|power| [1.0, 2.0, 5.0].map(|step| step * 10_f64.powi(power))).collect();
    let first = all.partition_point(|tick| *tick <= least).saturating_sub(1);
    let last = all.partition_point(|tick| *tick < most).min(all.len() - 1);
    all.get(first..=last.max(first + 1)).unwrap_or_default().to_vec()
}

/// Numbers as people write them.
fn shown(value: f64) -> String {
    match value {
        value if value >= 1e6 => format!("{} M", value / 1e6),
        value if value >= 1e4 => format!("{} k", value / 1e3),
        value => format!("{}", (value * 1000.0).round() / 1000.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_enclose_the_values() {
        assert_eq!(ticks(3.0, 30.0), [2.0, 5.0, 10.0, 20.0, 50.0]);
        assert_eq!(ticks(4.0, 4.0), [2.0, 5.0]);
    }

    #[test]
    fn every_point_of_every_line_is_drawn_inside_the_area() {
        let lines = vec![
            Line { name: "one".into(), points: vec![(2.0, 3.0), (32.0, 700.0)] },
            Line { name: "other".into(), points: vec![(2.0, 5.0)] },
        ];
        let svg = Plot { title: "t", x: "x", y: "y", lines }.svg();
        assert_eq!((svg.matches("<circle").count(), svg.matches("<polyline").count()), (3, 2));
        let heights = svg.split("cy=\"").skip(1).filter_map(|rest| rest.split('"').next()?.parse::<f64>().ok());
        assert!(heights.into_iter().all(|y| (AREA[2]..=AREA[3]).contains(&y)));
    }
}

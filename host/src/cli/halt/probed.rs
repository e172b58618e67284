//! Halting by the probe, as a debugger without help from the firmware does it: for comparison.
use crate::cli::{CliError, Context, Exit, Report, paint};
use serde::Serialize;
use std::fmt;
use stillpoint::ProbeHalt;

#[derive(Serialize)]
struct Answer {
    certified: bool,
    by: &'static str,
    nodes: Vec<Node>,
    milliseconds: f64,
}

#[derive(Serialize)]
struct Node {
    name: String,
    /// When it stopped, after the first had.
    milliseconds: f64,
    /// Events that it recorded after the first had stopped, as far as its log tells.
    events_after: Option<u32>,
}

pub(super) fn run(group: bool, context: &mut Context) -> Result<Exit, CliError> {
    let out = context.out();
    let how = if group { ProbeHalt::Group } else { ProbeHalt::Sequential };
    let stops = context.system()?.halt_by_probe(how)?;
    context.leave_halted();
    let nodes: Vec<Node> = stops
        .into_iter()
        .map(|stop| Node {
            name: stop.name,
            milliseconds: stop.after_first.as_secs_f64() * 1e3,
            events_after: stop.events_after,
        })
        .collect();
    let milliseconds = nodes.iter().map(|node| node.milliseconds).fold(0.0, f64::max);
    out.print(&Answer { certified: false, by: if group { "group" } else { "sequential" }, nodes, milliseconds });
    Ok(Exit::Ok)
}

impl Report for Answer {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = self.nodes.iter().map(|node| node.name.len()).max().unwrap_or(0);
        for Node { name, milliseconds, events_after } in &self.nodes {
            let events = events_after.map_or("an unknown number of".into(), |events| events.to_string());
            let (name_on, name_off) = (paint::NAME, format_args!("{:#}", paint::NAME));
            writeln!(
                f,
                "{name_on}{name:width$}{name_off}  stopped {milliseconds:.2} ms after the first, {events} events later"
            )?;
        }
        let warn = paint::WARN;
        writeln!(
            f,
            "{warn}no certificate{warn:#}: cores that the probe stops exchange no markers; the halt without options does"
        )
    }
}

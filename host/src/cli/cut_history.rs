//! The last events before a stop, as a part of `stillpoint cut`.
use super::cut::heading;
use super::{CliError, Context, files, paint};
use serde::Serialize;
use std::fmt;
use std::path::PathBuf;
use stillpoint::{CutReport, OutputFile, trace};
use stillpoint_trace::History;
use stillpoint_trace::show::{self, Line, Selection};

/// Which of the last events are shown, and where they are drawn.
#[derive(clap::Args)]
pub struct Wanted {
    /// Show the last N events of each node, from its log ring, in causal order; those before the stop are marked.
    #[arg(long, value_name = "N", num_args = 0..=1, default_missing_value = "10")]
    history: Option<usize>,
    /// Draw these events into this file, as SVG.
    #[arg(long, value_name = "FILE", requires = "history")]
    svg: Option<PathBuf>,
    /// Draw these events into this file, as a page to move about in.
    #[arg(long, value_name = "FILE", requires = "history")]
    html: Option<PathBuf>,
}

/// The last events of every node.
#[derive(Serialize)]
pub(super) struct LastEvents {
    /// The event with which the system stopped.
    stop: Option<String>,
    /// Events that are not known, in words.
    notes: Vec<String>,
    events: Vec<LastEvent>,
}

#[derive(Serialize)]
struct LastEvent {
    event: String,
    node: String,
    time: String,
    action: String,
    partner: String,
    /// Where the source has it.
    line: Option<String>,
    /// Whether it happened before the stop, or is the stop.
    before_stop: bool,
}

/// Reads the last events, and draws them if that is asked for.
pub(super) fn read(wanted: &Wanted, cut: &CutReport, context: &mut Context) -> Result<Option<LastEvents>, CliError> {
    let Some(most) = wanted.history else { return Ok(None) };
    let file = context.file()?.path.display().to_string();
    let history = context.present()?.last_events(&file)?;
    let stop = trace::stop_of(&history, cut.ledger.triggers.first().map(String::as_str));
    let shown = Selection { about: stop, past_of: stop, ..last_of_each(&history, most) };
    let title = format!("the last {most} events of each node");
    for (path, is_page) in [(&wanted.svg, false), (&wanted.html, true)] {
        let Some(path) = path else { continue };
        let picture = match is_page {
            true => show::html(&history, &shown, &title),
            false => show::svg(&history, &shown, &title).svg,
        };
        files::write(OutputFile::at(path), context, |to| to.write_all(picture.as_bytes()))?;
        context.out().say("drew", format!("{} events into {}", shown.places.len(), path.display()));
    }
    let event = |place: &usize| {
        let of = &history.events[*place];
        let Line::Event { name, time, action, partner, .. } = Line::of(&history.header, of) else { return None };
        Some(LastEvent {
            event: name,
            node: history.node_name(of.id.node),
            time,
            action,
            partner,
            line: history.header.place(of.id.node, &of.what).map(str::to_owned),
            before_stop: stop.is_some_and(|stop| *place == stop || history.before(*place, stop)),
        })
    };
    Ok(Some(LastEvents {
        stop: stop.map(|stop| history.header.event_name(history.events[stop].id)),
        notes: history.notes().iter().map(|note| note.say(&history.header)).collect(),
        events: shown.places.iter().filter_map(event).collect(),
    }))
}

/// The last events of each node, in the order of the whole.
fn last_of_each(history: &History, most: usize) -> Selection {
    let mut places: Vec<usize> = Vec::new();
    for node in 0..=u8::MAX {
        let of_node = history.of_node(node);
        places.extend(of_node[of_node.len().saturating_sub(most)..].iter().map(|place| *place as usize));
    }
    places.sort_unstable();
    Selection { places, ..Selection::default() }
}

impl LastEvents {
    pub(super) fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        heading(f, "last events")?;
        let (warn, faint, name_style) = (paint::WARN, paint::FAINT, paint::NAME);
        self.notes.iter().try_for_each(|note| writeln!(f, "  {warn}~~~ {note}{warn:#}"))?;
        if self.events.is_empty() {
            return writeln!(f, "  none: the log rings hold no events");
        }
        for LastEvent { event, time, action, partner, line, before_stop, .. } in &self.events {
            let mark = if *before_stop { "*" } else { " " };
            write!(f, "  {mark} {name_style}{event:<14}{name_style:#} {time:>14}  {action:<24}")?;
            if !partner.is_empty() {
                write!(f, " {partner}")?;
            }
            line.as_ref().map_or(Ok(()), |line| write!(f, "  {faint}{line}{faint:#}"))?;
            writeln!(f)?;
        }
        match &self.stop {
            Some(stop) => writeln!(f, "  * happened before the stop at {stop}"),
            None => writeln!(f, "  no event of the stop is in the rings"),
        }
    }
}

//! `stillpoint show` - a recording as a listing, a space-time diagram, or graphs.
//!
//!     $ stillpoint show run.trace --diagram --around left1#2 --most 4
//!      left0   left1
//!        ●─╮     │    left0#2 send(ring) -> left1#2
//!        │ ┊     ◆    left1#1 reset
//!        │ ╰────▶●    left1#2 recv(ring) <- left0#2
//!        │       •    left1#3 watch(holding) = 1
use super::{CliError, Context, Exit, Report, files, history, paint, stable};
use serde::ser::{Error as _, Serialize, SerializeSeq as _, SerializeStruct as _, Serializer};
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use stillpoint::OutputFile;
use stillpoint::program::{LineIndex, SystemProgram, dot as program_dot, svg as program_svg};
use stillpoint_trace::show::{self, Bounds, Graph, GraphKind, Line, Selection};
use stillpoint_trace::{History, Row, View};

/// Show a recording: a line an event in causal order, a space-time diagram, or graphs.
#[derive(clap::Args)]
#[command(
    after_help = "Needs no board and no system file. An event is named NODE#NUMBER, or NODE@EPOCH#NUMBER after a reset, as the listing names it.\n\
                  The pictures are single files that open in any browser; a page can be moved and zoomed, and a click on an event shows \
                  what happened before and after it. Exit code 1 if the recording is damaged: what lies before the damage is shown.\n\n\
                  Examples:\n  stillpoint show run.trace --around left0#41\n  stillpoint show run.trace --diagram --past right1#75\n  \
                  stillpoint show run.trace --html run.html --only nodes=left0,left1 --only kinds=send,recv\n  \
                  stillpoint show run.trace --collapse --svg spans.svg\n  \
                  stillpoint show run.trace --graph elaborated --svg actions.svg\n  \
                  stillpoint show run.trace --lines --only kinds=send,recv\n  \
                  stillpoint show run.trace --program --svg flow.svg --event 'left0.lap == 4 === right1.lap == 5'"
)]
pub struct Args {
    #[command(flatten)]
    order: super::order::OrderArgs,
    /// The recording.
    file: PathBuf,
    /// Draw a space-time diagram: a column for each node, a line for each event.
    #[arg(long)]
    diagram: bool,
    /// Draw into this file, as SVG.
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Draw into this file, as a page to move about in.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Show a graph instead: of the program's actions, of each node's, or of events. Without a file it is written as DOT.
    #[arg(long, value_name = "KIND")]
    graph: Option<Kind>,
    /// Begin with this event.
    #[arg(long, value_name = "EVENT")]
    from: Option<String>,
    /// End with this event; without --from, a picture has the events that lead to it.
    #[arg(long, value_name = "EVENT")]
    to: Option<String>,
    /// Show what is around this event; a page opens at it.
    #[arg(long, value_name = "EVENT", conflicts_with_all = ["from", "to"])]
    around: Option<String>,
    /// Show at most this many events; without it all in a listing, 200 in a diagram, 2000 in a picture.
    #[arg(long, value_name = "N")]
    most: Option<usize>,
    /// Only this event and what happened before it.
    #[arg(long, value_name = "EVENT")]
    past: Option<String>,
    /// Only this event and what happened after it.
    #[arg(long, value_name = "EVENT", conflicts_with = "past")]
    future: Option<String>,
    /// Draw each span as one event. A span stays open if something of another node lies between two of its events.
    #[arg(long)]
    collapse: bool,
    /// Show which source line an event is of, or which it may be of.
    #[arg(long)]
    lines: bool,
    /// Draw the control flow of the program from its sources instead, with its messages. Without --svg it is written as DOT.
    #[arg(long, conflicts_with_all = ["diagram", "html", "graph", "lines"])]
    program: bool,
    /// In the drawing of the program, mark where this simultaneous event is recognised and what carries it.
    #[arg(long, value_name = "EXPR", requires = "program")]
    event: Option<String>,
    /// The folder of the sources, or the first file of the firmware; else they are where the debug information says.
    #[arg(long, value_name = "DIR")]
    source: Option<PathBuf>,
    /// Only some: nodes=A,B or kinds=send,recv or actions=send(out),lap. What is left out still orders what is shown.
    #[arg(long, value_name = "WHAT=NAMES")]
    only: Vec<String>,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Kind {
    /// Actions as the firmware's source has them.
    Program,
    /// Actions of each node.
    Elaborated,
    /// Events.
    Event,
}

impl From<Kind> for GraphKind {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Program => Self::Program,
            Kind::Elaborated => Self::Elaborated,
            Kind::Event => Self::Event,
        }
    }
}

/// Events shown where nobody says how many.
const IN_DIAGRAM: usize = 200;
const IN_PICTURE: usize = 2000;
/// Events around one, in a listing.
const AROUND: usize = 40;

pub fn run(args: &Args, context: &mut Context) -> Result<Exit, CliError> {
    let out = context.out();
    let history = args.order.of(history::load(&args.file, context)?);
    let history = if args.collapse { history.collapsed() } else { history };
    let from = stable::ProgramArgs::at(args.source.clone());
    if args.program {
        return draw_program(args, &from, &history, context);
    }
    let lines = if args.lines { Some(LineIndex::new(&from.load(&history.header)?)) } else { None };
    let chosen = choose(args, &history)?;
    let bounds = |most| bounds(args, &history, most);
    let exit = if history::is_damaged(&history) { Exit::Bad } else { Exit::Ok };
    let title = args.file.file_stem().map_or_else(|| "trace".into(), |name| name.to_string_lossy().into_owned());
    let pictures: Vec<&PathBuf> = args.svg.iter().chain(&args.html).collect();
    if !pictures.is_empty() {
        pictures.iter().try_for_each(|path| files::check_is_other(path, &args.file))?;
        // Actions are folded from all events; only events need room.
        let whole = chosen.clone().within(Bounds { most: None, ..bounds(None)? });
        let shown = chosen.within(bounds(Some(IN_PICTURE))?);
        let folded = matches!(args.graph, Some(Kind::Program | Kind::Elaborated)) && args.html.is_none();
        let counted = if folded { &whole } else { &shown };
        let drawn = Drawn {
            events: counted.places.len(),
            extent: counted.extent(),
            files: pictures.into_iter().cloned().collect(),
        };
        if let Some(path) = &args.svg {
            let picture = picture(args, &history, &whole, &shown, &title);
            files::write(OutputFile::at(path), context, |to| to.write_all(picture.as_bytes()))?;
        }
        if let Some(path) = &args.html {
            let page = match args.graph {
                Some(_) => show::linked_html(&history, &whole, &shown, &title),
                None => show::html(&history, &shown, &title),
            };
            files::write(OutputFile::at(path), context, |to| to.write_all(page.as_bytes()))?;
        }
        out.print(&drawn);
    } else if let Some(kind) = args.graph {
        let shown = match kind {
            Kind::Event => chosen.within(bounds(Some(IN_PICTURE))?),
            Kind::Program | Kind::Elaborated => chosen.within(bounds(None)?),
        };
        out.print(&Dot { graph: Graph::new(&history, &shown, kind.into()), title });
    } else {
        let shown = chosen.within(bounds(if args.diagram {
            Some(IN_DIAGRAM)
        } else {
            args.around.is_some().then_some(AROUND)
        })?);
        let (diagram, interrupted) = (args.diagram, context.interrupt_flag());
        out.print(&Shown { history: &history, shown, diagram, lines, interrupted });
    }
    context.check_interrupt("nothing was changed").map(|()| exit)
}

/// Draws the control flow of the program, with how an event is recognised.
fn draw_program(
    args: &Args,
    from: &stable::ProgramArgs,
    history: &History,
    context: &mut Context,
) -> Result<Exit, CliError> {
    let (program, verdict): (SystemProgram, _) = match &args.event {
        Some(text) => {
            let (program, verdict) = stable::judge(text, from, &[], &history.header)?;
            (program, Some(verdict))
        }
        None => (from.load(&history.header)?, None),
    };
    let name = args.file.file_stem().map_or_else(|| "program".into(), |name| name.to_string_lossy().into_owned());
    let title = args.event.as_ref().map_or_else(|| format!("{name}: program"), |event| format!("{name}: {event}"));
    let marks = verdict.as_ref().and_then(|verdict| verdict.recognition());
    match &args.svg {
        Some(path) => {
            files::check_is_other(path, &args.file)?;
            let picture = program_svg(&program, marks, &title);
            files::write(OutputFile::at(path), context, |to| to.write_all(picture.as_bytes()))?;
            let statements = program.extracted.program.statements().count();
            context.out().print(&Program { file: Some(path.clone()), statements, dot: None });
        }
        None => {
            let statements = program.extracted.program.statements().count();
            let dot = program_dot(&program, marks, &title);
            context.out().print(&Program { file: None, statements, dot: Some(dot) });
        }
    }
    if let Some(verdict) = verdict.filter(|verdict| !verdict.is_promised) {
        context.out().say("unmarked", verdict.to_string().trim_end());
    }
    Ok(Exit::Ok)
}

/// A drawn program.
#[derive(serde::Serialize)]
struct Program {
    file: Option<PathBuf>,
    statements: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    dot: Option<String>,
}

impl Report for Program {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.file, &self.dot) {
            (Some(file), _) => writeln!(f, "drew {} statements into {}", self.statements, file.display()),
            (None, dot) => f.write_str(dot.as_deref().unwrap_or_default()),
        }
    }
}

fn find(history: &History, name: &str) -> Result<usize, CliError> {
    history.find(name).map_err(|error| CliError::Usage(error.to_string()))
}

fn choose(args: &Args, history: &History) -> Result<Selection, CliError> {
    let view = View::parse(&args.only, &history.header).map_err(|error| CliError::Usage(error.to_string()))?;
    let chosen = match (&args.past, &args.future) {
        (Some(event), _) => Selection::past(history, find(history, event)?),
        (_, Some(event)) => Selection::future(history, find(history, event)?),
        _ => Selection::all(history),
    };
    Ok(if view.is_everything() {
        chosen
    } else {
        chosen.only(|place| view.shows(&history.events[place], &history.header))
    })
}

fn bounds(args: &Args, history: &History, most: Option<usize>) -> Result<Bounds, CliError> {
    let place = |name: &Option<String>| name.as_ref().map(|name| find(history, name)).transpose();
    // The past of an event is looked at from its end.
    let about = args.around.clone().or_else(|| args.past.clone());
    Ok(Bounds { from: place(&args.from)?, to: place(&args.to)?, around: place(&about)?, most: args.most.or(most) })
}

fn picture(args: &Args, history: &History, whole: &Selection, shown: &Selection, title: &str) -> String {
    match args.graph {
        Some(kind @ (Kind::Program | Kind::Elaborated)) => {
            let graph = Graph::new(history, whole, kind.into());
            let which = if matches!(kind, Kind::Program) { "program graph" } else { "elaborated graph" };
            show::graph_svg(&graph, &format!("{title}: {which}"))
        }
        Some(Kind::Event) | None => show::svg(history, shown, title).svg,
    }
}

/// What was drawn into files.
#[derive(serde::Serialize)]
struct Drawn {
    files: Vec<PathBuf>,
    events: usize,
    /// Which of them, if not all are shown.
    extent: Option<String>,
}

impl Report for Drawn {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = self.extent.clone().unwrap_or_else(|| format!("{} events", self.events));
        self.files.iter().try_for_each(|file| writeln!(f, "drew {what} into {}", file.display()))
    }
}

#[derive(serde::Serialize)]
struct Dot {
    #[serde(flatten)]
    graph: Graph,
    #[serde(skip)]
    title: String,
}

impl Report for Dot {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&show::dot(&self.graph, &self.title))
    }
}

/// Events as text.
struct Shown<'a> {
    history: &'a History,
    shown: Selection,
    diagram: bool,
    /// The source lines of events, if they were asked for.
    lines: Option<LineIndex>,
    interrupted: Arc<AtomicBool>,
}

impl Shown<'_> {
    /// The source line of the event at a place, or its candidates.
    fn source(&self, place: usize) -> Option<String> {
        let event = &self.history.events[place];
        self.lines.as_ref()?.of(event.id.node, event.kind(), event.what.arg)
    }

    fn line(&self, f: &mut fmt::Formatter<'_>, line: &str, is_note: bool) -> fmt::Result {
        if self.interrupted.load(Ordering::Relaxed) {
            return Err(fmt::Error);
        }
        if is_note { writeln!(f, "{}{line}{:#}", paint::WARN, paint::WARN) } else { writeln!(f, "{line}") }
    }
}

impl Report for Shown<'_> {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.history.events.is_empty() {
            writeln!(f, "no events")?;
        }
        if self.diagram {
            let lines = show::diagram(self.history, &self.shown);
            return lines.iter().try_for_each(|line| self.line(f, line, line.contains("~~~ ")));
        }
        let hidden = |count: usize, side: &str| (count > 0).then(|| format!("  ... {count} events {side}"));
        hidden(self.shown.before, "before").map_or(Ok(()), |line| self.line(f, &line, false))?;
        let mut places = self.shown.places.iter();
        for line in show::listing(self.history, &self.shown) {
            let is_note = matches!(line, Line::Note(_));
            let source = if is_note { None } else { places.next().and_then(|place| self.source(*place)) };
            let text = source.map_or_else(|| line.to_string(), |source| format!("{:<74} {source}", line.to_string()));
            self.line(f, &text, is_note)?;
        }
        hidden(self.shown.after, "after").map_or(Ok(()), |line| self.line(f, &line, false))
    }
}

impl Serialize for Shown<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let notes: Vec<String> = self.history.notes().iter().map(|note| note.say(&self.history.header)).collect();
        let mut shown = serializer.serialize_struct("Shown", 4)?;
        shown.serialize_field("before", &self.shown.before)?;
        shown.serialize_field("after", &self.shown.after)?;
        shown.serialize_field("notes", &notes)?;
        shown.serialize_field("events", &Rows(self))?;
        shown.end()
    }
}

/// The events, each made when it is written.
struct Rows<'a>(&'a Shown<'a>);

impl Serialize for Rows<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Shown { history, shown, interrupted, .. } = self.0;
        let mut rows = serializer.serialize_seq(Some(shown.places.len()))?;
        for place in &shown.places {
            if interrupted.load(Ordering::Relaxed) {
                return Err(S::Error::custom("interrupted"));
            }
            let row = Row::of(history, *place);
            match self.0.lines {
                Some(_) => rows.serialize_element(&WithSource { row, source: self.0.source(*place) })?,
                None => rows.serialize_element(&row)?,
            }
        }
        rows.end()
    }
}

/// An event with its source line.
#[derive(serde::Serialize)]
struct WithSource<'a> {
    #[serde(flatten)]
    row: Row<'a>,
    /// `token_ring.rs:87`, or the candidates.
    source: Option<String>,
}

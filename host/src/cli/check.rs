//! `stillpoint check` - hold a recording against a model of what was expected.
//!
//!     $ stillpoint check ring.model run.trace
//!     ring.model:2  holds  not parallel (left0:trace("token taken"), right0:trace("token taken"))  1204 events
//!     ring.model:4  FAILS  model ring  2 of 2408 events
//!       left1 #52 trace(token taken) came after {}: before left1 the model expects {left0}
//!     ...
mod live;

use super::{CliError, Context, Exit, Report, history, paint};
use serde::Serialize;
use std::fmt;
use std::path::PathBuf;
use stillpoint::trace::View;
use stillpoint_trace::check::{Options, Report as Checked, Source, Verdict, check, parse};

/// Hold a recording against a model of what was expected.
#[derive(clap::Args)]
#[command(
    after_help = "Needs no board and no system file. Exit code 0 if all holds, 1 if something fails or cannot be told, 2 if the \
                  model or the recording cannot be read. The language is described in docs/CHECK.md.\n\nExample:\n  \
                  stillpoint check ring.model run.trace\n  \
                  stillpoint check -e 'pred left1:recv(ring) { left0:send(ring) }' run.trace\n  \
                  stillpoint check ring.model run.trace --svg wrong.svg\n  \
                  stillpoint check ring.model --live --halt"
)]
pub struct Args {
    #[command(flatten)]
    picture: super::picture::PictureArgs,
    #[command(flatten)]
    order: super::order::OrderArgs,
    /// The model, unless -e gives one, and the recording, unless --live reads the system.
    #[arg(required_unless_present = "live", num_args = 1..=2, value_names = ["MODEL", "TRACE"])]
    files: Vec<PathBuf>,
    /// Check this, too.
    #[arg(short = 'e', long = "expect", value_name = "MODEL")]
    expect: Vec<String>,
    /// Look only at some events: nodes=A,B kinds=send,recv actions=send(out). What is left out still carries order.
    #[arg(long, value_name = "WHAT")]
    only: Vec<String>,
    /// How many failures of each check are shown; all are counted.
    #[arg(long, default_value_t = 5, value_name = "N")]
    show: usize,
    /// Exit code 0 also if something cannot be told, as long as nothing fails.
    #[arg(long)]
    allow_unknown: bool,
    /// Check the running system, without a recording, until Ctrl-C. Says first which checks need a finished recording.
    #[arg(long, conflicts_with_all = ["only", "svg", "html"])]
    live: bool,
    /// Halt all nodes consistently at the first failure, and end.
    #[arg(long, requires = "live")]
    halt: bool,
    /// End --live after this many seconds.
    #[arg(long, value_name = "N", requires = "live")]
    seconds: Option<u64>,
}

pub fn run(args: &Args, context: &mut Context) -> Result<Exit, CliError> {
    let usage = |text: String| CliError::Usage(text);
    let (model, trace) = match args.files.as_slice() {
        [model] if args.live => (Some(model), None),
        [] if args.live && !args.expect.is_empty() => (None, None),
        _ if args.live => return Err(usage("--live needs a model, or -e 'pred A { B }', and no recording".into())),
        [model, trace] => (Some(model), Some(trace)),
        [trace] if !args.expect.is_empty() => (None, Some(trace)),
        _ => return Err(usage("say what to check: give a model before the recording, or -e 'pred A { B }'".into())),
    };
    let mut sources = Vec::new();
    if let Some(path) = model {
        let name = path.display().to_string();
        let text =
            stillpoint::input_file::read_text(path).map_err(|error| usage(format!("cannot read {name}: {error}")))?;
        sources.push(Source { name, text });
    }
    sources.extend(args.expect.iter().map(|text| Source { name: "-e".into(), text: text.clone() }));
    let wrong = |error: stillpoint_trace::check::ModelError| usage(error.to_string());
    let models = sources.iter().map(parse).collect::<Result<Vec<_>, _>>().map_err(wrong)?;
    let Some(trace) = trace else { return live::run(args, models, context) };
    let history = args.order.of(history::read(trace, context)?);
    let only = View::parse(&args.only, &history.header).map_err(|error| usage(error.to_string()))?;
    let report = check(&models, &history, &Options { only, shown: args.show }).map_err(wrong)?;
    let mut failures: Vec<_> = report.checks.iter().flat_map(|check| &check.failures).collect();
    failures.sort_by_key(|failure| failure.about.unwrap_or(usize::MAX));
    let evidence: Vec<_> =
        failures.into_iter().take(args.show).map(stillpoint_trace::check::Finding::evidence).collect();
    args.picture.draw(&history, &evidence, trace, context)?;
    let (fails, unknown) = (report.count(Verdict::Fails), report.count(Verdict::Unknown));
    context.out().print(&Result_(report));
    Ok(if fails > 0 || unknown > 0 && !args.allow_unknown { Exit::Bad } else { Exit::Ok })
}

#[derive(Serialize)]
#[serde(transparent)]
struct Result_(Checked);

impl Report for Result_ {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for line in self.0.to_string().lines() {
            let style = match () {
                () if line.contains("  FAILS  ") => paint::BAD,
                () if line.contains("  cannot tell  ") || line.starts_with("trace: ") => paint::WARN,
                () if line.contains("  holds  ") => paint::GOOD,
                () if line.starts_with("      ") => paint::FAINT,
                () => paint::PLAIN,
            };
            writeln!(f, "{style}{line}{style:#}")?;
        }
        Ok(())
    }
}

//! `stillpoint diff` - the first event at which two runs of one firmware differ.
//!
//!     $ stillpoint diff good.trace bad.trace
//!     logger#17 differs: something else happened
//!       good.trace
//!         logger#16             0.004101  send(done)               -> motor#30
//!       > logger#17             0.004188  recv(motor)              <- motor#31
//!       bad.trace
//!         logger#16             0.004230  send(done)               -> motor#30
//!       > logger#17             0.004402  recv(sensor)             <- sensor#8
//!     the same before that: 912 events compared
use super::{CliError, Context, Exit, Report, history, paint};
use serde::Serialize;
use serde::ser::Serializer;
use std::fmt;
use std::path::PathBuf;
use stillpoint_trace::diff::{Diff, DiffError, DiffOptions, Difference, How};
use stillpoint_trace::show::{Selection, listing};
use stillpoint_trace::{History, Row};

/// Find the first event at which two runs of one firmware differ: in what happened, or in which message was taken.
#[derive(clap::Args)]
#[command(
    after_help = "Needs no board and no system file. When things happened is not compared, nor where nodes were halted. Events are compared by \
                  node and number, where both recordings have them. Exit code 1 if the runs differ, 0 if they do not.\n\n\
                  Examples:\n  stillpoint diff good.trace bad.trace\n  stillpoint diff good.trace bad.trace --values --context 10"
)]
pub struct Args {
    #[command(flatten)]
    order: super::order::OrderArgs,
    /// The first recording.
    one: PathBuf,
    /// The second.
    other: PathBuf,
    /// Compare also different firmware.
    #[arg(long)]
    force: bool,
    /// Compare also the values of watches and inputs.
    #[arg(long)]
    values: bool,
    /// How many events of the node to show before and after.
    #[arg(long, value_name = "N", default_value_t = 3)]
    context: usize,
}

struct Compared {
    files: [String; 2],
    histories: [History; 2],
    diff: Diff,
    context: usize,
}

pub fn run(args: &Args, context: &mut Context) -> Result<Exit, CliError> {
    let out = context.out();
    let load = |path: &PathBuf| {
        let history = args.order.of(history::load(path, context)?);
        history::say_notes(path, &history, out);
        Ok::<History, CliError>(history)
    };
    let histories = [load(&args.one)?, load(&args.other)?];
    let options = DiffOptions { force: args.force, values: args.values };
    let diff = Diff::new(&histories[0], &histories[1], options)
        .map_err(|error: DiffError| CliError::Usage(error.to_string()))?;
    let files = [&args.one, &args.other].map(|path| path.display().to_string());
    let compared = Compared { files, histories, diff, context: args.context };
    out.print(&compared);
    if compared.diff.first.is_empty() && compared.diff.compared == 0 {
        return Err(CliError::Usage("the recordings have no event in common: nothing was compared".into()));
    }
    Ok(if compared.diff.first.is_empty() { Exit::Ok } else { Exit::Bad })
}

impl Compared {
    /// An event between its neighbours on the same node.
    fn side(&self, f: &mut fmt::Formatter<'_>, which: usize, place: usize) -> fmt::Result {
        let history = &self.histories[which];
        writeln!(f, "  {}{}{:#}", paint::NAME, self.files[which], paint::NAME)?;
        let places = history.of_node(history.events[place].id.node);
        let at = places.partition_point(|other| (*other as usize) < place);
        let near = &places[at.saturating_sub(self.context)..places.len().min(at + self.context + 1)];
        for other in near.iter().map(|other| *other as usize) {
            let one = Selection { places: vec![other], ..Selection::default() };
            let Some(line) = listing(history, &one).last() else { continue };
            if other == place { writeln!(f, "  > {line}")? } else { writeln!(f, "    {line}")? }
        }
        Ok(())
    }
}

fn say(how: How) -> &'static str {
    match how {
        How::Action => "something else happened",
        How::Value => "the same happened with another value",
        How::Cause => "the same was received, from another send",
    }
}

impl Report for Compared {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Diff { first, compared, alone, unknown } = &self.diff;
        for Difference { one, other, how } in first {
            let name = self.histories[0].header.event_name(self.histories[0].events[*one].id);
            writeln!(f, "{}{name}{:#} differs: {}", paint::BAD, paint::BAD, say(*how))?;
            self.side(f, 0, *one)?;
            self.side(f, 1, *other)?;
        }
        match first.len() {
            0 => writeln!(f, "no difference in {compared} events compared")?,
            1 => writeln!(f, "the same before that: {compared} events compared")?,
            several => writeln!(f, "{several} nodes differ, none because of another; {compared} events compared")?,
        }
        let rare = [
            (alone[0], format!("only in {}", self.files[0])),
            (alone[1], format!("only in {}", self.files[1])),
            (*unknown, "receives of which one recording does not know the send".into()),
        ];
        for (count, what) in rare.into_iter().filter(|(count, _)| *count > 0) {
            writeln!(f, "not compared: {count} {what}")?;
        }
        Ok(())
    }
}

impl Serialize for Compared {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let [one, other] = &self.histories;
        let differences = self.diff.first.iter().map(|difference| {
            serde_json::json!({
                "how": difference.how,
                "one": Row::of(one, difference.one),
                "other": Row::of(other, difference.other),
            })
        });
        let differences: Vec<_> = differences.collect();
        let Diff { first, compared, alone, unknown } = &self.diff;
        serde_json::json!({
            "files": self.files, "same": first.is_empty(), "compared": compared, "only_in_one": alone[0],
            "only_in_other": alone[1], "unknown_sends": unknown, "differences": differences,
        })
        .serialize(serializer)
    }
}

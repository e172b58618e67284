//! `stillpoint watch` - the values of watches, once or live.
//!
//!     $ stillpoint watch left0.holding 'left0.laps - right1.laps'
//!     left0.holding             1
//!     left0.laps - right1.laps  -3
use super::{CliError, Context, Exit, Look, Output, Report, paint};
use serde::Serialize;
use std::fmt;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use stillpoint::watch::Watch;
use stillpoint::{Node, System, breakpoint};

/// Show the values of watches of all nodes, or of expressions over them, once or live.
#[derive(clap::Args)]
#[command(
    after_help = "The boards run on: values come from control blocks, each node's as it last was. Expressions are those of \
                        breakpoint conditions, over any nodes.\n\nExample:\n  stillpoint watch\n  stillpoint watch left0.holding \
                        'left0.laps - right1.laps' --live\n  stillpoint watch --live --json | jq .values\n  stillpoint --from crash.dump watch"
)]
pub struct Args {
    /// What to show: node.watch, node.count, arithmetic and comparisons of them. Without any, every watch.
    #[arg(value_name = "EXPR")]
    expressions: Vec<String>,
    /// Look again and again, until Ctrl-C.
    #[arg(long)]
    live: bool,
    /// How long to wait between two looks, in milliseconds.
    #[arg(long, value_name = "MS", default_value_t = 200, requires = "live")]
    every: u64,
    /// End after so many looks.
    #[arg(long, value_name = "N", requires = "live")]
    times: Option<u64>,
    #[command(flatten)]
    pub(super) look: Look,
}

#[derive(Serialize)]
struct Answer {
    /// Seconds since the first look.
    #[serde(skip_serializing_if = "Option::is_none")]
    seconds: Option<f64>,
    values: Vec<Line>,
    /// Nodes that did not answer: what is shown of them is old.
    silent: Vec<String>,
}

#[derive(Clone, PartialEq, Eq, Serialize)]
struct Line {
    expression: String,
    value: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
}

pub fn run(args: &Args, context: &mut Context) -> Result<Exit, CliError> {
    let (out, interrupt, is_dump) = (context.out(), context.interrupt_flag(), context.is_dump());
    let system = context.present()?;
    let directory = breakpoint::directory(system)?;
    let watches = match args.expressions.as_slice() {
        [] => Watch::all(&directory),
        texts => {
            let parse = |text: &String| Watch::parse(text, &directory);
            texts.iter().map(parse).collect::<Result<_, _>>().map_err(|error| CliError::Usage(error.to_string()))?
        }
    };
    if watches.is_empty() {
        return Err(CliError::Usage("no node has a watch; add `agent.watch(...)` to the firmware".into()));
    }
    if !args.live || is_dump {
        let (nodes, silent) = read(system)?;
        out.print(&Answer { seconds: None, values: lines(&watches, &nodes), silent });
        return Ok(Exit::Ok);
    }
    let began = Instant::now();
    let mut screen = Screen::new(out);
    for look in 1.. {
        let (nodes, silent) = read(system)?;
        let seconds = began.elapsed().as_secs_f64();
        let answer = Answer { seconds: Some(seconds), values: lines(&watches, &nodes), silent };
        // A reader that has seen enough, such as `head`, ends it.
        if !screen.show(&answer) || args.times == Some(look) {
            break;
        }
        let next = began + Duration::from_millis(args.every.saturating_mul(look));
        while Instant::now() < next && !interrupt.load(Ordering::Relaxed) && out.is_open() {
            std::thread::sleep(next.saturating_duration_since(Instant::now()).min(Duration::from_millis(20)));
        }
        if interrupt.load(Ordering::Relaxed) {
            break;
        }
    }
    Ok(Exit::Ok)
}

/// Every node as it is now, and the names of those that did not answer.
fn read(system: &mut System) -> Result<(Vec<Node>, Vec<String>), CliError> {
    let (mut nodes, mut silent) = (Vec::new(), Vec::new());
    for at in system.addresses() {
        nodes.push(match system.fresh(at) {
            Ok(node) => node,
            Err(_) => {
                silent.push(system.node_name(at));
                system.node(at)?
            }
        });
    }
    Ok((nodes, silent))
}

fn lines(watches: &[Watch], nodes: &[Node]) -> Vec<Line> {
    let line = |watch: &Watch| match watch.value(nodes) {
        Ok(value) => Line { expression: watch.text.clone(), value: Some(value), why: None },
        Err(why) => Line { expression: watch.text.clone(), value: None, why: Some(why.to_string()) },
    };
    watches.iter().map(line).collect()
}

impl Answer {
    fn line(&self, f: &mut impl fmt::Write, line: &Line) -> fmt::Result {
        let width = self.values.iter().map(|line| line.expression.chars().count()).max().unwrap_or(0);
        write!(f, "{}{:width$}{:#}  ", paint::NAME, line.expression, paint::NAME)?;
        match (line.value, &line.why) {
            (Some(value), _) => write!(f, "{value}"),
            (None, why) => write!(f, "{}{}{:#}", paint::WARN, why.as_deref().unwrap_or("?"), paint::WARN),
        }
    }

    fn old(&self, f: &mut impl fmt::Write) -> fmt::Result {
        if self.silent.is_empty() {
            return Ok(());
        }
        let (warn, silent) = (paint::WARN, self.silent.join(", "));
        writeln!(f, "{warn}no answer from {silent}: what is shown of them is old{warn:#}")
    }
}

impl Report for Answer {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for line in &self.values {
            self.line(f, line)?;
            writeln!(f)?;
        }
        self.old(f)
    }
}

/// Where live values are shown: in place on a terminal; elsewhere a line for each that has changed; or JSON, one look a line.
struct Screen {
    out: Output,
    terminal: bool,
    /// What was shown last, and on how many lines.
    last: Vec<Line>,
    height: usize,
}

impl Screen {
    fn new(out: Output) -> Self {
        Self { out, terminal: out.is_terminal(), last: Vec::new(), height: 0 }
    }

    fn show(&mut self, answer: &Answer) -> bool {
        let mut text = String::new();
        if self.out.is_json() {
            text = serde_json::to_string(answer).unwrap_or_default() + "\n";
        } else if self.terminal {
            // Up to where it began, and everything below it anew.
            if self.height > 0 {
                text = paint::Sequence(format_args!("\x1b[{}A\x1b[J", self.height)).to_string();
            }
            let _ = answer.values.iter().try_for_each(|line| answer.line(&mut text, line).map(|()| text.push('\n')));
            let _ = answer.old(&mut text);
            self.height = answer.values.len() + usize::from(!answer.silent.is_empty());
        } else {
            let seconds = answer.seconds.unwrap_or(0.0);
            for line in answer.values.iter().filter(|line| !self.last.contains(line)) {
                text += &format!("{seconds:>9.3}  ");
                let _ = answer.line(&mut text, line);
                text.push('\n');
            }
        }
        self.last.clone_from(&answer.values);
        self.out.write_lines(&text)
    }
}

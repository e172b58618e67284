//! `stillpoint when` - run commands whenever something happens.
//!
//!     $ stillpoint when "left0.lap > 100" do "{ cut; resume }"
//!     breakpoint 0 fired: left0.lap > 100
//!     ...
use super::break_set::{Wanted, is_halted, outcome, show_fired};
use super::{CliError, Context, Exit, shell};
use std::time::{Duration, Instant};
use stillpoint::breakpoint::{self, Agreement, Armed, Fired, Waited};
use stillpoint_core::HaltId;
use stillpoint_core::predicate::Detector;

/// Run commands whenever an expression is satisfied and has stopped the system.
#[derive(clap::Args)]
#[command(
    after_help = "The commands are those of the shell. If they let the system go on (resume), it is armed again before that, and \
                  waited for until Ctrl-C; else this ends with the system halted. A condition that still holds fires again once it was false and is true again.\nIn the shell it stays armed, and its \
                  commands run whenever it fires while the shell is there.\n\n\
                  Example:\n  stillpoint when 'left0.lap > 100 do { cut; resume }'\n  \
                  stillpoint when 'left0:send(ring) -> right1:fault' do '{ cut --full }' --timeout 60"
)]
pub struct Args {
    /// What to wait for, and what to do then.
    #[arg(value_name = "EXPR do { COMMAND; .. }", required = true, num_args = 1.., allow_negative_numbers = true)]
    words: Vec<String>,
    /// Let stages travel by Miller & Choi's markers instead of on the program's messages.
    #[arg(long)]
    markers: bool,
    /// Run the commands at most so many times.
    #[arg(long, value_name = "COUNT")]
    times: Option<u32>,
    /// Wait for at most so many seconds altogether.
    #[arg(long, value_name = "SECONDS")]
    timeout: Option<u64>,
}

/// A breakpoint with commands, armed.
pub struct When {
    wanted: Wanted,
    armed: Armed,
    commands: Vec<String>,
    /// How often its commands may run yet.
    left: Option<u32>,
}

/// How often a command that waits looks whether the reader of its output is still there.
const LOOK_EVERY: Duration = Duration::from_millis(500);

pub fn run(args: &Args, context: &mut Context) -> Result<Exit, CliError> {
    let out = context.out();
    let (expression, commands) = args.parse()?;
    let wanted = args.understand(&expression, context)?;
    if is_halted(context.system()?)? {
        return Err(CliError::Usage(
            "the system is halted, so nothing will happen; `stillpoint resume` first, or say it in the shell".into(),
        ));
    }
    wanted.promise(out);
    let mut when = When::arm(wanted, commands, args.times, context)?;
    let until = args.timeout.map(|seconds| Instant::now() + Duration::from_secs(seconds));
    let mut past = None;
    let done = loop {
        let left = until.map(|until| until.saturating_duration_since(Instant::now()));
        let limit = left.unwrap_or(LOOK_EVERY).min(LOOK_EVERY);
        match when.wanted.wait(&when.armed, past, Some(limit), context) {
            Ok(Waited::TimedOut) if !out.is_open() => break Ok(Exit::Ok),
            Ok(Waited::TimedOut) if left.is_none_or(|left| left > limit) => {}
            Ok(Waited::Fired(fired)) => match when.fire(&fired, context) {
                Ok(Exit::Ok) if !when.is_over() => match stands_in(fired.halt, context) {
                    Ok(false) => past = Some(fired.halt),
                    stands => break stands.map(|_| Exit::Ok),
                },
                ended => break ended,
            },
            Ok(Waited::Interrupted) => break Err(CliError::Interrupted("the breakpoint is removed")),
            Ok(waited) => {
                let mut stopped = when.wanted.shown(&when.armed);
                let exit = outcome(&mut stopped, waited, &when.wanted);
                stopped.outcome = stopped.outcome.strip_suffix("; it stays armed").unwrap_or(stopped.outcome);
                out.print(&stopped);
                break exit;
            }
            Err(error) => break Err(error),
        }
    };
    // Nobody is there to run its commands any more.
    let removed = when.remove(context);
    done.and_then(|exit| removed.map(|()| exit))
}

impl Args {
    /// The expression, and the commands.
    fn parse(&self) -> Result<(String, Vec<String>), CliError> {
        let text = self.words.join(" ");
        let wrong =
            || CliError::Usage(format!("`when {text}` is not understood; write `when EXPR do {{ COMMAND; COMMAND }}`"));
        let (expression, commands) = split(&text).ok_or_else(wrong)?;
        if let Some(nested) = commands.iter().find(|command| command.starts_with("when ")) {
            return Err(CliError::Usage(format!(
                "`{nested}`: a `when` inside another is never over; say it by itself"
            )));
        }
        Ok((expression.to_owned(), commands))
    }

    fn understand(&self, expression: &str, context: &mut Context) -> Result<Wanted, CliError> {
        let detector = if self.markers { Detector::Marker } else { Detector::Causal };
        Wanted::understand(expression, detector, context)
    }

    /// Arms it for a shell, which looks after it.
    pub fn arm(&self, context: &mut Context) -> Result<When, CliError> {
        if self.timeout.is_some() {
            return Err(CliError::Usage("the shell looks after it as long as it is there; leave --timeout out".into()));
        }
        let (expression, commands) = self.parse()?;
        let wanted = self.understand(&expression, context)?;
        wanted.promise(context.out());
        When::arm(wanted, commands, self.times, context)
    }
}

impl When {
    fn arm(wanted: Wanted, commands: Vec<String>, times: Option<u32>, context: &mut Context) -> Result<Self, CliError> {
        let armed = wanted.arm(context, Some("when"))?;
        context.out().say("armed", format!("breakpoint {} on {} nodes", armed.slot, armed.programs.len()));
        Ok(Self { wanted, armed, commands, left: times })
    }

    /// Its number.
    pub fn slot(&self) -> u8 {
        self.armed.slot
    }

    /// Disarms it, unless somebody has done so and its slot is another's.
    fn remove(&self, context: &mut Context) -> Result<(), CliError> {
        let nodes = context.system()?.nodes()?;
        if breakpoint::agreement(&self.armed, &nodes) == Agreement::Gone {
            return Ok(());
        }
        self.wanted.remove(&self.armed, context)
    }

    /// Whether it has fired. `Err`: it cannot be looked after any more.
    pub fn has_fired(&self, context: &mut Context) -> Result<bool, CliError> {
        let nodes = context.system()?.nodes()?;
        match breakpoint::agreement(&self.armed, &nodes) {
            Agreement::Fired => Ok(true),
            Agreement::Armed | Agreement::Partly(_) => Ok(false),
            Agreement::Gone => {
                Err(CliError::Usage(format!("breakpoint {} is gone, and its commands with it", self.armed.slot)))
            }
        }
    }

    /// Runs the commands of one that has fired, as soon as every node stands.
    pub fn look(&mut self, context: &mut Context) -> Result<Option<Exit>, CliError> {
        match breakpoint::look(context.system()?, &self.armed).map_err(super::break_set::failed)? {
            Some(Waited::Fired(fired)) => self.fire(&fired, context).map(Some),
            _ => Ok(None),
        }
    }

    /// Whether its commands may run again.
    pub fn is_over(&self) -> bool {
        self.left == Some(0)
    }

    /// Shows why it fired, arms it again while nothing runs, and runs its commands.
    fn fire(&mut self, fired: &Fired, context: &mut Context) -> Result<Exit, CliError> {
        let out = context.out();
        let mut stopped = self.wanted.shown(&self.armed);
        let exit = show_fired(&mut stopped, fired, &self.wanted);
        out.print(&stopped);
        if exit != Exit::Ok {
            return Ok(exit);
        }
        self.left = self.left.map(|left| left.saturating_sub(1));
        self.remove(context)?;
        if !self.is_over() {
            self.armed = self.wanted.arm_again(context, Some("when"))?;
        }
        shell::run_lines(&self.commands, context)
    }
}

/// Whether the system still stands where it stopped.
fn stands_in(halt: HaltId, context: &mut Context) -> Result<bool, CliError> {
    Ok(context.system()?.nodes()?.iter().all(|node| node.is_parked() && node.last_halt == halt))
}

/// The expression and the commands of `EXPR do { COMMAND; COMMAND }`.
fn split(text: &str) -> Option<(&str, Vec<String>)> {
    let body = text.trim().strip_suffix('}')?;
    let (before, commands) = body.split_once('{')?;
    let expression = before.trim_end().strip_suffix("do")?;
    if !expression.ends_with(char::is_whitespace) || expression.trim().is_empty() {
        return None;
    }
    let mut parts = vec![String::new()];
    let mut quote = None;
    for letter in commands.chars() {
        match (letter, quote) {
            (';', None) => {
                parts.push(String::new());
                continue;
            }
            ('\'' | '"', None) => quote = Some(letter),
            (end, Some(begun)) if end == begun => quote = None,
            _ => {}
        }
        if let Some(part) = parts.last_mut() {
            part.push(letter);
        }
    }
    let parts: Vec<String> =
        parts.into_iter().map(|part| part.trim().to_owned()).filter(|part| !part.is_empty()).collect();
    (!parts.is_empty()).then(|| (expression.trim(), parts))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expression_is_followed_by_commands_between_braces() {
        let (expression, commands) = split("left0.lap > 3 do { cut --full; resume; }").unwrap();
        assert_eq!((expression, commands), ("left0.lap > 3", vec!["cut --full".to_owned(), "resume".to_owned()]));
        let (_, commands) = split("a:fault do {alias x 'cut; resume'}").unwrap();
        assert_eq!(commands, ["alias x 'cut; resume'"]);
        for bad in
            ["left0.lap > 3", "left0.lap do cut", "do { cut }", "a:fault undo { cut }", "a:fault do { }", "a do { cut"]
        {
            assert_eq!(split(bad), None, "{bad}");
        }
    }
}

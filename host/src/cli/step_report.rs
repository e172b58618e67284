//! What `step` and `next` print: what every node did between two halts.
use super::break_report::Halt;
use super::{Report, paint};
use serde::Serialize;
use std::fmt;
use stillpoint::breakpoint::Moved;
use stillpoint::program::LineIndex;
use stillpoint::{Node, Side, System};
use stillpoint_core::{Direction, Event, EventKind};

/// What one node did.
#[derive(Clone, Debug, Serialize)]
pub struct Did {
    /// Its name.
    pub node: String,
    pub epoch: u32,
    /// Its last event.
    pub event: u32,
    /// How many events it executed; nothing if it was reset.
    pub count: Option<u32>,
    /// What they were, as far as its log or its ports tell.
    pub events: Option<Vec<String>>,
    /// What the last of them was, if that is known otherwise.
    #[serde(skip)]
    pub ended_with: Option<String>,
    /// Where it stands in user code, if that was asked for.
    pub place: Option<String>,
}

impl Did {
    /// What a node did, in words.
    pub fn of(moved: &Moved, system: &mut System, lines: Option<&LineIndex>) -> Self {
        let node = system.node_name(moved.at);
        let firmware = system.boards()[moved.at.board].firmware();
        let name = |kind: &str, number: u16| firmware.name(kind, number).map(str::to_owned);
        let events = match &moved.events {
            Some(events) => {
                let said = |event: &Event| {
                    let line = lines.and_then(|lines| lines.of(moved.after.id.0, event.kind, event.arg));
                    let line = line.map_or_else(String::new, |line| format!(" at {line}"));
                    describe(event, &moved.after, &name) + &line
                };
                Some(events.iter().map(said).collect())
            }
            None => by_ports(moved, &name),
        };
        let (epoch, event, count) = (moved.after.epoch(), moved.after.event(), moved.count());
        Self { node, epoch, event, count, events, ended_with: None, place: None }
    }

    /// `2 events: recv(ring), send(ring)`.
    fn summary(&self) -> String {
        let count = match self.count {
            Some(1) => "1 event".to_owned(),
            Some(count) => format!("{count} events"),
            None => return "was reset".to_owned(),
        };
        match &self.events {
            Some(events) if !events.is_empty() => format!("{count}: {}", shortened(events)),
            _ => count,
        }
    }

    /// What its last event was.
    fn last(&self) -> &str {
        let unknown = "no message (the log is full or off, so nobody knows more)";
        let logged = self.events.as_ref().and_then(|events| events.last());
        logged.or(self.ended_with.as_ref()).map_or(unknown, String::as_str)
    }
}

/// The first and the last of many.
fn shortened(events: &[String]) -> String {
    match events {
        [first, second, .., last] if events.len() > 6 => format!("{first}, {second}, ... {last}"),
        _ => events.join(", "),
    }
}

/// An event as it is written in an expression, where it can be.
fn describe(event: &Event, node: &Node, name: &impl Fn(&str, u16) -> Option<String>) -> String {
    let port = || port_name(node, event.arg, name);
    let is_server = || name(Side::Server.name_kind(), event.arg).is_some();
    let side = || if is_server() { Side::Server } else { Side::Caller };
    let named = |kind: &str| name(kind, event.arg).unwrap_or_else(|| event.arg.to_string());
    match event.kind {
        EventKind::Send => format!("send({})", port()),
        EventKind::Receive => format!("recv({})", port()),
        EventKind::LinkUp => format!("up({})", port()),
        EventKind::LinkDown => format!("down({})", port()),
        EventKind::RecvNone => format!("recv({}) found nothing", port()),
        EventKind::SendFull => format!("send({}) found it full", port()),
        EventKind::Local => format!("trace(\"{}\")", named("trace")),
        EventKind::Enter => format!("enter({})", named("span")),
        EventKind::Leave => format!("leave({})", named("span")),
        EventKind::Call => format!("{}({})", side().call_word(), named(side().name_kind())),
        EventKind::Return => format!("{}({})", side().return_word(), named(side().name_kind())),
        EventKind::Watch => {
            let watch = node.watches.get(usize::from(event.arg)).and_then(|(number, _)| name("watch", *number));
            format!("{} = {}", watch.unwrap_or_else(|| format!("watch{}", event.arg)), event.value as i32)
        }
        EventKind::Access => format!("{} of object {}", if event.value == 1 { "write" } else { "read" }, event.arg),
        EventKind::Now => format!("now = {}", event.value),
        EventKind::Input => format!("input = {}", event.value),
        EventKind::Poll => format!("poll of task {}", event.arg),
        EventKind::Timer => "timer".into(),
        EventKind::Fault => "fault".into(),
        EventKind::Reset => "reset".into(),
        EventKind::Halt => "halt".into(),
        EventKind::Resume => "resume".into(),
    }
}

fn port_name(node: &Node, port: u16, name: &impl Fn(&str, u16) -> Option<String>) -> String {
    let of = node.ports.iter().find(|of| u16::from(of.id.0) == port);
    of.and_then(|of| name("port", of.name)).unwrap_or_else(|| port.to_string())
}

/// A node whose log does not tell still counts its messages; that is all if there is nothing else.
fn by_ports(moved: &Moved, name: &impl Fn(&str, u16) -> Option<String>) -> Option<Vec<String>> {
    let mut events = Vec::new();
    for (before, after) in moved.before.ports.iter().zip(&moved.after.ports) {
        let kind = if after.direction == Direction::Out { EventKind::Send } else { EventKind::Receive };
        let count = after.count.wrapping_sub(before.count);
        let event = Event::new(kind, after.id.0.into());
        events.extend((0..count.min(1 << 10)).map(|_| describe(&event, &moved.after, name)));
    }
    (moved.count() == Some(events.len() as u32)).then_some(events)
}

/// One run from a halt to the next.
#[derive(Serialize)]
pub struct Step {
    /// `stepped`, `reached` or why not.
    pub outcome: String,
    /// Those that were waited for.
    pub stepped: Vec<Did>,
    /// The others, if they did anything.
    pub also: Vec<Did>,
    pub halt: Option<Halt>,
    /// What else is to be said.
    pub notes: Vec<String>,
    /// It came to what was asked for.
    #[serde(skip)]
    pub good: bool,
}

/// Runs from one halt to the next, in their order.
#[derive(Serialize)]
pub struct Steps {
    pub steps: Vec<Step>,
}

impl Report for Steps {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.steps.iter().try_for_each(|step| step.text(f))?;
        self.steps.last().and_then(|step| step.halt.as_ref()).map_or(Ok(()), |halt| halt.text(f))
    }
}

impl Step {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = paint::NAME;
        if !self.good {
            writeln!(f, "{}{}{:#}", paint::WARN, self.outcome, paint::WARN)?;
        }
        let width = self.stepped.iter().map(|did| did.node.chars().count()).max().unwrap_or(0);
        for did in &self.stepped {
            let epoch = if did.epoch == 0 { String::new() } else { format!(" of epoch {}", did.epoch) };
            let last = if did.count == Some(0) { "did nothing" } else { did.last() };
            write!(f, "{name}{:width$}{name:#}  event {}{epoch}  {last}", did.node, did.event)?;
            if did.count.is_some_and(|count| count > 1) {
                write!(f, ", the last of {}", did.summary())?;
            }
            match &did.place {
                Some(place) => writeln!(f, "  {}{place}{:#}", paint::FAINT, paint::FAINT)?,
                None => writeln!(f)?,
            }
        }
        for note in &self.notes {
            writeln!(f, "  {note}")?;
        }
        for did in &self.also {
            writeln!(f, "  meanwhile {} {}", did.node, did.summary())?;
        }
        Ok(())
    }
}

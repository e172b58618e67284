//! What `stillpoint break` prints.
use super::{Report, paint};
use serde::Serialize;
use std::fmt;
use stillpoint::breakpoint::{Agreement, Armed, Fired, Order, Satisfied, satisfied};
use stillpoint::expr::{Class, Directory, Promise, Resolved, Term};
use stillpoint::{HaltProof, NoCertificate, Node};
use stillpoint_core::HaltId;
use stillpoint_core::control::SlotState;
use stillpoint_core::predicate::SlotId;

type Proof = Result<HaltProof, NoCertificate>;

/// A breakpoint that was set, and what came of it.
#[derive(Serialize)]
pub struct Stopped {
    breakpoint: u8,
    expression: String,
    class: String,
    markers: bool,
    promised: String,
    limits: Vec<String>,
    /// `fired`, `armed` ...
    pub outcome: &'static str,
    halt: Option<Halt>,
    satisfied: Vec<Event>,
    /// The components of a simultaneous event that was promised, as the halted state shows them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    components: Vec<Component>,
    /// The channels whose messages carry its stages, if it is known that others need not.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    carried: Vec<String>,
    /// How many channels carry nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    silent: Option<usize>,
}

#[derive(Serialize)]
struct Component {
    condition: String,
    holds: bool,
}

/// The halt that something ended with.
#[derive(Serialize)]
pub struct Halt {
    id: u16,
    consistent: bool,
    nodes: usize,
    first: Option<String>,
    /// Why there is no certificate.
    violation: Option<String>,
}

#[derive(Serialize)]
struct Event {
    stage: u8,
    node: String,
    epoch: u8,
    event: u32,
    what: String,
    order: &'static str,
}

impl Stopped {
    pub fn new(armed: &Armed, class: Class, promise: Promise) -> Self {
        Self {
            breakpoint: armed.slot,
            expression: armed.text.clone(),
            class: class.to_string(),
            markers: armed.markers,
            promised: promise.holds,
            limits: promise.limits,
            outcome: "armed",
            halt: None,
            satisfied: Vec::new(),
            components: Vec::new(),
            carried: Vec::new(),
            silent: None,
        }
    }

    /// The same with what carries its stages, and how many channels carry nothing.
    pub fn carried(mut self, carried: &[String], silent: usize) -> Self {
        (self.carried, self.silent) = (carried.to_vec(), (silent > 0).then_some(silent));
        self
    }

    /// Takes what the halted state shows of each component.
    pub fn components(&mut self, seen: impl Iterator<Item = (String, bool)>) {
        self.components = seen.map(|(condition, holds)| Component { condition, holds }).collect();
    }

    /// Whether every component of a simultaneous event that was promised holds in the halted state.
    pub fn keeps_its_promise(&self) -> bool {
        self.components.iter().all(|component| component.holds)
    }

    fn write_components(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let wide = self.components.iter().map(|one| one.condition.chars().count()).max().unwrap_or(0);
        for Component { condition, holds } in &self.components {
            if *holds {
                writeln!(f, "  {condition:wide$}  holds in the halted state")?;
            } else {
                let bad = paint::BAD;
                writeln!(
                    f,
                    "  {condition:wide$}  {bad}does not hold{bad:#} in the halted state, although it was promised"
                )?;
            }
        }
        Ok(())
    }

    pub fn fired(&mut self, fired: &Fired, resolved: &Resolved, directory: &Directory) {
        self.outcome = "fired";
        self.halt = Some(Halt::of(fired.halt, &fired.proof, directory));
        self.satisfied = events(&fired.satisfied, resolved, directory);
    }

    pub fn halted_otherwise(&mut self, halt: HaltId, proof: &Proof, directory: &Directory) {
        self.outcome = "the system halted for another reason; it stays armed";
        self.halt = Some(Halt::of(halt, proof, directory));
    }
}

impl Halt {
    pub fn of(halt: HaltId, proof: &Proof, directory: &Directory) -> Self {
        let first = proof.as_ref().ok().and_then(|proof| proof.initiators.first());
        Self {
            id: halt.0,
            consistent: proof.is_ok(),
            nodes: directory.nodes.len(),
            first: first.map(|node| directory.name_of(*node)),
            violation: proof.as_ref().err().map(ToString::to_string),
        }
    }
}

impl Halt {
    /// Whether it is one consistent moment.
    pub fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { id, nodes, first, violation, .. } = self;
        if let Some(why) = violation {
            return writeln!(f, "{}halt {id} has no certificate{:#}: {why}", paint::BAD, paint::BAD);
        }
        let begun = first.as_ref().map_or(String::new(), |name| format!(", begun by {name},"));
        writeln!(f, "halt {id}{begun} is one consistent moment of {nodes} nodes; resume with `stillpoint resume`")
    }
}

fn events(satisfied: &[Satisfied], resolved: &Resolved, directory: &Directory) -> Vec<Event> {
    satisfied.iter().map(|event| Event::of(event, resolved, directory)).collect()
}

/// One line for each event, in columns.
fn write_events(events: &[Event], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let widths = |of: fn(&Event) -> usize| events.iter().map(of).max().unwrap_or(0);
    let (name, what) = (widths(|event| event.node.chars().count()), widths(|event| event.what.chars().count()));
    for Event { stage, node, epoch, event, what: text, order } in events {
        let epoch = if *epoch == 0 { String::new() } else { format!(" of epoch {epoch}") };
        writeln!(f, "  stage {stage}  {node:name$}  event {event}{epoch}  {text:what$}  {order}")?;
    }
    Ok(())
}

impl Event {
    fn of(event: &Satisfied, resolved: &Resolved, directory: &Directory) -> Self {
        let stage = usize::from(event.stage).checked_sub(1).and_then(|stage| resolved.stages.get(stage));
        let alternatives = stage.into_iter().flatten().filter(|terms| terms.iter().any(|term| term.node == event.node));
        // Terms that must hold at once are shown with the signs that the user wrote between them.
        let as_written = |terms: &Vec<Term>| {
            let (first, last) = (terms.first()?, terms.last()?);
            resolved.text.get(first.span.start..last.span.end)
        };
        let texts: Vec<&str> = alternatives.filter_map(as_written).collect();
        Self {
            stage: event.stage,
            node: directory.name_of(event.node),
            epoch: event.number.epoch(),
            event: event.number.count(),
            what: texts.join(" | "),
            order: match event.order {
                Order::Last => "completed it",
                Order::Before => "happened before",
                Order::Concurrent => "concurrent",
                Order::Unknown => "order unknown",
            },
        }
    }
}

impl Report for Stopped {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (number, text, outcome) = (self.breakpoint, &self.expression, self.outcome);
        let style = if outcome == "fired" { paint::GOOD } else { paint::WARN };
        writeln!(f, "{}breakpoint {number}{:#} {style}{outcome}{style:#}: {text}", paint::NAME, paint::NAME)?;
        write_events(&self.satisfied, f)?;
        self.write_components(f)?;
        match &self.halt {
            Some(halt) => halt.text(f),
            None if outcome.ends_with("halted") => {
                writeln!(f, "let it run with `stillpoint resume`; it stops again when the breakpoint fires")
            }
            None if outcome.starts_with("armed") => {
                writeln!(f, "it stops the system when it fires; `stillpoint break list` shows it")
            }
            None => Ok(()),
        }
    }
}

/// Everything that is armed.
#[derive(Serialize)]
pub struct Listing {
    /// By number.
    pub breakpoints: Vec<Listed>,
}

/// One breakpoint as the boards say it is.
#[derive(Serialize)]
pub struct Listed {
    breakpoint: u8,
    /// `armed`, `fired`, `partly` or `unknown`.
    state: &'static str,
    expression: Option<String>,
    markers: bool,
    class: Option<String>,
    stages: Option<u8>,
    /// The last stage that is known to be satisfied.
    stage: u8,
    /// Nodes that do not have it any more.
    missing: Vec<String>,
    /// The events that satisfied stages so far.
    satisfied: Vec<Event>,
}

impl Listed {
    /// A breakpoint whose text is known.
    pub fn ours(
        armed: &Armed,
        agreement: &Agreement,
        nodes: &[Node],
        resolved: Option<&Resolved>,
        directory: &Directory,
    ) -> Self {
        let (state, missing) = match agreement {
            Agreement::Armed => ("armed", &[][..]),
            Agreement::Fired => ("fired", &[][..]),
            Agreement::Partly(missing) => ("partly", missing.as_slice()),
            Agreement::Gone => ("gone", &[][..]),
        };
        let states = nodes.iter().filter_map(|node| node.slots.get(usize::from(armed.slot))?.state);
        Self {
            breakpoint: armed.slot,
            state,
            expression: Some(armed.text.clone()),
            markers: armed.markers,
            class: resolved.map(|resolved| resolved.class().to_string()),
            stages: Some(armed.stages),
            stage: states.map(|state| state.stage).max().unwrap_or(0),
            missing: missing.iter().map(|node| directory.name_of(*node)).collect(),
            satisfied: resolved.map_or(Vec::new(), |resolved| events(&satisfied(armed, nodes), resolved, directory)),
        }
    }

    /// A breakpoint that the boards have and nobody here knows of.
    pub fn foreign(slot: SlotId, state: SlotState) -> Self {
        Self {
            breakpoint: slot.number(),
            state: "unknown",
            expression: None,
            markers: state.detector == stillpoint_core::predicate::Detector::Marker,
            class: None,
            stages: None,
            stage: state.stage,
            missing: Vec::new(),
            satisfied: Vec::new(),
        }
    }
}

impl Report for Listing {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.breakpoints.is_empty() {
            return writeln!(f, "no breakpoint is armed");
        }
        for listed in &self.breakpoints {
            let style = match listed.state {
                "armed" => paint::NEWS,
                "fired" => paint::GOOD,
                _ => paint::WARN,
            };
            let text =
                listed.expression.as_deref().unwrap_or("armed by another host: `stillpoint break rm` removes it");
            write!(
                f,
                "{}{}{:#}  {style}{:7}{style:#}  {text}",
                paint::NAME,
                listed.breakpoint,
                paint::NAME,
                listed.state
            )?;
            if let Some(stages) = listed.stages.filter(|stages| *stages > 1) {
                write!(f, "  (stage {} of {stages} satisfied)", listed.stage)?;
            }
            if listed.markers {
                write!(f, "  (by markers)")?;
            }
            writeln!(f)?;
            if listed.state == "fired" {
                write_events(&listed.satisfied, f)?;
            }
            if !listed.missing.is_empty() {
                let missing = listed.missing.join(", ");
                writeln!(f, "   {missing} lost it in a reset: remove it and arm it again")?;
            }
        }
        Ok(())
    }
}

/// What was removed.
#[derive(Serialize)]
pub struct Removed {
    /// The numbers.
    pub removed: Vec<u8>,
}

impl Report for Removed {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for number in &self.removed {
            writeln!(f, "{}breakpoint {number}{:#}  removed", paint::NAME, paint::NAME)?;
        }
        if self.removed.is_empty() {
            writeln!(f, "no breakpoint was armed")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use stillpoint::expr::{self, NodeNames};
    use stillpoint_core::{EventNumber, NodeId};

    #[test]
    fn terms_of_one_node_are_reported_with_the_signs_between_them() {
        let node = NodeNames {
            id: NodeId(0),
            name: Some("left".into()),
            aliases: Vec::new(),
            watches: vec![Some("a".into()), Some("b".into())],
            ports: Vec::new(),
            tags: Vec::new(),
            knows_all_clocks: true,
        };
        let directory = Directory { nodes: vec![node], recorded: false };
        let what = |text: &str| {
            let resolved = expr::resolve(&expr::parse(text).unwrap(), &directory).unwrap();
            let event = Satisfied { stage: 1, node: NodeId(0), number: EventNumber(3), order: Order::Last };
            Event::of(&event, &resolved, &directory).what
        };
        for text in ["left.a > 1 & left.b == 2", "left.a > 1 | left.b == 2", "left.a > 1"] {
            assert_eq!(what(text), text);
        }
    }
}

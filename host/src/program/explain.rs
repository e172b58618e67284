//! Whether a simultaneous event can be stopped at, and why.
use super::{SystemProgram, places_text};
use crate::expr::LocalCondition;
use serde::Serialize;
use std::fmt;
use stillpoint_analysis::{Action, Class, Component, Hold, Note, Point, Recognition, recognise};
use stillpoint_core::NodeId;

/// What the sources say of a simultaneous event.
#[derive(Clone, Debug, Serialize)]
pub struct Verdict {
    /// The event.
    pub event: String,
    /// Whether every component holds in the halted state, whenever it is recognised.
    pub is_promised: bool,
    /// How it is recognised.
    pub promised: Option<Promised>,
    /// Why it cannot be promised: the obstacle of each node that could recognise it.
    pub obstacles: Vec<Obstacle>,
    /// What of the sources is not followed.
    pub notes: Vec<String>,
    /// The one of them that keeps the event from being promised, if one does.
    pub unfollowed: Option<String>,
    #[serde(skip)]
    recognition: Option<Recognition>,
}

/// How an event is recognised.
#[derive(Clone, Debug, Serialize)]
pub struct Promised {
    /// The node that recognises it.
    pub node: String,
    /// Where it evaluates the event.
    pub points: Vec<String>,
    /// Why each component stays true until then.
    pub holds: Vec<Held>,
    /// The channels whose messages carry a bit and a count.
    pub carried: Vec<String>,
    /// How many channels carry nothing.
    pub silent: usize,
}

/// Why a component stays true.
#[derive(Clone, Debug, Serialize)]
pub struct Held {
    /// The component.
    pub component: String,
    /// `monotonic`, `dependent` or `generalised dependent`, as the paper calls them (section 3.1).
    pub class: &'static str,
    /// The reason.
    pub why: String,
}

/// Why a node cannot recognise an event.
#[derive(Clone, Debug, Serialize)]
pub struct Obstacle {
    /// The node.
    pub node: String,
    /// The component that it cannot rely on.
    pub component: String,
    /// The reason.
    pub why: String,
}

impl Verdict {
    /// How the event is recognised, for pictures.
    #[must_use]
    pub fn recognition(&self) -> Option<&Recognition> {
        self.recognition.as_ref()
    }
}

/// Looks whether a simultaneous event can be promised. `growing` has watches, as `left0.lap`, that never fall.
///
/// # Errors
/// A watch of the event is set nowhere in the sources.
pub fn verdict(
    program: &SystemProgram,
    event: &[LocalCondition],
    text: &str,
    growing: &[String],
) -> Result<Verdict, String> {
    let components = event.iter().map(|one| component(program, one, growing)).collect::<Result<Vec<_>, _>>()?;
    let (mut found, obstacles) = recognise(&program.extracted.program, &components);
    // Of several the one that needs the fewest messages, and of those one that has a component of its own to look at.
    let is_own = |node: NodeId| components.iter().any(|component| component.node == node);
    found.sort_by_key(|one| (one.carried().len(), !is_own(one.node), std::cmp::Reverse(one.node)));
    let recognition = found.into_iter().next();
    let explain = Explain { program, event };
    let mut obstacles: Vec<_> = obstacles.iter().map(|one| (one, explain.obstacle(one))).collect();
    // First those that say most: a line that changes a component, at a node with a component.
    obstacles.sort_by_key(|(one, _)| {
        let (kind, node) = match one {
            stillpoint_analysis::Obstacle::Changes { node, .. } => (0, node),
            stillpoint_analysis::Obstacle::Unreleased { node, .. } => (1, node),
            stillpoint_analysis::Obstacle::Unheard { node, .. } => (2, node),
        };
        (kind, !is_own(*node), std::cmp::Reverse(*node))
    });
    let unfollowed = match (&recognition, obstacles.first()) {
        (None, Some((stillpoint_analysis::Obstacle::Changes { change, .. }, _))) => {
            let place = program.extracted.place(change.write);
            program.extracted.notes.iter().find(|one| Some(&one.place) == place).map(note)
        }
        _ => None,
    };
    Ok(Verdict {
        event: text.to_owned(),
        is_promised: recognition.is_some(),
        promised: recognition.as_ref().map(|one| explain.promised(one)),
        obstacles: obstacles.into_iter().map(|(_, text)| text).collect(),
        notes: program.extracted.notes.iter().map(note).collect(),
        unfollowed,
        recognition,
    })
}

fn note(note: &Note) -> String {
    format!("{}:{}: {}", note.place.file, note.place.line, note.text)
}

fn component(program: &SystemProgram, one: &LocalCondition, growing: &[String]) -> Result<Component, String> {
    let name = program.node_name(one.node);
    let watch = |watch: &String| {
        let id = program.extracted.program.watch(&format!("{}.{watch}", one.node.0));
        let found = id.filter(|id| !program.extracted.lines(Action::Write(*id)).is_empty());
        found.ok_or_else(|| {
            format!("no source line that is followed sets `{watch}` of {name}, so nothing is known of when it changes")
        })
    };
    let watches = one.watches.iter().map(watch).collect::<Result<Vec<_>, _>>()?;
    let grows = one.watches.iter().all(|watch| growing.contains(&format!("{name}.{watch}")));
    Ok(Component { node: one.node, watches, monotonic: one.grows && grows })
}

struct Explain<'a> {
    program: &'a SystemProgram,
    event: &'a [LocalCondition],
}

impl Explain<'_> {
    fn node(&self, node: NodeId) -> &str {
        self.program.node_name(node)
    }

    fn promised(&self, recognition: &Recognition) -> Promised {
        let found = &self.program.extracted;
        let carried = recognition.carried();
        Promised {
            node: self.node(recognition.node).to_owned(),
            points: recognition.points.iter().map(|point| self.point(point)).collect(),
            holds: recognition.holds.iter().map(|hold| self.hold(recognition.node, hold)).collect(),
            silent: found.program.channels().len() - carried.len(),
            carried: carried.into_iter().map(|id| self.program.channel_name(id)).collect(),
        }
    }

    fn point(&self, point: &Point) -> String {
        let found = &self.program.extracted;
        match point {
            Point::Receive(id) => {
                let port = self.program.receiving_port(*id);
                format!("recv({port}), {}", places_text(found.lines(Action::Receive(*id))))
            }
            Point::Write(id) => {
                let name = &found.program.watches()[id.index()].name;
                let name = name.split_once('.').map_or(name.as_str(), |(_, name)| name);
                format!("set of `{name}`, {}", places_text(found.lines(Action::Write(*id))))
            }
        }
    }

    fn hold(&self, node: NodeId, hold: &Hold) -> Held {
        let component = &self.event[hold.component];
        let class = match hold.class {
            Class::Monotonic => "monotonic",
            Class::Dependent => "dependent",
            Class::GeneralisedDependent => "generalised dependent",
        };
        let why = match (&hold.release, hold.class) {
            (_, Class::Monotonic) => "never becomes false again".to_owned(),
            (None, _) => format!("is evaluated by {} itself, which halts there", self.node(node)),
            (Some(release), _) => {
                let found = &self.program.extracted;
                let port = self.program.receiving_port(release.received);
                let lines = places_text(found.lines(Action::Receive(release.received)));
                let feeder = found.program.channels()[release.received.index()].from;
                let through = if feeder == node { String::new() } else { format!(" through {}", self.node(feeder)) };
                let feeds = format!("which {} feeds{through}", self.node(node));
                format!("changes only after recv({port}), {lines}, {feeds}")
            }
        };
        Held { component: watched(self.node(component.node), component), class, why }
    }

    fn obstacle(&self, obstacle: &stillpoint_analysis::Obstacle) -> Obstacle {
        use stillpoint_analysis::Obstacle as Found;
        let found = &self.program.extracted;
        let (node, at) = match obstacle {
            Found::Unheard { node, component } | Found::Unreleased { node, component } => (*node, *component),
            Found::Changes { node, component, .. } => (*node, *component),
        };
        let component = &self.event[at];
        let owner = self.node(component.node);
        let why = match obstacle {
            Found::Unheard { .. } => format!("no message leads from {owner} to {}", self.node(node)),
            Found::Unreleased { .. } => {
                format!("{} sends nothing that {owner} waits for, so {owner} goes on by itself", self.node(node))
            }
            Found::Changes { change, .. } => {
                let place = found.place(change.write).map(|place| format!(" ({}:{})", place.file, place.line));
                let name = match found.program.action(change.write) {
                    Action::Write(id) => found.program.watches()[id.index()].name.clone(),
                    _ => String::new(),
                };
                let name = name.split_once('.').map_or(name.as_str(), |(_, name)| name);
                format!(
                    "{owner} can set `{name}`{} without hearing from {}, so no message that says `{}` stays true",
                    place.unwrap_or_default(),
                    self.node(node),
                    component.text
                )
            }
        };
        Obstacle { node: self.node(node).to_owned(), component: component.text.clone(), why }
    }
}

/// The watches of a component, as they are named for people: `left0.lap`.
fn watched(node: &str, component: &LocalCondition) -> String {
    component.watches.iter().map(|watch| format!("{node}.{watch}")).collect::<Vec<_>>().join(", ")
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(Promised { node, points, holds, carried, silent }) = &self.promised else {
            if let Some(first) = self.obstacles.first() {
                writeln!(f, "cannot be promised: {}", first.why)?;
            }
            return self.write_notes(f);
        };
        let others: Vec<_> = holds.iter().filter(|hold| !hold.why.starts_with("is evaluated")).collect();
        let wide = others.iter().map(|hold| hold.component.len()).max().unwrap_or_default().max("recognised".len());
        for hold in others {
            writeln!(f, "{:wide$}  {}", hold.component, hold.why)?;
        }
        writeln!(f, "{:wide$}  at {node}, {}", "recognised", points.join("; "))?;
        let rest = match silent {
            0 => String::new(),
            1 => "; 1 other channel carries nothing".into(),
            n => format!("; {n} other channels carry nothing"),
        };
        writeln!(f, "{:wide$}  {}{rest}", "carried by", carried.join(", "))?;
        self.write_notes(f)
    }
}

impl Verdict {
    fn write_notes(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.notes.iter().try_for_each(|note| writeln!(f, "not followed: {note}"))
    }
}

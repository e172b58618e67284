//! Post-restriction: which events of a trace are shown (Hyder 6.1).
use crate::{Event, Header, History, Restricted, kind_name};
use stillpoint_core::{EventKind, KindSet};

/// Which events a view shows. Each view of a trace has its own; what is hidden still orders what is shown.
///
/// # Example: what two nodes send
/// ```
/// use stillpoint_trace::{Sketch, View};
/// let mut sketch = Sketch::new(&["left", "middle", "right"]);
/// let first = sketch.local(0, 1);
/// sketch.message(0, 1);
/// let (_, last) = sketch.message(1, 2);
/// let view = View::parse(&["nodes=left,right", "kinds=trace,recv"], sketch.header()).unwrap();
/// let history = sketch.history();
/// let shown = view.of(&history);
/// let events: Vec<_> = shown.events().map(|event| event.id).collect();
/// assert_eq!(events, [first, last]);
/// assert_eq!(shown.predecessors(1), [0], "through what is hidden");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct View {
    /// One bit a node.
    nodes: u32,
    kinds: KindSet,
    /// What events are about; everything if empty.
    actions: Vec<Action>,
}

/// `send(out)`, or only `out`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Action {
    kind: Option<EventKind>,
    about: String,
}

/// Why a text is no view.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ViewError {
    /// It is not a list of chosen things.
    #[error("`{0}` says nothing about what to show: write nodes=A,B or kinds=send,recv or actions=send(out),add")]
    Term(String),
    /// There is no such node.
    #[error("the trace has no node `{name}`; it has {known}")]
    Node {
        /// What was asked for.
        name: String,
        /// What there is.
        known: String,
    },
    /// There is no such kind.
    #[error("`{name}` is no kind of event; there are {known}")]
    Kind {
        /// What was asked for.
        name: String,
        /// What there is.
        known: String,
    },
    /// No firmware has a thing of this name.
    #[error("nothing in the trace is called `{name}`; there are {known}")]
    Action {
        /// What was asked for.
        name: String,
        /// What there is.
        known: String,
    },
}

/// The words that terms begin with.
const KEYS: [&str; 6] = ["nodes", "node", "kinds", "kind", "actions", "action"];

/// The terms of a text. Each ends where the next one begins, so that names can have spaces in them.
fn terms(text: &str) -> Vec<&str> {
    let begins = |at: &usize| {
        let is_word = *at == 0 || text[..*at].ends_with(char::is_whitespace);
        is_word && text[*at..].split_once('=').is_some_and(|(key, _)| KEYS.contains(&key))
    };
    let mut starts: Vec<usize> = text.char_indices().map(|(at, _)| at).filter(begins).collect();
    if starts.first() != Some(&0) {
        starts.insert(0, 0);
    }
    let ends = starts.iter().skip(1).copied().chain([text.len()]);
    starts.iter().zip(ends).map(|(start, end)| text[*start..end].trim()).filter(|term| !term.is_empty()).collect()
}

impl Default for View {
    fn default() -> Self {
        Self::EVERYTHING
    }
}

impl View {
    /// Shows every event.
    pub const EVERYTHING: Self = Self { nodes: u32::MAX, kinds: KindSet::ALL, actions: Vec::new() };

    /// Reads what people write: `nodes=left0,left1`, `kinds=send,recv`, `actions=send(out),add`; one such term a text, or
    /// several with spaces between them. Names may have spaces, too: a term ends where the next begins. Terms narrow each
    /// other.
    pub fn parse<T: AsRef<str>>(texts: &[T], header: &Header) -> Result<Self, ViewError> {
        let mut view = Self::EVERYTHING;
        for term in texts.iter().flat_map(|text| terms(text.as_ref())) {
            let (what, names) = term.split_once('=').ok_or_else(|| ViewError::Term(term.into()))?;
            let names = names.split(',').map(str::trim).filter(|name| !name.is_empty());
            match what {
                "nodes" | "node" => view.nodes &= nodes(names, header)?,
                "kinds" | "kind" => view.kinds = KindSet(view.kinds.0 & kinds(names)?.0),
                "actions" | "action" => {
                    view.actions = names.map(|name| Action::parse(name, header)).collect::<Result<_, _>>()?;
                }
                _ => return Err(ViewError::Term(term.into())),
            }
        }
        Ok(view)
    }

    /// Whether everything is shown.
    #[must_use]
    pub fn is_everything(&self) -> bool {
        *self == Self::EVERYTHING
    }

    /// Whether an event is shown.
    #[must_use]
    pub fn shows(&self, event: &Event, header: &Header) -> bool {
        self.nodes >> (event.id.node & 31) & 1 == 1
            && self.kinds.contains(event.kind())
            && (self.actions.is_empty() || self.actions.iter().any(|action| action.is(event, header)))
    }

    /// The part of a history that is shown.
    #[must_use]
    pub fn of<'a>(&self, history: &'a History) -> Restricted<'a> {
        let all = 0..history.events.len();
        let shown: Vec<usize> = all.filter(|place| self.shows(&history.events[*place], &history.header)).collect();
        Restricted::new(history, shown)
    }
}

impl Action {
    fn parse(name: &str, header: &Header) -> Result<Self, ViewError> {
        let (kind, about) = match name.strip_suffix(')').and_then(|name| name.split_once('(')) {
            Some((kind, about)) => (Some(kind_called(kind)?), about),
            None => (None, name),
        };
        let mut known: Vec<&str> =
            header.nodes.iter().flat_map(|node| &node.ports).map(|port| port.name.as_str()).collect();
        known.extend(header.boards.iter().flat_map(|board| &board.names).map(|name| name.text.as_str()));
        // What has no name is called by its number.
        if !known.contains(&about) && about.parse::<u16>().is_err() {
            known.sort_unstable();
            known.dedup();
            return Err(ViewError::Action { name: about.into(), known: known.join(", ") });
        }
        Ok(Self { kind, about: about.into() })
    }

    fn is(&self, event: &Event, header: &Header) -> bool {
        self.kind.is_none_or(|kind| kind == event.kind())
            && header.about(event.id.node, &event.what).is_some_and(|about| about == self.about)
    }
}

fn nodes<'a>(names: impl Iterator<Item = &'a str>, header: &Header) -> Result<u32, ViewError> {
    let mut nodes = 0;
    for name in names {
        let found = header.nodes.iter().find(|node| node.name == name);
        let found = found.ok_or_else(|| {
            let known: Vec<&str> = header.nodes.iter().map(|node| node.name.as_str()).collect();
            ViewError::Node { name: name.into(), known: known.join(", ") }
        })?;
        nodes |= 1 << (found.id & 31);
    }
    Ok(nodes)
}

fn kinds<'a>(names: impl Iterator<Item = &'a str>) -> Result<KindSet, ViewError> {
    names.map(kind_called).try_fold(KindSet::EMPTY, |set, kind| Ok(set.with(kind?)))
}

fn kind_called(name: &str) -> Result<EventKind, ViewError> {
    let same = |kind: &EventKind| kind_name(*kind) == name;
    let found = EventKind::ALL.into_iter().find(same);
    found
        .or(match name {
            "receive" => Some(EventKind::Receive),
            "local" => Some(EventKind::Local),
            _ => None,
        })
        .ok_or_else(|| {
            let known = EventKind::ALL.map(kind_name).join(", ");
            ViewError::Kind { name: name.into(), known }
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Sketch;

    fn sketch() -> Sketch {
        let mut sketch = Sketch::new(&["a", "b", "c"]);
        sketch.local(0, 1);
        sketch.message(0, 1);
        sketch.local(1, 2);
        sketch.message(1, 2);
        sketch.local(0, 3);
        sketch.message(2, 0);
        sketch
    }

    /// Table 6-4, figure 6-5: predecessors are carried through events that are not displayed.
    #[test]
    fn what_is_hidden_still_orders_what_is_shown() {
        let mut sketch = sketch();
        let history = sketch.history();
        let view = View::parse(&["kinds=trace", "nodes=a,b"], sketch.header()).unwrap();
        let shown = view.of(&history);
        assert_eq!(shown.len(), 3);
        for (a, b) in (0..3).flat_map(|a| (0..3).map(move |b| (a, b))) {
            assert_eq!(shown.before(a, b), history.before(shown.places()[a], shown.places()[b]));
        }
        let last = shown.events().position(|event| event.what.arg == 3).unwrap();
        assert_eq!(shown.predecessors(last), [0], "tag 3 comes after tag 1, and before what c says");
    }

    #[test]
    fn with_everything_shown_predecessors_are_the_event_before_and_the_send() {
        let history = sketch().history();
        let shown = View::EVERYTHING.of(&history);
        for at in 0..shown.len() {
            let event = &history.events[at];
            let mut expected: Vec<usize> = Vec::new();
            expected.extend((0..at).rev().find(|place| history.events[*place].id.node == event.id.node));
            let send = event.partner.filter(|_| event.kind() == EventKind::Receive);
            expected.extend(send.and_then(|send| history.index_of(send)));
            let all = expected.clone();
            expected.retain(|one| !all.iter().any(|other| history.before(*one, *other)));
            expected.sort_unstable();
            assert_eq!(shown.predecessors(at), expected);
        }
    }

    #[test]
    fn what_is_not_there_is_said_with_what_is() {
        let mut sketch = sketch();
        let wrong = |text: &str, sketch: &mut Sketch| View::parse(&[text], sketch.header()).unwrap_err().to_string();
        assert_eq!(wrong("nodes=d", &mut sketch), "the trace has no node `d`; it has a, b, c");
        assert!(wrong("kinds=sent", &mut sketch).contains("`sent` is no kind of event; there are trace, send, recv"));
        assert!(wrong("actions=send(nowhere)", &mut sketch).contains("nothing in the trace is called `nowhere`"));
        assert!(wrong("left0", &mut sketch).contains("says nothing about what to show"));
        assert!(View::parse::<&str>(&[], sketch.header()).unwrap().is_everything());
    }

    #[test]
    fn an_action_is_what_an_event_is_about() {
        let mut sketch = sketch();
        let history = sketch.history();
        let count = |text: &str, sketch: &mut Sketch| View::parse(&[text], sketch.header()).unwrap().of(&history).len();
        assert_eq!(count("actions=send(to_b)", &mut sketch), 1);
        assert_eq!(count("actions=to_b,from_a,trace(2)", &mut sketch), 3);
        assert_eq!(count("nodes=a kinds=send", &mut sketch), 1);
    }

    #[test]
    fn a_name_with_spaces_reaches_to_the_next_term() {
        let mut sketch = Sketch::new(&["far client", "near", "kinds = odd"]);
        let (header, view) = (sketch.header(), |texts: &[&str], header: &Header| View::parse(texts, header).unwrap());
        let nodes = |view: View| (0..3u8).filter(|node| view.nodes >> node & 1 == 1).collect::<Vec<u8>>();
        assert_eq!(nodes(view(&["nodes=far client"], header)), [0]);
        assert_eq!(nodes(view(&["nodes=near, far client kinds=send,recv"], header)), [0, 1]);
        let both = view(&["kinds=send nodes=far client"], header);
        assert!(both.kinds.contains(EventKind::Send) && !both.kinds.contains(EventKind::Receive));
        assert_eq!(nodes(both), [0]);
        assert_eq!(nodes(view(&["nodes=kinds = odd"], header)), [2]);
        let error = View::parse(&["nodes=far clint"], header).unwrap_err().to_string();
        assert!(error.contains("no node `far clint`") && error.contains("far client"), "{error}");
        assert!(matches!(View::parse(&["near nodes=near"], header), Err(ViewError::Term(_))));
    }
}

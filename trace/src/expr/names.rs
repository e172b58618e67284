//! The names that expressions may use, and the nearest one to a name that nobody has.
use stillpoint_core::{Direction, EventKind, NodeId, PortId};

/// What the events of the language are, for messages.
pub(super) const EVENTS: &str = "an event: send(port), recv(port), call(name), return(name), serve(name), reply(name), up(port), down(port), reset, fault, enter(span), leave(span), trace(name) or timer";

/// Each event by its word: its kind, and what its argument names.
const EVENT_WORDS: [(&str, EventKind, About); 14] = [
    ("send", EventKind::Send, About::Port),
    ("recv", EventKind::Receive, About::Port),
    ("call", EventKind::Call, About::Tag("call")),
    ("return", EventKind::Return, About::Tag("call")),
    ("serve", EventKind::Call, About::Tag("serve")),
    ("reply", EventKind::Return, About::Tag("serve")),
    ("up", EventKind::LinkUp, About::Port),
    ("down", EventKind::LinkDown, About::Port),
    ("reset", EventKind::Reset, About::Nothing),
    ("fault", EventKind::Fault, About::Nothing),
    ("enter", EventKind::Enter, About::Tag("span")),
    ("leave", EventKind::Leave, About::Tag("span")),
    ("trace", EventKind::Local, About::Tag("trace")),
    ("timer", EventKind::Timer, About::Nothing),
];

/// Events that are seen in a trace only. A condition says the same of watches to a node.
const RECORDED_WORDS: [(&str, EventKind, About); 5] = [
    ("watch", EventKind::Watch, About::Watch),
    ("access", EventKind::Access, About::Tag("shared")),
    ("poll", EventKind::Poll, About::Nothing),
    ("now", EventKind::Now, About::Nothing),
    ("input", EventKind::Input, About::Nothing),
];

/// What the argument of an event names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum About {
    Nothing,
    Port,
    Watch,
    /// A name of this kind in the firmware.
    Tag(&'static str),
}

/// The kind of the event that a word names.
pub(super) fn event(word: &str, recorded: bool) -> Option<(EventKind, About)> {
    all_events(recorded).find(|(name, ..)| *name == word).map(|(_, kind, about)| (*kind, *about))
}

/// The words of all events.
pub(super) fn event_words(recorded: bool) -> impl Iterator<Item = &'static str> {
    all_events(recorded).map(|(word, ..)| *word)
}

fn all_events(recorded: bool) -> impl Iterator<Item = &'static (&'static str, EventKind, About)> {
    let more = if recorded { &RECORDED_WORDS[..] } else { &[] };
    EVENT_WORDS.iter().chain(more)
}

/// Why a name does not mean one node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotOneNode {
    /// No node has it.
    None,
    /// Several nodes have it; these names tell them apart.
    Several(Vec<String>),
}

/// Which node a name means, by the names of each in order of precedence. A name of a higher rank hides those of lower ranks; one
/// that several nodes have in the same rank means none of them.
///
/// # Errors
/// No node has the name, or several have.
pub fn one_node<const RANKS: usize>(wanted: &str, nodes: &[[Vec<String>; RANKS]]) -> Result<usize, NotOneNode> {
    for rank in 0..RANKS {
        let has_it = |(_, names): &(usize, &[Vec<String>; RANKS])| names[rank].iter().any(|name| name == wanted);
        let found: Vec<_> = nodes.iter().enumerate().filter(has_it).collect();
        match found.as_slice() {
            [] => {}
            [(index, _)] => return Ok(*index),
            several => {
                let has = |of: &[Vec<String>; RANKS], name: &String| of.iter().flatten().any(|own| own == name);
                let is_unique = |name: &&String| nodes.iter().filter(|of| has(of, name)).count() == 1;
                let other = |names: &[Vec<String>; RANKS]| {
                    let mut ranks = names[rank..].iter();
                    ranks.find_map(|names| names.iter().rfind(is_unique)).cloned().unwrap_or_default()
                };
                return Err(NotOneNode::Several(several.iter().map(|(_, names)| other(names)).collect()));
            }
        }
    }
    Err(NotOneNode::None)
}

/// Every name of a system.
#[derive(Clone, Debug, Default)]
pub struct Directory {
    /// Its nodes.
    pub nodes: Vec<NodeNames>,
    /// The names are of a trace, in which more can be asked for than of a node that runs.
    pub recorded: bool,
}

/// The names of one node.
#[derive(Clone, Debug)]
pub struct NodeNames {
    /// Which node.
    pub id: NodeId,
    /// What it is called, if anybody says so.
    pub name: Option<String>,
    /// What else it answers to.
    pub aliases: Vec<String>,
    /// Its watches, by number.
    pub watches: Vec<Option<String>>,
    /// Its ports.
    pub ports: Vec<PortNames>,
    /// Tracepoints, spans and remote procedures: kind, number, text. A text may have several numbers.
    pub tags: Vec<(String, u16, String)>,
    /// Whether its messages carry whole clocks, so that it hears of nodes that are not its neighbours.
    pub knows_all_clocks: bool,
}

/// The name of one port.
#[derive(Clone, Debug)]
pub struct PortNames {
    /// Which port.
    pub id: PortId,
    /// What it is called, if the firmware says so.
    pub name: Option<String>,
    /// Which way messages go.
    pub direction: Direction,
    /// Who is at the other end.
    pub peer: NodeId,
}

impl Directory {
    /// The names of all nodes, without their boards.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.nodes.iter().filter_map(|node| node.name.as_deref())
    }

    /// The node that a name means; `n0`, `n1` ... name every node that has no such name itself.
    ///
    /// # Errors
    /// No node has the name, or several have.
    pub fn node(&self, name: &str) -> Result<&NodeNames, NotOneNode> {
        let names = |node: &NodeNames| {
            let numbered = numbered('n', node.id.0);
            [node.name.clone().into_iter().collect(), node.aliases.clone(), vec![numbered]]
        };
        let names: Vec<_> = self.nodes.iter().map(names).collect();
        one_node(name, &names).map(|index| &self.nodes[index])
    }

    /// What is wrong with the name of a node, and what to write instead.
    #[must_use]
    pub fn explain(&self, name: &str, why: &NotOneNode) -> (String, String) {
        match why {
            NotOneNode::None => {
                let names = self.nodes.iter().map(NodeNames::display);
                (format!("no node is called `{name}`"), suggest("nodes", name, names))
            }
            NotOneNode::Several(others) => {
                let others: Vec<_> = others.iter().map(|other| format!("\"{other}\"")).collect();
                (format!("several nodes are called `{name}`"), format!("say which: {}", others.join(" or ")))
            }
        }
    }

    /// What a node is called.
    #[must_use]
    pub fn name_of(&self, id: NodeId) -> String {
        self.nodes.iter().find(|node| node.id == id).map_or_else(|| numbered('n', id.0), NodeNames::display)
    }

    /// Whether messages can get from one node to another, perhaps through others.
    #[must_use]
    pub fn is_reachable(&self, from: NodeId, to: NodeId) -> bool {
        let mut reached = vec![from];
        let mut next = 0;
        while let Some(&node) = reached.get(next) {
            next += 1;
            let ports = self.nodes.iter().filter(|names| names.id == node).flat_map(|names| &names.ports);
            for port in ports.filter(|port| port.direction == Direction::Out) {
                if !reached.contains(&port.peer) {
                    reached.push(port.peer);
                }
            }
        }
        reached.contains(&to)
    }
}

impl NodeNames {
    /// What it is called.
    #[must_use]
    pub fn display(&self) -> String {
        self.name.clone().unwrap_or_else(|| numbered('n', self.id.0))
    }

    /// What a port is called.
    #[must_use]
    pub fn port_name(&self, id: PortId) -> String {
        let named = self.ports.iter().find(|port| port.id == id).and_then(|port| port.name.clone());
        named.unwrap_or_else(|| id.0.to_string())
    }

    /// The number of the watch with this name; `watch0`, `watch1` ... name those that have none.
    pub(super) fn watch(&self, name: &str) -> Option<u8> {
        let named = self.watches.iter().position(|watch| watch.as_deref() == Some(name));
        let by_number = || (0..self.watches.len()).find(|number| format!("watch{number}") == name);
        named.or_else(by_number).and_then(|number| u8::try_from(number).ok())
    }

    pub(super) fn watch_names(&self) -> impl Iterator<Item = String> {
        self.watches.iter().enumerate().map(|(number, name)| name.clone().unwrap_or_else(|| format!("watch{number}")))
    }
}

fn numbered(letter: char, number: u8) -> String {
    format!("{letter}{number}")
}

/// "did you mean `left0`? The nodes are ..." for a name that is not among those that exist.
pub(super) fn suggest(what: &str, wrong: &str, existing: impl Iterator<Item = String>) -> String {
    let mut existing: Vec<String> = existing.collect();
    existing.dedup();
    if existing.is_empty() {
        return format!("there are no {what} here");
    }
    let nearest = crate::nearest(wrong, existing.iter().map(String::as_str));
    let question = nearest.map_or(String::new(), |name| format!("did you mean `{name}`? "));
    format!("{question}the {what} are {}", existing.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_offered_and_all_are_listed() {
        let nodes = || ["left0", "left1", "right0", "right1"].map(String::from).into_iter();
        let list = "the nodes are left0, left1, right0, right1";
        assert_eq!(suggest("nodes", "lfet1", nodes()), format!("did you mean `left1`? {list}"));
        assert_eq!(suggest("nodes", "rigth0", nodes()), format!("did you mean `right0`? {list}"));
        assert_eq!(suggest("nodes", "xyz", nodes()), list);
        assert_eq!(suggest("watches", "x", std::iter::empty()), "there are no watches here");
    }

    #[test]
    fn a_name_that_two_nodes_have_means_neither_and_the_answer_tells_them_apart() {
        let node = |name: &str, own: &str, place: &str| [vec![name.to_owned()], vec![own.to_owned(), place.to_owned()]];
        let nodes = [node("left", "worker", "A.0"), node("left", "worker", "B.0"), node("right", "left", "B.1")];
        let both = Err(NotOneNode::Several(vec!["A.0".into(), "B.0".into()]));
        assert_eq!(one_node("left", &nodes), both, "the alias of a third node is hidden");
        assert_eq!(one_node("worker", &nodes), both);
        assert_eq!(one_node("right", &nodes), Ok(2));
        assert_eq!(one_node("B.0", &nodes), Ok(1));
        assert_eq!(one_node("C.0", &nodes), Err(NotOneNode::None));
    }

    #[test]
    fn every_event_of_the_language_is_in_the_list_that_errors_show() {
        assert!(event_words(false).all(|word| EVENTS.contains(word)));
    }
}

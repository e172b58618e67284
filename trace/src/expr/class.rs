//! What kind of predicate an expression is, and what can be promised for it.
use super::names::Directory;
use super::resolve::{Match, Resolved, Term};
use std::collections::BTreeSet;
use std::fmt;
use stillpoint_core::predicate::Detector;
use stillpoint_core::{EventKind, NodeId};

/// The kinds of predicates of Miller & Choi, section 3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// One thing on one node.
    Simple,
    /// Any of several things.
    Disjunctive,
    /// One thing after another.
    Linked,
    /// Several nodes at once: nobody can stop there at the first such moment.
    Conjunctive,
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Simple => "simple",
            Self::Disjunctive => "disjunctive",
            Self::Linked => "linked",
            Self::Conjunctive => "conjunctive",
        })
    }
}

/// What is promised for a breakpoint, and what is not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Promise {
    /// What holds when it stops.
    pub holds: String,
    /// What it may miss, report too much, or never do.
    pub limits: Vec<String>,
}

impl Resolved {
    /// Every term, with its stage from 1.
    pub fn terms(&self) -> impl Iterator<Item = (u8, &Term)> {
        let stages = self.stages.iter().zip(1..);
        stages.flat_map(|(stage, number)| stage.iter().flatten().map(move |term| (number, term)))
    }

    /// What kind of predicate it is.
    #[must_use]
    pub fn class(&self) -> Class {
        let spans_nodes =
            |terms: &Vec<Term>| terms.iter().any(|term| Some(term.node) != terms.first().map(|first| first.node));
        match self.stages.as_slice() {
            stages if stages.iter().flatten().any(spans_nodes) => Class::Conjunctive,
            [only] if only.len() == 1 => Class::Simple,
            [_] => Class::Disjunctive,
            _ => Class::Linked,
        }
    }

    /// What a stop at it will mean in this system.
    #[must_use]
    pub fn promise(&self, detector: Detector, directory: &Directory) -> Promise {
        let class = self.class();
        let mut limits = Vec::new();
        let holds = match (class, detector) {
            (Class::Simple, _) => "exact: the node stops at the very event, every other node consistently with it",
            (Class::Disjunctive, _) => {
                limits.push("two nodes may each satisfy it before they hear of each other: both are shown".to_owned());
                "exact: whichever node satisfies it first stops at that very event, every other node consistently with it"
            }
            (Class::Linked, Detector::Causal | Detector::Simultaneous) => {
                limits
                    .push("what nodes tell each other through plain shared memory is not seen as an order".to_owned());
                "exact: each stage really happened before the next; stops at the first event that completes the chain, every node consistently with it"
            }
            (Class::Linked, Detector::Marker) => {
                limits.push(
                    "may report too much: a later stage may be concurrent with an earlier one as far as the program can \
                     tell, since the marker itself is what orders them"
                        .to_owned(),
                );
                limits.push("may miss what happens before the marker arrives, although it happened later".to_owned());
                "Miller & Choi's markers: each stage happened after a marker of the one before arrived; stops every node consistently"
            }
            (Class::Conjunctive, _) => {
                "none: the first moment at which several nodes satisfy it can only be found afterwards"
            }
        };
        if detector == Detector::Causal {
            limits.extend(self.gaps(directory));
        }
        limits.extend(self.terms().filter_map(|(_, term)| match &term.what {
            Match::Event { arguments, .. } if arguments.len() > 1 && term.occurrences > 1 => {
                let (text, places) = (&self.text[term.span.clone()], arguments.len());
                Some(format!("{places} places in the firmware have the name in `{text}`, and each counts for itself"))
            }
            _ => None,
        }));
        if self.terms().any(|(_, term)| term.is_reset()) {
            limits.push(
                "a reset takes what is armed with it, so the host watches for it: only while it waits, and the halt comes \
                 after the reset, not at it"
                    .to_owned(),
            );
        }
        Promise { holds: holds.to_owned(), limits }
    }

    /// The stages that no message of the program can lead to from the stage before.
    fn gaps(&self, directory: &Directory) -> Vec<String> {
        let nodes = |stage: &Vec<Vec<Term>>| stage.iter().flatten().map(|term| term.node).collect::<BTreeSet<NodeId>>();
        let stages: Vec<_> = self.stages.iter().map(nodes).collect();
        let mut gaps = Vec::new();
        for (number, pair) in stages.windows(2).enumerate() {
            let [from, to] = pair else { continue };
            if !from.iter().any(|from| to.iter().any(|to| directory.is_reachable(*from, *to))) {
                let names = |nodes: &BTreeSet<NodeId>| {
                    nodes.iter().map(|node| directory.name_of(*node)).collect::<Vec<_>>().join(", ")
                };
                gaps.push(format!(
                    "stage {} can never be reached: no message gets from {} to {}; --markers needs none",
                    number + 2,
                    names(from),
                    names(to)
                ));
            }
        }
        gaps
    }
}

impl Term {
    /// Whether it looks for a reset.
    #[must_use]
    pub fn is_reset(&self) -> bool {
        matches!(self.what, Match::Event { kind: EventKind::Reset, .. })
    }
}

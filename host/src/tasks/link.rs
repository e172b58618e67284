//! One future of a task, and what it awaits in turn.
use crate::dwarf::{Line, Place};
use serde::Serialize;

/// What kind of future a link is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LinkKind {
    /// An async function, block or closure.
    Async,
    /// A closure that is polled: `core::future::poll_fn`.
    PollFn,
    /// Any other type that is polled: a timer, `Select`, `Join`, a future of a library.
    Future,
    /// Something that could not be followed.
    Unknown,
}

/// One future of a task.
#[derive(Clone, Debug, Serialize)]
pub struct Link {
    /// The field of the outer future that holds it; empty for what an async function awaits.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub field: String,
    /// The function or type, with its path.
    pub name: String,
    /// What kind of future it is.
    pub kind: LinkKind,
    /// Where it stands: the `.await` of an async function, the first line of a closure.
    pub line: Option<Line>,
    /// What else there is to say: that it ended, that its state is damaged, that its type is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// What it awaits: one future, or all that a `select` or a `join` polls.
    pub awaits: Vec<Link>,
    /// The path of the closure of a `poll_fn`.
    #[serde(skip)]
    pub(crate) closure: Option<String>,
    /// Where it lies in memory.
    #[serde(skip)]
    pub(crate) place: Option<Place>,
    /// What lives in it across the `.await`.
    #[serde(skip)]
    pub(crate) variables: Vec<Variable>,
}

/// A variable that lives across an `.await`.
#[derive(Clone, Debug)]
pub(crate) struct Variable {
    pub name: String,
    pub place: Place,
    /// Several variables of this name are alive, and the debug information gives them one place.
    pub is_shadowed: bool,
}

impl Link {
    /// It and all futures inside, each with its depth, from the outside.
    pub fn walk(&self) -> Vec<(usize, &Link)> {
        let mut found = vec![(0, self)];
        for inner in &self.awaits {
            found.extend(inner.walk().into_iter().map(|(depth, link)| (depth + 1, link)));
        }
        found
    }

    /// The name without the modules: `Inbox::recv`, `pass`.
    #[must_use]
    pub fn short_name(&self) -> &str {
        let is_type = |part: &str| part.starts_with(|letter: char| letter.is_ascii_uppercase());
        let mut from = self.name.rfind("::").map_or(0, |at| at + 2);
        // The types before it belong to the name of a method or a variant.
        while let Some(outer) = self.name[..from].strip_suffix("::") {
            let start = outer.rfind("::").map_or(0, |at| at + 2);
            if !is_type(&outer[start..]) {
                break;
            }
            from = start;
        }
        &self.name[from..]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_name_has_the_type_of_a_method_and_no_modules() {
        let short = |name: &str| {
            let link = Link {
                field: String::new(),
                name: name.into(),
                kind: LinkKind::Async,
                line: None,
                note: None,
                awaits: Vec::new(),
                closure: None,
                place: None,
                variables: Vec::new(),
            };
            link.short_name().to_owned()
        };
        assert_eq!(short("stillpoint_agent::port::Inbox::recv"), "Inbox::recv");
        assert_eq!(short("token_ring::pass"), "pass");
        assert_eq!(short("embassy_time::timer::Timer"), "Timer");
        assert_eq!(short("embassy_futures::join::MaybeDone::Future"), "MaybeDone::Future");
        assert_eq!(short("pass"), "pass");
        assert_eq!(short("a::b::{async_block}"), "{async_block}");
    }
}

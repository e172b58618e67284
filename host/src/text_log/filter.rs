//! Which entries of the log somebody wants to see.
use super::{Entry, Level, Said};

/// What must be so of an entry that is shown. Where lines are missing is shown for every node that is.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Of one of these nodes; of any if there are none.
    pub nodes: Vec<String>,
    /// In one of these modules or inside it, as in `token_ring::link`; in any if there are none.
    pub modules: Vec<String>,
    /// At least so important. Lines without a level are always.
    pub level: Option<Level>,
}

impl Filter {
    /// Whether it is shown.
    #[must_use]
    pub fn shows(&self, entry: &Entry) -> bool {
        let of_node = self.nodes.is_empty() || self.nodes.contains(&entry.node);
        let Said::Line(line) = &entry.said else { return of_node };
        let in_module = self.modules.is_empty() || self.modules.iter().any(|module| is_inside(&line.module, module));
        let matters = self.level.is_none_or(|least| line.level.is_none_or(|level| level >= least));
        of_node && in_module && matters
    }
}

/// Whether `path` is `module` or lies in it.
pub fn is_inside(path: &str, module: &str) -> bool {
    path.strip_prefix(module).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text_log::Line;

    fn entry(node: &str, module: &str, level: Option<Level>) -> Entry {
        let line =
            Line { text: "x".into(), level, time: None, clock: None, event: None, module: module.into(), place: None };
        Entry { node: node.into(), said: Said::Line(line) }
    }

    #[test]
    fn a_module_holds_what_is_inside_it_and_nothing_that_only_begins_alike() {
        assert!(is_inside("ring::link", "ring") && is_inside("ring", "ring"));
        assert!(!is_inside("rings", "ring") && !is_inside("ring", "ring::link"));
    }

    #[test]
    fn a_line_is_shown_when_everything_asked_for_is_so() {
        let filter = Filter { nodes: vec!["a".into()], modules: vec!["m".into()], level: Some(Level::Warn) };
        assert!(filter.shows(&entry("a", "m::x", Some(Level::Error))));
        assert!(filter.shows(&entry("a", "m", None)), "what has no level is always important enough");
        assert!(!filter.shows(&entry("b", "m", Some(Level::Error))));
        assert!(!filter.shows(&entry("a", "n", Some(Level::Error))));
        assert!(!filter.shows(&entry("a", "m", Some(Level::Info))));
    }

    #[test]
    fn where_lines_are_missing_is_shown_whatever_lines_are_asked_for() {
        let filter = Filter { nodes: vec!["a".into()], level: Some(Level::Error), ..Filter::default() };
        let dropped = |node: &str| Entry { node: node.into(), said: Said::Dropped(3) };
        assert!(filter.shows(&dropped("a")) && !filter.shows(&dropped("b")));
    }
}

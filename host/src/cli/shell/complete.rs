//! What the tabulator key offers: commands, options, nodes with their events and watches, files.
use rustyline::completion::{Completer, FilenameCompleter, Pair};
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::validate::Validator;
use rustyline::{Context, Helper};
use std::sync::{Arc, Mutex};
use stillpoint::expr::{Directory, NodeNames};
use stillpoint_core::Direction;

/// The names that can be typed just now.
#[derive(Clone, Debug, Default)]
pub struct Names {
    /// Each command with what may follow it: verbs and options.
    pub commands: Vec<(String, Vec<String>)>,
    /// Short names for commands.
    pub aliases: Vec<String>,
    /// What expressions are made of.
    pub terms: Vec<String>,
}

impl Names {
    /// The names of a system, as expressions use them.
    pub fn terms_of(directory: &Directory) -> Vec<String> {
        let mut terms: Vec<String> = directory.nodes.iter().flat_map(terms_of_node).collect();
        terms.sort();
        terms.dedup();
        terms
    }
}

fn terms_of_node(node: &NodeNames) -> Vec<String> {
    let name = node.display();
    let ports = node.ports.iter().map(|port| {
        let event = if port.direction == Direction::Out { "send" } else { "recv" };
        format!("{name}:{event}({})", node.port_name(port.id))
    });
    let watches = node.watches.iter().flatten().map(|watch| format!("{name}.{watch}"));
    let always = [format!("{name}:fault"), format!("{name}:timer"), format!("{name}.count"), format!("{name}.epoch")];
    [name.clone()].into_iter().chain(ports).chain(watches).chain(always).collect()
}

/// Offers names; whoever knows newer ones puts them in.
#[derive(Clone, Default)]
pub struct Completion {
    names: Arc<Mutex<Names>>,
}

impl Completion {
    /// Changes the names that are offered.
    pub fn update(&self, change: impl FnOnce(&mut Names)) {
        // A thread that panicked while it held the names left them whole: they are only ever replaced.
        change(&mut self.names.lock().unwrap_or_else(std::sync::PoisonError::into_inner));
    }

    fn offers(&self, line: &str, word: &str) -> Vec<String> {
        let names = self.names.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let before = line[..line.len() - word.len()].trim();
        let all: Vec<&String> = match before.split_whitespace().next() {
            None => names.commands.iter().map(|(name, _)| name).chain(&names.aliases).collect(),
            Some(first) => {
                let of_command = names.commands.iter().filter(|(name, _)| name == first);
                of_command.flat_map(|(_, follow)| follow).chain(&names.terms).collect()
            }
        };
        let mut offers: Vec<String> = all.into_iter().filter(|name| name.starts_with(word)).cloned().collect();
        offers.sort();
        offers.dedup();
        shorten(&mut offers, word);
        // A word that is complete is followed by another; a node may be followed by what it is asked for.
        if let [only] = offers.as_mut_slice()
            && !names.terms.contains(only)
        {
            only.push(' ');
        }
        offers
    }
}

/// As long as nobody chose a node, its events and watches are too many to show.
fn shorten(offers: &mut Vec<String>, word: &str) {
    let is_short = |offer: &String| !offer.contains([':', '.']);
    if offers.iter().any(|offer| is_short(offer) && offer != word) {
        offers.retain(is_short);
    }
}

/// What is followed by the name of a file.
const BEFORE_FILES: [&str; 5] = ["source", "dump", "--from", "--system", "--output"];

impl Completer for Completion {
    type Candidate = Pair;

    fn complete(&self, line: &str, position: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<Pair>)> {
        let typed = &line[..position];
        let start = typed.rfind(char::is_whitespace).map_or(0, |at| at + 1);
        let offers = self.offers(typed, &typed[start..]);
        let before = typed[..start].split_whitespace().next_back();
        if before.is_some_and(|before| offers.is_empty() || BEFORE_FILES.contains(&before)) {
            return FilenameCompleter::new().complete_path(line, position);
        }
        let pair = |offer: String| Pair { display: offer.clone(), replacement: offer };
        Ok((start, offers.into_iter().map(pair).collect()))
    }
}

impl Hinter for Completion {
    type Hint = String;
}
impl Highlighter for Completion {}
impl Validator for Completion {}
impl Helper for Completion {}

#[cfg(test)]
mod tests {
    use super::*;

    fn completion() -> Completion {
        let completion = Completion::default();
        completion.update(|names| {
            names.commands = vec![
                ("halt".into(), vec!["--at".into(), "--group".into()]),
                ("help".into(), vec![]),
                ("break".into(), vec!["list".into(), "rm".into()]),
            ];
            names.aliases = vec!["hh".into()];
            names.terms = ["left0", "left0.lap", "left0:recv(ring)", "left0:send(ring)", "left1", "left1.lap"]
                .map(String::from)
                .to_vec();
        });
        completion
    }

    #[track_caller]
    fn check(line: &str, expected: &[&str]) {
        let word = line.rsplit(char::is_whitespace).next().unwrap();
        assert_eq!(completion().offers(line, word), expected, "{line}");
    }

    #[test]
    fn the_first_word_is_a_command_or_a_short_name() {
        check("h", &["halt", "help", "hh"]);
        check("ha", &["halt "]);
        check("x", &[]);
    }

    #[test]
    fn options_follow_their_own_command_and_nodes_follow_any() {
        check("halt --", &["--at", "--group"]);
        check("break l", &["left0", "left1", "list"]);
        check("halt --at left", &["left0", "left1"]);
    }

    #[test]
    fn events_and_watches_are_offered_for_a_node_that_was_chosen() {
        check("break left0", &["left0", "left0.lap", "left0:recv(ring)", "left0:send(ring)"]);
        check("break left0:", &["left0:recv(ring)", "left0:send(ring)"]);
        check("break left0:send(ring) -> left1.", &["left1.lap"]);
    }
}

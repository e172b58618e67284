//! Short names for commands.
use std::collections::BTreeMap;

/// The short names of a session and what they stand for.
#[derive(Debug, Default)]
pub struct Aliases {
    meanings: BTreeMap<String, String>,
}

impl Aliases {
    /// Gives a text a short name, in place of what the name stood for. `Err` names the loop that this would close; then
    /// nothing has changed.
    pub fn set(&mut self, name: &str, meaning: &str) -> Result<(), String> {
        if name.is_empty() || name.contains(|letter: char| letter.is_whitespace() || "'\"\\#".contains(letter)) {
            return Err(format!("`{name}` cannot be a short name: it has to be one plain word"));
        }
        let mut chain = vec![name];
        let mut next = first_word(meaning);
        // Whoever calls `cut --full` simply `cut` means the command.
        while next != name || chain.len() > 1 {
            if let Some(at) = chain.iter().position(|passed| *passed == next) {
                let mut names = chain[at..].to_vec();
                names.push(next);
                return Err(format!("an alias loop: {}; nothing was changed", names.join(" -> ")));
            }
            let Some(meaning) = self.meanings.get(next) else { break };
            chain.push(next);
            // A name that stands for itself stands for the command.
            if first_word(meaning) == next {
                break;
            }
            next = first_word(meaning);
        }
        self.meanings.insert(name.to_owned(), meaning.trim().to_owned());
        Ok(())
    }

    /// Forgets a short name; `false` if there is none.
    pub fn remove(&mut self, name: &str) -> bool {
        self.meanings.remove(name).is_some()
    }

    /// Every short name with its meaning.
    pub fn all(&self) -> impl Iterator<Item = (&str, &str)> {
        self.meanings.iter().map(|(name, meaning)| (name.as_str(), meaning.as_str()))
    }

    /// The line with what its first word stands for. [`Aliases::set`] lets no loop come to be, so this ends.
    #[must_use]
    pub fn expand(&self, line: &str) -> String {
        let mut line = line.trim().to_owned();
        while let Some(meaning) = self.meanings.get(first_word(&line)) {
            let first = first_word(&line);
            let (is_itself, rest) = (first_word(meaning) == first, line[first.len()..].to_owned());
            line = format!("{meaning}{rest}");
            if is_itself {
                break;
            }
        }
        line
    }
}

fn first_word(text: &str) -> &str {
    text.split_whitespace().next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_name_may_stand_for_another_and_keeps_what_follows() {
        let mut aliases = Aliases::default();
        aliases.set("h", "halt --at").unwrap();
        aliases.set("hl", "h left0").unwrap();
        assert_eq!(aliases.expand(" hl --json"), "halt --at left0 --json");
        assert_eq!(aliases.expand("halt"), "halt");
        assert!(aliases.remove("h") && !aliases.remove("h"));
        assert_eq!(aliases.expand("hl"), "h left0");
    }

    #[test]
    fn a_loop_is_refused_by_name_and_changes_nothing() {
        let mut aliases = Aliases::default();
        aliases.set("a", "b").unwrap();
        aliases.set("b", "c x").unwrap();
        let error = aliases.set("c", "a").unwrap_err();
        assert_eq!(error, "an alias loop: c -> a -> b -> c; nothing was changed");
        assert_eq!(aliases.expand("a y"), "c x y");
    }

    #[test]
    fn a_command_may_be_called_by_its_own_name_with_options() {
        let mut aliases = Aliases::default();
        aliases.set("cut", "cut --full").unwrap();
        assert_eq!(aliases.expand("cut --json"), "cut --full --json");
        aliases.set("c", "cut").unwrap();
        assert_eq!(aliases.expand("c"), "cut --full");
    }

    #[test]
    fn a_short_name_is_one_plain_word() {
        for bad in ["", "a b", "a#", "'a"] {
            assert!(Aliases::default().set(bad, "halt").unwrap_err().contains("one plain word"));
        }
    }
}

//! What the symbols of an image say: spans to count, places to stop at, functions.
use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context as _, ensure};
use object::{Object as _, ObjectSymbol as _, SymbolKind};

/// The symbols of an image.
pub struct Image {
    labels: BTreeMap<String, u64>,
    /// First address, first address after it, name.
    functions: Vec<(u64, u64, String)>,
}

impl Image {
    /// Reads the symbols of `elf`.
    pub fn read(elf: &Path) -> anyhow::Result<Self> {
        let bytes = std::fs::read(elf).with_context(|| format!("cannot read {}", elf.display()))?;
        let file = object::File::parse(&*bytes).with_context(|| format!("{} is no ELF file", elf.display()))?;
        let mut labels = BTreeMap::new();
        let mut functions = Vec::new();
        for symbol in file.symbols() {
            let Ok(name) = symbol.name() else { continue };
            // The lowest bit of a function's address says that its code is Thumb code.
            let begin = symbol.address() & !1;
            labels.insert(name.to_owned(), begin);
            if symbol.kind() == SymbolKind::Text && symbol.size() > 0 {
                functions.push((begin, begin + symbol.size(), name.to_owned()));
            }
        }
        functions.sort();
        // Two names of one function.
        functions.dedup_by_key(|(begin, ..)| *begin);
        Ok(Self { labels, functions })
    }

    /// The spans that the labels of the image name, as arguments of the plugin.
    pub fn spans(&self) -> anyhow::Result<Vec<String>> {
        let mut found = Vec::new();
        for kind in ["span", "total", "since"] {
            for (label, begin) in &self.labels {
                let Some(name) = label.strip_prefix(&format!("{kind}_begin_")) else { continue };
                let end = self.labels.get(&format!("{kind}_end_{name}"));
                let end = end.with_context(|| format!("{kind} {name} has no end"))?;
                found.push(format!("{kind}={name}:{begin:x}:{end:x}"));
            }
        }
        ensure!(!found.is_empty(), "the image has no span");
        Ok(found)
    }

    /// The address of the only symbol in whose name these words occur; the compiler adds its own before and after.
    pub fn address(&self, words: &str) -> anyhow::Result<u64> {
        let mut found = self.labels.iter().filter(|(name, _)| name.contains(words)).map(|(_, address)| *address);
        let address = found.next().with_context(|| format!("the image has no symbol {words}"))?;
        ensure!(found.all(|other| other == address), "the image has several symbols {words}");
        Ok(address)
    }

    /// The functions, a line each, as the plugin reads them.
    pub fn function_list(&self) -> String {
        self.functions.iter().map(|(begin, end, _)| format!("{begin:x} {end:x}\n")).collect()
    }

    /// The function at an address, as it was written.
    pub fn function(&self, address: u64) -> Option<String> {
        let after = self.functions.partition_point(|(begin, ..)| *begin <= address);
        let (_, end, name) = self.functions.get(after.checked_sub(1)?)?;
        (address < *end).then(|| short(&format!("{:#}", rustc_demangle::demangle(name))))
    }
}

/// A name without the parameters of generics, which are the same all over a program, and without the ways to types.
fn short(name: &str) -> String {
    let mut depth = 0_u32;
    let mut text = String::new();
    let mut before = ' ';
    for letter in name.chars() {
        match letter {
            '<' => depth += 1,
            // Not the arrow of what a function returns.
            '>' if before != '-' => depth = depth.saturating_sub(1),
            _ if depth == 0 => text.push(letter),
            _ => {}
        }
        before = letter;
    }
    if text.is_empty() || text.starts_with("::") { name.to_owned() } else { text.replace("::::", "::") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image() -> Image {
        let labels =
            [("span_begin_a", 4), ("span_end_a", 8), ("_RNv7urgent_doorbell", 12), ("one", 1), ("one_more", 2)];
        let functions = vec![(4, 8, "send".to_owned()), (12, 20, "urgent".to_owned())];
        Image { labels: labels.map(|(name, at)| (name.to_owned(), at)).into(), functions }
    }

    #[test]
    fn labels_name_spans_and_a_span_without_end_is_an_error() {
        assert_eq!(image().spans().unwrap(), ["span=a:4:8"]);
        let mut half = image();
        half.labels.remove("span_end_a");
        assert!(half.spans().unwrap_err().to_string().contains("has no end"));
    }

    #[test]
    fn a_symbol_is_found_by_its_words_if_only_one_has_them() {
        assert_eq!(image().address("urgent_doorbell").unwrap(), 12);
        assert!(image().address("one").is_err() && image().address("three").is_err());
    }

    #[test]
    fn a_function_is_known_by_any_of_its_addresses() {
        assert_eq!(image().function(19).as_deref(), Some("urgent"));
        assert_eq!((image().function(20), image().function(2)), (None, None));
        assert_eq!(image().function_list(), "4 8\nc 14\n");
    }

    #[test]
    fn names_are_shown_without_their_parameters() {
        assert_eq!(short("agent::Agents<Chip, 4>::event"), "agent::Agents::event");
        assert_eq!(short("<agent::Agents<Chip, 4> as Sections>::send"), "<agent::Agents<Chip, 4> as Sections>::send");
    }
}

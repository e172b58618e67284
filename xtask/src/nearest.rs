//! "Did you mean ...?" for a mistyped name.

/// The candidate nearest to `typed`, if any is near enough to be what was meant.
pub fn nearest<'a>(typed: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let typed = typed.to_lowercase();
    let ranked = candidates.into_iter().map(|name| (distance(&typed, name), name));
    let (distance, name) = ranked.min_by_key(|(distance, _)| *distance)?;
    (distance <= name.len().div_ceil(2)).then_some(name)
}

/// The number of letters to insert, delete or replace (Levenshtein), one row at a time.
fn distance(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (i, letter) in from.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, wanted) in to.iter().enumerate() {
            let replaced = diagonal + usize::from(letter != *wanted);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: [&str; 4] = ["core", "target", "host", "lint"];

    #[test]
    fn a_mistyped_name_suggests_the_nearest() {
        assert_eq!(nearest("traget", NAMES), Some("target"));
        assert_eq!(nearest("CORE", NAMES), Some("core"));
        assert_eq!(nearest("lin", NAMES), Some("lint"));
    }

    #[test]
    fn a_name_unlike_all_others_suggests_nothing() {
        assert_eq!(nearest("hallucinate", NAMES), None);
        assert_eq!(nearest("core", []), None);
    }

    #[test]
    fn distance_counts_insertions_deletions_and_replacements() {
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("same", "same"), 0);
    }
}

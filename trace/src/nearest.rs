//! "Did you mean ...?" for a mistyped name.

/// `; did you mean NAME?` if one of the candidates is near enough to be what was meant, otherwise nothing.
#[must_use]
pub fn did_you_mean<'a>(typed: &str, candidates: impl IntoIterator<Item = &'a str>) -> String {
    nearest(typed, candidates).map(|name| format!("; did you mean {name}?")).unwrap_or_default()
}

/// The candidate nearest to `typed`, if any is near enough to be what was meant.
#[must_use]
pub fn nearest<'a>(typed: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wanted = typed.to_lowercase();
    let ranked = candidates.into_iter().map(|name| (strsim::osa_distance(&wanted, &name.to_lowercase()), name));
    let (distance, name) = ranked.min_by_key(|(distance, _)| *distance)?;
    (distance * 2 <= name.chars().count().max(2)).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mistyped_name_suggests_the_nearest_and_a_foreign_one_nothing() {
        let names = ["left0", "left1", "right0"];
        assert_eq!(nearest("lfet1", names), Some("left1"));
        assert_eq!(nearest("RIGHT0", names), Some("right0"));
        assert_eq!(nearest("producer", names), None);
        assert_eq!(did_you_mean("left", names), "; did you mean left0?");
        assert_eq!(did_you_mean("left", []), "");
    }
}

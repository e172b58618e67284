//! Has a count grown over the recorded one?
use anyhow::{Context as _, bail};

use super::Record;

/// Growth of a count over the recorded one that is let pass, in percent.
const TOLERANCE: f64 = 5.0;

/// Fails for every count of `measured` that grew by more than the tolerance, or that cannot be compared.
pub fn compare(measured: &Record, recorded: &Record) -> anyhow::Result<()> {
    let mut complaints = Vec::new();
    for (which, section) in &measured.sections {
        let name = which.name();
        let before = recorded.sections.get(which);
        let before = before.with_context(|| format!("`{name}` was never recorded: run `cargo xtask bench {name}`"))?;
        for (what, now) in &section.counts {
            match before.counts.get(what).and_then(|count| Some((count, count.as_f64()?, now.as_f64()?))) {
                Some((shown, before, after)) if has_grown(before, after) => {
                    complaints.push(format!("{name}: {what}: {shown} -> {now}"));
                }
                Some(_) => {}
                None => complaints.push(format!("{name}: {what}: {now}, and never recorded")),
            }
        }
        let gone = before.counts.keys().filter(|what| !section.counts.contains_key(*what));
        complaints.extend(gone.map(|what| format!("{name}: {what}: recorded, and no longer measured")));
    }
    if complaints.is_empty() {
        return Ok(());
    }
    bail!(
        "counts have grown by more than {TOLERANCE}% over bench/recorded.json (if that is meant, record them anew with \
         `cargo xtask bench`):\n  {}",
        complaints.join("\n  ")
    )
}

fn has_grown(before: f64, after: f64) -> bool {
    after * 100.0 > before * (100.0 + TOLERANCE)
}

#[cfg(test)]
mod tests {
    use super::super::{Section, Which};
    use super::*;

    fn record(count: u64) -> Record {
        let counts = [("a thing".to_owned(), count.into()), ("another".to_owned(), 7.into())].into();
        Record { sections: [(Which::Target, Section { counts, ..Section::default() })].into() }
    }

    #[test]
    fn growth_of_six_percent_fails_and_is_named_and_five_passes() {
        assert!(compare(&record(105), &record(100)).is_ok());
        let error = compare(&record(106), &record(100)).unwrap_err().to_string();
        assert!(error.contains("target: a thing: 100 -> 106") && !error.contains("another"), "{error}");
    }

    #[test]
    fn what_became_cheaper_passes_and_what_became_more_than_nothing_does_not() {
        assert!(compare(&record(50), &record(100)).is_ok());
        assert!(compare(&record(1), &record(0)).is_err());
    }

    #[test]
    fn a_count_that_was_never_recorded_or_is_gone_cannot_pass_unseen() {
        let error = compare(&record(1), &Record::default()).unwrap_err().to_string();
        assert!(error.contains("cargo xtask bench target"), "{error}");
        let mut renamed = record(100);
        let counts = &mut renamed.sections.get_mut(&Which::Target).unwrap().counts;
        let count = counts.remove("a thing").unwrap();
        counts.insert("a new name".into(), count);
        let error = compare(&renamed, &record(100)).unwrap_err().to_string();
        assert!(
            error.contains("a new name: 100, and never recorded") && error.contains("a thing: recorded"),
            "{error}"
        );
    }

    #[test]
    fn only_the_sections_that_were_measured_are_compared() {
        let mut recorded = record(100);
        recorded.sections.insert(Which::Host, record(1).sections.remove(&Which::Target).unwrap());
        assert!(compare(&record(100), &recorded).is_ok());
    }
}

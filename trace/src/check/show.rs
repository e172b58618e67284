//! Reports as people read them.
use super::report::{First, Outcome, Report, Verdict};
use std::fmt;

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for note in &self.notes {
            writeln!(f, "trace: {note}")?;
        }
        for check in &self.checks {
            write!(f, "{check}")?;
        }
        if let Some(First { place, what }) = self.first.as_ref().filter(|_| self.count(Verdict::Fails) > 1) {
            writeln!(f, "first of all: {what}  ({place})")?;
        }
        write!(f, "{} of {} checks hold", self.count(Verdict::Holds), self.checks.len())?;
        for (verdict, what) in [(Verdict::Fails, "fail"), (Verdict::Unknown, "cannot be told")] {
            match self.count(verdict) {
                0 => {}
                count => write!(f, ", {count} {what}")?,
            }
        }
        writeln!(f)
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = match self.verdict {
            Verdict::Holds => "holds",
            Verdict::Fails => "FAILS",
            Verdict::Unknown => "cannot tell",
        };
        let Self { place, text, events, failed, unknown, .. } = self;
        write!(f, "{place}  {word}  {text}  ({events} events")?;
        for (count, what) in [(*failed, "wrong"), (*unknown, "unknown")] {
            if count > 0 {
                write!(f, ", {count} {what}")?;
            }
        }
        writeln!(f, ")")?;
        for failure in &self.failures {
            writeln!(f, "  {}", failure.what)?;
            for event in &failure.events {
                write!(f, "{event}")?;
            }
        }
        if *failed > self.failures.len() as u64 {
            writeln!(f, "  and {} more", failed - self.failures.len() as u64)?;
        }
        for reason in &self.reasons {
            writeln!(f, "  unknown: {reason}")?;
        }
        for remark in &self.remarks {
            writeln!(f, "  {remark}")?;
        }
        Ok(())
    }
}

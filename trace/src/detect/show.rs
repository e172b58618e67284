//! What was detected, as people read it.
use super::{Answer, Asked, Detection};
use std::fmt;

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Yes => "yes",
            Self::No => "no",
            Self::Unknown => "cannot tell",
        })
    }
}

impl fmt::Display for Detection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for note in &self.notes {
            writeln!(f, "trace: {note}")?;
        }
        writeln!(f, "{}", self.expression)?;
        match (self.asked, self.possibly) {
            (Asked::AtOnce, _) => writeln!(f, "possibly: {}   definitely: {}", self.possibly, self.definitely)?,
            (_, Answer::No) => writeln!(f, "never happened in this recording")?,
            (_, Answer::Unknown) => writeln!(f, "cannot tell")?,
            (Asked::Concurrent, _) => writeln!(f, "concurrent, {} times", self.total)?,
            (Asked::Happened, _) => writeln!(f, "happened {} times", self.total)?,
        }
        let several = self.found.len() > 1;
        for (at, sighting) in self.found.iter().enumerate() {
            match self.asked {
                Asked::AtOnce if several => writeln!(f, "  {}, at the earliest here", sighting.what)?,
                Asked::AtOnce => writeln!(f, "  at the earliest here")?,
                _ if several => writeln!(f, "  {}", at + 1)?,
                _ => {}
            }
            for event in &sighting.events {
                write!(f, "{event}")?;
            }
            if !sighting.before_all.is_empty() {
                writeln!(f, "    before anything that {} did", sighting.before_all.join(", "))?;
            }
        }
        if self.asked != Asked::AtOnce && self.total > self.found.len() as u64 {
            writeln!(f, "  and {} more", self.total - self.found.len() as u64)?;
        }
        for reason in &self.reasons {
            writeln!(f, "  unknown: {reason}")?;
        }
        Ok(())
    }
}

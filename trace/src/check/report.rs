//! What a check found.
use crate::History;
use crate::shown::Shown;
use serde::Serialize;

/// Whether what was expected holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It holds for everything that was recorded.
    Holds,
    /// It does not.
    Fails,
    /// The trace does not say enough.
    Unknown,
}

/// Everything that was checked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Report {
    /// Each check, in the order of the model.
    pub checks: Vec<Outcome>,
    /// Of all that is wrong, what comes first in the order of the trace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first: Option<First>,
    /// What is missing or broken in the trace.
    pub notes: Vec<String>,
}

impl Report {
    /// How many checks came out so.
    #[must_use]
    pub fn count(&self, verdict: Verdict) -> usize {
        self.checks.iter().filter(|check| check.verdict == verdict).count()
    }
}

/// The first thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct First {
    /// Where the check stands: `ring.model:3`.
    pub place: String,
    /// What is wrong.
    pub what: String,
}

impl First {
    /// The finding whose last event comes first: only with that event it is wrong.
    pub(super) fn of(checks: &[Outcome], history: &History) -> Option<Self> {
        let at = |finding: &Finding| finding.about.or_else(|| history.index_of(finding.events.first()?.id));
        let all = checks.iter().flat_map(|check| check.failures.iter().map(move |finding| (check, finding)));
        // Of two that are wrong with one event, the one that is about it.
        let is_about_another = |finding: &Finding, at: usize| {
            finding.events.first().is_none_or(|event| history.index_of(event.id) != Some(at))
        };
        let key = |finding: &Finding| {
            let at = at(finding).unwrap_or(usize::MAX);
            (at, is_about_another(finding, at))
        };
        let (check, finding) = all.min_by_key(|(_, finding)| key(finding))?;
        Some(Self { place: check.place.clone(), what: finding.what.clone() })
    }
}

/// What one check found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Outcome {
    /// Where it stands: `ring.model:3`.
    pub place: String,
    /// As it is written.
    pub text: String,
    /// Whether it holds.
    pub verdict: Verdict,
    /// How many events were looked at.
    pub events: u64,
    /// How many of them are wrong.
    pub failed: u64,
    /// Of how many it cannot be told.
    pub unknown: u64,
    /// The first of what is wrong.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<Finding>,
    /// Why some cannot be told.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<String>,
    /// What else there is to say.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<String>,
}

/// Something that is wrong, and the events that show it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// What.
    pub what: String,
    /// The events.
    pub events: Vec<Shown>,
    /// The place in the trace of the event with which it became wrong.
    #[serde(skip)]
    pub about: Option<usize>,
}

impl Outcome {
    pub(super) fn new(place: String, text: String) -> Self {
        Self {
            place,
            text,
            verdict: Verdict::Holds,
            events: 0,
            failed: 0,
            unknown: 0,
            failures: Vec::new(),
            reasons: Vec::new(),
            remarks: Vec::new(),
        }
    }

    /// Notes something that is wrong; `show` is asked for it only as long as it will be shown.
    pub(super) fn fail(&mut self, most: usize, show: impl FnOnce() -> Finding) {
        self.failed += 1;
        if self.failures.len() < most {
            self.failures.push(show());
        }
    }

    /// Notes that something cannot be told.
    pub(super) fn cannot_tell(&mut self, why: String) {
        self.unknown += 1;
        if !self.reasons.contains(&why) {
            self.reasons.push(why);
        }
    }

    /// A failure is certain, whatever else is not known.
    pub(super) fn settle(&mut self) {
        self.verdict = match (self.failed, self.unknown) {
            (0, 0) => Verdict::Holds,
            (0, _) => Verdict::Unknown,
            _ => Verdict::Fails,
        };
    }
}

impl Finding {
    /// What shows it in a picture.
    #[must_use]
    pub fn evidence(&self) -> crate::show::Evidence {
        let events = self.events.iter().map(|event| (event.id, event.beside())).collect();
        crate::show::Evidence { what: self.what.clone(), events, unordered: true }
    }
}

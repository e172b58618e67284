//! What may be wrong around the boards, found out one check at a time.
//!
//! A [`Check`] looks at the [`Surroundings`] and returns [`Finding`]s; each says what is as it should be, or what is wrong and
//! the command that mends it. A new check is a file here and a line in [`CHECKS`]. None of them changes anything.
mod boards;
mod firmware;
mod leftovers;
mod probes;
mod qemu;
mod state;
mod surroundings;
mod system_file;
mod toolchain;
mod usb;

pub use leftovers::{Leftover, leftovers};
pub use surroundings::{Answer, Surroundings};

use serde::Serialize;

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// As it should be.
    Ok,
    /// Not as it could be, but nothing of this system needs it.
    Note,
    /// Something will not work.
    Wrong,
}

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The check that found it.
    pub check: &'static str,
    /// How it stands.
    pub verdict: Verdict,
    /// What was found.
    pub what: String,
    /// The command that mends it, or what to do where no command can.
    pub fix: Option<String>,
}

impl Finding {
    /// As it should be.
    pub fn ok(check: &'static str, what: impl Into<String>) -> Self {
        Self { check, verdict: Verdict::Ok, what: what.into(), fix: None }
    }

    /// Worth knowing, not wrong.
    pub fn note(check: &'static str, what: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { check, verdict: Verdict::Note, what: what.into(), fix: Some(fix.into()) }
    }

    /// Wrong, and what mends it.
    pub fn wrong(check: &'static str, what: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { check, verdict: Verdict::Wrong, what: what.into(), fix: Some(fix.into()) }
    }

    /// Wrong if it is needed, otherwise worth knowing.
    fn missing(check: &'static str, needed: bool, what: impl Into<String>, fix: impl Into<String>) -> Self {
        let verdict = if needed { Verdict::Wrong } else { Verdict::Note };
        Self { verdict, ..Self::wrong(check, what, fix) }
    }
}

/// Something that can be looked at.
pub trait Check: Sync {
    /// What it looks at, in a word or two.
    fn name(&self) -> &'static str;
    /// Looks.
    fn findings(&self, around: &Surroundings) -> Vec<Finding>;
}

/// Every check, in the order in which one would mend things.
pub const CHECKS: &[&dyn Check] = &[
    &system_file::SystemFileCheck,
    &state::StateCheck,
    &leftovers::LeftoversCheck,
    &qemu::QemuCheck,
    &probes::ProbesCheck,
    &usb::UsbCheck,
    &toolchain::ToolchainCheck,
    &firmware::FirmwareCheck,
    &boards::BoardsCheck,
];

/// Runs every check.
#[must_use]
pub fn examine(around: &Surroundings) -> Vec<Finding> {
    CHECKS.iter().flat_map(|check| check.findings(around)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn every_check_has_its_own_name_and_finds_something_to_say() {
        let fake = surroundings::Fake::new();
        let names: HashSet<&str> = CHECKS.iter().map(|check| check.name()).collect();
        assert_eq!(names.len(), CHECKS.len());
        for check in CHECKS {
            let findings = check.findings(&fake.around());
            assert!(findings.iter().all(|finding| finding.check == check.name()), "{findings:?}");
        }
        for finding in examine(&fake.around()) {
            assert_eq!(
                finding.fix.is_none(),
                finding.verdict == Verdict::Ok,
                "{finding:?} says what to do, unless all is well"
            );
        }
    }
}

//! Whether the probes of the system file are plugged in.
use super::{Check, Finding, Surroundings};
use crate::config::ProbeConfig;

pub(super) struct ProbesCheck;

impl Check for ProbesCheck {
    fn name(&self) -> &'static str {
        "probes"
    }

    fn findings(&self, around: &Surroundings) -> Vec<Finding> {
        let name = self.name();
        let connected: Vec<String> = around.probes.iter().map(ToString::to_string).collect();
        let connected = if connected.is_empty() {
            "none is connected".into()
        } else {
            format!("connected: {}", connected.join(", "))
        };
        let wanted = around.boards().iter().filter_map(|board| match &board.probe {
            ProbeConfig::Probe { selector, .. } => Some((board, selector)),
            ProbeConfig::Qemu => None,
        });
        let findings: Vec<Finding> = wanted
            .map(|(board, selector)| {
                let matching: Vec<_> = around.probes.iter().filter(|probe| probe.is(selector)).collect();
                match matching.as_slice() {
                    [probe] => Finding::ok(name, format!("board {}: {probe}", board.name)),
                    [] if !cfg!(feature = "hardware") => {
                        let what = format!("board {}: this build has no drivers for probes", board.name);
                        Finding::wrong(name, what, "cargo install --path host --features hardware")
                    }
                    [] => {
                        let what = format!("board {}: no probe {selector}; {connected}", board.name);
                        let fix = format!("plug it in, or change `probe` of board {} (`stillpoint init --stdout` shows what is there)", board.name);
                        Finding::wrong(name, what, fix)
                    }
                    several => {
                        let what = format!("board {}: {} probes are {selector}", board.name, several.len());
                        let fix = format!("change `probe` of board {} to {:?}, with its serial number", board.name, several[0].selector);
                        Finding::wrong(name, what, fix)
                    }
                }
            })
            .collect();
        if findings.is_empty() {
            vec![Finding::ok(name, format!("{connected}; no board here needs one"))]
        } else {
            findings
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Verdict;
    use super::super::surroundings::Fake;
    use super::*;

    fn one(fake: &Fake) -> Finding {
        ProbesCheck.findings(&fake.around()).remove(0)
    }

    #[test]
    fn no_probe_is_needed_where_every_board_is_emulated() {
        let found = one(&Fake::new().board("A", "mps2-an521", "qemu"));
        assert_eq!((found.verdict, found.what.as_str()), (Verdict::Ok, "none is connected; no board here needs one"));
    }

    #[test]
    #[cfg(feature = "hardware")]
    fn a_probe_that_is_missing_or_ambiguous_is_wrong_and_what_is_there_is_named() {
        let fake = || Fake::new().board("A", "RP235x", "2e8a:000c");
        let there = one(&fake().probe("Debugprobe", "2E8A:000C:E6"));
        assert_eq!((there.verdict, there.what.as_str()), (Verdict::Ok, "board A: Debugprobe (2E8A:000C:E6)"));
        let gone = one(&fake().probe("J-Link", "1366:0101:1"));
        assert_eq!(gone.verdict, Verdict::Wrong);
        assert!(gone.what.contains("no probe 2e8a:000c; connected: J-Link (1366:0101:1)"), "{gone:?}");
        let two = one(&fake().probe("Debugprobe", "2e8a:000c:E6").probe("Debugprobe", "2e8a:000c:E7"));
        assert!(two.what.contains("2 probes are 2e8a:000c") && two.fix.unwrap().contains("2e8a:000c:E6"));
    }
}

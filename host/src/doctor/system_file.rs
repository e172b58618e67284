//! Whether there is a system file, and whether the chips in it are known.
use super::{Check, Finding, Surroundings};
use crate::chip::Chip;
use crate::config::ConfigError;

pub(super) struct SystemFileCheck;

impl Check for SystemFileCheck {
    fn name(&self) -> &'static str {
        "system file"
    }

    fn findings(&self, around: &Surroundings) -> Vec<Finding> {
        let name = self.name();
        let file = match &around.system {
            Ok(file) => file,
            Err(ConfigError::NotFound(folder)) => {
                let what = format!("no stillpoint.toml in {} or the folders above it", folder.display());
                return vec![Finding::wrong(name, what, "stillpoint init")];
            }
            Err(error) => {
                let fix = "mend the line it names, or write a new one with `stillpoint init --force`";
                return vec![Finding::wrong(name, error.to_string(), fix)];
            }
        };
        let count = |number: usize, one: &str| format!("{number} {one}{}", if number == 1 { "" } else { "s" });
        let (boards, links) = (count(file.boards.len(), "board"), count(file.links.len(), "link"));
        let mut findings = vec![Finding::ok(name, format!("{}: {boards}, {links}", file.path.display()))];
        for board in &file.boards {
            let cores = match Chip::of(board) {
                Ok(chip) => chip.cores,
                Err(error) => {
                    let fix = format!("change `chip` of board {} in {}", board.name, file.path.display());
                    findings.push(Finding::wrong(name, format!("board {}: {error}", board.name), fix));
                    continue;
                }
            };
            if board.nodes.len() > cores {
                let what = format!(
                    "board {} names {} nodes, and {} has {cores} cores",
                    board.name,
                    board.nodes.len(),
                    board.chip
                );
                findings.push(Finding::wrong(
                    name,
                    what,
                    format!("remove names from `nodes` in {}", file.path.display()),
                ));
            }
        }
        findings
    }
}

#[cfg(test)]
mod tests {
    use super::super::Verdict;
    use super::super::surroundings::Fake;
    use super::*;

    fn find(fake: &Fake) -> Vec<Finding> {
        SystemFileCheck.findings(&fake.around())
    }

    #[test]
    fn without_a_system_file_init_is_the_fix() {
        let found = find(&Fake::new());
        assert_eq!((found[0].verdict, found[0].fix.as_deref()), (Verdict::Wrong, Some("stillpoint init")));
    }

    #[test]
    fn a_file_that_does_not_parse_is_blamed_at_its_line() {
        let found = find(&Fake::new().file("stillpoint.toml", "[[board]]\nname = 3\n"));
        assert!(found[0].what.contains("stillpoint.toml:2:8"), "{found:?}");
        assert!(found[0].fix.as_ref().unwrap().contains("init --force"));
    }

    #[cfg(feature = "qemu")]
    #[test]
    fn a_chip_that_nobody_knows_and_more_nodes_than_cores_are_wrong() {
        let good = Fake::new().board("A", "mps2-an521", "qemu");
        assert_eq!(find(&good).iter().map(|found| found.verdict).collect::<Vec<_>>(), [Verdict::Ok]);
        let found = find(&Fake::new().board("A", "mps2-an512", "qemu"));
        assert!(found[1].what.contains("did you mean mps2-an521?"), "{found:?}");
        let text = "[[board]]\nname = \"A\"\nchip = \"mps2-an521\"\nprobe = \"qemu\"\nfirmware = \"f\"\nnodes = [\"a\", \"b\", \"c\"]\n";
        let found = find(&Fake::new().file("stillpoint.toml", text));
        assert!(found[1].what.contains("names 3 nodes, and mps2-an521 has 2 cores"), "{found:?}");
    }
}

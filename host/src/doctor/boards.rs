//! Whether the boards are up, and what is on them is what the system file says.
use super::{Check, Finding, Surroundings};
use crate::config::BoardConfig;
use crate::{Board, OpenCause, OpenError, SessionError, System};

pub(super) struct BoardsCheck;

impl Check for BoardsCheck {
    fn name(&self) -> &'static str {
        "boards"
    }

    fn findings(&self, around: &Surroundings) -> Vec<Finding> {
        let Ok(file) = &around.system else { return Vec::new() };
        let boards = file.boards.iter().zip(System::open_each(file));
        boards.filter_map(|(config, board)| self.of(config, board)).collect()
    }
}

/// The name of a node that has crashed, and why.
fn crash(board: &mut Board, core: usize) -> Option<String> {
    let fault = board.node(core).ok()?.fault?;
    let why = fault.describe(board.memory()).unwrap_or_else(|error| error.to_string());
    Some(format!("{} ({why})", board.node_name(core)))
}

impl BoardsCheck {
    /// What is to say of a board; nothing if another check says it.
    fn of(&self, config: &BoardConfig, board: Result<Board, OpenError>) -> Option<Finding> {
        let name = &config.name;
        let cause = match board {
            Ok(mut board) => {
                let nodes = board.cores();
                let crashed: Vec<String> = (0..nodes).filter_map(|core| crash(&mut board, core)).collect();
                if !crashed.is_empty() {
                    let what = format!("board {name}: runs this firmware, which has crashed: {}", crashed.join(", "));
                    return Some(Finding::wrong(self.name(), what, format!("stillpoint reset {name}")));
                }
                let nodes = if nodes == 1 { "1 node".into() } else { format!("{nodes} nodes") };
                let left = |core: &usize| {
                    format!("; core {core} was left stopped by a debugger that was killed; it runs again")
                };
                let left: String = board.released().iter().map(left).collect();
                return Some(Finding::ok(self.name(), format!("board {name}: runs this firmware, {nodes}{left}")));
            }
            Err(error) => error.cause,
        };
        let what = format!("board {name}: {}", cause.to_string().lines().next().unwrap_or_default());
        let wrong = |fix: &str| Some(Finding::wrong(self.name(), what.clone(), fix));
        match &cause {
            // Said by the checks of system file, firmware, probes and state folder.
            OpenCause::Config(_) | OpenCause::Firmware(_) => None,
            OpenCause::Session(SessionError::Chip(_) | SessionError::NoProbe { .. } | SessionError::State(_)) => None,
            // A board that is off is no fault of its surroundings.
            OpenCause::Session(SessionError::Down(_)) => {
                Some(Finding::note(self.name(), what, "stillpoint up && stillpoint flash"))
            }
            OpenCause::Session(SessionError::Ended(_)) => {
                Some(Finding::note(self.name(), what, "stillpoint down && stillpoint up && stillpoint flash"))
            }
            OpenCause::Session(SessionError::Lock(_)) => {
                Some(Finding::note(self.name(), what, "wait until that ends, or end it"))
            }
            OpenCause::Session(SessionError::NotBuiltIn(feature)) => {
                wrong(&format!("cargo install --path host --features {feature}"))
            }
            OpenCause::OtherImage(_) | OpenCause::Blank => wrong(&format!("stillpoint flash {name}")),
            OpenCause::Stopped => wrong("stillpoint run"),
            OpenCause::Board(_) => wrong(&format!("stillpoint reset {name}")),
            OpenCause::Session(_) => wrong("check power and cable, then `stillpoint status`"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Verdict;
    use super::super::surroundings::Fake;
    use super::*;
    use crate::LockError;

    fn judged(cause: OpenCause) -> Option<Finding> {
        let around = Fake::new().board("A", "mps2-an521", "qemu").around();
        BoardsCheck.of(&around.boards()[0], Err(OpenError { board: "A".into(), cause }))
    }

    #[test]
    fn every_way_not_to_be_attached_has_its_command() {
        let fix = |cause| judged(cause).and_then(|finding| finding.fix);
        assert_eq!(fix(OpenCause::Blank).as_deref(), Some("stillpoint flash A"));
        assert_eq!(fix(OpenCause::OtherImage("x".into())).as_deref(), Some("stillpoint flash A"));
        assert_eq!(fix(OpenCause::Stopped).as_deref(), Some("stillpoint run"));
        let down = judged(OpenCause::Session(SessionError::Down("it was not started".into()))).unwrap();
        assert_eq!((down.verdict, down.fix.as_deref()), (Verdict::Note, Some("stillpoint up && stillpoint flash")));
        let used = LockError::InUse { holder: "process 1".into() };
        assert_eq!(judged(OpenCause::Session(SessionError::Lock(used))).unwrap().verdict, Verdict::Note);
    }

    #[test]
    fn what_another_check_says_is_not_said_twice() {
        assert_eq!(judged(OpenCause::Session(SessionError::Chip("no chip".into()))), None);
    }
}

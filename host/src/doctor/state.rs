//! Whether there is a place for machines and locks.
use super::{Check, Finding, Surroundings};
use crate::state::{StateError, check_private};
use std::os::unix::ffi::OsStrExt as _;

pub(super) struct StateCheck;

/// A socket's path has at most so many bytes on Linux.
const LONGEST_SOCKET: usize = 107;
/// What follows the folder in the path of a board's socket: the system's folder, the longest name of a board, the socket.
const BEHIND: usize = "/0123456789abcdef/".len() + 32 + "/qmp.sock".len();
const ELSEWHERE: &str = "export STILLPOINT_STATE=$HOME/.stillpoint";

impl Check for StateCheck {
    fn name(&self) -> &'static str {
        "state folder"
    }

    fn findings(&self, around: &Surroundings) -> Vec<Finding> {
        let (path, name) = (&around.state, self.name());
        // What does not exist is made when it is needed: then the nearest folder above must allow it.
        let existing = path.ancestors().find(|folder| folder.symlink_metadata().is_ok()).unwrap_or(path);
        let private = path.symlink_metadata().ok().map_or(Ok(()), |meta| check_private(path, &meta));
        match private {
            Err(StateError::Open { mode, .. }) => {
                let what = format!("other users can write to {} (mode {mode:03o})", path.display());
                return vec![Finding::wrong(name, what, format!("chmod 700 {}", path.display()))];
            }
            Err(_) => {
                let what = format!("{} is no folder of this user", path.display());
                return vec![Finding::wrong(name, what, ELSEWHERE)];
            }
            Ok(()) => {}
        }
        let probe = existing.join(format!(".stillpoint-doctor-{}", std::process::id()));
        if let Err(error) = std::fs::write(&probe, "") {
            return vec![Finding::wrong(name, format!("cannot write to {}: {error}", existing.display()), ELSEWHERE)];
        }
        // Only this process knows the name; what cannot be removed could not have been made.
        let _ = std::fs::remove_file(&probe);
        if path.as_os_str().as_bytes().len() + BEHIND > LONGEST_SOCKET {
            let what = format!("{} is so long that sockets in it may not be found", path.display());
            return vec![Finding::missing(
                name,
                around.emulates(),
                what,
                "export STILLPOINT_STATE=/tmp/stillpoint-$USER",
            )];
        }
        vec![Finding::ok(name, format!("{} can be written", path.display()))]
    }
}

#[cfg(test)]
mod tests {
    use super::super::Verdict;
    use super::super::surroundings::Fake;
    use super::*;
    use std::path::PathBuf;

    fn at(state: PathBuf) -> Finding {
        let fake = Fake::new().board("A", "mps2-an521", "qemu");
        StateCheck.findings(&Surroundings { state, ..fake.around() }).remove(0)
    }

    #[test]
    fn a_folder_that_can_be_made_is_well_and_is_not_made() {
        let fake = Fake::new();
        let found = at(fake.path("new"));
        assert_eq!(found.verdict, Verdict::Ok, "{found:?}");
        assert!(!fake.path("new").exists());
        assert_eq!(std::fs::read_dir(fake.path("")).unwrap().count(), 1, "only the folder of programs is there");
    }

    #[test]
    fn a_file_in_its_place_a_place_that_cannot_be_and_a_long_path_are_wrong() {
        let fake = Fake::new().file("file", "");
        assert!(at(fake.path("file")).what.contains("is no folder of this user"));
        assert_eq!(at("/proc/no/such".into()).verdict, Verdict::Wrong);
        let found = at(fake.path(&"long".repeat(20)));
        assert!(found.what.contains("so long that sockets"), "{found:?}");
    }
}

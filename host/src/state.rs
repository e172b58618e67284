//! Where the tool keeps what must outlive one command: the machines of emulated boards, and locks.
use crate::config::{BoardConfig, ProbeConfig, SystemFile};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

/// Why there is no place to keep anything.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// The folder cannot be made.
    #[error("cannot make {path}: {source}; name another folder in STILLPOINT_STATE", path = path.display())]
    Make {
        /// Which folder.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Somebody else has made the folder.
    #[error("{path} belongs to another user; name another folder in STILLPOINT_STATE", path = .0.display())]
    Foreign(PathBuf),
    /// Other users can write to the folder.
    #[error(
        "other users can write to {path} (mode {mode:03o}), and so change what is kept there; run `chmod 700 {path}`, or \
         name another folder in STILLPOINT_STATE",
        path = path.display()
    )]
    Open {
        /// Which folder.
        path: PathBuf,
        /// Its permissions.
        mode: u32,
    },
}

/// The folder of one system, in `$STILLPOINT_STATE`, `$XDG_RUNTIME_DIR/stillpoint` or `/tmp/stillpoint-UID`.
///
/// It is named after the path of the system file, so that two systems never meet, and lies where paths are short: a socket
/// cannot have a long one.
#[derive(Clone, Debug)]
pub struct StateDir {
    common: PathBuf,
    system: PathBuf,
}

impl StateDir {
    /// The folder for this system file, made if needed, readable by this user only.
    pub fn of(file: &SystemFile) -> Result<Self, StateError> {
        let common = Self::root();
        let system = common.join(Self::name_of(&file.path));
        make_private(&common)?;
        make_private(&system)?;
        Ok(Self { common, system })
    }

    /// The folder of a system whose path is known already.
    pub(crate) fn at(system: &Path) -> Self {
        Self { common: system.parent().unwrap_or(system).to_owned(), system: system.to_owned() }
    }

    /// Its path.
    pub(crate) fn folder(&self) -> &Path {
        &self.system
    }

    /// The folder in which the folders of all systems are; it need not exist.
    #[must_use]
    pub fn root() -> PathBuf {
        root_of_this_user()
    }

    /// The name of the folder of one system below [`StateDir::root`].
    #[must_use]
    pub fn name_of(system_file: &Path) -> String {
        let path = system_file.canonicalize().unwrap_or_else(|_| system_file.to_owned());
        format!("{:016x}", hash(path.as_os_str().as_bytes()))
    }

    /// The run directory of an emulated board.
    #[must_use]
    pub fn machine(&self, board: &BoardConfig) -> PathBuf {
        self.system.join(&board.name)
    }

    /// The file that remembers what was written for each breakpoint: the boards know only its programs.
    #[must_use]
    pub fn breakpoints(&self) -> PathBuf {
        self.system.join("breakpoints.json")
    }

    /// The file that remembers what was chosen to be recorded while the boards ran.
    #[must_use]
    pub fn recording(&self) -> PathBuf {
        self.system.join("recording.json")
    }

    /// The file that remembers the lines typed in the shell.
    #[must_use]
    pub fn history(&self) -> PathBuf {
        self.system.join("history")
    }

    /// The file that is locked while a board is in use. A probe is one thing, whichever system uses it.
    #[must_use]
    pub fn lock(&self, board: &BoardConfig) -> PathBuf {
        match &board.probe {
            ProbeConfig::Qemu => self.system.join(format!("{}.lock", board.name)),
            ProbeConfig::Probe { selector, .. } => {
                let name: String =
                    selector.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '-' }).collect();
                self.common.join(format!("probe-{name}.lock"))
            }
        }
    }
}

/// FNV-1a: the same in every build, unlike the standard library's hash, so that every build finds the same boards.
pub(crate) fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xCBF2_9CE4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01B3))
}

fn root_of_this_user() -> PathBuf {
    if let Some(folder) = std::env::var_os("STILLPOINT_STATE") {
        return folder.into();
    }
    if let Some(folder) = std::env::var_os("XDG_RUNTIME_DIR").filter(|folder| Path::new(folder).is_dir()) {
        return Path::new(&folder).join("stillpoint");
    }
    std::env::temp_dir().join(format!("stillpoint-{}", user()))
}

/// The number of this user.
pub(crate) fn user() -> u32 {
    std::fs::metadata("/proc/self").map_or(0, |meta| meta.uid())
}

/// Makes a folder that only this user can look into. Fails if it belongs to another user, or others can write to it.
pub(crate) fn make_private(path: &Path) -> Result<(), StateError> {
    let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(path);
    let meta = made.and_then(|()| std::fs::symlink_metadata(path));
    let meta = meta.map_err(|source| StateError::Make { path: path.to_owned(), source })?;
    check_private(path, &meta)
}

/// Fails if a folder belongs to another user, or others can write to it.
pub(crate) fn check_private(path: &Path, meta: &std::fs::Metadata) -> Result<(), StateError> {
    let mode = meta.mode() & 0o777;
    match () {
        () if meta.uid() != user() || !meta.is_dir() => Err(StateError::Foreign(path.to_owned())),
        () if mode & 0o022 != 0 => Err(StateError::Open { path: path.to_owned(), mode }),
        () => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_of_a_system_has_the_same_name_for_every_build() {
        assert_eq!(hash(b""), 0xCBF2_9CE4_8422_2325);
        assert_eq!(hash(b"foobar"), 0x8594_4171_F739_67E8);
    }

    #[test]
    fn a_folder_that_is_no_folder_or_not_private_is_refused() {
        let top = tempfile::tempdir().unwrap();
        let file = top.path().join("file");
        std::fs::write(&file, "").unwrap();
        assert!(matches!(make_private(&file), Err(StateError::Make { .. })));
        let made = top.path().join("a/b");
        make_private(&made).unwrap();
        assert_eq!(std::fs::metadata(&made).unwrap().mode() & 0o777, 0o700);
        for (mode, is_refused) in [(0o777, true), (0o720, true), (0o702, true), (0o1777, true), (0o755, false)] {
            std::fs::set_permissions(&made, std::os::unix::fs::PermissionsExt::from_mode(mode)).unwrap();
            let opened = make_private(&made);
            assert_eq!(matches!(opened, Err(StateError::Open { .. })), is_refused, "{mode:o}: {opened:?}");
        }
        let link = top.path().join("link");
        std::os::unix::fs::symlink(&made, &link).unwrap();
        assert!(matches!(make_private(&link), Err(StateError::Foreign(_))), "a link may lead anywhere");
    }
}

//! Where the owner of a system is found.
use super::OwnerError;
use crate::state::{StateDir, hash, make_private, user};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// The longest path that a socket can have.
const LONGEST: usize = 107;

/// The files of an owner, in the folder of its system.
pub(super) struct Place {
    folder: PathBuf,
}

impl Place {
    pub fn of(state: &StateDir) -> Self {
        Self { folder: state.folder().to_owned() }
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The file that the owner keeps locked, with the number of its process.
    pub fn lock(&self) -> PathBuf {
        self.folder.join("owner.process")
    }

    /// Where the owner says what went wrong.
    pub fn log(&self) -> PathBuf {
        self.folder.join("owner.log")
    }

    /// The usual socket, if its path is not too long.
    fn near(&self) -> Option<PathBuf> {
        let path = self.folder.join("owner.sock");
        (path.as_os_str().len() <= LONGEST).then_some(path)
    }

    /// The file that has the path of a socket that lies elsewhere.
    fn pointer(&self) -> PathBuf {
        self.folder.join("owner.socket-path")
    }

    /// The socket to connect to; `None` if no owner has ever said where it is.
    pub fn socket(&self) -> Option<PathBuf> {
        self.near().or_else(|| std::fs::read_to_string(self.pointer()).ok().map(PathBuf::from))
    }

    /// The socket to listen on. One that lies elsewhere, where paths are short, is noted in the folder of the system.
    pub fn socket_to_make(&self) -> Result<PathBuf, OwnerError> {
        if let Some(near) = self.near() {
            return Ok(near);
        }
        let name = format!("{:016x}.sock", hash(self.folder.as_os_str().as_bytes()));
        let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
        let places = runtime.into_iter().chain([std::env::temp_dir(), "/tmp".into()]);
        let mut folders = places.map(|place| place.join(format!("stillpoint-{}", user())));
        let folder =
            folders.find(|folder| folder.join(&name).as_os_str().len() <= LONGEST && make_private(folder).is_ok());
        let path = folder.ok_or_else(|| OwnerError::NoPlace(self.folder.clone()))?.join(name);
        let note = self.pointer();
        std::fs::write(&note, path.as_os_str().as_bytes()).map_err(OwnerError::io("write", &note))?;
        Ok(path)
    }
}

/// The number of the process that owns the boards of the system with this folder, or of the last that did.
pub(crate) fn owner_process(folder: &Path) -> Option<u32> {
    let place = Place { folder: folder.to_owned() };
    std::fs::read_to_string(place.lock()).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_socket_whose_path_would_be_too_long_lies_elsewhere_and_is_found_there() {
        let top = tempfile::tempdir().unwrap();
        let near = Place { folder: top.path().to_owned() };
        assert_eq!(near.socket_to_make().unwrap(), top.path().join("owner.sock"));
        let folder = top.path().join("x".repeat(100));
        std::fs::create_dir(&folder).unwrap();
        let far = Place { folder };
        assert_eq!(far.socket(), None);
        let made = far.socket_to_make().unwrap();
        assert!(made.as_os_str().len() <= LONGEST, "{}", made.display());
        assert_eq!(far.socket(), Some(made));
    }
}

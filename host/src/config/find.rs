//! Finding the system file of the folder one stands in.
use super::ConfigError;
use std::path::{Path, PathBuf};

/// The name a system file has unless told otherwise.
pub(crate) const FILE_NAME: &str = "stillpoint.toml";

/// The nearest system file: in `folder` or one of the folders above it.
pub fn find_system_file(folder: &Path) -> Result<PathBuf, ConfigError> {
    let found = folder.ancestors().map(|folder| folder.join(FILE_NAME)).find(|path| path.is_file());
    found.ok_or_else(|| ConfigError::NotFound(folder.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_file_upwards_is_taken_and_its_absence_says_what_to_do() {
        let top = tempfile::tempdir().unwrap();
        let deep = top.path().join("a/b");
        std::fs::create_dir_all(&deep).unwrap();
        let missing = find_system_file(&deep).unwrap_err().to_string();
        assert!(missing.contains("--system") && missing.contains("stillpoint init"), "{missing}");
        let named = crate::config::SystemFile::read(&deep.join("other.toml")).unwrap_err().to_string();
        assert!(named.contains("stillpoint init"), "{named}");
        std::fs::write(top.path().join(FILE_NAME), "").unwrap();
        assert_eq!(find_system_file(&deep).unwrap(), top.path().join(FILE_NAME));
        std::fs::write(top.path().join("a").join(FILE_NAME), "").unwrap();
        assert_eq!(find_system_file(&deep).unwrap(), top.path().join("a").join(FILE_NAME));
    }
}

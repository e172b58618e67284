//! Where the tree and its build directory are.
use std::env;
use std::path::{Path, PathBuf};

/// The root of the workspace: the folder above `xtask/`.
pub fn root() -> PathBuf {
    // `cargo run` says where the manifest is now; the path compiled in may be that of a tree since moved.
    let manifest = env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    let xtask = manifest.filter(|dir| dir.ends_with("xtask"));
    let xtask = xtask.unwrap_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")));
    xtask.parent().map_or_else(|| xtask.clone(), Path::to_path_buf)
}

/// The build directory this very program was built in, whatever setting chose it.
pub fn target_dir() -> PathBuf {
    let here = env::current_exe().unwrap_or_default();
    let marked = here.ancestors().skip(1).find(|dir| dir.join("CACHEDIR.TAG").is_file());
    marked.map_or_else(|| root().join("target"), Path::to_path_buf)
}

/// This very program, to run it once more.
pub fn this_program() -> PathBuf {
    let here = env::current_exe().unwrap_or_default();
    // A rebuild while it runs replaces the file; the system then marks the old one.
    here.to_str().and_then(|path| path.strip_suffix(" (deleted)")).map_or_else(|| here.clone(), PathBuf::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_root_holds_the_workspace_manifest_and_the_target_dir_holds_this_test() {
        assert!(root().join("memory.x").parent().unwrap().join("Cargo.toml").is_file());
        assert!(env::current_exe().unwrap().starts_with(target_dir()));
    }
}

//! Debian's own Rust: packages, and the environment in which it builds `core` for a microcontroller.
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{CORTEX_M0, CORTEX_M33, Toolchain, ToolchainError};
use crate::command;
use crate::packages::{Apt, Package};

/// Compiler and source are of one version only within these packages.
pub const PACKAGES: [&str; 4] = ["rustc-web", "cargo-web", "rust-web-src", "lld-19"];

pub const CARGO: &str = "/usr/bin/cargo";
const RUSTC: &str = "/usr/bin/rustc";
const LINKER: &str = "/usr/bin/ld.lld-19";
const SOURCE: &str = "/usr/lib/rustlib/src/rust/library/core/Cargo.toml";
/// As in the workspace's manifest.
const OLDEST: (u32, u32) = (1, 95);

/// What is missing of it, if anything.
pub fn missing() -> Option<&'static str> {
    let file = [RUSTC, CARGO, LINKER, SOURCE].into_iter().find(|file| !Path::new(file).exists());
    file.or_else(|| {
        let said = command::output(Command::new(RUSTC).arg("--version")).unwrap_or_default();
        (version(&said) < Some(OLDEST)).then_some("a /usr/bin/rustc of version 1.95 or newer")
    })
}

/// Reads `rustc 1.96.0 (... )`.
fn version(said: &str) -> Option<(u32, u32)> {
    let mut numbers = said.strip_prefix("rustc ")?.split('.');
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

/// Installs it by apt.
pub fn install() -> Result<Toolchain, ToolchainError> {
    // Only Debian has these; everybody else needs rustup, by whichever way it comes.
    let elsewhere = Package { apt: "rustup", dnf: "rustup", pacman: "rustup", brew: "rustup" };
    Apt::find().install(&PACKAGES, &elsewhere, || missing().is_none())?;
    missing().map_or(Ok(Toolchain::Debian), |what| Err(ToolchainError::Incomplete(what)))
}

/// The variables to set, or to remove, for it.
pub fn environment() -> Vec<(String, Option<OsString>)> {
    // What rustup's proxies and the outer cargo left in the environment belongs to another compiler.
    let leaked = ["RUSTUP_TOOLCHAIN", "RUSTC", "RUSTDOC", "RUSTC_WRAPPER", "LD_LIBRARY_PATH"];
    let mut variables: Vec<(String, Option<OsString>)> = leaked.map(|name| (name.to_owned(), None)).to_vec();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::iter::once(PathBuf::from("/usr/bin")).chain(std::env::split_paths(&path));
    let path = std::env::join_paths(path).unwrap_or_else(|_| "/usr/bin:/bin".into());
    let mut set = |name: &str, value: OsString| variables.push((name.to_owned(), Some(value)));
    set("PATH", path);
    set("CARGO", CARGO.into());
    // Building `core` is an unstable feature of cargo; Debian's is otherwise the stable one.
    set("RUSTC_BOOTSTRAP", "1".into());
    set("CARGO_UNSTABLE_BUILD_STD", "core".into());
    for target in [CORTEX_M33, CORTEX_M0] {
        set(&format!("CARGO_TARGET_{}_LINKER", in_capitals(target)), LINKER.into());
    }
    variables
}

/// A target's name as it stands in the names of variables.
pub fn in_capitals(target: &str) -> String {
    target.to_uppercase().replace(['-', '.'], "_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_older_rustc_is_not_taken_for_the_one_needed() {
        assert_eq!(version("rustc 1.96.0 (ac68faa20 2026-05-25) (built from a source tarball)"), Some((1, 96)));
        assert!(version("rustc 1.85.0 (4d91de4e4 2025-02-17)") < Some(OLDEST));
        assert!(version("no such file") < Some(OLDEST));
    }

    #[test]
    fn nothing_of_the_outer_compiler_is_left() {
        let environment = environment();
        for leaked in ["RUSTUP_TOOLCHAIN", "RUSTC", "LD_LIBRARY_PATH"] {
            assert!(environment.contains(&(leaked.to_owned(), None)), "{leaked}");
        }
        let linker = "CARGO_TARGET_THUMBV8M_MAIN_NONE_EABI_LINKER".to_owned();
        assert!(environment.contains(&(linker, Some(LINKER.into()))));
    }
}

//! Building firmware: which package, which artifact, and where the ELF file is afterwards.
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::command::{self, CommandError};
use crate::toolchain::{CORTEX_M33, Toolchain};

/// The package whose examples are the demos.
pub const AGENT: &str = "stillpoint-agent";
/// The feature that chooses the reference board.
pub const PLATFORM: &str = "mps2-an521";

/// The demo that records for replay, and the feature that it needs.
const REPLAY: &str = "replay";
/// The demo that needs a feature of its own, and its name.
const SABOTAGED: &str = "sabotaged";
/// The demo whose tasks run in embassy's own executor, and the feature that it needs.
const STOCK_EXECUTOR: (&str, &str) = ("stock_executor", "stock-executor");

/// One firmware image of the workspace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Firmware {
    package: &'static str,
    artifact: Artifact,
    on_target: bool,
    kit: Kit,
    /// Another profile than that of the workspace: its name, and cargo's settings.
    profile: Option<Profile>,
}

/// A change of the profile that firmware is built with: its name, and cargo's settings.
pub type Profile = (&'static str, &'static [&'static str]);

/// How users may build their firmware, beside how the demos are built.
pub const OTHER_PROFILES: [Profile; 3] = [
    ("opt-level-3", &["profile.firmware.opt-level=3"]),
    ("no-lto", &["profile.firmware.lto=\"off\"", "profile.firmware.codegen-units=16"]),
    ("lines-only", &["profile.firmware.debug=1"]),
];

/// How much of the kit is in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kit {
    Whole,
    /// No more than these features of the agent, with commas between them.
    Only(&'static str),
    None,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Artifact {
    Bin(&'static str),
    Example(&'static str),
    Examples,
}

/// Why there is no firmware.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// The compiler's own messages are on the screen.
    #[error("the firmware does not build: {0}")]
    Cargo(#[from] CommandError),
    /// cargo built something, but not what was asked for.
    #[error("cargo built no executable from {0}; does the example or package still exist?")]
    NoExecutable(String),
    /// It was built and could not be copied.
    #[error("cannot keep {path}: {source}")]
    Keep {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}

impl Firmware {
    /// A demo of the agent, `target-agent/examples/<name>.rs`.
    pub fn example(name: &'static str) -> Self {
        Self { package: AGENT, artifact: Artifact::Example(name), on_target: false, kit: Kit::Whole, profile: None }
    }

    /// Every demo of the agent.
    pub fn examples() -> Self {
        Self { package: AGENT, artifact: Artifact::Examples, on_target: false, kit: Kit::Whole, profile: None }
    }

    /// The demo that records for replay, which needs a feature of its own.
    pub fn replay() -> Self {
        Self::example(REPLAY)
    }

    /// The demo that does its work wrong on purpose.
    pub fn sabotaged() -> Self {
        Self::example(SABOTAGED)
    }

    /// The demo whose tasks run in embassy's own executor.
    pub fn stock_executor() -> Self {
        Self::example(STOCK_EXECUTOR.0)
    }

    /// The program of a package that is firmware, with the unit tests of `stillpoint-core` built in.
    pub fn unit_tests() -> Self {
        let name = "stillpoint-on-target";
        Self { package: name, artifact: Artifact::Bin(name), on_target: true, kit: Kit::Whole, profile: None }
    }

    /// The same program with the kit compiled out.
    pub fn without_kit(self) -> Self {
        Self { kit: Kit::None, ..self }
    }

    /// The same program with no more of the kit than these features of the agent, with commas between them.
    pub fn with_only(self, features: &'static str) -> Self {
        Self { kit: Kit::Only(features), ..self }
    }

    /// The same program, built with another profile.
    pub fn with_profile(self, profile: Profile) -> Self {
        Self { profile: Some(profile), ..self }
    }

    /// What the counting plugin counts.
    pub fn benchmarks() -> Self {
        let name = "stillpoint-bench";
        Self { package: name, artifact: Artifact::Bin(name), on_target: false, kit: Kit::Whole, profile: None }
    }

    /// The same on the agent, in a system of 4 or, for any other number, of 32 nodes.
    pub fn agent_benchmarks(nodes: u32) -> Self {
        let name = if nodes == 4 { "bench-nodes-4" } else { "bench-nodes-32" };
        Self {
            package: "stillpoint-bench-agent",
            artifact: Artifact::Bin(name),
            on_target: false,
            kit: Kit::Whole,
            profile: None,
        }
    }

    /// Builds it and returns its ELF file.
    pub fn build(self, toolchain: Toolchain) -> Result<PathBuf, BuildError> {
        let none = || BuildError::NoExecutable(format!("{:?} of {}", self.artifact, self.package));
        self.build_all(toolchain)?.into_iter().next().map(|(_, elf)| elf).ok_or_else(none)
    }

    /// Builds it and returns the name and ELF file of every program that came of it, by name.
    pub fn build_all(self, toolchain: Toolchain) -> Result<Vec<(String, PathBuf)>, BuildError> {
        let mut cargo = self.cargo(toolchain, "build");
        cargo.args(["--message-format", "json-render-diagnostics"]).stdout(Stdio::piped()).stderr(Stdio::inherit());
        let mut elves = executables(&command::output(&mut cargo)?);
        elves.sort();
        let folder = match (self.profile, self.kit) {
            (Some((name, _)), _) => Some(name),
            (None, Kit::Whole) => None,
            (None, Kit::Only(features)) => Some(features),
            (None, Kit::None) => Some("plain"),
        };
        if let Some(folder) = folder {
            // Cargo gives each the same place.
            elves = elves
                .into_iter()
                .map(|(name, elf)| keep_apart(&elf, folder).map(|kept| (name, kept)))
                .collect::<Result<_, _>>()?;
        }
        Ok(elves)
    }

    /// The cargo command that does `verb` with it: build, clippy, doc.
    pub fn cargo(self, toolchain: Toolchain, verb: &str) -> Command {
        let mut cargo = toolchain.cargo();
        cargo.args([verb, "--package", self.package, "--target", CORTEX_M33, "--profile", "firmware"]);
        match self.artifact {
            Artifact::Bin(name) => cargo.args(["--bin", name]),
            Artifact::Example(name) => cargo.args(["--example", name]),
            Artifact::Examples => cargo.arg("--examples"),
        };
        if self.on_target {
            // Cargo keeps builds with other flags beside each other, so neither is built anew because of the other.
            let flags = std::env::var("RUSTFLAGS").unwrap_or_default();
            cargo.env("RUSTFLAGS", format!("{flags} --cfg on_target").trim_start());
        }
        if self.package == AGENT {
            cargo.args(["--features", PLATFORM]);
        }
        if self.artifact == Artifact::Example(REPLAY) {
            cargo.args(["--features", REPLAY]);
        }
        if self.kit != Kit::Whole {
            cargo.arg("--no-default-features");
        }
        if let Kit::Only(features) = self.kit {
            cargo.args(["--features", features]);
        }
        if self.artifact == Artifact::Example(SABOTAGED) {
            cargo.args(["--features", "sabotage"]);
        }
        if self.artifact == Artifact::Example(STOCK_EXECUTOR.0) {
            cargo.args(["--features", STOCK_EXECUTOR.1]);
        }
        for setting in self.profile.iter().flat_map(|(_, settings)| *settings) {
            cargo.args(["--config", setting]);
        }
        // One place for what goes into it, so that dependencies and macros are built once for all variants.
        cargo.env("CARGO_BUILD_BUILD_DIR", toolchain.target_dir());
        cargo.arg("--target-dir").arg(self.target_dir(toolchain));
        cargo
    }

    /// Where it is built. A system file may name the ELF file of a firmware with the whole kit, so one without a part of it is
    /// built elsewhere; `stillpoint init` does not look into cargo's folder for temporary files.
    fn target_dir(self, toolchain: Toolchain) -> PathBuf {
        match (self.profile, self.kit) {
            (Some(_), _) => toolchain.target_dir().join("tmp").join("profiles"),
            (None, Kit::Whole) => toolchain.target_dir(),
            (None, Kit::Only(_) | Kit::None) => toolchain.target_dir().join("tmp").join("partial"),
        }
    }
}

/// Copies a firmware without the whole kit into a folder beside it.
fn keep_apart(elf: &Path, folder: &str) -> Result<PathBuf, BuildError> {
    let fail = |source| BuildError::Keep { path: elf.to_owned(), source };
    let folder = elf.with_file_name(folder);
    let kept = folder.join(elf.file_name().unwrap_or_default());
    std::fs::create_dir_all(&folder).map_err(fail)?;
    std::fs::copy(elf, &kept).map_err(fail)?;
    Ok(kept)
}

/// The programs named in cargo's JSON messages.
pub fn executables(messages: &str) -> Vec<(String, PathBuf)> {
    let messages = messages.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    let built = messages.filter(|message| message["reason"] == "compiler-artifact");
    let named = built.filter_map(|message| {
        let name = message["target"]["name"].as_str()?.to_owned();
        Some((name, PathBuf::from(message["executable"].as_str()?)))
    });
    named.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(demo: Firmware) -> Vec<String> {
        let cargo = demo.cargo(Toolchain::Rustup, "build");
        cargo.get_args().map(|word| word.to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn only_executables_are_taken_from_cargos_messages() {
        let messages = r#"{"reason":"compiler-artifact","target":{"name":"defmt"},"executable":null}
not json at all
{"reason":"compiler-artifact","target":{"name":"demo"},"executable":"/t/demo"}
{"reason":"build-finished","success":true}"#;
        assert_eq!(executables(messages), [("demo".to_owned(), PathBuf::from("/t/demo"))]);
    }

    #[test]
    fn a_demo_without_the_kit_differs_by_one_word_and_its_folder() {
        let (with, without) = (words(Firmware::example("demo")), words(Firmware::example("demo").without_kit()));
        let (Some((folder, with)), Some((other_folder, without))) = (with.split_last(), without.split_last()) else {
            panic!("cargo has words")
        };
        let without: Vec<_> = without.iter().filter(|word| *word != "--no-default-features").collect();
        assert_eq!(with.iter().collect::<Vec<_>>(), without);
        assert_ne!(folder, other_folder);
    }

    /// The ELF file that a system file names is a build with the whole kit, and stays one.
    #[test]
    fn builds_without_the_whole_kit_replace_no_elf_file_that_has_it() {
        let folder = |demo: Firmware| words(demo).last().cloned().unwrap();
        let whole = folder(Firmware::example("token_ring"));
        for part in [
            Firmware::example("token_ring").without_kit(),
            Firmware::example("token_ring").with_only("enabled"),
            Firmware::example("token_ring").with_profile(OTHER_PROFILES[0]),
        ] {
            assert_ne!(folder(part), whole);
        }
    }

    #[test]
    fn only_the_unit_tests_are_built_with_their_cfg() {
        let cargo = Firmware::unit_tests().cargo(Toolchain::Rustup, "build");
        let flags = cargo.get_envs().find(|(name, _)| *name == "RUSTFLAGS").and_then(|(_, value)| value).unwrap();
        assert!(flags.to_string_lossy().ends_with("--cfg on_target"));
        let demo = Firmware::example("demo").cargo(Toolchain::Rustup, "build");
        assert!(demo.get_envs().all(|(name, _)| name != "RUSTFLAGS"));
    }
}

//! Libraries that tests compile, to read what the compiler in use says of them.
use super::DebugTypes;
use object::{Object as _, ObjectSection as _};
use std::path::Path;
use std::process::Command;

/// A library: its debug information, and its sections as they are loaded.
pub(crate) struct Library {
    pub types: DebugTypes,
    pub image: Vec<(u64, Vec<u8>)>,
}

/// A crate with the layout of the collections of heapless, and nothing else of it.
pub(crate) const HEAPLESS: (&str, &str) = ("heapless", include_str!("heapless_layout.rs"));

/// Compiles a library without the standard library from its source, and before it the crates that it uses: name and source.
pub(crate) fn library(source: &str, crates: &[(&str, &str)]) -> Library {
    library_with_names(source, crates, &[])
}

/// The same, as by a compiler that has other names for some things: each is replaced by one of the same length.
pub(crate) fn library_with_names(source: &str, crates: &[(&str, &str)], names: &[(&str, &str)]) -> Library {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let mut options = ["--crate-type", "cdylib", "-Clink-arg=-nostdlib"].map(str::to_owned).to_vec();
    for (name, source) in crates {
        let (file, made) = (at(&format!("{name}.rs")), at(&format!("lib{name}.rlib")));
        std::fs::write(&file, source).unwrap();
        rustc(&made, &["--crate-type".into(), "rlib".into()], &file);
        options.extend(["--extern".to_owned(), format!("{name}={}", made.display())]);
    }
    let head = "#![no_std]\n#[panic_handler] fn panic(_: &core::panic::PanicInfo) -> ! { loop {} }\n";
    std::fs::write(at("shapes.rs"), format!("{head}{source}")).unwrap();
    rustc(&at("shapes.so"), &options, &at("shapes.rs"));
    let mut bytes = std::fs::read(at("shapes.so")).unwrap();
    for (own, other) in names {
        assert_eq!(own.len(), other.len(), "everything else stays where it is");
        let places: Vec<usize> = bytes
            .windows(own.len())
            .enumerate()
            .filter(|(_, part)| *part == own.as_bytes())
            .map(|(at, _)| at)
            .collect();
        assert!(!places.is_empty(), "the compiler in use says {own}");
        places.into_iter().for_each(|at| bytes[at..at + other.len()].copy_from_slice(other.as_bytes()));
    }
    std::fs::write(at("shapes.so"), &bytes).unwrap();
    let file = object::File::parse(&*bytes).unwrap();
    let loaded = file.sections().filter(|section| section.address() != 0);
    let image = loaded.filter_map(|of| Some((of.address(), of.data().ok()?.to_vec()))).collect();
    Library { types: DebugTypes::read(&at("shapes.so")).unwrap(), image }
}

fn rustc(output: &Path, options: &[String], source: &Path) {
    let mut compile = Command::new(std::env::var("RUSTC").unwrap_or_else(|_| "rustc".into()));
    compile.args(["-g", "--edition", "2024", "-Cpanic=abort"]).args(options).arg("-o").arg(output).arg(source);
    let status = compile.status().unwrap();
    assert!(status.success(), "rustc compiles {}", source.display());
}

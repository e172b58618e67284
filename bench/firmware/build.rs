//! Gives the linker the board's memory map.
use std::{env, fs, path::PathBuf};

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=../../memory.x");
    if env::var("CARGO_CFG_TARGET_OS").is_ok_and(|os| os == "none") {
        let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
        fs::copy("../../memory.x", out.join("memory.x")).expect("copy the root memory.x");
        println!("cargo:rustc-link-search={}", out.display());
        // Unasked, defmt compiles in errors only.
        println!("cargo:rustc-env=DEFMT_LOG=info");
        for argument in ["-Tlink.x", "-Tdefmt.x", "--nmagic"] {
            println!("cargo:rustc-link-arg-bins={argument}");
        }
    }
}

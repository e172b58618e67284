//! Gives the linker the board's memory map, and the firmware in `examples/` its linker arguments.
use std::{env, fs, path::PathBuf};

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=../memory.x");
    println!("cargo:rerun-if-changed=stillpoint.x");
    let firmware = env::var("CARGO_CFG_TARGET_OS").is_ok_and(|os| os == "none");
    if !firmware || env::var_os("CARGO_FEATURE_MPS2_AN521").is_none() {
        return;
    }
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    fs::copy("../memory.x", out.join("memory.x")).expect("copy the root memory.x");
    fs::copy("stillpoint.x", out.join("stillpoint.x")).expect("copy stillpoint.x");
    // cortex-m-rt asks for a list of default interrupt handlers; the platform names all of its handlers itself.
    fs::write(out.join("device.x"), "").expect("write device.x");
    println!("cargo:rustc-link-search={}", out.display());
    // Unasked, defmt compiles in errors only. The demos say what `stillpoint log --level` can leave out.
    println!("cargo:rerun-if-env-changed=DEFMT_LOG");
    if env::var_os("DEFMT_LOG").is_none() {
        println!("cargo:rustc-env=DEFMT_LOG=debug");
    }
    // Where names go; without the kit there are none.
    let names = env::var_os("CARGO_FEATURE_ENABLED").map(|_| "-Tstillpoint.x");
    for argument in ["-Tlink.x", "-Tdefmt.x", "--nmagic"].into_iter().chain(names) {
        println!("cargo:rustc-link-arg-examples={argument}");
    }
}

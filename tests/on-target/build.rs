//! Gives the linker the board's memory map and the section in which the unit tests are registered.
use std::{env, fs, path::PathBuf};

/// The harness registers each test in `stillpoint_tests`; the runner walks it from start to stop.
const TESTS: &str = "
SECTIONS
{
  stillpoint_tests : ALIGN(4)
  {
    __stillpoint_tests_start = .;
    KEEP(*(stillpoint_tests));
    __stillpoint_tests_stop = .;
  } > FLASH
} INSERT AFTER .rodata;
";

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=../../memory.x");
    if env::var("CARGO_CFG_TARGET_OS").is_ok_and(|os| os != "none") {
        return;
    }
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    fs::copy("../../memory.x", out.join("memory.x")).expect("copy the root memory.x");
    fs::write(out.join("tests.x"), TESTS).expect("write tests.x");
    println!("cargo:rustc-link-search={}", out.display());
    for argument in ["-Tlink.x", "-Ttests.x", "--nmagic"] {
        println!("cargo:rustc-link-arg-bins={argument}");
    }
}

//! Gives the linker its arguments; the agent's own build gives it the memory map.
fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|os| os == "none") {
        for argument in ["-Tlink.x", "-Tdefmt.x", "-Tstillpoint.x", "--nmagic"] {
            println!("cargo:rustc-link-arg-bins={argument}");
        }
    }
}

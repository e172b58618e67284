//! Puts the memory map where the linker finds it, and selects cortex-m-rt's linker script.

fn main() {
    let out = std::path::PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    // Code in the bank both machines boot from, data in the SSE-200's own SRAM, which both machines have.
    let shared = if std::env::var_os("CARGO_FEATURE_AN524").is_some() { "0x60000000" } else { "0x80000000" };
    let memory = format!(
        "MEMORY {{\n FLASH : ORIGIN = 0x10000000, LENGTH = 256K\n RAM : ORIGIN = 0x30000000, LENGTH = 96K\n \
         CORE1_STACK : ORIGIN = 0x30018000, LENGTH = 32K\n SHARED : ORIGIN = {shared}, LENGTH = 1M\n}}\n\
         _core1_stack_top = ORIGIN(CORE1_STACK) + LENGTH(CORE1_STACK);\n\
         SECTIONS {{ .shared (NOLOAD) : {{ *(.shared .shared.*) }} > SHARED }} INSERT BEFORE .got;\n"
    );
    std::fs::write(out.join("memory.x"), memory).expect("OUT_DIR is writable");
    println!("cargo:rustc-link-search={}", out.display());
    println!("cargo:rustc-link-arg=-Tlink.x");
    println!("cargo:rustc-link-arg=--nmagic");
    println!("cargo:rerun-if-changed=build.rs");
}

//! Firmware that is not the demo, never boots or faults: one sentence, and no QEMU left.
mod support;

use support::{Dir, LOOP_FOR_EVER, UNDEFINED, assert_refused, spoiled_relay, xtask};

fn demo(image: &std::path::Path) -> std::process::Output {
    xtask(&["relay", "--limit", "20", "--firmware"]).arg(image).output().unwrap()
}

#[test]
fn a_file_that_is_no_firmware_is_refused_by_name() {
    let manifest = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
    assert_refused(&demo(&manifest), &["Cargo.toml is no ELF file"]);
    let this_test = std::env::current_exe().unwrap();
    assert_refused(&demo(&this_test), &["has no symbol STILLPOINT_DEFMT_RINGS", "not the relay demo"]);
}

#[test]
fn firmware_that_never_boots_is_cut_off_and_named() {
    let dir = Dir::new("never-boots");
    let image = spoiled_relay(&dir, &["Reset"], LOOP_FOR_EVER);
    assert_refused(&demo(&image), &["board A did not boot within 10 s", "neither core has set up its log"]);
}

#[test]
fn messages_that_stop_going_round_are_reported_with_the_node_that_holds_them_up() {
    let dir = Dir::new("stalls");
    let image = spoiled_relay(&dir, &["_defmt_acquire", "_defmt_write", "__pender"], LOOP_FOR_EVER);
    let output = xtask(&["relay", "--limit", "3", "--firmware"]).arg(image).output().unwrap();
    assert_refused(&output, &["did not finish within 3 s: A.1 waits for the next message of A.0", "A.0 0, A.1 0"]);
}

#[test]
fn a_core_that_faults_is_reported_with_the_place() {
    let dir = Dir::new("faults");
    let image = spoiled_relay(&dir, &["main"], UNDEFINED);
    assert_refused(&demo(&image), &["board A stopped by itself", "FAULT core 0 at pc 0x1"]);
}

#[test]
fn a_failed_demo_says_so_in_json_too() {
    let output = xtask(&["relay", "--json", "--firmware", "/no/such/image"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(json["passed"], false);
    assert!(json["error"].as_str().unwrap().contains("cannot read /no/such/image"));
}

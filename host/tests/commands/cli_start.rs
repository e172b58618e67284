//! The program `stillpoint` from zero: a system file is written from what is found, and the doctor knows what is wrong.
use crate::cli::{self, Bench, Done};
use std::path::Path;
use stillpoint_core::control::VERSION;

/// A bench without a system file, whose target folder holds these demos as cargo would have built them.
fn workspace(demos: &[&str]) -> Bench {
    let bench = Bench::new(demos[0]);
    std::fs::remove_file(bench.system_file()).unwrap();
    let examples = bench.path("target/thumbv8m.main-none-eabi/firmware/examples");
    std::fs::create_dir_all(&examples).unwrap();
    for demo in demos {
        std::fs::copy(cli::firmware(demo), examples.join(demo)).unwrap();
    }
    bench
}

fn fixes(doctor: &Done, verdict: &str) -> Vec<(String, String)> {
    let json = doctor.json();
    let findings = json["findings"].as_array().unwrap().iter().filter(|finding| finding["verdict"] == verdict);
    let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    findings.map(|finding| (text(&finding["check"]), text(&finding["fix"]))).collect()
}

#[test]
fn init_writes_a_file_that_works_and_does_not_replace_one_unasked() {
    let bench = workspace(&["token_ring", "pipeline", "guide_before"]);
    let shown = bench.run(["init", "--stdout", "--firmware", "token_ring"]).expect(0).out;
    assert!(!bench.system_file().exists(), "it was only shown");
    let wrote = bench.run(["init", "--firmware", "token_ring"]).expect(0);
    assert_eq!(
        wrote.out,
        "wrote stillpoint.toml: 2 emulated boards with token_ring\nstart with `stillpoint up && stillpoint flash`\n"
    );
    let text = std::fs::read_to_string(bench.system_file()).unwrap();
    assert_eq!(text, shown);
    assert!(text.contains("firmware = \"target/thumbv8m.main-none-eabi/firmware/examples/token_ring\""), "{text}");
    assert!(text.contains("Nodes in it: left0, left1, right0, right1."), "{text}");
    assert!(text.contains("examples/pipeline  (nodes "), "the other firmware is named: {text}");
    assert!(!text.contains("guide_before"), "firmware without the kit is not: {text}");

    bench.run(["init"]).expect(2).expect_err("stillpoint.toml is there already");
    assert_eq!(std::fs::read_to_string(bench.system_file()).unwrap(), text);
    bench.run(["init", "--force", "--firmware", "token_rnig"]).expect(2).expect_err("did you mean token_ring?");
    assert_eq!(std::fs::read_to_string(bench.system_file()).unwrap(), text);
    let json = bench.run(["init", "--force", "--firmware", "pipeline", "--json"]).expect(0).json();
    assert_eq!((&json["written"], json["boards"].as_array().unwrap().len()), (&true.into(), 2));
    assert!(json["firmware"][0].as_str().unwrap().ends_with("/pipeline"), "{json}");
    bench.run(["init", "--force", "--firmware", "token_ring"]).expect(0);

    bench.run(["up"]).expect(0);
    bench.run(["flash"]).expect(0);
    bench.run(["run"]).expect(0);
    bench.run(["halt"]).expect(0).expect_out("is one consistent moment of 4 nodes");
    // Boards that are up keep their names in a new file.
    bench.run(["init", "--force", "--firmware", "token_ring"]).expect(0);
    assert!(std::fs::read_to_string(bench.system_file()).unwrap().contains("# Emulated, and up now."));
    bench.run(["status"]).expect(0);
}

/// `break` would refuse it, so nothing that comes before calls it well.
#[test]
fn firmware_built_without_breakpoints_is_named_by_init_and_a_problem_to_the_doctor() {
    let bench = workspace(&["token_ring"]);
    let whole = bench.path("target/thumbv8m.main-none-eabi/firmware/examples/token_ring");
    let partial = bench.path("target/thumbv8m.main-none-eabi/firmware/examples/enabled/token_ring");
    std::fs::create_dir_all(partial.parent().unwrap()).unwrap();
    let built = std::env::var_os("STILLPOINT_PARTIAL_FIRMWARE").expect("`cargo xtask test qemu` sets it");
    // The newest of its name.
    std::fs::copy(built, &partial).unwrap();
    let whole_is_taken = bench.run(["init", "--stdout", "--firmware", "token_ring"]).expect(0).out;
    assert!(whole_is_taken.contains("firmware = \"target/thumbv8m.main-none-eabi/firmware/examples/token_ring\""));
    std::fs::remove_file(whole).unwrap();
    let wrote = bench.run(["init", "--firmware", "token_ring"]).expect(0);
    wrote.expect_out("that firmware is built without the feature `predicates` of stillpoint-agent");
    let doctor = bench.run(["doctor", "--json"]).expect(1);
    let fix = "build it with the feature `predicates` of stillpoint-agent".to_owned();
    assert!(fixes(&doctor, "wrong").contains(&("firmware".into(), fix)), "{doctor:?}");

    bench.run(["up"]).expect(0);
    bench.run(["flash"]).expect(0);
    bench.run(["run"]).expect(0);
    bench.run(["break", "left0:send(ring)"]).expect(1).expect_err("built without the feature `predicates`");
}

#[test]
fn the_doctor_finds_what_is_wrong_and_its_commands_mend_it() {
    let bench = workspace(&["token_ring"]);
    let nothing = bench.run(["doctor", "--json"]).expect(1);
    assert!(fixes(&nothing, "wrong").contains(&("system file".into(), "stillpoint init".into())), "{nothing:?}");
    bench.run(["init"]).expect(0);

    let off = bench.run(["doctor", "--json"]).expect(0);
    assert!(fixes(&off, "note").contains(&("boards".into(), "stillpoint up && stillpoint flash".into())), "{off:?}");
    bench.run(["up"]).expect(0);
    let empty = bench.run(["doctor", "--json"]).expect(1);
    assert_eq!(fixes(&empty, "wrong")[0], ("boards".into(), "stillpoint flash A".into()));
    bench.run(["flash"]).expect(0);
    let well = bench.run(["doctor"]).expect(0);
    let nodes = format!("wire version {VERSION}, nodes left0, left1, right0, right1");
    for line in ["qemu-system-arm ", &nodes, "board B: runs this firmware, 2 nodes"] {
        well.expect_out(line);
    }
    assert!(well.out.ends_with("all is well\n"), "{}", well.out);

    // A machine that was killed has left its sockets; the fix is done as it is told.
    bench.kill(1);
    let killed = bench.run(["doctor", "--json"]).expect(1);
    let fix = ("leftovers".to_owned(), "stillpoint down".to_owned());
    assert!(fixes(&killed, "wrong").contains(&fix), "{killed:?}");
    bench.run(["down"]).expect(0);
    assert_eq!(fixes(&bench.run(["doctor", "--json"]).expect(0), "wrong"), []);
}

#[test]
fn firmware_for_another_chip_or_another_tool_is_found_out_before_any_board_is_touched() {
    let bench = Bench::new("token_ring");
    let text = std::fs::read_to_string(bench.system_file()).unwrap();
    bench.write_system(&text.replacen("mps2-an521", "mps3-an524", 1));
    let other_chip = bench.run(["doctor"]).expect(1);
    other_chip.expect_out("where mps3-an524 has no memory: it was linked for another chip");
    bench.write_system(&text);
    let symbol = b"STILLPOINT_WIRE_VERSION_";
    let mut elf = std::fs::read(cli::firmware("token_ring")).unwrap();
    let places: Vec<usize> =
        (0..elf.len() - symbol.len()).filter(|at| elf[*at..].starts_with(symbol)).map(|at| at + symbol.len()).collect();
    places.into_iter().for_each(|at| elf[at] = b'0');
    std::fs::write(bench.path("firmware.elf"), elf).unwrap();
    bench.run(["doctor"]).expect(1).expect_out(&format!("speaks wire version 0, this tool {VERSION}"));
    std::fs::remove_file(bench.path("firmware.elf")).unwrap();
    bench.run(["doctor"]).expect(1).expect_out("fix: cargo build");
    assert!(!Path::new(&bench.path("firmware.elf")).exists());
}

#[test]
fn a_machine_without_qemu_and_compiler_is_told_what_to_install() {
    let bench = Bench::new("token_ring");
    std::fs::create_dir(bench.path("bin")).unwrap();
    let doctor =
        Done::of(bench.command(["doctor", "--json"]).env("PATH", bench.path("bin")).spawn().unwrap()).expect(1);
    assert_eq!(fixes(&doctor, "wrong"), [("QEMU".into(), "sudo apt-get install qemu-system-arm".into())]);
}

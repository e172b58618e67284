//! The program `stillpoint`: what it says when something is wrong.
mod cli;

use cli::Bench;
use object::{Object as _, ObjectSection as _};
use std::fs::File;

#[test]
fn a_board_that_dies_is_named_and_the_others_halt_and_resume() {
    let bench = Bench::running("token_ring");
    bench.expect_progress();
    bench.kill(1);
    let halt = bench.run(["halt"]).expect(1);
    halt.expect_out("B.0, B.1  missing: board B: it is not up (QEMU has ended without a word: it was killed)");
    halt.expect_out("no certificate: halt 1: without B.0, B.1");
    halt.expect_out("left1");
    let status = bench.run(["status"]).expect(1);
    for line in ["left0  parked    in halt 1", "left1  parked    in halt 1", "B.0    missing "] {
        status.expect_out(line);
    }
    let json = bench.run(["halt", "--json"]).expect(1).json();
    assert_eq!((&json["certified"], &json["missing"][0]["nodes"][1]), (&false.into(), &"B.1".into()));
    let resume = bench.run(["resume"]).expect(1);
    resume.expect_out("resumed: left0, left1");
    resume.expect_out("missing: B.0, B.1");
    let status = bench.run(["status"]).expect(1);
    status.expect_out("left0  running");
    status.expect_out("left1  running");
    bench.run(["info"]).expect(1).expect_out("missing: it is not up");

    // Board A cannot get a new neighbour while it runs: its wire ended with the old one.
    bench.run(["up"]).expect(2).expect_err("run `stillpoint down`, then `up`");
    bench
        .run(["down"])
        .expect(0)
        .expect_out("board B  had ended already: QEMU has ended without a word: it was killed");
    bench.run(["up"]).expect(0);
    bench.run(["run"]).expect(0);
    bench.run(["halt"]).expect(0);
}

#[test]
fn a_board_killed_while_the_halt_is_under_way_is_named_too() {
    let bench = Bench::running("token_ring");
    let process = bench.processes()[1];
    let halt = bench.command(["halt", "--limit", "3"]).spawn().unwrap();
    cli::signal("KILL", process);
    let halt = cli::Done::of(halt);
    // It may have been killed before, during or after the halt; a certificate is only for a state that was whole.
    match halt.code {
        Some(0) => halt.expect_out("certificate: "),
        Some(1) => halt.expect_out("no certificate"),
        other => panic!("exit code {other:?}: {halt:?}"),
    }
    let after = bench.run(["halt"]).expect(1);
    after.expect_out("missing: board B");
    let status = bench.run(["status"]).expect(1);
    status.expect_out("left0  parked");
    status.expect_out("left1  parked");
}

/// Changes one byte of a section of the firmware.
fn spoil(bench: &Bench, section: &str, at: u64) {
    let path = bench.path("firmware.elf");
    let mut elf = std::fs::read(&path).unwrap();
    let file = object::File::parse(&*elf).unwrap();
    let (offset, _) = file.section_by_name(section).expect("the section is there").file_range().unwrap();
    elf[(offset + at) as usize] ^= 1;
    std::fs::write(&path, &elf).unwrap();
}

#[test]
fn an_image_that_is_not_the_elf_file_is_refused_until_it_is_flashed() {
    let bench = Bench::running("token_ring");
    // The entry of an exception that does not exist.
    spoil(&bench, ".vector_table", 32);
    for verb in ["halt", "info", "resume"] {
        let refused = bench.run([verb]).expect(2);
        refused.expect_err("board A: what is on it is not ");
        refused.expect_err("; write it with `stillpoint flash`");
    }
    bench.run(["status"]).expect(1).expect_out("A.0  missing   what is on it is not ");
    let run = bench.run(["run", "--json"]).expect(0).json();
    assert_eq!((&run["boards"][0]["did"], &run["boards"][1]["did"]), (&"flashed".into(), &"flashed".into()));
    bench.run(["status"]).expect(0);
    // A glance may miss one byte of code; whoever runs firmware gets exactly that.
    bench.install("token_ring");
    bench.run(["flash"]).expect(0);
    spoil(&bench, ".rodata", 5);
    let run = bench.run(["run", "--json"]).expect(0).json();
    assert_eq!(run["boards"][0]["did"], "flashed");
}

#[test]
fn firmware_that_cannot_be_debugged_is_refused_before_the_board_is_touched() {
    let bench = Bench::running("token_ring");
    bench.install("relay");
    for verb in ["flash", "halt", "run"] {
        bench.run([verb]).expect(2).expect_err("is not instrumented: it has no symbol STILLPOINT_SHARED");
    }
    let mut elf = std::fs::read(cli::firmware("token_ring")).unwrap();
    let symbol = b"STILLPOINT_WIRE_VERSION_";
    // The name is there twice: in the symbol table, and for the debugger.
    let places: Vec<usize> =
        (0..elf.len() - symbol.len()).filter(|at| elf[*at..].starts_with(symbol)).map(|at| at + symbol.len()).collect();
    assert!(!places.is_empty(), "firmware says its version");
    places.into_iter().for_each(|at| elf[at] = b'0');
    std::fs::write(bench.path("firmware.elf"), elf).unwrap();
    bench.run(["flash"]).expect(2).expect_err("speaks another version than this tool");
    std::fs::remove_file(bench.path("firmware.elf")).unwrap();
    let missing = bench.run(["flash"]).expect(2);
    missing.expect_err("stillpoint.toml:5:12: cannot read");
    missing.expect_err("build the firmware first\n  |\n5 | firmware = \"firmware.elf\"\n  |            ^^^^^^^^^^^^^^");
    std::fs::write(bench.path("firmware.elf"), "no ELF").unwrap();
    bench.run(["flash"]).expect(2).expect_err("is no ELF file");
    bench.install("token_ring");
    bench.run(["status"]).expect(0);
    bench.expect_progress();
}

#[test]
fn a_second_host_is_told_who_has_the_board() {
    let bench = Bench::running("token_ring");
    let path = bench.lock_file("A");
    let file = File::options().read(true).write(true).open(&path).unwrap();
    file.lock().unwrap();
    for verb in ["flash", "reset", "down"] {
        bench.run([verb]).expect(2).expect_err("it is in use by process ");
    }
    bench.run(["status"]).expect(1).expect_out("A.0     missing   it is in use by process ");
    drop(file);
    bench.run(["status"]).expect(0);
}

#[test]
fn a_wrong_system_file_is_shown_where_it_is_wrong() {
    let bench = Bench::new("token_ring");
    let text = std::fs::read_to_string(bench.system_file()).unwrap();
    bench.write_system(&text.replacen("mps2-an521", "mps2-an512", 1));
    let wrong = bench.run(["up"]).expect(2);
    wrong.expect_err("no emulated chip \"mps2-an512\"; did you mean mps2-an521?");
    let error = bench.run(["up", "--json"]).expect(2).json();
    assert!(error["error"].as_str().unwrap().contains("mps2-an512"));

    bench.write_system(
        &text
            .replacen("probe = \"qemu\"", "probe = \"feed:beef:none\"", 1)
            .replacen("arguments = [\"board=A\"]", "", 1)
            .replace("[[link]]\nbetween = [\"A.uart1\", \"B.uart1\"]", ""),
    );
    let wrong = bench.run(["halt"]).expect(2);
    wrong.expect_err("stillpoint.toml:3:8: no chip \"mps2-an521\"");
    let text = std::fs::read_to_string(bench.system_file()).unwrap();
    bench.write_system(&text.replacen("chip = \"mps2-an521\"", "chip = \"nRF52840_xxAA\"", 1));
    let wrong = bench.run(["halt"]).expect(2);
    wrong.expect_err("stillpoint.toml:4:9: no probe feed:beef:none is connected");

    std::fs::remove_file(bench.system_file()).unwrap();
    bench.run(["halt"]).expect(2).expect_err("no stillpoint.toml in");
    bench.write_system(
        "[[board]]\nname = \"A\"\nchip = \"mps2-an521\"\nprobe = \"qemu\"\nfirmware = \"firmware.elf\"\n",
    );
    bench.run(["--system", "elsewhere.toml", "up"]).expect(2).expect_err("cannot read elsewhere.toml");
}

//! `stillpoint dump` and `--from`: two halted boards saved, gone, and looked at all the same.
use crate::cli::{self, Bench, Done};
use object::{Object as _, ObjectSymbol as _};
use std::path::Path;
use stillpoint::dump::{Dump, DumpError, MAGIC};

/// Two boards halted and saved; then they are gone.
fn saved(bench: &Bench, file: &str) -> (Done, Done) {
    bench.run(["halt"]).expect(0);
    let cut = bench.run(["cut"]).expect(0);
    let status = bench.run(["status"]).expect(0);
    let dumped = bench.run(["dump", file]).expect(0);
    dumped.expect_out("certificate valid");
    dumped.expect_out("of 4 cores");
    bench.run(["down"]).expect(0);
    (cut, status)
}

#[test]
fn a_dump_shows_without_boards_what_the_boards_showed() {
    let bench = Bench::running("token_ring");
    bench.expect_progress();
    let info_running = bench.run(["dump", "x.dump"]).expect(2);
    info_running.expect_err("left0, left1, right0, right1 are not halted");
    info_running.expect_err("stillpoint halt");
    assert!(!bench.path("x.dump").exists(), "nothing was written");
    bench.expect_progress();

    let (cut, status) = saved(&bench, "x.dump");
    bench.run(["cut"]).expect(2).expect_err("not up");
    let length = std::fs::metadata(bench.path("x.dump")).unwrap().len();
    assert!(length < 2 << 20, "{length} bytes are too many for a dump of two small boards");

    // The firmware is inside, and the system file too: the dump is enough.
    let system_text = std::fs::read_to_string(bench.system_file()).unwrap();
    std::fs::remove_file(bench.path("firmware.elf")).unwrap();
    std::fs::remove_file(bench.system_file()).unwrap();
    let again = bench.run(["--from", "x.dump", "cut"]).expect(0);
    assert_eq!(again.out, cut.out, "recomputed from memory and registers, the cut is the same");
    assert!(!again.err.contains("differs"), "and the one that was saved: {}", again.err);
    assert_eq!(bench.run(["--from", "x.dump", "status"]).expect(0).out, status.out);
    let info = bench.run(["info", "--from", "x.dump"]).expect(0);
    info.expect_out("left0  node 0");
    info.expect_out("watches: holding");
    let json = bench.run(["cut", "--from", "x.dump", "--json"]).expect(0).json();
    assert_eq!(json["valid"], true);

    for needs_boards in [&["halt"][..], &["resume"], &["flash"], &["dump", "y.dump"], &["break", "left0:fault"]] {
        let refused = bench.run(["--from", "x.dump"].iter().chain(needs_boards)).expect(2);
        refused.expect_err("a dump can only be looked at");
    }
    bench.write_system(&system_text);
}

/// The temporary files in the folder of a bench.
fn temporary(bench: &Bench) -> Vec<String> {
    let entries = std::fs::read_dir(bench.path("")).unwrap().map(|entry| entry.unwrap().file_name());
    entries.filter_map(|name| name.into_string().ok()).filter(|name| name.starts_with(".stillpoint-")).collect()
}

#[test]
fn what_a_killed_dump_leaves_is_removed_by_the_next_and_sigterm_leaves_nothing() {
    let bench = Bench::running("token_ring");
    bench.run(["halt"]).expect(0);
    for name in ["TERM", "KILL"] {
        let child = bench.command(["dump", "x.dump"]).spawn().unwrap();
        let begun = || Ok((!temporary(&bench).is_empty() || bench.path("x.dump").exists()).then_some(()));
        cli::wait_for("the dump is being written", begun).unwrap();
        cli::signal(name, child.id());
        let done = Done::within(cli::LIMIT, child);
        assert!(!bench.path("x.dump").exists(), "the signal came while it was written: {done:?}");
        assert_eq!(temporary(&bench).len(), usize::from(name == "KILL"), "{done:?}");
    }
    bench.run(["dump", "x.dump"]).expect(0).expect_out("certificate valid");
    assert_eq!(temporary(&bench), [""; 0]);
}

#[test]
fn a_dump_is_read_only_with_the_firmware_that_ran() {
    let bench = Bench::running("token_ring");
    bench.run(["halt"]).expect(0);
    bench.run(["dump", "bare.dump", "--without-elf"]).expect(0);
    bench.run(["dump", "bare.dump"]).expect(2).expect_err("exists");
    bench.run(["down"]).expect(0);

    // The ELF file is where it was; then it is another; then it is gone.
    bench.run(["cut", "--from", "bare.dump"]).expect(0).expect_out("valid");
    let was = std::fs::read(bench.path("firmware.elf")).unwrap();
    bench.install("pipeline");
    let other = bench.run(["cut", "--from", "bare.dump"]).expect(2);
    other.expect_err("is another build");
    let identities = other.err.matches("firmware.elf (").count();
    assert_eq!(identities, 2, "both are named: {}", other.err);
    std::fs::remove_file(bench.path("firmware.elf")).unwrap();
    let gone = bench.run(["cut", "--from", "bare.dump"]).expect(2);
    gone.expect_err("saved without its firmware");
    gone.expect_err("CRC-64/XZ");
    // Wherever it is, a system file can name it.
    std::fs::write(bench.path("elsewhere.elf"), was).unwrap();
    let text = std::fs::read_to_string(bench.system_file()).unwrap().replace("firmware.elf", "elsewhere.elf");
    std::fs::write(bench.path("other.toml"), text).unwrap();
    bench.run(["--system", "other.toml", "cut", "--from", "bare.dump"]).expect(0).expect_out("valid");
    bench.install("token_ring");
}

#[test]
fn what_there_is_of_a_broken_system_can_be_saved_by_force() {
    let bench = Bench::running("token_ring");
    bench.expect_progress();
    bench.run(["dump", "running.dump", "--force"]).expect(1).expect_out("FAILED");
    bench.expect_progress();
    bench.run(["halt"]).expect(0);
    bench.kill(1);
    bench.run(["dump", "maimed.dump"]).expect(2).expect_err("board B is missing");
    bench.run(["dump", "maimed.dump", "--force"]).expect(1).expect_out("board B is missing");

    let running = bench.run(["cut", "--from", "running.dump"]).expect(1);
    running.expect_out("left0 is not parked");
    running.expect_out("token_ring.rs:");
    bench.run(["status", "--from", "running.dump"]).expect(0).expect_out("left0   running");
    let maimed = bench.run(["cut", "--from", "maimed.dump"]).expect(1);
    maimed.expect_out("board B (B.0, B.1) is missing: it was not there when the dump was made");
    bench.run(["status", "--from", "maimed.dump"]).expect(1).expect_out("left0  parked");
}

/// Turns a bit in each piece of memory that holds the ring between the cores of a board, as docs/DUMP.md has the form.
fn spoil_rings(dump: &mut [u8]) {
    const MEMORY: u8 = 5;
    let elf = std::fs::read(cli::firmware("token_ring")).unwrap();
    let file = object::File::parse(&*elf).unwrap();
    let is_ring = |symbol: &object::Symbol<'_, '_>| symbol.name().is_ok_and(|name| name.contains("6ACROSS"));
    let rings: Vec<u32> = file.symbols().filter(is_ring).map(|symbol| symbol.address() as u32).collect();
    let (mut at, mut spoiled) = (MAGIC.len(), 0);
    while let Some(body) = dump.get(at + 8..).filter(|body| body.len() > 10) {
        let word = |from: usize| u32::from_le_bytes(body[from..from + 4].try_into().unwrap());
        let long = u32::from_le_bytes(dump[at..at + 4].try_into().unwrap()) as usize;
        let is_spoiled = body[0] == MEMORY && rings.iter().any(|ring| (word(2)..word(2) + word(6)).contains(ring));
        at += 8 + long;
        if is_spoiled {
            dump[at - 1] ^= 1;
            spoiled += 1;
        }
    }
    assert!(spoiled > 0, "the rings {rings:x?} are in no piece");
}

#[test]
fn of_a_dump_with_damaged_rings_the_certificate_that_was_saved_is_shown_and_said_to_be_old() {
    let bench = Bench::running("token_ring");
    saved(&bench, "x.dump");
    let whole = bench.run(["cut", "--from", "x.dump", "--json"]).expect(0).json();
    let mut bytes = std::fs::read(bench.path("x.dump")).unwrap();
    spoil_rings(&mut bytes);
    std::fs::write(bench.path("spoiled.dump"), bytes).unwrap();
    let shown = bench.run(["cut", "--from", "spoiled.dump"]).expect(1);
    shown.expect_err("damaged at byte");
    shown.expect_out(": valid when it was saved\n");
    shown.expect_out("it cannot be checked anew: ");
    shown.expect_out("ok  every node is parked in the same halt");
    shown.expect_out("frontier, as saved");
    shown.expect_out("token_ring.rs:");
    let json = bench.run(["cut", "--from", "spoiled.dump", "--json"]).expect(1).json();
    assert_eq!(json["certificate_as_saved"]["checks"], whole["checks"]);
    assert_eq!(json["certificate_as_saved"]["halt"], whole["halt"]);
    assert!(!json["not_checked_anew"].as_str().unwrap().is_empty());
}

/// What is left of a dump, as text: how every node stands, and its clock.
fn shown(bytes: &[u8]) -> Result<(Vec<String>, bool), DumpError> {
    let dump = Dump::parse(bytes, Path::new("x.dump"))?;
    let mut system = dump.system(None)?;
    let mut lines = Vec::new();
    for at in system.addresses() {
        let name = system.node_name(at);
        let line = match system.node(at) {
            Ok(node) => format!("{name} {:?} {:?} {:?}", node.state, node.clock, node.watches),
            Err(_) => continue,
        };
        lines.push(line);
    }
    Ok((lines, !dump.damage.is_empty()))
}

#[test]
fn two_hundred_flipped_bits_are_all_noticed_and_none_is_believed() {
    let bench = Bench::running("token_ring");
    saved(&bench, "x.dump");
    let whole = std::fs::read(bench.path("x.dump")).unwrap();
    let (truth, damaged) = shown(&whole).unwrap();
    assert!(truth.len() == 4 && !damaged);
    let mut random = 0x2545_F491_4F6C_DD1Du64;
    let mut next = |below: usize| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        (random % below as u64) as usize
    };
    let mut complete = 0;
    for _ in 0..200 {
        let mut bytes = whole.clone();
        let place = MAGIC.len() + next(bytes.len() - MAGIC.len());
        bytes[place] ^= 1 << next(8);
        match shown(&bytes) {
            Ok((lines, damaged)) => {
                assert!(damaged, "a bit at {place} is not noticed");
                assert!(lines.iter().all(|line| truth.contains(line)), "a bit at {place} is believed: {lines:?}");
                complete += usize::from(lines.len() == truth.len());
            }
            // The firmware is one piece of information: a bit in it costs it all, and it is gone from its old place.
            Err(error) => assert!(matches!(error, DumpError::NoFirmware { .. }), "{error}"),
        }
    }
    assert!(complete > 0, "most bits are in memory that no node needs");

    // The same through the program: where the damage is, and what is missing.
    let mut bytes = whole.clone();
    let middle = whole.len() / 3;
    bytes[middle] ^= 4;
    std::fs::write(bench.path("flipped.dump"), &bytes).unwrap();
    let status = bench.run(["status", "--from", "flipped.dump"]).expect(1);
    status.expect_err("damaged at byte");
    std::fs::write(bench.path("cut.dump"), &whole[..2000]).unwrap();
    let cut_short = bench.run(["status", "--from", "cut.dump"]);
    cut_short.expect_err("damaged at byte");
    // Without its last bytes it shows every node as the whole one does, and says by its exit code that something is gone.
    std::fs::write(bench.path("end.dump"), &whole[..whole.len() - 10]).unwrap();
    let (shown, without_end) =
        (bench.run(["status", "--from", "x.dump"]).expect(0), bench.run(["status", "--from", "end.dump"]));
    without_end.expect_err("damaged at byte");
    assert_eq!((without_end.code, without_end.out), (Some(1), shown.out));
    std::fs::write(bench.path("none.dump"), "no dump at all").unwrap();
    bench.run(["status", "--from", "none.dump"]).expect(2).expect_err("is no dump");
    bench.run(["status", "--from", "nowhere.dump"]).expect(2).expect_err("cannot read nowhere.dump");
}

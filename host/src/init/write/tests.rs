use super::*;
use crate::ProbeSeen;
use crate::config::{ProbeConfig, SystemFile};
use crate::init::FoundFirmware;

fn firmware(path: &str, nodes: &[&str]) -> FoundFirmware {
    FoundFirmware::for_tests(path.into(), nodes)
}

fn probe(name: &str, selector: &str) -> ProbeSeen {
    ProbeSeen { name: name.into(), selector: selector.into() }
}

/// What is written is read by our own reader.
#[track_caller]
fn read(survey: &Survey) -> (String, SystemFile) {
    let text = system_file(survey, Path::new("/w/system"));
    let file = SystemFile::parse(Path::new("/w/system/stillpoint.toml"), text.clone());
    (text.clone(), file.unwrap_or_else(|error| panic!("{error} in:\n{text}")))
}

#[test]
fn without_anything_it_is_for_two_emulated_boards_and_says_what_to_change() {
    let (text, file) = read(&Survey::default());
    let boards: Vec<_> =
        file.boards.iter().map(|board| (board.name.as_str(), &board.probe, &board.arguments)).collect();
    assert_eq!(
        boards,
        [("A", &ProbeConfig::Qemu, &vec!["board=A".into()]), ("B", &ProbeConfig::Qemu, &vec!["board=B".into()])]
    );
    assert_eq!(file.links.len(), 1);
    for part in ["No debug probe is connected", "QEMU is not on the PATH", "CHANGE THIS: no firmware"] {
        assert!(text.contains(part), "{part:?} is not in:\n{text}");
    }
}

#[test]
fn a_chip_that_was_asked_for_is_the_one_that_is_written() {
    let (text, file) = read(&Survey { chip: Some("RP235x".into()), ..Survey::default() });
    assert_eq!(file.boards.iter().map(|board| board.chip.as_str()).collect::<Vec<_>>(), ["RP235x"]);
    assert!(matches!(file.boards[0].probe, ProbeConfig::Probe { .. }), "no emulated board has this chip");
    assert!(text.contains("CHANGE THIS: the probe") && !text.contains("mps2-an521"), "{text}");
    let (_, file) = read(&Survey { chip: Some("mps3-an524".into()), ..Survey::default() });
    assert!(file.boards.iter().all(|board| board.chip == "mps3-an524" && board.probe == ProbeConfig::Qemu));
}

#[test]
fn firmware_is_named_relative_to_the_file_and_others_in_a_comment() {
    let found = vec![firmware("/w/target/ring", &["left0", "left1"]), firmware("/w/target/pipe", &["source"])];
    let (text, file) = read(&Survey { firmware: found, qemu: true, ..Survey::default() });
    assert!(text.contains("firmware = \"../target/ring\"\n"), "{text}");
    assert!(text.contains("# ELF file, relative to this file. Nodes in it: left0, left1."), "{text}");
    assert!(text.contains("#   ../target/pipe  (nodes source)"), "{text}");
    assert!(!text.contains("CHANGE THIS") && !text.contains("not on the PATH"), "{text}");
    assert_eq!(file.boards[1].firmware, Path::new("/w/system/../target/ring"));
}

#[test]
fn every_probe_is_a_board_and_those_that_cannot_be_told_apart_are_one() {
    let probes = vec![probe("Debugprobe", "2e8a:000c:E6"), probe("J-Link", "1366:0101"), probe("J-Link", "1366:0101")];
    let (text, file) = read(&Survey { probes: probes.clone(), ..Survey::default() });
    let selectors: Vec<_> = file.boards.iter().map(|board| board.probe.clone()).collect();
    let expected =
        |selector: &str| ProbeConfig::Probe { selector: selector.into(), speed_khz: None, under_reset: false };
    assert_eq!(selectors, [expected("2e8a:000c:E6"), expected("1366:0101")]);
    assert!(text.contains("# Behind the probe Debugprobe.") && text.contains("CHANGE THIS: the chip"), "{text}");
    let (text, file) = read(&Survey { probes, chip: Some("RP235x".into()), ..Survey::default() });
    assert_eq!(file.boards[0].chip, "RP235x");
    assert!(!text.contains("CHANGE THIS: the chip"), "{text}");
}

#[test]
fn boards_that_run_keep_their_names() {
    let running = vec![("left".to_owned(), "mps2-an521".to_owned()), ("right".into(), "mps3-an524".into())];
    let (text, file) = read(&Survey { running, ..Survey::default() });
    assert_eq!((file.boards[0].name.as_str(), file.boards[1].chip.as_str()), ("left", "mps3-an524"));
    assert!(text.contains("Emulated, and up now") && text.contains("[\"left.uart1\", \"right.uart1\"]"), "{text}");
}

#[test]
fn strange_names_do_not_break_the_file() {
    let strange = "/w/target/a \"b\" \\ \u{7F} c\td";
    let survey = Survey {
        probes: vec![probe("evil\n[[board]]", "1366:0101:se\"rial")],
        firmware: vec![firmware(strange, &["node\nx"]), firmware(strange, &["y"])],
        passed_over: vec!["two\nlines".into()],
        chip: Some("chip\"".into()),
        ..Survey::default()
    };
    let (_, file) = read(&survey);
    assert_eq!(file.boards.len(), 1);
    assert_eq!(file.boards[0].firmware, Path::new("/w/system/../target/a \"b\" \\ \u{7F} c\td"));
}

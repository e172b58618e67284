//! Each wrong file is refused at its place.
use super::*;

const GOOD: &str = r#"[[board]]
name = "A"
chip = "mps2-an521"
probe = "qemu"
firmware = "fw/ring"
arguments = ["board=A"]
nodes = ["left0", "left1"]

[[board]]
name = "B"
chip = "nrf5340_xxaa"
probe = "1366:1051:000123"
firmware = "/abs/ring"
speed_khz = 4000

[[board]]
name = "C"
chip = "mps2-an521"
probe = "qemu"
firmware = "fw/ring"

[[link]]
between = ["A.uart1", "C.uart1"]
"#;

fn parse(text: &str) -> Result<SystemFile, ConfigError> {
    SystemFile::parse(Path::new("/sys/stillpoint.toml"), text.to_owned())
}

/// Replaces one text in the good file and returns what is said about it.
fn complaint(from: &str, to: &str) -> String {
    assert!(GOOD.contains(from), "{from} is not in the good file");
    parse(&GOOD.replacen(from, to, 1)).expect_err("the file is wrong").to_string()
}

#[test]
fn a_good_file_says_what_it_means() {
    let file = parse(GOOD).unwrap();
    assert_eq!(file.boards.len(), 3);
    assert_eq!(file.boards[0].firmware, Path::new("/sys/fw/ring"));
    assert_eq!(file.boards[0].nodes, ["left0", "left1"]);
    assert_eq!(file.boards[1].firmware, Path::new("/abs/ring"));
    let selector = "1366:1051:000123".to_owned();
    assert_eq!(file.boards[1].probe, ProbeConfig::Probe { selector, speed_khz: Some(4000), under_reset: false });
    assert_eq!(file.links, [LinkConfig { between: [UartEnd { board: 0, uart: 1 }, UartEnd { board: 2, uart: 1 }] }]);
    let blamed = file.blame(&file.boards[1], super::super::Part::Chip, "wrong chip").to_string();
    assert!(blamed.starts_with("/sys/stillpoint.toml:11:8: wrong chip"), "{blamed}");
}

#[test]
fn an_error_shows_line_column_and_the_line_with_a_caret() {
    let text = complaint("chip = \"nrf", "chpi = \"nrf");
    let expected = "/sys/stillpoint.toml:11:1: unknown field `chpi`, expected one of `name`, `chip`, `chip_description`, `probe`, `firmware`, \
                    `arguments`, `nodes`, `record`, `speed_khz`, `under_reset`\n   |\n11 | chpi = \"nrf5340_xxaa\"\n   | ^^^^";
    assert_eq!(text, expected);
    let text = complaint("\"C.uart1\"", "\"D.uart1\"");
    assert!(text.starts_with("/sys/stillpoint.toml:23:23: there is no board D"), "{text}");
    assert!(text.ends_with("\n   |                       ^^^^^^^^^"), "{text}");
}

#[test]
fn each_impossibility_is_refused_with_what_to_do() {
    let cases = [
        ("name = \"B\"", "name = \"A\"", ":10:8: there is another board A"),
        ("\"left1\"", "\"left0\"", ":2:8: the name left0 is used twice"),
        ("name = \"B\"", "name = \"B 1\"", ":10:8: \"B 1\" is no name"),
        ("1366:1051:000123", "j-link", ":12:9: \"j-link\" is no probe"),
        ("\"C.uart1\"", "\"A.uart1\"", ":23:23: A.uart1 is joined already"),
        ("\"C.uart1\"", "\"B.uart1\"", ":23:23: board B is not emulated"),
        ("\"C.uart1\"", "\"C.uart9\"", ":23:23: \"C.uart9\" is no UART"),
        ("\"C.uart1\"", "\"C\"", ":23:23: \"C\" is no UART"),
        (", \"C.uart1\"", "", ":23:11: a link is between two UARTs"),
        ("nodes = [", "speed_khz = 3\nnodes = [", ":7:13: speed_khz is for boards behind a real probe"),
        ("speed_khz = 4000", "arguments = [\"x\"]", ":14:13: arguments are for emulated boards"),
        ("firmware = \"/abs/ring\"\n", "", ":9:1: missing field `firmware`"),
        ("name = \"A\"", "name = ", ":2:"),
    ];
    for (from, to, expected) in cases {
        let text = complaint(from, to);
        assert!(text.contains(expected), "{to}: {text}");
    }
    assert!(parse("").unwrap_err().to_string().contains("there is no board"));
}

#[test]
fn what_is_recorded_is_chosen_for_the_system_a_board_and_a_node_and_wrong_words_are_pointed_at() {
    let text = GOOD.replacen("speed_khz = 4000", "speed_khz = 4000\nrecord = \"full\"", 1);
    let node = "\n[[node]]\nname = \"B.1\"\nrecord = \"send, trace(lap)\"\n";
    let file = parse(&format!("record = \"off\"\n{text}{node}")).unwrap();
    let said = |choice: &Option<Choice>| choice.as_ref().map(ToString::to_string);
    assert_eq!(said(&file.record).as_deref(), Some("off"));
    let boards: Vec<Option<String>> = file.boards.iter().map(|board| said(&board.record)).collect();
    assert_eq!(boards, [None, Some("full".into()), None]);
    assert_eq!((file.nodes[0].name.as_str(), file.nodes[0].record.to_string()), ("B.1", "trace(lap),send".into()));
    let wrong = parse(&format!("record = \"of\"\n{GOOD}")).unwrap_err().to_string();
    assert!(wrong.contains(":1:10:") && wrong.contains("did you mean off?"), "{wrong}");
    let twice = parse(&format!("{GOOD}{node}{node}")).unwrap_err().to_string();
    assert!(twice.contains("another [[node]] B.1"), "{twice}");
}

#[test]
fn more_boards_than_a_system_can_have_are_refused_where_the_first_too_many_is() {
    let board = |name: String| {
        format!("[[board]]\nname = \"{name}\"\nchip = \"mps2-an521\"\nprobe = \"qemu\"\nfirmware = \"x\"\n")
    };
    let boards = |count: usize| (0..count).map(|at| board(format!("b{at}"))).collect::<String>();
    assert_eq!(parse(&boards(32)).unwrap().boards.len(), 32);
    let said = parse(&boards(10_000)).unwrap_err().to_string();
    assert!(said.contains("there are 10000 boards; a system has at most 32 nodes") && said.contains("b32"), "{said}");
}

/// Every example parses, and every key that a board, link or node can have stands in a table.
#[test]
fn the_reference_of_the_system_file_is_true() {
    let page = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/SYSTEM_FILE.md")).unwrap();
    let examples: Vec<&str> =
        page.split("```toml\n").skip(1).map(|part| part.split("```").next().unwrap_or_default()).collect();
    assert_eq!(examples.len(), 2);
    for example in examples {
        parse(example).unwrap_or_else(|error| panic!("{error}\n{example}"));
    }
    let error = complaint("chip = \"nrf", "chpi = \"nrf");
    let keys = error.lines().next().and_then(|line| line.split("expected one of ").nth(1)).unwrap();
    for key in keys.split(", ") {
        assert!(page.contains(&format!("| {key} |")), "{key} is missing in the table");
    }
}

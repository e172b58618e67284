//! The text of a system file, with comments for whoever changes it.
use super::Survey;
use std::fmt::Write as _;
use std::path::{Component, Path, PathBuf};

/// What a board is called that has no name yet.
const NAMES: [&str; 8] = ["A", "B", "C", "D", "E", "F", "G", "H"];
/// The chip that is written where nobody knows it: no chip has this name, and every command says so, with the line.
const UNKNOWN_CHIP: &str = "which-chip-is-it";
/// The probe that is written where none is connected: there is none with these numbers.
const UNKNOWN_PROBE: &str = "0000:0000";

/// A board to be written.
struct Board {
    name: String,
    chip: String,
    probe: String,
    emulated: bool,
    about: String,
}

pub(super) fn system_file(survey: &Survey, folder: &Path) -> String {
    let is_emulated = |chip: &String| crate::emulated::chips().any(|emulated| emulated == chip);
    let boards = match &survey.chip {
        Some(chip) if survey.probes.is_empty() && !is_emulated(chip) => vec![not_connected(chip)],
        _ if survey.probes.is_empty() => emulated(survey),
        _ => behind_probes(survey),
    };
    let mut text = String::from(
        "# The boards of this system, written by `stillpoint init`; `stillpoint doctor` checks it.\n\
         # Nodes, ports, watches and names are not repeated here: they are read from the firmware.\n",
    );
    if boards.iter().all(|board| board.emulated) {
        text.push_str(
            "#\n# No debug probe is connected: these boards are emulated. For real ones change `chip` and `probe`,\n",
        );
        text.push_str("# and remove `arguments` and the link; `stillpoint init --force` does so once the probes are plugged in.\n");
        if !survey.qemu {
            text.push_str("# QEMU is not on the PATH either: `stillpoint doctor` says how to install it.\n");
        }
    }
    for board in &boards {
        write_board(&mut text, survey, folder, board);
    }
    if let [one, other, ..] = boards.as_slice()
        && one.emulated
        && other.emulated
    {
        text.push_str("\n# Which UARTs of emulated boards are joined; boards on a desk are joined by a cable.\n");
        let _ = writeln!(
            text,
            "[[link]]\nbetween = [{}, {}]",
            quoted(&format!("{}.uart1", one.name)),
            quoted(&format!("{}.uart1", other.name))
        );
    }
    if survey.firmware.len() > 1 {
        text.push_str("\n# Other firmware that carries the kit:\n");
        for other in &survey.firmware[1..] {
            let _ = writeln!(
                text,
                "#   {}  (nodes {})",
                one_line(&relative(&other.path, folder).to_string_lossy()),
                one_line(&other.nodes.join(", "))
            );
        }
    }
    for why in &survey.passed_over {
        let _ = writeln!(text, "\n# Passed over: {}", one_line(why));
    }
    text
}

/// Two boards, or those that run already.
fn emulated(survey: &Survey) -> Vec<Board> {
    let fits = survey.firmware.first().and_then(|firmware| firmware.chip);
    let chip = survey.chip.as_deref().or(fits).or_else(|| crate::emulated::chips().next()).unwrap_or(UNKNOWN_CHIP);
    let board = |name: &str, chip: &str, about: &str| Board {
        name: name.into(),
        chip: chip.into(),
        probe: "qemu".into(),
        emulated: true,
        about: about.into(),
    };
    if survey.running.is_empty() {
        return NAMES[..2].iter().map(|name| board(name, chip, "Emulated")).collect();
    }
    survey.running.iter().map(|(name, chip)| board(name, chip, "Emulated, and up now")).collect()
}

/// A board with a chip that the user named, while no probe is connected.
fn not_connected(chip: &str) -> Board {
    Board {
        name: NAMES[0].into(),
        chip: chip.into(),
        probe: UNKNOWN_PROBE.into(),
        emulated: false,
        about: "Behind a debug probe, which was not connected when this was written".into(),
    }
}

fn behind_probes(survey: &Survey) -> Vec<Board> {
    let mut boards: Vec<Board> = Vec::new();
    for probe in &survey.probes {
        // Two that cannot be told apart cannot both be meant.
        if boards.iter().any(|board| board.probe == probe.selector) {
            continue;
        }
        let at = boards.len();
        let name = NAMES.get(at).map_or_else(|| format!("board{}", at + 1), |name| (*name).to_owned());
        boards.push(Board {
            name,
            chip: survey.chip.clone().unwrap_or_else(|| UNKNOWN_CHIP.into()),
            probe: probe.selector.clone(),
            emulated: false,
            about: format!("Behind the probe {}", one_line(&probe.name)),
        });
    }
    boards
}

fn write_board(text: &mut String, survey: &Survey, folder: &Path, board: &Board) {
    let Board { name, chip, probe, emulated, about } = board;
    let _ = writeln!(text, "\n# {about}.\n[[board]]\nname = {}", quoted(name));
    if chip == UNKNOWN_CHIP {
        text.push_str(
            "# CHANGE THIS: the chip as probe-rs names it (https://probe.rs/targets, or `probe-rs chip list`).\n",
        );
    }
    let _ = writeln!(text, "chip = {}", quoted(chip));
    if probe == UNKNOWN_PROBE {
        text.push_str("# CHANGE THIS: the probe as `lsusb` or `probe-rs list` shows it, VID:PID or VID:PID:SERIAL.\n");
    }
    let _ = writeln!(text, "probe = {}", quoted(probe));
    match survey.firmware.first() {
        Some(firmware) => {
            let _ = writeln!(
                text,
                "# ELF file, relative to this file. Nodes in it: {}.",
                one_line(&firmware.nodes.join(", "))
            );
            let _ = writeln!(text, "firmware = {}", quoted(&relative(&firmware.path, folder).to_string_lossy()));
        }
        None => {
            text.push_str("# CHANGE THIS: no firmware with the kit was found in the target folder. Build it (docs/INSTRUMENT.md), then\n");
            text.push_str("# name its ELF file here, relative to this file.\n");
            text.push_str("firmware = \"firmware.elf\"\n");
        }
    }
    if *emulated {
        text.push_str("# What the firmware finds on its command line: here, which of the boards it is.\n");
        let _ = writeln!(text, "arguments = [{}]", quoted(&format!("board={name}")));
    } else {
        text.push_str("# speed_khz = 1000      # where the probe's own speed is too much for the cable\n");
        text.push_str("# under_reset = true    # where the chip must be held in reset to attach\n");
    }
    text.push_str("# nodes = [\"name0\", \"name1\"]    # other names than the firmware's, core 0's first\n");
}

/// A TOML string. JSON's escapes are among TOML's.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string().replace('\u{7F}', "\\u007F")
}

/// As it can stand in a comment.
fn one_line(text: &str) -> String {
    text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect()
}

/// A path as it is written in a file of this folder.
fn relative(path: &Path, folder: &Path) -> PathBuf {
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let common = path.components().zip(folder.components()).take_while(|(one, other)| one == other).count();
    // Nothing but the root in common: the way up would be longer than the whole path.
    if common <= 1 {
        return path;
    }
    let up = folder.components().skip(common).map(|_| Component::ParentDir);
    up.chain(path.components().skip(common)).collect()
}

#[cfg(test)]
mod tests;

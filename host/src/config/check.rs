//! From what is written to what is meant, or to the place that is wrong.
use super::raw::{RawBoard, RawFile, RawLink, RawNode};
use super::{BoardConfig, ConfigError, LinkConfig, NodeConfig, ProbeConfig, Spans, SystemFile, UartEnd};
use crate::did_you_mean;
use crate::recording::{Choice, ChoiceError};
use std::collections::HashSet;
use std::ops::Range;
use std::path::Path;
use stillpoint_core::MAX_NODES;
use toml::Spanned;

/// UARTs of an emulated board that can be joined.
const UARTS: usize = 5;

/// A complaint and where it belongs.
type Complaint = (Range<usize>, String);

pub(super) fn check(path: &Path, text: String) -> Result<SystemFile, ConfigError> {
    let raw: RawFile = toml::from_str(&text)
        .map_err(|error| ConfigError::at(path, &text, error.span().unwrap_or(0..0), error.message().to_owned()))?;
    let folder = path.parent().unwrap_or(Path::new("."));
    match convert(raw, folder) {
        Ok(Meant { boards, record, nodes, links }) => {
            Ok(SystemFile { path: path.to_owned(), boards, record, nodes, links, text })
        }
        Err((span, message)) => Err(ConfigError::at(path, &text, span, message)),
    }
}

/// What a file means.
struct Meant {
    boards: Vec<BoardConfig>,
    record: Option<Choice>,
    nodes: Vec<NodeConfig>,
    links: Vec<LinkConfig>,
}

fn convert(raw: RawFile, folder: &Path) -> Result<Meant, Complaint> {
    if raw.board.is_empty() {
        return Err((0..0, "there is no board; add a [[board]] with name, chip, probe and firmware".into()));
    }
    if let Some(board) = raw.board.get(MAX_NODES) {
        let count = raw.board.len();
        return Err((
            board.name.span(),
            format!("there are {count} boards; a system has at most {MAX_NODES} nodes, and each board has one or more"),
        ));
    }
    let mut names = HashSet::new();
    let mut probes = HashSet::new();
    let mut boards = Vec::new();
    for board in raw.board {
        let (name_span, probe_span) = (board.name.span(), board.probe.span());
        let board = convert_board(board, folder)?;
        if !names.insert(board.name.clone()) {
            return Err((name_span, format!("there is another board {}; give each its own name", board.name)));
        }
        for name in &board.nodes {
            if !names.insert(name.clone()) {
                return Err((name_span, format!("the name {name} is used twice; give each board and node its own")));
            }
        }
        if let ProbeConfig::Probe { selector, .. } = &board.probe
            && !probes.insert(selector.clone())
        {
            return Err((
                probe_span,
                format!("another board has the probe {selector}; tell them apart by VID:PID:SERIAL"),
            ));
        }
        boards.push(board);
    }
    let mut taken = HashSet::new();
    let links = raw.link.into_iter().map(|link| convert_link(&link, &boards, &mut taken)).collect::<Result<_, _>>()?;
    let record = raw.record.as_ref().map(convert_choice).transpose()?;
    Ok(Meant { boards, record, nodes: convert_nodes(&raw.node)?, links })
}

fn convert_nodes(raw: &[RawNode]) -> Result<Vec<NodeConfig>, Complaint> {
    let mut nodes: Vec<NodeConfig> = Vec::new();
    for node in raw {
        let name = node.name.get_ref();
        if nodes.iter().any(|other| other.name == *name) {
            return Err((node.name.span(), format!("there is another [[node]] {name}; write one for each")));
        }
        nodes.push(NodeConfig { name: name.clone(), record: convert_choice(&node.record)? });
    }
    Ok(nodes)
}

fn convert_choice(raw: &Spanned<String>) -> Result<Choice, Complaint> {
    raw.get_ref().parse().map_err(|error: ChoiceError| (raw.span(), error.to_string()))
}

fn convert_board(raw: RawBoard, folder: &Path) -> Result<BoardConfig, Complaint> {
    let name = check_name(&raw.name)?;
    let nodes = raw.nodes.iter().map(check_name).collect::<Result<_, _>>()?;
    let selector = raw.probe.get_ref();
    let probe = if selector == "qemu" {
        let only_real = "is for boards behind a real probe; leave it out for an emulated board";
        if let Some(span) = raw.speed_khz.as_ref().map(Spanned::span) {
            return Err((span, format!("speed_khz {only_real}")));
        }
        if let Some(span) = raw.under_reset.as_ref().map(Spanned::span) {
            return Err((span, format!("under_reset {only_real}")));
        }
        if let Some(span) = raw.chip_description.as_ref().map(Spanned::span) {
            return Err((span, format!("chip_description {only_real}")));
        }
        ProbeConfig::Qemu
    } else {
        check_selector(&raw.probe)?;
        if let Some(arguments) = raw.arguments.as_ref() {
            let only = "arguments are for emulated boards; a real board has no command line";
            return Err((arguments.span(), only.into()));
        }
        ProbeConfig::Probe {
            selector: selector.clone(),
            speed_khz: raw.speed_khz.map(Spanned::into_inner),
            under_reset: raw.under_reset.is_some_and(Spanned::into_inner),
        }
    };
    let record = raw.record.as_ref().map(convert_choice).transpose()?;
    let spans = Spans { chip: raw.chip.span(), probe: raw.probe.span(), firmware: raw.firmware.span() };
    Ok(BoardConfig {
        name,
        chip: raw.chip.into_inner(),
        chip_description: raw.chip_description.map(|path| folder.join(path.into_inner())),
        probe,
        firmware: folder.join(raw.firmware.into_inner()),
        arguments: raw.arguments.map(Spanned::into_inner).unwrap_or_default(),
        nodes,
        record,
        spans,
    })
}

/// A name is used in expressions and as the name of a folder.
fn check_name(name: &Spanned<String>) -> Result<String, Complaint> {
    let text = name.get_ref();
    let mut letters = text.chars();
    let begins = letters.next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_');
    if begins && letters.all(|letter| letter.is_ascii_alphanumeric() || letter == '_') && text.len() <= 32 {
        return Ok(text.clone());
    }
    let rule = "a name is a letter followed by letters, digits and _, 32 characters at most";
    Err((name.span(), format!("{text:?} is no name: {rule}")))
}

fn check_selector(probe: &Spanned<String>) -> Result<(), Complaint> {
    let mut parts = probe.get_ref().splitn(3, ':');
    let is_hex = |part: Option<&str>| part.is_some_and(|part| u16::from_str_radix(part, 16).is_ok());
    if is_hex(parts.next()) && is_hex(parts.next()) {
        return Ok(());
    }
    let what = format!("{:?} is no probe: write \"qemu\", \"VID:PID\" or \"VID:PID:SERIAL\"", probe.get_ref());
    Err((probe.span(), what + " (hexadecimal, as `lsusb` prints them)"))
}

fn convert_link(raw: &RawLink, boards: &[BoardConfig], taken: &mut HashSet<UartEnd>) -> Result<LinkConfig, Complaint> {
    let [one, other] = raw.between.get_ref().as_slice() else {
        return Err((raw.between.span(), "a link is between two UARTs, as in [\"A.uart1\", \"B.uart1\"]".into()));
    };
    let mut claim = |end: &Spanned<String>| {
        let uart = convert_end(end, boards)?;
        if taken.insert(uart) { Ok(uart) } else { Err((end.span(), format!("{} is joined already", end.get_ref()))) }
    };
    Ok(LinkConfig { between: [claim(one)?, claim(other)?] })
}

fn convert_end(end: &Spanned<String>, boards: &[BoardConfig]) -> Result<UartEnd, Complaint> {
    let text = end.get_ref();
    let no_uart = || (end.span(), format!("{text:?} is no UART; write BOARD.uartN, with N below {UARTS}"));
    let (name, uart) = text.split_once(".uart").ok_or_else(no_uart)?;
    let uart: usize = uart.parse().ok().filter(|uart| *uart < UARTS).ok_or_else(no_uart)?;
    let Some(board) = boards.iter().position(|board| board.name == name) else {
        let hint = did_you_mean(name, boards.iter().map(|board| board.name.as_str()));
        return Err((end.span(), format!("there is no board {name}{hint}")));
    };
    if boards[board].probe != ProbeConfig::Qemu {
        return Err((end.span(), format!("board {name} is not emulated: join its UARTs with a cable")));
    }
    Ok(UartEnd { board, uart })
}

#[cfg(test)]
mod tests;

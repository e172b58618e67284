//! Every kind of example, decoded by what ships and put into words.
use std::fmt::Display;
use stillpoint_core::control::{self, CommandWords, ControlLayout, PortBlock, SlotState};
use stillpoint_core::delay::{Notice, Passage, Step};
use stillpoint_core::link::{self, FrameDecoder, Header, Ledger};
use stillpoint_core::log::{LogItem, LogReader, TextReader};
use stillpoint_core::predicate::{Carry, Load, Program, Reached};
use stillpoint_core::shared::{AccessKind, AccessValue};
use stillpoint_core::{
    Command, Direction, EventKind, EventNumber, HaltMarker, Input, LinkHello, Node, NodeId, PortId, StampKind,
    message_stamp_len,
};

use crate::document::{Case, Example};

/// What the shipped decoder for this kind of example makes of each case; `None` if no example is of that kind.
pub fn decode(example: &Example) -> Option<Vec<String>> {
    let each = |decode: fn(&[u8]) -> String| example.cases.iter().map(|case| decode(&case.bytes)).collect();
    Some(match example.name.as_str() {
        "event-number" => each(|bytes| event(EventNumber(word(bytes)))),
        "versions" => each(versions),
        "control-header" => each(control_header),
        "port-shape" => each(port_shape),
        "slot-state" => each(slot_state),
        "access-value" => each(|bytes| access_value(AccessValue::from_bits(word(bytes)))),
        "ledgers" => each(ledgers),
        "command" => each(command),
        "log" => log(&example.cases),
        "text" => text(&example.cases),
        "stamps" => match example.parameters.as_slice() {
            [(key, nodes)] if key == "nodes" && nodes == "4" => stamps::<4>(&example.cases),
            [(key, nodes)] if key == "nodes" && nodes == "8" => stamps::<8>(&example.cases),
            _ => return None,
        },
        "reached" => each(|bytes| {
            exactly(bytes).map_or_else(refused_bare, |pair| or_refused(Reached::from_bytes(pair), reached))
        }),
        "values" => each(|bytes| or_refused(Load::decode(bytes), |load| whole(load.length, bytes, values(&load)))),
        "carry" => each(|bytes| or_refused(Carry::decode(bytes), |(said, length)| whole(length, bytes, carry(&said)))),
        "halt-marker" => each(|bytes| or_refused(HaltMarker::<4>::read(bytes), marker)),
        "hello" => each(|bytes| LinkHello::read(bytes).map_or_else(refused_bare, hello)),
        "control-item" => each(control_item),
        "notice" => each(|bytes| or_refused(Notice::from_bytes(bytes), notice)),
        "passage" => each(|bytes| {
            exactly(bytes).map_or_else(refused_bare, |bytes| or_refused(Passage::from_bytes(bytes), passage))
        }),
        "frame" => each(frame),
        "program" => each(|bytes| or_refused(Program::verify(bytes), |program| program.to_string())),
        _ => return None,
    })
}

/// A text log, item by item: what changed needs the item before it.
fn text(cases: &[Case]) -> Vec<String> {
    let mut reader = TextReader::new();
    let mut words = |bytes: &[u8]| {
        or_refused(reader.next(bytes), |item| {
            let Some((item, length)) = item else { return "ends too early".into() };
            let dropped = if item.dropped == 0 { String::new() } else { format!("{} dropped; ", item.dropped) };
            let clock = item.clock.map_or("no clock".into(), |clock| {
                let known = clock.iter().rposition(|entry| *entry != 0).map_or(0, |last| last + 1);
                format!("clock {:?}{}", &clock[..known], if item.is_beginning { ", a beginning" } else { "" })
            });
            let line: Vec<String> = item.line.iter().map(|byte| format!("{byte:02x}")).collect();
            whole(length, bytes, format!("{dropped}{clock}; line {}", line.join(" ")))
        })
    };
    cases.iter().map(|case| words(&case.bytes)).collect()
}

fn refused_bare() -> String {
    "refused".into()
}

fn or_refused<T, E: Display>(result: Result<T, E>, words: impl FnOnce(T) -> String) -> String {
    result.map_or_else(|error| format!("refused: {error}"), words)
}

fn exactly<const LEN: usize>(bytes: &[u8]) -> Option<[u8; LEN]> {
    bytes.try_into().ok()
}

fn words<const LEN: usize>(bytes: &[u8]) -> [u32; LEN] {
    assert_eq!(bytes.len(), 4 * LEN, "an example of another length");
    std::array::from_fn(|place| u32::from_le_bytes(bytes[4 * place..][..4].try_into().unwrap()))
}

fn word(bytes: &[u8]) -> u32 {
    let [word] = words(bytes);
    word
}

/// Decoders that say how much they took must have taken all of the example.
fn whole(length: usize, bytes: &[u8], words: String) -> String {
    assert_eq!(length, bytes.len(), "bytes are left over");
    words
}

fn event(number: EventNumber) -> String {
    match number.epoch() {
        0 => format!("event {}", number.count()),
        epoch => format!("event {} of epoch {epoch}", number.count()),
    }
}

fn versions(bytes: &[u8]) -> String {
    let mut current = control::VERSION.to_le_bytes().to_vec();
    current.push(link::VERSION);
    if bytes != current {
        return format!("refused: the versions are {current:02x?}");
    }
    format!("wire version {}, link version {}, symbol {}", control::VERSION, link::VERSION, control::VERSION_SYMBOL)
}

fn control_header(bytes: &[u8]) -> String {
    or_refused(ControlLayout::read(words(bytes)), |layout| {
        let stamps = if layout.stamps == StampKind::Vector { "vector" } else { "event" };
        let ControlLayout { nodes, ports, node: NodeId(node), size, .. } = layout;
        let (clock, port, fault) = (layout.clock(), layout.port(0), layout.fault());
        let (command, answer) = (layout.command(), layout.answer());
        format!(
            "node {node} of {nodes}, {ports} ports, {stamps} stamps, {size} bytes: clock at {clock}, ports at {port}, \
             fault at {fault}, command at {command}, answer at {answer}"
        )
    })
}

fn slot_state(bytes: &[u8]) -> String {
    SlotState::from_word(word(bytes)).map_or_else(refused_bare, |state| {
        let SlotState { phase, generation, stage, detector, enabled } = state;
        let phase = format!("{phase:?}").to_lowercase();
        let enabled = if enabled { "enabled" } else { "not enabled" };
        format!("{phase}, generation {}, stage {stage} satisfied, {detector:?}, {enabled}", generation.0)
    })
}

fn port_shape(bytes: &[u8]) -> String {
    let shape = word(bytes);
    let direction = if shape & 2 != 0 { Direction::Out } else { Direction::In };
    let peer = NodeId((shape >> 8) as u8);
    let calls = shape & PortBlock::CALLS;
    let at_peer = PortBlock::peer_port(shape);
    let plain = PortBlock::shape_of(direction, peer) | calls;
    assert_eq!(at_peer.map_or(plain, |port| PortBlock::with_peer_port(plain, port)), shape);
    let there = at_peer.map(|port| format!(", port {} there", port.0)).unwrap_or_default();
    format!("{direction:?}, peer {}{}{there}", peer.0, if calls != 0 { ", calls" } else { "" })
}

fn ledgers(bytes: &[u8]) -> String {
    let ledger = |bytes: &[u8]| {
        let [mine, peer, sent_first, sent_end, accepted_next, waiting, waiting_before_reset, 1] = *bytes else {
            panic!("a ledger has eight bytes, the last of them 1");
        };
        Ledger { mine, peer, sent_first, sent_end, accepted_next, waiting, waiting_before_reset }
    };
    let (sender, receiver) = bytes.split_at(8);
    match ledger(sender).in_flight_to(&ledger(receiver)) {
        Some(count) => format!("{count} in flight from the first to the second"),
        None => "the two are not in one session".into(),
    }
}

fn command(bytes: &[u8]) -> String {
    let all: [u32; CommandWords::LEN + 2] = words(bytes);
    let [head @ .., checksum, sequence] = all;
    let found = CommandWords::from_block(head, checksum, sequence);
    or_refused(found.decode(), |command| {
        // What the host would write is what stands in the document.
        assert_eq!(CommandWords::encode(&command, sequence), Ok(found));
        format!("command {sequence}: {}", command_in_words(&command))
    })
}

fn command_in_words(command: &Command<'_>) -> String {
    match command {
        Command::Halt(id) => format!("halt {}", id.0),
        Command::Release(id) => format!("release halt {}", id.0),
        Command::Record(recording) => {
            let causes = if *recording == recording.with_causes() { " with causes" } else { "" };
            let (mode, kinds, actions) = (recording.mode(), recording.kinds().0, recording.actions());
            let (named, ports, names) = recording.names();
            let names: Vec<u16> = names.into_iter().filter(|name| *name != 0).collect();
            let only = format!(", of kinds {:#x} only ports {ports:#x} and names {names:?}", named.0);
            let only = if named.0 == 0 { String::new() } else { only };
            format!("record {mode:?}{causes}, kinds {kinds:#x}, tracepoints {actions:#x}{only}")
        }
        Command::Install { slot, generation, detector, program } => {
            let program = or_refused(Program::verify(program), |program| program.to_string());
            format!("install slot {}, generation {}, {detector:?}: {program}", slot.number(), generation.0)
        }
        Command::Enable { slot, generation, silent } => {
            format!("enable slot {}, generation {}, silent {:#x}", slot.number(), generation.0, silent.0)
        }
        Command::Remove { slot } => format!("remove slot {}", slot.number()),
        Command::Plan { slot, generation, plan } => {
            let carried: Vec<_> = plan.carriers.iter().map(|ports| ports.0).collect();
            format!(
                "plan slot {}, generation {}: own {:?}, release {:?}, needs {:#x}, carriers {carried:?}",
                slot.number(),
                generation.0,
                plan.own,
                plan.release.map(|port| port.0),
                plan.needs
            )
        }
        Command::Suspend | Command::Continue | Command::Report => format!("{command:?}").to_lowercase(),
    }
}

fn access_value(AccessValue { kind, race, version, reads, place }: AccessValue) -> String {
    let what = match kind {
        AccessKind::Read => format!("read after write {version}"),
        AccessKind::Write => format!("write {version} after {reads} reads"),
    };
    let place = if place == 0 { "no place".into() } else { format!("place {place}") };
    format!("{what}{}, at {place}", if race { ", races" } else { "" })
}

fn log(cases: &[Case]) -> Vec<String> {
    let bytes: Vec<u8> = cases.iter().flat_map(|case| case.bytes.clone()).collect();
    let (mut rest, mut reader) = (bytes.as_slice(), LogReader::new());
    let mut said = Vec::new();
    for case in cases {
        let words = match reader.next(rest) {
            Ok(Some((item, used))) => whole(used, &case.bytes, log_item(item)),
            Ok(None) => "the bytes end before the item does".into(),
            Err(error) => format!("refused: {error}"),
        };
        said.push(words);
        rest = &rest[case.bytes.len()..];
    }
    said
}

fn log_item(item: LogItem<'_>) -> String {
    match item {
        LogItem::Record(record) => {
            let (kind, arg, time) = (record.event.kind, record.event.arg, record.time.0);
            // Written out, not asked of the code: this is what the table in the document says.
            let with_value = [EventKind::Access, EventKind::Watch, EventKind::Fault, EventKind::Now, EventKind::Input];
            let value = with_value.contains(&kind).then(|| format!(" = {}", record.event.value as i32));
            let message = record.message.map(|message| format!(", message {message}"));
            let (value, message) = (value.unwrap_or_default(), message.unwrap_or_default());
            format!("{kind:?} {arg}{value}: {}, time {time}{message}", event(record.number))
        }
        LogItem::Causes(causes) => {
            let nodes = (0..32).filter(|node| causes.changed >> node & 1 != 0);
            let grown = nodes.zip(causes.differences()).map(|(node, by)| format!(", node {node} grew by {by}"));
            format!("causes: {} skipped{}", causes.skipped, grown.collect::<String>())
        }
        LogItem::Sync(sync) => {
            let (clock, counts): (Vec<_>, Vec<_>) = (sync.clock().collect(), sync.counts().collect());
            let origins: Vec<_> = sync.origins().collect();
            let (mode, number, time) = (sync.mode, event(sync.number), sync.time.0);
            let records = sync.records;
            let said = format!("sync: mode {mode}, {number}, time {time}, record {records}");
            let missing = if sync.missing == 0 { String::new() } else { format!(", {} missing", sync.missing) };
            format!("{said}, clock {clock:?}, counts {counts:?}, origins {origins:?}{missing}")
        }
    }
}

/// Node 0, at its event 1, receives from node 1.
fn stamps<const N: usize>(cases: &[Case]) -> Vec<String> {
    let port = PortId(0);
    let mut node = Node::<N>::new(NodeId(0), StampKind::Vector).unwrap();
    node.connect(port, Direction::In, NodeId(1)).unwrap();
    let _ = node.step(Input::start()).unwrap();
    let mut receive = |bytes: &[u8]| {
        let heard = node.predicates().carry();
        or_refused(node.step(Input::Receive { port, stamp: bytes }), |effects| {
            let length = usize::from(effects.stamp);
            assert_eq!(message_stamp_len::<N>(bytes), Ok(length));
            let news = node.predicates().carry();
            let carried = if news == heard { String::new() } else { format!(", carries {}", carry(&news)) };
            whole(length, bytes, format!("{length} bytes, clock {:?}{carried}", node.clock().entries()))
        })
    };
    cases.iter().map(|case| receive(&case.bytes)).collect()
}

fn reached(reached: Reached) -> String {
    let (slot, generation) = (reached.slot().number(), reached.generation().0);
    format!("slot {slot}, generation {generation}: stage {}", reached.stage())
}

fn carry(carry: &Carry) -> String {
    carry.iter().map(reached).collect::<Vec<_>>().join("; ")
}

fn values(load: &Load) -> String {
    let Some(values) = &load.values else { return carry(&load.carry) };
    let each = values.iter().map(|(component, holds, taken)| {
        format!("component {component} {}, {taken} taken", if holds { "holds" } else { "does not hold" })
    });
    let each: Vec<_> = each.collect();
    let stages = if load.carry.is_empty() { String::new() } else { format!("; {}", carry(&load.carry)) };
    format!("slot {}, generation {}: {}{stages}", values.slot.number(), values.generation.0, each.join("; "))
}

fn marker(marker: HaltMarker<4>) -> String {
    let order: Vec<u8> = marker.order.nodes().iter().map(|node| node.0).collect();
    format!("halt {}, position {}, order {order:?}", marker.id.0, marker.position)
}

fn hello(LinkHello { hello, ports }: LinkHello) -> String {
    let ports = ports.map(|[out, into]| format!(", ports {} out, {} in", out.0, into.0)).unwrap_or_default();
    let halted = if hello.halted { ", halted" } else { "" };
    let (number, of_you) = (event(hello.number), event(hello.of_you));
    format!("at {number}, knows {of_you} of you, halt {}{halted}{ports}", hello.last_halt.0)
}

/// The first byte is the agent's; `the_agent_numbers_control_items_as_the_document_does` holds it to these numbers.
fn control_item(bytes: &[u8]) -> String {
    match bytes {
        [1, body @ ..] => format!("marker along the channel: {}", or_refused(HaltMarker::<4>::read(body), marker)),
        [2, body @ ..] => format!("marker against the channel: {}", or_refused(HaltMarker::<4>::read(body), marker)),
        [3, low, high] => format!("release of halt {}", u16::from_le_bytes([*low, *high])),
        [4, first, second] => or_refused(Reached::from_bytes([*first, *second]), reached),
        [5, body @ ..] => or_refused(Notice::from_bytes(body), notice),
        _ => refused_bare(),
    }
}

fn notice(notice: Notice) -> String {
    let (thread, delay) = (notice.thread().0, notice.delay());
    let behind = format!("{} ticks behind, turn {}", delay.ticks, delay.turn);
    match notice {
        Notice::Suspended { waits_for, .. } => {
            let waits_for: Vec<u8> = waits_for.iter().map(|thread| thread.0).collect();
            format!("thread {thread} is suspended, {behind}, waits for {waits_for:?}")
        }
        Notice::Resumed { .. } => format!("thread {thread} goes on, {behind}"),
    }
}

fn passage(passage: Passage) -> String {
    let step = if passage.step == Step::Call { "calls" } else { "returns" };
    format!("thread {} {step}, {} ticks behind, turn {}", passage.thread.0, passage.delay.ticks, passage.delay.turn)
}

fn frame(bytes: &[u8]) -> String {
    let mut decoder = FrameDecoder::<48>::new();
    let Some((last, before)) = bytes.split_last() else { return refused_bare() };
    for byte in before {
        assert_eq!(decoder.push(*byte), None, "a frame ends at its last byte");
    }
    match decoder.push(*last) {
        None => "no frame yet".into(),
        Some(Err(error)) => format!("refused: {error:?}"),
        Some(Ok((header, payload))) => {
            let mut again = [0; link::wire_bytes(48)];
            let length = header.encode(payload, &mut again).unwrap();
            assert_eq!(again[..length], *bytes, "what is sent is what stands in the document");
            let Header { kind, flags, from, to, number, data_next, control_next, edge } = header;
            let payload: String = payload.iter().map(|byte| format!(" {byte:02x}")).collect();
            format!(
                "{kind:?} {:#04x} from {from} to {to}, number {number}, data_next {data_next}, \
                 control_next {control_next}, edge {edge}, payload{payload}",
                flags.0
            )
        }
    }
}

//! Bytes as events, commands and inputs of a node.
use super::Bytes;
use stillpoint_core::log::Recording;
use stillpoint_core::predicate::{Detector, Generation, SlotId};
use stillpoint_core::{Command, Event, EventKind, HaltId, KindSet, PortSet};

/// An event of any kind. Messages leave by even ports and come in by odd ones; values are zero for kinds that have none, as
/// in a record.
pub fn any_event(bytes: &mut Bytes<'_>) -> Event {
    let kind = EventKind::ALL[usize::from(bytes.below(EventKind::ALL.len() as u8))];
    let arg = match kind {
        EventKind::Send => (bytes.below(32) & !1).into(),
        EventKind::Receive => (bytes.below(32) | 1).into(),
        _ => bytes.half_word(),
    };
    let has_value = [EventKind::Access, EventKind::Watch, EventKind::Fault, EventKind::Now, EventKind::Input];
    Event { kind, arg, value: if has_value.contains(&kind) { bytes.word() } else { 0 } }
}

fn any_slot(bytes: &mut Bytes<'_>) -> SlotId {
    SlotId::ALL[usize::from(bytes.below(4))]
}

/// Any command of the host.
pub fn any_command<'a>(bytes: &mut Bytes<'a>) -> Command<'a> {
    match bytes.below(9) {
        0 => Command::Halt(HaltId(bytes.byte().into())),
        1 => Command::Release(HaltId(bytes.byte().into())),
        2 => Command::Suspend,
        3 => Command::Continue,
        4 => Command::Record(match bytes.below(5) {
            0 => Recording::OFF,
            1 => Recording::FULL,
            2 => Recording::FULL.with_causes(),
            3 => Recording::REPLAY,
            _ => Recording::restricted(KindSet(bytes.word()), bytes.word()),
        }),
        5 => {
            let (slot, generation) = (any_slot(bytes), Generation(bytes.below(3)));
            let detector = if bytes.flag() { Detector::Marker } else { Detector::Causal };
            Command::Install { slot, generation, detector, program: bytes.piece(34) }
        }
        6 => Command::Enable {
            slot: any_slot(bytes),
            generation: Generation(bytes.below(3)),
            silent: PortSet(bytes.word()),
        },
        7 => Command::Remove { slot: any_slot(bytes) },
        _ => Command::Report,
    }
}

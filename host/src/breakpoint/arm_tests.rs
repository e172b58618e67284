use super::*;
use stillpoint_core::control::StateCode;
use stillpoint_core::{EventKind, EventNumber, HaltId, StampKind};

fn node(id: u8, slots: &[(SlotPhase, u8, u32)]) -> Node {
    let slot = |&(phase, generation, program): &(SlotPhase, u8, u32)| Slot {
        state: Some(SlotState {
            phase,
            generation: Generation(generation),
            stage: 0,
            detector: Detector::Causal,
            enabled: true,
        }),
        program,
        satisfied: [EventNumber(0); 8],
    };
    let unused = Slot { state: SlotState::from_word(0), program: 0, satisfied: [EventNumber(0); 8] };
    let mut all: Vec<Slot> = slots.iter().map(slot).collect();
    all.resize(4, unused);
    Node {
        slots: all,
        stamps: StampKind::Vector,
        state: Some(StateCode::Running),
        last_halt: HaltId(0),
        ..Node::parse(
            &stillpoint_core::control::ControlLayout {
                nodes: 2,
                ports: 0,
                node: NodeId(id),
                stamps: StampKind::Vector,
                size: 0,
            },
            &[],
        )
    }
}

fn program() -> Program {
    stillpoint_core::predicate::ProgramBuilder::new(1).push_event_term(1, 1, EventKind::Fault, None).finish().unwrap()
}

fn armed() -> Armed {
    let bytes = program().as_bytes().to_vec();
    let programs = vec![(0, bytes.clone()), (1, bytes)];
    Armed {
        slot: 1,
        generation: 7,
        markers: false,
        text: "a:fault".into(),
        stages: 1,
        programs,
        plans: Vec::new(),
        silent: Vec::new(),
    }
}

const NEVER: (SlotPhase, u8, u32) = (SlotPhase::Unknown, 0, 0);

#[test]
fn a_slot_is_free_only_if_no_node_uses_it_and_is_used_with_the_next_generation() {
    let (installed, removed, heard) =
        ((SlotPhase::Installed, 3, 9), (SlotPhase::Removed, 5, 0), (SlotPhase::Heard, 6, 0));
    let found = |nodes: &[Node]| free_slot(nodes).map(|(slot, generation)| (slot.number(), generation.0));
    assert_eq!(found(&[node(0, &[]), node(1, &[])]), Some((0, 1)));
    assert_eq!(found(&[node(0, &[installed]), node(1, &[])]), Some((1, 1)));
    assert_eq!(found(&[node(0, &[removed]), node(1, &[heard])]), Some((0, 7)));
    let wrapped = (SlotPhase::Removed, 255, 0);
    assert_eq!(found(&[node(0, &[wrapped]), node(1, &[])]), Some((0, 0)), "255 is followed by 0");
    let fired = (SlotPhase::Fired, 1, 9);
    assert_eq!(found(&[node(0, &[fired; 4]), node(1, &[])]), None);
}

#[test]
fn a_breakpoint_is_believed_only_with_its_generation_and_its_program() {
    let sum = program().checksum();
    let with = |slot| [node(0, &[NEVER, slot]), node(1, &[NEVER, (SlotPhase::Installed, 7, sum)])];
    let says = |slot| agreement(&armed(), &with(slot));
    assert_eq!(says((SlotPhase::Installed, 7, sum)), Agreement::Armed);
    assert_eq!(says((SlotPhase::Fired, 7, sum)), Agreement::Fired);
    for other in [(SlotPhase::Installed, 8, sum), (SlotPhase::Installed, 7, sum ^ 2), (SlotPhase::Removed, 7, 0), NEVER]
    {
        assert_eq!(says(other), Agreement::Partly(vec![NodeId(0)]), "{other:?}");
    }
    assert_eq!(agreement(&armed(), &[node(0, &[]), node(1, &[])]), Agreement::Gone);
}

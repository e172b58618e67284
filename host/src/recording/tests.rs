//! Choices, and which of them counts.
use super::plan::add_causes;
use super::{Choice, ChoiceError, Level, NodePlan, Selected, counts};
use crate::NodeAddress;
use stillpoint_core::log::{Recording, RecordingMode};
use stillpoint_core::{EventKind, KindSet};

fn choice(text: &str) -> Choice {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

#[test]
fn what_is_not_chosen_for_a_node_is_as_for_its_board_then_for_the_system_then_the_firmwares() {
    let (system, board, node) = (choice("off"), choice("full"), choice("send"));
    let all = [Some(&system), Some(&board), Some(&node)];
    assert_eq!(counts(all[0], all[1], all[2]), (Level::Node, Some(&node)));
    assert_eq!(counts(all[0], all[1], None), (Level::Board, Some(&board)));
    assert_eq!(counts(all[0], None, None), (Level::System, Some(&system)));
    assert_eq!(counts(None, None, None), (Level::Firmware, None));
    assert_eq!(counts(all[0], None, all[2]), (Level::Node, Some(&node)));
}

/// Hyder 5.3.1: the parent's effective option replaces the selected ones, unless it leaves them a choice.
#[test]
fn the_outermost_choice_that_overrides_counts_for_all_that_lies_inside() {
    let (system, board, node) = (choice("off,override"), choice("full,override"), choice("send"));
    assert_eq!(counts(Some(&system), Some(&board), Some(&node)).0, Level::System);
    assert_eq!(counts(None, Some(&board), Some(&node)), (Level::Board, Some(&board)));
    assert_eq!(counts(Some(&choice("off")), Some(&board), Some(&node)).0, Level::Board);
}

#[test]
fn words_are_read_as_they_are_shown_and_others_are_refused_with_the_nearest() {
    for text in [
        "off",
        "full",
        "replay,causes",
        "send,recv",
        "trace(lap),send",
        "trace,watch",
        "off,override",
        "trace(token taken),send(ring),access(totals)",
    ] {
        assert_eq!(choice(text).to_string(), text);
    }
    assert_eq!(choice("restricted"), choice("receive, send"), "messages, where nobody says which kinds");
    let said = |text: &str| text.parse::<Choice>().unwrap_err().to_string();
    assert!(said("sned").contains("did you mean send?"), "{}", said("sned"));
    assert!(said("ful").contains("did you mean full?"));
    assert!(said("poll").contains("is no mode and no kind"), "only replay has it");
    assert_eq!("full,send".parse::<Choice>(), Err(ChoiceError::Both { mode: "full" }));
    assert_eq!("full off".parse::<Choice>(), Err(ChoiceError::Modes("full", "off")));
    assert_eq!("causes".parse::<Choice>(), Err(ChoiceError::Nothing));
    assert!(said("trace()").contains("trace()"));
    assert!(said("watch(x)").contains("watch(x)"), "a watch is chosen with its kind");
    assert_eq!(choice("trace(a), trace"), choice("trace"), "the whole kind has it, too");
}

#[test]
fn as_soon_as_one_node_leaves_something_out_those_that_record_all_record_causes() {
    let plan = |recording| NodePlan {
        at: NodeAddress { board: 0, core: 0 },
        name: String::new(),
        selected: Selected::default(),
        from: Level::Firmware,
        recording,
    };
    let mut whole = [plan(Recording::FULL), plan(Recording::REPLAY)];
    add_causes(&mut whole);
    assert_eq!([whole[0].recording, whole[1].recording], [Recording::FULL, Recording::REPLAY]);
    let some = Recording::restricted(KindSet::EMPTY.with(EventKind::Send), 0);
    for less in [Recording::OFF, some] {
        let mut nodes = [plan(Recording::FULL), plan(less)];
        add_causes(&mut nodes);
        assert_eq!(nodes[0].recording, Recording::FULL.with_causes());
        assert_eq!(nodes[1].recording.mode(), less.mode());
        assert_ne!(nodes[1].recording.mode(), RecordingMode::Full);
    }
}

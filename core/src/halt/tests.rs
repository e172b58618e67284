//! The rules of halting, one by one.
use super::*;
use stillpoint_test::test;

const ME: NodeId = NodeId(1);
const LINKS: PortSet = PortSet(0b11);
const P0: PortId = PortId(0);
const P1: PortId = PortId(1);

const NONE: PortSet = PortSet::EMPTY;

fn running() -> Halting<4> {
    Halting { phase: Phase::Running, ..Halting::new() }
}

fn marker(id: u16) -> HaltMarker<4> {
    HaltMarker { id: HaltId(id), position: 0, order: HaltOrder::new().then(NodeId(0)) }
}

fn parked(id: u16) -> Halting<4> {
    let mut halting = running();
    assert_eq!(halting.on_marker(ME, P0, &marker(id), LINKS, NONE), Reaction::Halt);
    assert_eq!(halting.delivered(LINKS, HaltId(id)), Reaction::Park);
    halting
}

/// Miller & Choi 2.2.1: the first marker halts a node, later ones with the same id change nothing but what was seen.
#[test]
fn the_first_marker_halts_and_a_second_with_the_same_id_does_not_again() {
    let mut halting = running();
    assert_eq!(halting.on_marker(ME, P0, &marker(1), LINKS, NONE), Reaction::Halt);
    let phase = halting.phase;
    assert_eq!(halting.on_marker(ME, P1, &marker(1), LINKS, NONE), Reaction::Nothing);
    assert_eq!((halting.phase, halting.last, halting.seen), (phase, HaltId(1), LINKS));
}

/// Miller & Choi 2.2.1: an old marker is left over from a previous halting and is ignored.
#[test]
fn a_stale_marker_is_ignored_while_running_and_while_parked() {
    let mut halting = parked(5);
    let before = halting.clone();
    assert_eq!(halting.on_marker(ME, P1, &marker(4), LINKS, NONE), Reaction::Nothing);
    assert_eq!(halting, before);
    assert_eq!(halting.release(HaltId(5)), Reaction::Leave);
    let before = halting.clone();
    assert_eq!(halting.on_marker(ME, P1, &marker(5), LINKS, NONE), Reaction::Nothing);
    assert_eq!(halting, before);
}

#[test]
fn a_node_parks_only_when_every_marker_is_delivered() {
    let mut halting = running();
    halting.initiate(ME, LINKS, NONE);
    assert_eq!(halting.delivered(PortSet::EMPTY.with(P1), HaltId(1)), Reaction::Nothing);
    assert_eq!(halting.delivered(LINKS, HaltId(9)), Reaction::Nothing, "an acknowledgement of another halt");
    assert_eq!(halting.delivered(PortSet::EMPTY.with(P0), HaltId(1)), Reaction::Park);
}

#[test]
fn a_link_that_never_delivers_is_given_up_and_named() {
    let mut halting = running();
    halting.initiate(ME, LINKS, NONE);
    halting.delivered(PortSet::EMPTY.with(P0), HaltId(1));
    assert_eq!(halting.give_up(LINKS), Reaction::Park);
    assert_eq!(halting.phase, Phase::Parked { undelivered: PortSet::EMPTY.with(P1), then: ResumeTo::Running });
}

#[test]
fn a_release_for_another_halt_is_ignored() {
    let mut halting = parked(5);
    assert_eq!(halting.release(HaltId(4)), Reaction::Nothing);
    assert_eq!(halting.release(HaltId(6)), Reaction::Nothing);
    assert_eq!(halting.release(HaltId(5)), Reaction::Leave);
    assert_eq!(halting.release(HaltId(5)), Reaction::Nothing, "released already");
}

#[test]
fn a_release_that_comes_while_draining_counts_when_draining_is_over() {
    let mut halting = running();
    halting.initiate(ME, LINKS, NONE);
    assert_eq!(halting.release(HaltId(1)), Reaction::Nothing);
    assert_eq!(halting.delivered(LINKS, HaltId(1)), Reaction::Leave);
    assert!(halting.is_running());
}

#[test]
fn a_newer_halt_met_while_parked_is_adopted_without_running_in_between() {
    let mut halting = parked(5);
    assert_eq!(halting.on_marker(ME, P0, &marker(6), LINKS, NONE), Reaction::Halt);
    assert!(halting.is_halted());
    assert_eq!(halting.release(HaltId(5)), Reaction::Nothing, "the old release came too late");
    assert_eq!(halting.delivered(LINKS, HaltId(6)), Reaction::Park);
}

#[test]
fn a_second_halt_straight_after_a_resume_has_a_newer_id() {
    let mut halting = parked(5);
    halting.release(HaltId(5));
    assert_eq!(halting.initiate(ME, LINKS, NONE), Reaction::Halt);
    assert_eq!(halting.last, HaltId(6));
    assert_eq!(halting.initiate(ME, LINKS, NONE), Reaction::Nothing);
}

#[test]
fn a_node_stopped_alone_stays_so_after_a_consistent_halt() {
    let mut halting = running();
    halting.suspend(true);
    assert_eq!(halting.on_marker(ME, P0, &marker(1), LINKS, NONE), Reaction::Halt);
    halting.delivered(LINKS, HaltId(1));
    assert_eq!(halting.release(HaltId(1)), Reaction::Leave);
    assert_eq!(halting.phase, Phase::Suspended);
    halting.suspend(false);
    assert!(halting.is_running());
}

#[test]
fn a_halt_is_newer_than_all_that_the_node_heard_of() {
    let mut halting = running();
    halting.hear_of(HaltId(4));
    assert_eq!((halting.initiate(ME, LINKS, NONE), halting.last), (Reaction::Halt, HaltId(5)));
}

#[test]
fn a_halt_whose_initiator_had_not_heard_of_a_newer_one_goes_on_under_a_newer_id() {
    let mut halting = parked(2);
    halting.release(HaltId(2));
    halting.hear_of(HaltId(4));
    assert_eq!(halting.on_marker(ME, P0, &marker(3), LINKS, NONE), Reaction::Halt);
    assert_eq!((halting.last, halting.order.nodes()), (HaltId(5), &[ME][..]));
    assert_eq!(halting.on_marker(ME, P0, &marker(3), LINKS, NONE), Reaction::Nothing);
}

#[test]
fn a_halt_that_the_node_has_left_is_stale_whatever_it_heard_of_since() {
    let mut halting = parked(3);
    halting.release(HaltId(3));
    halting.hear_of(HaltId(5));
    for stale in [2, 3] {
        assert_eq!(halting.on_marker(ME, P0, &marker(stale), LINKS, NONE), Reaction::Nothing);
    }
    assert!(halting.is_running());
}

#[test]
fn what_survived_a_reset_is_stale_but_for_the_last_which_may_still_be_on() {
    let mut halting = Halting::<4>::new();
    halting.remember(HaltId(7));
    halting.hear_of(HaltId(9));
    assert_eq!(halting.on_marker(ME, P0, &marker(7), LINKS, NONE), Reaction::Nothing);
    let mut halting = Halting::<4>::new();
    halting.remember(HaltId(7));
    assert_eq!(halting.on_marker(ME, P0, &marker(6), LINKS, NONE), Reaction::Nothing);
    assert_eq!(halting.on_marker(ME, P0, &marker(7), LINKS, NONE), Reaction::Halt);
}

#[test]
fn a_halt_that_was_only_heard_of_is_joined_when_its_marker_comes() {
    let mut halting = running();
    halting.hear_of(HaltId(4));
    assert_eq!(halting.on_marker(ME, P0, &marker(4), LINKS, NONE), Reaction::Halt);
}

#[test]
fn only_a_halt_that_was_taken_part_in_can_be_known_to_be_over() {
    let mut halting = running();
    halting.hear_of(HaltId(2));
    assert!(!halting.has_left(HaltId(1)) && !halting.has_left(HaltId(2)));
    let mut halting = parked(1);
    assert!(!halting.has_left(HaltId(1)));
    halting.release(HaltId(1));
    halting.hear_of(HaltId(2));
    assert!(halting.has_left(HaltId(1)));
    halting.hear_of(HaltId(3));
    assert!(!halting.has_left(HaltId(2)));
}

#[test]
fn a_halt_is_joined_though_the_last_one_taken_part_in_is_half_a_circle_behind() {
    let mut halting = running();
    halting.hear_of(HaltId(0x7FFF));
    halting.hear_of(HaltId(0xFFFE));
    assert_eq!(halting.on_marker(ME, P0, &marker(0xFFFF), LINKS, NONE), Reaction::Halt);
}

#[test]
fn a_node_that_knows_of_no_halt_joins_any_however_far_the_ids_have_gone() {
    for id in [1, 32_768, 40_000, 65_535, 0] {
        let mut halting = running();
        assert_eq!(halting.on_marker(ME, P0, &marker(id), LINKS, NONE), Reaction::Halt);
        let mut halting = running();
        halting.hear_of(HaltId(id));
        assert_eq!(halting.initiate(ME, LINKS, NONE), Reaction::Halt);
        assert_eq!(halting.last, HaltId(id).next());
    }
}

/// Miller & Choi 2.2.4: each process appends its name to the marker.
#[test]
fn the_marker_that_halts_a_node_says_who_halted_before_it() {
    let halting = parked(1);
    assert_eq!(halting.order.nodes(), [NodeId(0), ME]);
}

#[test]
fn a_node_that_was_reset_in_its_own_halt_joins_it_as_the_last() {
    let mut halting = running();
    let order = HaltOrder::new().then(ME).then(NodeId(3));
    halting.on_marker(ME, P0, &HaltMarker { order, ..marker(1) }, LINKS, NONE);
    assert_eq!(halting.order.nodes(), [NodeId(3), ME]);
}

#[test]
fn a_malformed_marker_is_refused_with_what_is_wrong() {
    let mut bytes = [0; HaltMarker::<4>::MAX_LEN];
    let length = marker(7).write(&mut bytes).unwrap();
    for cut in 0..length {
        assert_eq!(HaltMarker::<4>::read(&bytes[..cut]), Err(MarkerError::Truncated));
    }
    assert_eq!(HaltMarker::<4>::read(&bytes[..=length]), Err(MarkerError::TrailingBytes));
    assert_eq!(HaltMarker::<4>::read(&[1, 0, 0, 0, 0, 0, 1, 4]), Err(MarkerError::NodeOutOfRange));
    assert_eq!(HaltMarker::<4>::read(&[1, 0, 0, 0, 0, 0, 5, 0, 1, 2, 3, 0]), Err(MarkerError::NodeOutOfRange));
    assert_eq!(HaltMarker::<4>::read(&[1, 0, 0, 0, 0, 0, 2, 3, 3]), Err(MarkerError::NodeTwice(NodeId(3))));
    assert_eq!(marker(7).write(&mut [0; 7]), Err(MarkerError::NoRoom));
}

/// Miller & Choi 2.2.3: the debugger has a channel to every process. Command and marker of one halt may come in any order.
#[test]
fn a_command_and_a_marker_of_one_halt_stop_a_node_once_in_either_order() {
    let mut commanded = running();
    assert_eq!(commanded.on_command(ME, HaltId(1), LINKS, NONE), Ok(Reaction::Halt));
    assert!(commanded.is_by_debugger());
    assert_eq!(commanded.order.nodes(), [ME]);
    assert_eq!(commanded.on_marker(ME, P0, &marker(1), LINKS, NONE), Reaction::Nothing);
    assert_eq!(commanded.seen, PortSet::EMPTY.with(P0));

    let mut reached = running();
    assert_eq!(reached.on_marker(ME, P0, &marker(1), LINKS, NONE), Reaction::Halt);
    let before = reached.clone();
    assert_eq!(reached.on_command(ME, HaltId(1), LINKS, NONE), Ok(Reaction::Nothing));
    assert_eq!(reached, before);
    assert!(!reached.is_by_debugger());
}

#[test]
fn a_command_that_comes_after_the_release_is_refused_and_changes_nothing() {
    let mut halting = parked(5);
    assert_eq!(halting.release(HaltId(5)), Reaction::Leave);
    let before = halting.clone();
    for old in [3, 4, 5] {
        assert_eq!(halting.on_command(ME, HaltId(old), LINKS, NONE), Err(HaltId(5)));
        assert_eq!(halting, before);
    }
    assert_eq!(halting.on_command(ME, HaltId(6), LINKS, NONE), Ok(Reaction::Halt));
}

#[test]
fn a_parked_node_goes_over_to_a_newer_halt_by_command_and_ignores_an_older_one() {
    let mut halting = parked(5);
    let before = halting.clone();
    assert_eq!(halting.on_command(ME, HaltId(4), LINKS, NONE), Ok(Reaction::Nothing));
    assert_eq!(halting, before);
    assert_eq!(halting.on_command(ME, HaltId(7), LINKS, NONE), Ok(Reaction::Halt));
    assert_eq!((halting.last, halting.is_by_debugger()), (HaltId(7), true));
    assert_eq!(halting.release(HaltId(5)), Reaction::Nothing);
}

/// The debugger's newest halt is older than one that the node heard of and that never got far: it halts under a newer id.
#[test]
fn a_command_that_is_older_than_what_was_heard_of_halts_the_node_under_a_newer_id() {
    let mut halting = running();
    halting.hear_of(HaltId(9));
    assert_eq!(halting.on_command(ME, HaltId(8), LINKS, NONE), Ok(Reaction::Halt));
    assert_eq!(halting.last, HaltId(10));
}

//! What the paper says of its figures.
use stillpoint_analysis::{
    Action, Class, Component, Flow, Interactions, Obstacle, Pairs, Point, Program, Release, StatementId, recognise,
};

pub fn parse(text: &str) -> Program {
    text.parse().unwrap_or_else(|error| panic!("{error} in {text}"))
}

pub fn component(program: &Program, name: &str) -> Component {
    let watch = program.watch(name).expect("the program sets it");
    Component { node: program.watches()[watch.index()].node, watches: vec![watch], monotonic: false }
}

fn the(program: &Program, action: Action) -> StatementId {
    let mut all = program.statements_with(action);
    let (first, second) = (all.next(), all.next());
    assert_eq!(second, None, "the action is there once");
    first.expect("the action is there")
}

/// Figure 3: S1 is in POST1(R3), and R3 is not in POST2(S1). So the receive at R3 has a second send, which is what makes the
/// backward analysis lose the interaction.
#[test]
fn the_forward_and_the_backward_analysis_find_different_interactions() {
    let program = parse("P1: send s1  P2: either { recv s1; send s3 } or { send s3 }  P3: recv s3");
    let sets = Interactions::new(&program, &Flow::new(&program), &Pairs::new(&program));
    let channel = |name| program.channel(name).unwrap();
    let (s1, r3) = (the(&program, Action::Send(channel("s1"))), the(&program, Action::Receive(channel("s3"))));
    assert!(sets.post1(r3).contains(s1.index()));
    assert!(!sets.post2(s1).contains(r3.index()));
}

/// Figure 4a: at a fixed barrier the processes' events are dependent monotonic.
#[test]
fn a_fixed_barrier_recognises_dependent_monotonic_events() {
    let program = parse(
        "BAR: loop { recv in1; recv in2; recv in3; send out1; send out2; send out3 }
         P1: loop { set x1; send in1; recv out1 }
         P2: loop { set x2; send in2; recv out2 }
         P3: loop { set x3; send in3; recv out3 }",
    );
    let event: Vec<_> = ["x1", "x2", "x3"].iter().map(|name| component(&program, name)).collect();
    let (found, obstacles) = recognise(&program, &event);
    let [barrier] = &found[..] else { panic!("{found:?}") };
    assert_eq!(barrier.node.0, 0);
    assert!(barrier.holds.iter().all(|hold| hold.class == Class::Dependent));
    let carried: Vec<_> = ["in1", "in2", "in3"].iter().map(|name| program.channel(name).unwrap()).collect();
    assert_eq!(barrier.carried(), carried);
    assert_eq!(barrier.points, carried.iter().map(|channel| Point::Receive(*channel)).collect::<Vec<_>>());
    // The others cannot hold each other back.
    assert_eq!(obstacles.len(), 3);
}

/// Figure 4b: at a fuzzy barrier the processes go on computing; their events are stable if that does not change them.
#[test]
fn a_fuzzy_barrier_recognises_generalised_dependent_monotonic_events() {
    let program = parse(
        "BAR: loop { recv in1; recv in2; send out1; send out2 }
         P1: loop { set x1; send in1; set other1; recv out1 }
         P2: loop { set x2; send in2; set other2; recv out2 }",
    );
    let (found, _) = recognise(&program, &[component(&program, "x1"), component(&program, "x2")]);
    let [barrier] = &found[..] else { panic!("{found:?}") };
    assert!(barrier.holds.iter().all(|hold| hold.class == Class::GeneralisedDependent));
}

#[test]
fn a_fuzzy_barrier_does_not_recognise_what_changes_behind_it() {
    let program = parse(
        "BAR: loop { recv in1; recv in2; send out1; send out2 }
         P1: loop { set x1; send in1; set x1; recv out1 }
         P2: loop { set x2; send in2; recv out2 }",
    );
    let (found, obstacles) = recognise(&program, &[component(&program, "x1"), component(&program, "x2")]);
    assert_eq!(found, []);
    let Some(Obstacle::Changes { change, component: 0, .. }) = obstacles.first() else { panic!("{obstacles:?}") };
    assert!(matches!(program.action(change.from), Action::Send(_)));
    assert!(matches!(program.action(change.write), Action::Write(_)));
}

/// Section 3.1, first scenario: a monotonic event needs no interaction after it was recognised.
#[test]
fn a_monotonic_event_needs_no_release() {
    let program = parse("P: loop { set x; send a }  Q: loop { recv a; set y }");
    let event = [Component { monotonic: true, ..component(&program, "x") }, component(&program, "y")];
    let (found, _) = recognise(&program, &event);
    let [one] = &found[..] else { panic!("{found:?}") };
    assert_eq!((one.node.0, one.holds[0].class, one.holds[0].release), (1, Class::Monotonic, None));
}

/// Remote procedure calls are dependent monotonic: the caller waits for the reply.
#[test]
fn a_value_is_carried_through_a_relay_and_held_back_through_a_task_that_passes_messages_on() {
    let program = parse(
        "P: loop { set x; send up; recv down }
         M/up: loop { recv up; send on }  M/down: loop { recv back; send down }
         Q: loop { recv on; set y; send back }",
    );
    let (found, _) = recognise(&program, &[component(&program, "x"), component(&program, "y")]);
    let channel = |name| program.channel(name).unwrap();
    let at_q = found.iter().find(|one| one.node.0 == 2).expect("Q recognises it");
    assert_eq!(at_q.holds[0].carriers, [channel("up"), channel("on")]);
    assert_eq!(at_q.holds[0].release, Some(Release { sent: channel("back"), received: channel("down") }));
    assert_eq!(at_q.points, [Point::Receive(channel("on")), Point::Write(program.watch("y").unwrap())]);
}

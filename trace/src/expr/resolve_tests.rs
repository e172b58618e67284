use super::*;
use crate::expr::{PortNames, parse};
use stillpoint_core::PortId;
use stillpoint_core::predicate::Relation;

/// Two nodes: `left` sends on `ring` and hears of `right` by a link whose two ends have one name; `right` has no name.
pub(in crate::expr) fn directory() -> Directory {
    let port = |id, name: &str, direction, peer| PortNames {
        id: PortId(id),
        name: Some(name.into()),
        direction,
        peer: NodeId(peer),
    };
    let (out, into) = (Direction::Out, Direction::In);
    let left = NodeNames {
        id: NodeId(0),
        name: Some("left".into()),
        aliases: vec!["A.0".into()],
        watches: vec![Some("holding".into()), Some("laps".into()), None],
        ports: vec![
            port(0, "ring", out, 1),
            port(1, "ring", into, 1),
            port(2, "twin", out, 1),
            port(3, "twin", out, 1),
        ],
        tags: vec![
            ("trace".into(), 7, "taken".into()),
            ("trace".into(), 9, "twice".into()),
            ("trace".into(), 12, "twice".into()),
        ],
        knows_all_clocks: true,
    };
    let right = NodeNames {
        id: NodeId(1),
        name: None,
        aliases: Vec::new(),
        watches: vec![Some("holding".into())],
        ports: vec![port(0, "ring", into, 0)],
        tags: Vec::new(),
        knows_all_clocks: false,
    };
    Directory { nodes: vec![left, right], recorded: false }
}

fn first(text: &str) -> Term {
    resolve(&parse(text).unwrap(), &directory()).unwrap().stages.remove(0).remove(0).remove(0)
}

fn event(text: &str) -> (EventKind, Vec<u16>) {
    match first(text).what {
        Match::Event { kind, arguments } => (kind, arguments),
        condition => panic!("{condition:?}"),
    }
}

#[test]
fn the_two_ends_of_a_call_are_told_apart_where_the_firmware_names_them_so() {
    let mut directory = directory();
    let resolved = |text: &str, directory: &Directory| {
        let resolved = resolve(&parse(text).unwrap(), directory).map_err(|error| error.to_string());
        resolved.map(|resolved| match &resolved.stages[0][0][0].what {
            Match::Event { kind, arguments } => (*kind, arguments.clone()),
            condition => panic!("{condition:?}"),
        })
    };
    directory.nodes[0].tags.push(("call".into(), 20, "square".into()));
    assert_eq!(resolved("left:call", &directory), Ok((EventKind::Call, vec![])), "any, as nothing tells them apart");
    assert!(resolved("left:serve", &directory).unwrap_err().contains("name!(serve"));
    directory.nodes[0].tags.push(("serve".into(), 21, "square".into()));
    assert_eq!(resolved("left:call(square)", &directory), Ok((EventKind::Call, vec![20])));
    assert_eq!(resolved("left:return(square)", &directory), Ok((EventKind::Return, vec![20])));
    assert_eq!(resolved("left:serve(square)", &directory), Ok((EventKind::Call, vec![21])));
    assert_eq!(resolved("left:reply(square)", &directory), Ok((EventKind::Return, vec![21])));
    assert_eq!(resolved("left:call", &directory), Ok((EventKind::Call, vec![20])));
    assert_eq!(resolved("left:reply", &directory), Ok((EventKind::Return, vec![21])));
}

#[test]
fn a_name_that_two_nodes_have_is_refused_with_what_tells_them_apart() {
    let mut directory = directory();
    directory.nodes[1].name = Some("left".into());
    directory.nodes[1].aliases = vec!["B.0".into()];
    let error = resolve(&parse("left:send(ring)").unwrap(), &directory).unwrap_err().to_string();
    assert!(error.contains("several nodes are called `left`") && error.contains("\"A.0\" or \"B.0\""), "{error}");
    assert!(resolve(&parse("\"A.0\":send(ring)").unwrap(), &directory).is_ok());
}

#[test]
fn a_port_is_the_one_with_its_name_that_messages_go_through_that_way() {
    assert_eq!(event("left:send(ring)"), (EventKind::Send, vec![0]));
    assert_eq!(event("left:recv(ring)"), (EventKind::Receive, vec![1]));
    assert_eq!(event("left:up(ring)"), (EventKind::LinkUp, vec![0]));
    assert_eq!(event("left:send(3)"), (EventKind::Send, vec![3]));
    assert_eq!(event("left:send"), (EventKind::Send, vec![]));
    assert_eq!(event("\"A.0\":send(ring)"), (EventKind::Send, vec![0]));
}

#[test]
fn other_events_have_their_kinds_and_tags() {
    assert_eq!(event("n1:fault"), (EventKind::Fault, vec![]));
    assert_eq!(event("n0:reset"), (EventKind::Reset, vec![]));
    assert_eq!(event("left:trace(taken)"), (EventKind::Local, vec![7]));
    assert_eq!(event("left:trace(twice)"), (EventKind::Local, vec![9, 12]));
    assert_eq!(event("left:call(3)"), (EventKind::Call, vec![3]));
    assert_eq!(event("left:return(3)^2"), (EventKind::Return, vec![3]));
    assert_eq!(event("left:enter(5)"), (EventKind::Enter, vec![5]));
}

#[test]
fn watches_are_known_by_name_or_number_and_the_node_may_be_said_again() {
    use Formula::{Count, Epoch, Watch};
    for (text, formula) in [
        ("left.laps", Watch(1)),
        ("left.left.laps", Watch(1)),
        ("left.watch2", Watch(2)),
        ("n1.holding", Watch(0)),
        ("left.count", Count),
        ("left.epoch", Epoch),
        ("left.pred(n1)", Formula::Pred(NodeId(1))),
    ] {
        assert_eq!(first(text).what, Match::Condition(formula), "{text}");
    }
}

#[test]
fn what_does_not_exist_is_refused_with_the_nearest_that_does() {
    for (text, at, problem, advice) in [
        ("lfet:send(ring)", "lfet", "no node is called `lfet`", "did you mean `left`? the nodes are left, n1"),
        (
            "left.holdng == 1",
            "holdng",
            "left has no watch",
            "did you mean `holding`? the watches are holding, laps, watch2, count, epoch",
        ),
        (
            "left:send(rign)",
            "rign",
            "left sends through no port `rign`",
            "did you mean `ring`? the ports are ring, twin",
        ),
        ("n1:send(ring)", "ring", "n1 sends through no port `ring`", "there are no ports here"),
        ("left:sent(ring)", "sent", "there is no event `sent`", "did you mean `send`?"),
        ("left:trace(takn)", "takn", "no trace `takn`", "did you mean `taken`?"),
        ("left:send(twin)", "twin", "2 ports called `twin`", "say which by its number: 2 or 3"),
        ("left:fault(ring)", "ring", "`fault` is about nothing", "leave out the parentheses"),
        ("left:send(ring)^0", "0", "^0 never occurs", "count from ^1"),
        ("left:send(ring)^65536", "65536", "counted up to 65535", "break on a watch"),
        ("left.holding == 2147483648", "2147483648", "does not fit", "between -2147483648"),
        ("left.n1.holding == 1", "n1", "a condition of left cannot read a watch of n1", "join conditions"),
        ("n1.pred(n1) == 1 && pred(lef) == 1", "lef", "no node", "did you mean `left`?"),
        ("left:call(70000)", "70000", "no call has the number", "0 to 65535"),
    ] {
        let error = resolve(&parse(text).unwrap(), &directory()).unwrap_err();
        assert_eq!(&text[error.span.clone()], at, "{error}");
        assert!(error.problem.contains(problem), "{error}");
        assert!(error.advice.contains(advice), "{error}");
    }
}

#[test]
fn a_watch_that_is_called_count_is_meant_where_there_is_one() {
    let mut directory = directory();
    directory.nodes[1].watches.push(Some("count".into()));
    let resolved = resolve(&parse("n1.count == 5 -> left.count == 5").unwrap(), &directory).unwrap();
    let formulas: Vec<_> = resolved.terms().map(|(_, term)| term.what.clone()).collect();
    let five = |left| Match::Condition(Formula::binary(Operator::Compare(Relation::Equal), left, Formula::Const(5)));
    assert_eq!(formulas, [five(Formula::Watch(1)), five(Formula::Count)]);
}

#[test]
fn a_clock_entry_that_never_arrives_is_refused() {
    let mut directory = directory();
    directory.nodes[1].ports.clear();
    let error = resolve(&parse("n1.pred(left) > 3").unwrap(), &directory).unwrap_err();
    assert!(error.problem.contains("n1 does not hear of left"), "{error}");
}

#[test]
fn more_stages_than_a_node_can_keep_are_refused_at_the_first_too_many() {
    let text = ["left:fault"; 9].join(" -> ");
    let error = resolve(&parse(&text).unwrap(), &directory()).unwrap_err();
    assert_eq!(error.span.start, 8 * "left:fault -> ".len());
    assert!(resolve(&parse(&text[14..]).unwrap(), &directory()).is_ok());
}

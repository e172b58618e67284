use super::*;

fn condition_of(text: &str) -> Value {
    match parse(text).unwrap().stages.remove(0).alternatives.remove(0).remove(0).what {
        What::Condition(value) => value,
        event => panic!("{event:?}"),
    }
}

/// The condition with parentheses around everything, as it was understood.
fn grouped(value: &Value) -> String {
    match &value.kind {
        ValueKind::Number(number) => number.to_string(),
        ValueKind::Name(None, name) => name.text.clone(),
        ValueKind::Name(Some(node), name) => format!("{}.{}", node.text, name.text),
        ValueKind::Pred(node) => format!("pred({})", node.text),
        ValueKind::Negate(inner) => format!("-{}", grouped(inner)),
        ValueKind::Not(inner) => format!("!{}", grouped(inner)),
        ValueKind::Binary(operator, left, right) => {
            let sign = match operator {
                Operator::Add => "+",
                Operator::Subtract => "-",
                Operator::Multiply => "*",
                Operator::Divide => "/",
                Operator::Remainder => "%",
                Operator::And => "&&",
                Operator::Or => "||",
                Operator::Compare(relation) => relation.symbol(),
            };
            format!("({} {sign} {})", grouped(left), grouped(right))
        }
    }
}

#[test]
fn operators_bind_as_in_rust() {
    for (text, meaning) in [
        ("n.a + b * c == 3 && d || !e", "((((a + (b * c)) == 3) && d) || !e)"),
        ("n.a - b - c", "((a - b) - c)"),
        ("n.a - -3", "(a - -3)"),
        ("n.-a * b", "(-a * b)"),
        ("n.!a == b", "(!a == b)"),
        ("n.(a + b) % 2 != 0", "(((a + b) % 2) != 0)"),
        ("n.pred(other) > count", "(pred(other) > count)"),
        ("n.pred == 1", "(pred == 1)"),
        ("n.a == 1 and not n.b", "((a == 1) && !n.b)"),
        ("n.-2147483648 < a", "(-2147483648 < a)"),
    ] {
        assert_eq!(grouped(&condition_of(text)), meaning, "{text}");
    }
}

#[test]
fn arrows_bind_weaker_than_bars_and_bars_weaker_than_ands() {
    let linked = parse("a.x & b.y | c:fault -> (d:send(p) | e:recv(2)^7) -> f:reset").unwrap();
    let shape: Vec<Vec<usize>> =
        linked.stages.iter().map(|stage| stage.alternatives.iter().map(Vec::len).collect()).collect();
    assert_eq!(shape, [vec![2, 1], vec![1, 1], vec![1]]);
    let seventh = &linked.stages[1].alternatives[1][0];
    assert_eq!(seventh.occurrence.as_ref().map(|(n, _)| *n), Some(7));
    assert_eq!(&linked.text[seventh.span.clone()], "e:recv(2)^7");
    assert!(matches!(&seventh.what, What::Event { argument: Some(Argument::Number(2, _)), .. }));
}

/// The text under the caret, and the advice.
fn refused(text: &str) -> (String, String) {
    let error = parse(text).unwrap_err();
    assert!(error.to_string().contains('^'));
    (text[error.span].to_owned(), error.advice)
}

#[test]
fn an_error_points_at_the_place_and_says_what_could_stand_there() {
    for (text, at, expected) in [
        ("left0", "", "expected `:` and an event, or `.` and a condition"),
        ("left0 send", "send", "expected `:` and an event, or `.` and a condition"),
        ("left0:", "", "expected an event"),
        ("left0:3", "3", "expected an event"),
        ("left0:send(", "", "expected a name or a number"),
        ("left0:send(ring", "", "expected `)`"),
        ("left0:send(ring) ->", "", "expected a node's name"),
        ("left0:send(ring) -> -> b:fault", "->", "expected a node's name"),
        ("left0:send(ring) left1:fault", "left1", "expected `^n`, `->`, `|`, `&` or the end"),
        ("left0:send(ring)^ -> b:fault", "->", "expected a number: which occurrence"),
        ("left0:send(ring)^2^3", "^", "expected `->`, `|`, `&` or the end"),
        ("left0.", "", "expected a watch, a number"),
        ("left0.holding ==", "", "expected a watch, a number"),
        ("left0.holding == == 1", "==", "expected a watch, a number"),
        ("left0.a == b == c", "==", "expected an operator"),
        ("left0.holding 1", "1", "expected an operator"),
        ("left0.(holding == 1", "", "expected an operator or `)`"),
        ("left0.pred() == 1", ")", "expected a node's name"),
        ("a:fault | -> b:fault", "->", "expected a node's name"),
        ("a:fault & ", "", "expected a node's name"),
        ("(a:fault | b:fault -> c:fault", "->", "expected `)`"),
        (")", ")", "expected a node's name"),
        ("", "", "write `node:event`"),
    ] {
        let (found, advice) = refused(text);
        assert_eq!(found, at, "{text}: {advice}");
        assert!(advice.starts_with(expected), "{text}: {advice}");
    }
}

#[test]
fn the_caret_stands_under_the_character_also_behind_wider_ones() {
    let error = parse("größe:fault ? x").unwrap_err().to_string();
    let lines: Vec<_> = error.lines().collect();
    assert_eq!(lines[1].chars().position(|c| c == '?'), lines[2].chars().position(|c| c == '^'));
}

mod any_text {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn is_either_read_or_refused_at_a_place_in_it(text in "[a-c0-9 .:()^|&<>=!+*/%\"-]{0,60}") {
            if let Err(error) = parse(&text) {
                prop_assert!(error.span.start <= error.span.end && error.span.end <= text.len());
                prop_assert!(!error.to_string().is_empty());
            }
        }
    }
}

#[test]
fn a_condition_that_is_too_long_is_refused_before_it_is_read() {
    let long = |count: usize| format!("a.x{} == 3", " + 1".repeat(count));
    assert!(parse(&long(400)).is_ok());
    for count in [500, 200_000] {
        assert_eq!(parse(&long(count)).unwrap_err().problem, "this is too long");
    }
    // Many short ones are no long one.
    assert!(parse(&vec![long(100); 50].join(" -> ")).is_ok());
}

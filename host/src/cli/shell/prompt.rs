//! What the prompt says of the system.
use crate::cli::{Context, paint};
use std::collections::BTreeMap;
use stillpoint::{Node, Sight};
use stillpoint_core::control::StateCode;

/// The prompt. Boards that do not answer any more are told of and let go, so that the next command attaches anew.
pub fn text(context: &mut Context) -> String {
    format!("stillpoint ({})> ", state(context))
}

/// How the system stands, in short.
pub fn state(context: &mut Context) -> String {
    let Some(system) = context.if_attached() else { return "not attached".into() };
    let missing: Vec<String> = system.missing().iter().map(|lost| lost.board.clone()).collect();
    let sights = system.look();
    let mut gone: Vec<(String, String)> = Vec::new();
    for sight in &sights {
        let board = system.boards()[sight.at.board].name().to_owned();
        if let Err(error) = &sight.node
            && !gone.iter().any(|(other, _)| *other == board)
        {
            gone.push((board, error.to_string()));
        }
    }
    if !gone.is_empty() {
        for (board, why) in &gone {
            let bad = paint::BAD;
            context.out().warn(format_args!("{bad}board {board} is gone{bad:#}: {why}"));
        }
        // What is wrong with letting go of a board that is not there is no news.
        let _ = context.detach();
        let names: Vec<String> = gone.into_iter().map(|(board, _)| board).collect();
        return format!("lost {}", names.join(", "));
    }
    let nodes: Vec<&Node> = sights.iter().filter_map(|Sight { node, .. }| node.as_ref().ok()).collect();
    let mut state = summary(&nodes);
    if !missing.is_empty() {
        state = format!("{state}, {} missing", missing.join(", "));
    }
    state
}

/// `4 running`, `halted 3`, or how many stand how.
fn summary(nodes: &[&Node]) -> String {
    if let [first, ..] = nodes
        && nodes.iter().all(|node| node.is_parked() && node.last_halt == first.last_halt)
    {
        return format!("halted {}", first.last_halt.0);
    }
    let mut counts = BTreeMap::<&str, usize>::new();
    for node in nodes {
        let word = match node.state {
            _ if node.fault.is_some() => "faulted",
            Some(StateCode::Running) => "running",
            Some(StateCode::Starting) => "starting",
            Some(StateCode::Draining) => "draining",
            Some(StateCode::Parked) => "parked",
            Some(StateCode::Suspended) => "suspended",
            Some(StateCode::Faulted) => "faulted",
            None => "unknown",
        };
        *counts.entry(word).or_default() += 1;
    }
    let parts: Vec<String> = counts.into_iter().map(|(word, count)| format!("{count} {word}")).collect();
    parts.join(", ")
}

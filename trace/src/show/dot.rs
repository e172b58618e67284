//! A graph in the language of Graphviz.
use super::Graph;
use crate::{EdgeKind, Printable};
use std::fmt::Write as _;

/// The graph as DOT: a cluster for each group, messages drawn thick, order through what is hidden dotted.
#[must_use]
pub fn dot(graph: &Graph, title: &str) -> String {
    let mut text = format!(
        "digraph {} {{\n  label={};\n  rankdir=TB;\n  node [shape=box, style=rounded, fontname=\"monospace\"];\n",
        quote("stillpoint"),
        quote(title)
    );
    for (group, name) in graph.groups.iter().enumerate() {
        let _ = writeln!(text, "  subgraph \"cluster_{group}\" {{\n    label={};", quote(name));
        for (at, spot) in graph.spots.iter().enumerate().filter(|(_, spot)| spot.group == group) {
            let times = if spot.count > 1 { format!("\n{} times", spot.count) } else { String::new() };
            let (first, last) = spot.events.clone().unwrap_or_default();
            let maps = match &spot.action {
                Some(action) => format!("action {action}, template {}, events {first} to {last}", spot.template),
                None => format!("template {}, events {first} to {last}", spot.template),
            };
            let _ = writeln!(
                text,
                "    s{at} [label={}, tooltip={}];",
                quote(&format!("{}{times}", spot.label)),
                quote(&maps)
            );
        }
        text.push_str("  }\n");
    }
    for arc in &graph.arcs {
        let style = match (arc.kind, arc.count) {
            (EdgeKind::Message, 0) => "color=blue, style=dashed, penwidth=1",
            (EdgeKind::Message, _) => "color=blue, penwidth=2",
            (EdgeKind::Hidden, _) => "color=blue, style=dotted, penwidth=2, arrowhead=empty",
            (EdgeKind::Data, _) => "color=darkgreen, style=dashed, penwidth=2",
            (EdgeKind::Step, _) => "color=gray40",
        };
        let label = if arc.count > 1 { format!(", label=\"{}\"", arc.count) } else { String::new() };
        let _ = writeln!(text, "  s{} -> s{} [{style}{label}];", arc.from, arc.to);
    }
    text.push_str("}\n");
    text
}

fn quote(text: &str) -> String {
    let mut quoted = String::from("\"");
    for letter in Printable(text).to_string().chars() {
        match letter {
            '"' | '\\' => quoted.extend(['\\', letter]),
            '\n' => quoted.push_str("\\n"),
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}

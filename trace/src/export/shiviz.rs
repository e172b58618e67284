//! The log that ShiViz draws: two lines an event, read by its default parser expression.
use crate::{History, Past, Printable, Restricted, is_unprintable};
use std::io::{self, Write};

/// The expression with which ShiViz reads a log unless it is told another.
pub const SHIVIZ_PARSER: &str = r"(?<event>.*)\n(?<host>\S*) (?<clock>{.*})";

pub(super) fn write(shown: &Restricted<'_>, out: &mut dyn Write) -> io::Result<()> {
    let history = shown.history;
    let hosts = hosts(history);
    for (at, event) in shown.events().enumerate() {
        let id = event.id;
        let mut what = format!("{} {}", history.header.event_name(id), history.header.action(id.node, &event.what));
        if let Past::Unknown { why } = event.past {
            what = format!("{what} ({})", why.say(history.node_name(why.node())));
        }
        // One line, whatever the names are.
        let what = Printable(&what).to_string().replace(['\n', '\t'], " ");
        let mut clock = serde_json::Map::new();
        for (node, host) in &hosts {
            let count = known(shown, at, *node);
            if count > 0 {
                clock.insert(host.clone(), count.into());
            }
        }
        let host = hosts.iter().find(|(node, _)| *node == id.node).map_or("?", |(_, host)| host);
        writeln!(out, "{what}\n{host} {}", serde_json::Value::Object(clock))?;
    }
    Ok(())
}

/// How many of a node's shown events happened before one or are it. ShiViz wants clocks that count without a hole, and a trace
/// may have some.
fn known(shown: &Restricted<'_>, at: usize, node: u8) -> usize {
    let events = shown.of_node(node);
    if shown.history.events[shown.places()[at]].id.node == node {
        return events.partition_point(|other| *other <= at);
    }
    events.partition_point(|other| shown.before(*other, at))
}

/// Each node's name without spaces, and like no other's.
fn hosts(history: &History) -> Vec<(u8, String)> {
    let mut hosts: Vec<(u8, String)> = Vec::new();
    let plain = |letter: char| {
        if letter.is_whitespace() || letter.is_control() || is_unprintable(letter) { '_' } else { letter }
    };
    for node in &history.header.nodes {
        let mut host: String = node.name.chars().map(plain).collect();
        if host.is_empty() || hosts.iter().any(|(_, other)| *other == host) {
            host = format!("{host}_{}", node.id);
        }
        hosts.push((node.id, host));
    }
    hosts
}

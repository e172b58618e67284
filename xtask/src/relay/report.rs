//! What the demo came to: counts per core, whether they add up, and how that is written.
use std::fmt::Write as _;
use std::time::Duration;

use serde_json::{Value, json};

use super::log::Tally;
use super::node::Node;

/// What one core did.
#[derive(Clone, Debug)]
pub struct NodeReport {
    /// Which core.
    pub node: Node,
    /// Messages it says it handled.
    pub handled: u32,
    /// What its log says.
    pub log: Tally,
    /// Log frames its ring had no room for.
    pub dropped: u32,
}

/// What all of them did.
#[derive(Clone, Debug)]
pub struct Report {
    /// Messages that were to go round.
    pub total: u32,
    /// In the order in which messages go round.
    pub nodes: Vec<NodeReport>,
    /// Bytes lost on the serial link.
    pub overruns: u32,
    /// From power-on to the end.
    pub time: Duration,
}

impl Report {
    /// Everything that is not as it should be, one sentence each.
    pub fn complaints(&self) -> Vec<String> {
        let mut complaints = Vec::new();
        if self.total == 0 {
            complaints.push("no message was to go round, so nothing was shown".to_owned());
        }
        for NodeReport { node, handled, log, dropped } in &self.nodes {
            let mut check = |good: bool, complaint: String| {
                if !good {
                    complaints.push(complaint);
                }
            };
            check(*handled == self.total, format!("{node} handled {handled} of {} messages", self.total));
            check(*dropped == 0, format!("{node} had no room for {dropped} log lines"));
            check(log.malformed == 0, format!("{node}'s log is damaged in {} places", log.malformed));
            check(
                log.messages == self.total,
                format!("{node}'s log tells of {} messages, not {}", log.messages, self.total),
            );
            check(log.finished, format!("{node}'s log does not end in `done {}`", self.total));
            complaints.extend(log.out_of_order.iter().map(|line| format!("{node}'s log says {line}")));
        }
        if self.overruns > 0 {
            complaints.push(format!("the serial link lost {} bytes", self.overruns));
        }
        complaints
    }

    /// For people. Nothing here differs from run to run, so it can be compared.
    pub fn text(&self) -> String {
        let mut ring: Vec<String> = self.nodes.iter().map(|report| report.node.to_string()).collect();
        ring.extend(ring.first().cloned());
        let mut text = format!("{} messages, each round all four cores: {}\n", self.total, ring.join(" -> "));
        for NodeReport { node, handled, log, dropped } in &self.nodes {
            let lost = dropped + log.malformed;
            let _ = writeln!(text, "  {node}  {handled:>4} messages  {:>4} log lines, {lost} lost", log.lines);
        }
        let complaints = self.complaints();
        if complaints.is_empty() {
            text.push_str("every message arrived\n");
        }
        for complaint in complaints {
            let _ = writeln!(text, "WRONG: {complaint}");
        }
        text
    }

    /// For programs.
    pub fn json(&self) -> Value {
        let node = |report: &NodeReport| {
            json!({
                "node": report.node.to_string(),
                "handled": report.handled,
                "log_lines": report.log.lines,
                "log_messages": report.log.messages,
                "log_dropped": report.dropped,
                "log_malformed": report.log.malformed,
            })
        };
        json!({
            "total": self.total,
            "nodes": self.nodes.iter().map(node).collect::<Vec<_>>(),
            "link_overruns": self.overruns,
            "seconds": self.time.as_secs_f64(),
            "complaints": self.complaints(),
            "passed": self.complaints().is_empty(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::relay::node::NODES;

    fn perfect() -> Report {
        let log = Tally { lines: 501, messages: 500, finished: true, ..Tally::default() };
        let node = |node| NodeReport { node, handled: 500, log: log.clone(), dropped: 0 };
        Report { total: 500, nodes: NODES.map(node).to_vec(), overruns: 0, time: Duration::from_secs(1) }
    }

    #[test]
    fn all_counts_equal_means_every_message_arrived() {
        let report = perfect();
        assert_eq!(report.complaints(), Vec::<String>::new());
        assert!(report.text().ends_with("every message arrived\n"));
        assert_eq!(report.json()["passed"], true);
    }

    #[test]
    fn each_single_shortcoming_is_a_complaint_that_names_the_node() {
        type Spoil = fn(&mut Report);
        let spoil: [(&str, Spoil); 6] = [
            ("B.0 handled 499", |report| report.nodes[2].handled = 499),
            ("A.1 had no room for 1 log", |report| report.nodes[1].dropped = 1),
            ("A.0's log is damaged in 2", |report| report.nodes[0].log.malformed = 2),
            ("B.1's log tells of 499", |report| report.nodes[3].log.messages = 499),
            ("B.1's log does not end", |report| report.nodes[3].log.finished = false),
            ("lost 3 bytes", |report| report.overruns = 3),
        ];
        for (expected, spoil) in spoil {
            let mut report = perfect();
            spoil(&mut report);
            assert!(report.text().contains(expected), "{}", report.text());
            assert!(!report.text().contains("every message arrived"));
            assert_eq!(report.json()["passed"], false);
        }
    }
}

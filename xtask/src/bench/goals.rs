//! What it must cost: every goal, whose figure it is held against, and what stands in the way of those that are missed.
use std::fmt;

use super::{Record, Which};

/// A goal of the design.
pub struct Goal {
    /// What is measured.
    pub measure: &'static str,
    /// What others need for as much or less, and who.
    pub reference: &'static str,
    /// How much is good.
    pub limit: Limit,
    /// Our figure, from the record.
    pub figure: fn(&Record) -> Option<f64>,
    /// Why it is missed, if it is. A sentence.
    pub cause: &'static str,
    /// What to try next, if it is. A sentence.
    pub idea: &'static str,
}

/// On which side of a number the good ones are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Limit {
    /// No more than this.
    AtMost(f64),
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AtMost(most) => write!(f, "<= {most}"),
        }
    }
}

/// How a goal stands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Standing {
    /// The figure is good.
    Met(f64),
    /// It is not.
    Missed(f64),
    /// It is not in the record.
    Unknown,
}

impl Goal {
    /// Whether the record meets it.
    pub fn standing(&self, record: &Record) -> Standing {
        let Some(figure) = (self.figure)(record) else { return Standing::Unknown };
        let is_met = match self.limit {
            Limit::AtMost(most) => figure <= most,
        };
        if is_met { Standing::Met(figure) } else { Standing::Missed(figure) }
    }

    /// The figure with which it is missed.
    pub fn missed_by(&self, record: &Record) -> Option<f64> {
        match self.standing(record) {
            Standing::Missed(figure) => Some(figure),
            Standing::Met(_) | Standing::Unknown => None,
        }
    }
}

fn on_target(record: &Record, name: &str) -> Option<f64> {
    record.number(Which::Target, name)
}

/// The largest of the bytes whose names begin with this.
fn dearest(record: &Record, prefix: &str) -> Option<f64> {
    let bytes = record.sections.get(&Which::Bytes)?;
    let counts = bytes.counts.iter().filter(|(name, _)| name.starts_with(prefix));
    counts.filter_map(|(_, count)| count.as_f64()).reduce(f64::max)
}

/// Those of the design, then those that we set ourselves on the way.
pub const GOALS: &[Goal] = &[
    Goal {
        measure: "timestamped local record, Cortex-M33 instructions",
        reference: "SystemView u32 166, modality-probe 215 (no timestamp), defmt 923",
        limit: Limit::AtMost(80.0),
        figure: |record| on_target(record, "local record, timestamped"),
        cause: "the record is built field by field.",
        idea: "a table of ready-made first bytes.",
    },
    Goal {
        measure: "send + receive with full vector and both records, 4 nodes, instructions added",
        reference: "modality-probe 1500 (one clock only)",
        limit: Limit::AtMost(300.0),
        figure: |record| {
            Some(
                on_target(record, "send with its record, 4 nodes")?
                    + on_target(record, "receive with its record, 4 nodes")?,
            )
        },
        cause: "clocks and stamps alone take about 250; each of the two records adds about 55.",
        idea: "write the record's bytes in the same pass that writes the stamp's.",
    },
    Goal {
        measure: "merge of 4 entries, instructions",
        reference: "plain loop 5N+7",
        limit: Limit::AtMost(27.0),
        figure: |record| on_target(record, "merge of 4 entries"),
        cause: "the loop is not unrolled.",
        idea: "unroll it by four.",
    },
    Goal {
        measure: "merge of 32 entries, instructions",
        reference: "plain loop 5N+7",
        limit: Limit::AtMost(167.0),
        figure: |record| on_target(record, "merge of 32 entries"),
        cause: "the wrap-safe comparison takes a subtraction and a conditional store for each entry.",
        idea: "four entries a turn with loads and stores of several registers.",
    },
    Goal {
        measure: "log bytes per local event, timestamped (mean, dearest workload)",
        reference: "SystemView 3 (void)",
        limit: Limit::AtMost(3.0),
        figure: |record| dearest(record, "record of a local event, "),
        cause: "times between events take more than two bytes.",
        idea: "a coarser counter.",
    },
    Goal {
        measure: "log bytes per message event, timestamped (mean, dearest workload)",
        reference: "SystemView 5 (u32)",
        limit: Limit::AtMost(4.0),
        figure: |record| dearest(record, "record of a message event, "),
        cause: "times between events take more than two bytes.",
        idea: "a coarser counter.",
    },
    Goal {
        measure: "causal bytes added to a message, 4 nodes, steady state (mean, dearest workload)",
        reference: "modality-probe 12",
        limit: Limit::AtMost(6.0),
        figure: |record| {
            let workloads = ["ring", "all to all", "pipeline"].map(|it| format!("vector stamp, {it}, 4 nodes"));
            let bytes = workloads.iter().map(|name| record.number(Which::Bytes, name));
            bytes.collect::<Option<Vec<f64>>>()?.into_iter().reduce(f64::max)
        },
        cause: "every entry of the vector has changed since the last message.",
        idea: "differences of less than a byte.",
    },
    Goal {
        measure: "interrupts masked, worst case per event, 4 nodes, one predicate armed, instructions",
        reference: "",
        limit: Limit::AtMost(200.0),
        figure: |record| on_target(record, "interrupts masked, 4 nodes, 1 armed"),
        cause: "before the first message of a session, and every 1024 events, a sync record that says where the node stands is written inside the event's own section; without it, the longest is as the target's table says under usual.",
        idea: "write the sync record in a section of its own after the event.",
    },
    Goal {
        measure: "agent RAM per node, logs, message buffers and link windows apart, bytes (dearest demo)",
        reference: "SystemView 600",
        limit: Limit::AtMost(1024.0),
        figure: |record| dearest(record, "RAM of the kit per node, "),
        cause: "a stack of its own for the crash of each core takes the most, then each agent and its control block.",
        idea: "share one crash stack between the cores, and narrow the words of the control block.",
    },
    Goal {
        measure: "flash of the kit, bytes (dearest demo)",
        reference: "SystemView 2 KB",
        limit: Limit::AtMost(8192.0),
        figure: |record| dearest(record, "flash of the kit, "),
        cause: "everything the kit can do is in every image: predicates, delayed halts, links and crash reports, used or not.",
        idea: "features, or tables filled by what the program opens, so that the linker leaves out what it does not use.",
    },
    Goal {
        measure: "event, recording off, nothing armed, instructions",
        reference: "",
        limit: Limit::AtMost(25.0),
        figure: |record| on_target(record, "event, recording off, nothing armed"),
        cause: "the event goes through the general step.",
        idea: "a quick way for events that nobody wants.",
    },
    Goal {
        measure: "predicate evaluation, one comparison, instructions",
        reference: "",
        limit: Limit::AtMost(60.0),
        figure: |record| on_target(record, "predicate evaluation, one armed"),
        cause: "a program of one comparison still goes through the loop over stages and terms.",
        idea: "keep the one comparison of a simple predicate beside its slot.",
    },
    Goal {
        measure: "mailbox round trip, percent of the one without the kit",
        reference: "",
        limit: Limit::AtMost(150.0),
        figure: |record| {
            let (with, without) = (
                on_target(record, "mailbox round trip, both cores")?,
                on_target(record, "the same, kit compiled out")?,
            );
            Some((with * 100.0 / without).round())
        },
        cause: "a round trip is two sends and two receives, each stamped and recorded.",
        idea: "the dearest functions below say where to look.",
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_goal_is_met_up_to_its_limit() {
        let goal = Goal { figure: |_| Some(80.0), ..GOALS_FOR_TESTS };
        assert_eq!(goal.standing(&Record::default()), Standing::Met(80.0));
        let goal = Goal { figure: |_| Some(80.5), ..GOALS_FOR_TESTS };
        assert_eq!((goal.missed_by(&Record::default()), goal.limit.to_string().as_str()), (Some(80.5), "<= 80"));
        assert_eq!(GOALS_FOR_TESTS.standing(&Record::default()), Standing::Unknown);
    }

    const GOALS_FOR_TESTS: Goal =
        Goal { measure: "", reference: "", limit: Limit::AtMost(80.0), figure: |_| None, cause: "", idea: "" };

    #[test]
    fn a_goal_that_is_missed_says_why_and_what_next() {
        for goal in GOALS {
            assert!(goal.cause.ends_with('.') && goal.idea.ends_with('.'), "{}", goal.measure);
        }
    }

    #[test]
    fn every_goal_finds_its_figure_in_the_record_of_the_repository() {
        let record = Record::load().unwrap();
        let unknown: Vec<&str> =
            GOALS.iter().filter(|goal| goal.standing(&record) == Standing::Unknown).map(|goal| goal.measure).collect();
        assert!(unknown.is_empty(), "no figure for {unknown:?}: is a count named differently now?");
    }
}

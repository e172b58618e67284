//! What it must cost: every goal, whose figure it is held against, and what stands in the way of those that are missed.
use std::fmt;

use super::{Record, Section, Which};

/// A goal of the design.
pub struct Goal {
    /// What is measured.
    pub measure: &'static str,
    /// What others need for as much or less, and who.
    pub reference: &'static str,
    /// How much is good.
    pub limit: Limit,
    /// The section that has our figure.
    pub section: Which,
    /// Our figure, from that section.
    pub figure: fn(&Section) -> Option<f64>,
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
    /// No less than this.
    AtLeast(f64),
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AtMost(most) => write!(f, "<= {most}"),
            Self::AtLeast(least) => write!(f, ">= {least}"),
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
        let section = record.sections.get(&self.section);
        let Some(figure) = section.and_then(self.figure) else { return Standing::Unknown };
        let is_met = match self.limit {
            Limit::AtMost(most) => figure <= most,
            Limit::AtLeast(least) => figure >= least,
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

/// How many times our instructions another causal order takes, at the number of nodes where that is least.
fn times_ours(section: &Section, whose: &str) -> Option<f64> {
    let times = [4, 8, 32].map(|nodes| {
        let of = |whose: &str| section.number(&format!("causal order, {whose}, {nodes} nodes"));
        Some(of(whose)? / of("stillpoint")?)
    });
    times.into_iter().collect::<Option<Vec<f64>>>()?.into_iter().reduce(f64::min)
}

/// The largest of the counts whose names begin with this.
fn dearest(section: &Section, prefix: &str) -> Option<f64> {
    counts(section, prefix).reduce(f64::max)
}

fn counts<'a>(section: &'a Section, prefix: &'a str) -> impl Iterator<Item = f64> + 'a {
    let counts = section.counts.iter().filter(move |(name, _)| name.starts_with(prefix));
    counts.filter_map(|(_, count)| count.as_f64())
}

/// Those of the design, then those that we set ourselves on the way.
pub const GOALS: &[Goal] = &[
    Goal {
        measure: "timestamped local record (step and record), Cortex-M33 instructions",
        reference: "SystemView u32 166, modality-probe 215 (no timestamp), defmt 923",
        limit: Limit::AtMost(80.0),
        section: Which::Target,
        figure: |section| section.number("local record, timestamped"),
        cause: "the record is built field by field.",
        idea: "a table of ready-made first bytes.",
    },
    Goal {
        measure: "send + receive with full vector and both records, 4 nodes, instructions added",
        reference: "modality-probe 1500 (one clock only)",
        limit: Limit::AtMost(300.0),
        section: Which::Target,
        figure: |section| {
            Some(
                section.number("send with its record, 4 nodes")?
                    + section.number("receive with its record, 4 nodes")?,
            )
        },
        cause: "finding a stamp and merging it takes about 120, writing one 80; each of the two records adds about 50.",
        idea: "keep beside each port whether nothing but the usual can happen there: one check instead of five.",
    },
    Goal {
        measure: "merge of 4 entries, instructions",
        reference: "plain loop 5N+7",
        limit: Limit::AtMost(27.0),
        section: Which::Target,
        figure: |section| section.number("merge of 4 entries"),
        cause: "the loop is not unrolled.",
        idea: "unroll it by four.",
    },
    Goal {
        measure: "merge of 32 entries, instructions",
        reference: "plain loop 5N+7",
        limit: Limit::AtMost(167.0),
        section: Which::Target,
        figure: |section| section.number("merge of 32 entries"),
        cause: "the wrap-safe comparison takes three instructions for each entry, and the compiler stores the entries one by one; four or eight a turn, backwards, or with conditional stores came to 184 to 232.",
        idea: "four entries a turn with loads and stores of several registers, in assembly; no message of that many nodes is merged in this way any more.",
    },
    Goal {
        measure: "log bytes per local event, timestamped (mean, dearest workload)",
        reference: "SystemView 3 (void)",
        limit: Limit::AtMost(3.0),
        section: Which::Bytes,
        figure: |section| dearest(section, "record of a local event, "),
        cause: "times between events take more than two bytes.",
        idea: "a coarser counter.",
    },
    Goal {
        measure: "log bytes per message event, timestamped (mean, dearest workload)",
        reference: "SystemView 5 (u32)",
        limit: Limit::AtMost(4.0),
        section: Which::Bytes,
        figure: |section| dearest(section, "record of a message event, "),
        cause: "times between events take more than two bytes.",
        idea: "a coarser counter.",
    },
    Goal {
        measure: "causal bytes added to a message, 4 nodes, steady state (mean, dearest workload)",
        reference: "modality-probe 12",
        limit: Limit::AtMost(6.0),
        section: Which::Bytes,
        figure: |section| {
            let workloads = ["ring", "all to all", "pipeline"].map(|it| format!("vector stamp, {it}, 4 nodes"));
            let bytes = workloads.iter().map(|name| section.number(name));
            bytes.collect::<Option<Vec<f64>>>()?.into_iter().reduce(f64::max)
        },
        cause: "every entry of the vector has changed since the last message.",
        idea: "differences of less than a byte.",
    },
    Goal {
        measure: "interrupts masked, worst case per event, 4 nodes, one predicate armed, instructions",
        reference: "",
        limit: Limit::AtMost(200.0),
        section: Which::Target,
        figure: |section| section.number("interrupts masked, 4 nodes, 1 armed"),
        cause: "after a start or a command of the host, with the first message of a session, and every 1024 events, a sync record that says where the node stands is written inside the event's own section (about 420, which include the room that a new quarter of the ring takes); a first message has a full stamp (about 100); without them the longest is as the target's table says under usual.",
        idea: "a form of the sync record that stands between two records, so that it has a section of its own; with a session's first message say only what is known of its sender.",
    },
    Goal {
        measure: "agent RAM per node, logs, message buffers and link windows apart, bytes (dearest demo)",
        reference: "SystemView 600",
        limit: Limit::AtMost(1024.0),
        section: Which::Bytes,
        figure: |section| dearest(section, "RAM of the kit per node, "),
        cause: "agent and control block are 1.2 to 1.6 KB, half of the crash stack that both cores share is 0.7 KB; the gate of calls is 0.7 KB more.",
        idea: "a shallower crash path (links are served 1.5 KB deep), predicate slots and watches only as many as are in use.",
    },
    Goal {
        measure: "flash of the kit, bytes (dearest demo)",
        reference: "SystemView 2 KB",
        limit: Limit::AtMost(8192.0),
        section: Which::Bytes,
        figure: |section| dearest(section, "flash of the kit, "),
        cause: "the table by parts tells: the least kit, which halts, records, stamps, serves links and host and survives crashes, is 30 KB by itself (agent and links about 10, the node's steps and halting about 6, stamps and log about 3 each); predicates are 6.5 KB, and calls 18 KB where they are made.",
        idea: "one form of stamps and links only where a program opens one, by tables that opening fills; steps of the node that share one way for everything rare.",
    },
    Goal {
        measure: "events executed by the next core after the trigger, in-band halt, during a mailbox hop (most)",
        reference: "sequential halting: uncontrolled",
        limit: Limit::AtMost(1.0),
        section: Which::Halting,
        figure: |section| section.number("most events executed during a mailbox hop"),
        cause: "not proven; supposed is the emulation. From the begin of a halt to the other core's bell it is a few hundred instructions, and from there to its park a few thousand (the target's table), which an emulated board does in a fraction of a millisecond; but a hop usually takes milliseconds, since four emulated cores share the processors of the host. A core that the host stops between its stop and its bell lets the other run on.",
        idea: "the hops again with a processor of the host for each core; fewer instructions up to the bell.",
    },
    Goal {
        measure: "host: causal order with clocks, instructions of the same on `crdts` over ours, as one writes it with `crdts` (least of 4, 8, 32 nodes)",
        reference: "same pipeline on the `crdts` crate, natural",
        limit: Limit::AtLeast(10.0),
        section: Which::Host,
        figure: |section| times_ours(section, "crdts, a copy for each event"),
        cause: "at 4 nodes clocks are a small part of what either does; a node that waits and is woken takes about 450 instructions, twice in 24 events.",
        idea: "fewer steps from a send to the one who waits for it.",
    },
    Goal {
        measure: "host: the same, over a pipeline on `crdts` that was made as lean as ours",
        reference: "same pipeline on the `crdts` crate, lean",
        limit: Limit::AtLeast(10.0),
        section: Which::Host,
        figure: |section| times_ours(section, "crdts"),
        cause: "at 4 nodes the clocks of `crdts` are so short that an event of ours may cost no more than 50 instructions: a local one takes 30, a send or receive about 100, and records that wait for another node add 40 to the mean.",
        idea: "keep the messages of a channel by their number, so that neither side looks for them.",
    },
    Goal {
        measure: "host: causal order, instructions per event, dearest over cheapest number of events (linear: 1)",
        reference: "",
        limit: Limit::AtMost(1.05),
        section: Which::Host,
        figure: |section| {
            let prefix = "causal order of ";
            Some(dearest(section, prefix)? / counts(section, prefix).reduce(f64::min)?)
        },
        cause: "something is searched that grows with the run.",
        idea: "profile the longest run.",
    },
    Goal {
        measure: "event, recording off, nothing armed, instructions",
        reference: "",
        limit: Limit::AtMost(25.0),
        section: Which::Target,
        figure: |section| section.number("event, recording off, nothing armed"),
        cause: "the event goes through the general step.",
        idea: "a quick way for events that nobody wants.",
    },
    Goal {
        measure: "predicate evaluation, one comparison, instructions",
        reference: "",
        limit: Limit::AtMost(60.0),
        section: Which::Target,
        figure: |section| section.number("predicate evaluation, one armed"),
        cause: "the constant of a comparison is decoded anew at every event.",
        idea: "keep the one comparison of a simple predicate beside its slot.",
    },
    Goal {
        measure: "simultaneous event: what a send that carries a component takes more, instructions",
        reference: "",
        limit: Limit::AtMost(30.0),
        section: Which::Target,
        figure: |section| {
            let carrying = section.number("simultaneous event armed: send that carries a component, 4 nodes")?;
            Some(carrying - section.number("send, clock and stamp, 4 nodes")?)
        },
        cause: "the comparison that is armed is evaluated at every event of its node (about 40); bit and count are seven bytes behind a stamp of any length.",
        idea: "evaluate a component only where its watch is set.",
    },
    Goal {
        measure: "simultaneous event: what a receive of it takes more, instructions",
        reference: "",
        limit: Limit::AtMost(30.0),
        section: Which::Target,
        figure: |section| {
            let carrying = section.number("simultaneous event armed: receive of it, 4 nodes")?;
            Some(carrying - section.number("receive, clock and stamp, 4 nodes")?)
        },
        cause: "the recognising node evaluates its own comparison at every event; the stamp and what follows it are read once for their length and once for what they say.",
        idea: "evaluate a component only where its watch is set, and read the length from the head alone.",
    },
    Goal {
        measure: "simultaneous event: what a send on another port takes more, instructions",
        reference: "",
        limit: Limit::AtMost(2.0),
        section: Which::Target,
        figure: |section| {
            let beside = section.number("simultaneous event armed: send on a port that carries nothing, 4 nodes")?;
            Some(beside - section.number("send, clock and stamp, 4 nodes")?)
        },
        cause: "an armed slot is looked at.",
        idea: "keep slots without terms out of the set that is looked at.",
    },
    Goal {
        measure: "mailbox round trip, percent of the one without the kit",
        reference: "",
        limit: Limit::AtMost(150.0),
        section: Which::Target,
        figure: |section| {
            let (with, without) =
                (section.number("mailbox round trip, both cores")?, section.number("the same, kit compiled out")?);
            Some((with * 100.0 / without).round())
        },
        cause: "a round trip is two sends and two receives, each stamped and recorded, which is about 190 instructions for each of the four.",
        idea: "one check instead of five for whether an event is a usual one; the dearest functions below say where else to look.",
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    fn empty() -> Record {
        Record { sections: [(Which::Target, Section::default())].into() }
    }

    #[test]
    fn a_goal_is_met_up_to_its_limit() {
        let goal = Goal { figure: |_| Some(80.0), ..GOALS_FOR_TESTS };
        assert_eq!(goal.standing(&empty()), Standing::Met(80.0));
        let least = Goal { limit: Limit::AtLeast(80.5), ..goal };
        assert_eq!((least.missed_by(&empty()), least.limit.to_string().as_str()), (Some(80.0), ">= 80.5"));
        let goal = Goal { figure: |_| Some(80.5), ..GOALS_FOR_TESTS };
        assert_eq!((goal.missed_by(&empty()), goal.limit.to_string().as_str()), (Some(80.5), "<= 80"));
        assert_eq!(GOALS_FOR_TESTS.standing(&empty()), Standing::Unknown);
        assert_eq!(goal.standing(&Record::default()), Standing::Unknown);
    }

    const GOALS_FOR_TESTS: Goal = Goal {
        measure: "",
        reference: "",
        limit: Limit::AtMost(80.0),
        section: Which::Target,
        figure: |_| None,
        cause: "",
        idea: "",
    };

    #[test]
    fn a_goal_that_is_missed_says_why_and_what_next() {
        for goal in GOALS {
            assert!(goal.cause.ends_with('.') && goal.idea.ends_with('.'), "{}", goal.measure);
        }
    }

    #[test]
    fn every_goal_finds_its_figure_in_the_record_of_the_repository() {
        let record = Record::load().unwrap();
        let is_recorded = |goal: &&Goal| record.sections.contains_key(&goal.section);
        let is_unknown = |goal: &&Goal| goal.standing(&record) == Standing::Unknown;
        let unknown = GOALS.iter().filter(is_recorded).filter(is_unknown).map(|goal| goal.measure).collect::<Vec<_>>();
        assert!(unknown.is_empty(), "no figure for {unknown:?}: is a count named differently now?");
    }
}

//! What was measured, as a section of tables.
use crate::halt::{Halt, Method, Reached};
use crate::spread::Spread;
use serde_json::{Value, json};

/// All halts of one demo.
pub struct Measured {
    pub demo: &'static str,
    pub names: Vec<String>,
    pub halts: Vec<Halt>,
    /// Halts left out because a log was full.
    pub incomplete: usize,
    /// Events of all nodes together in a second, while nothing halts them.
    pub rate: f64,
}

const RANKS: &str = "usual / 95 % / most";

impl Method {
    fn name(self) -> &'static str {
        match self {
            Self::Commanded => "by the kit, all commanded at once",
            Self::InBand => "by the kit, from one node in band",
            Self::Sequential => "by a probe, core after core",
            Self::Group => "by a probe, board after board",
        }
    }
}

impl Measured {
    fn of(&self, method: Method) -> impl Iterator<Item = &Halt> {
        self.halts.iter().filter(move |halt| halt.method == method)
    }

    fn reached(&self, method: Method) -> impl Iterator<Item = &Reached> {
        self.of(method).flat_map(|halt| &halt.reached)
    }

    /// Events of a node between the stop of the one that told it through a mailbox and its own stop.
    fn mailbox_hop(&self) -> Spread {
        Spread::of(self.reached(Method::InBand).filter_map(|reached| reached.after).map(f64::from))
    }

    /// How long the mailbox hop took in which most happened. The host may stop the thread of an emulated core between its
    /// stop and its bell; this does not tell that from what the agent takes.
    fn longest_hop(&self) -> String {
        let hops = || self.reached(Method::InBand).filter_map(|reached| Some((reached.after?, reached.time?)));
        let usual = Spread::of(hops().map(|(_, time)| time));
        match hops().max_by_key(|(events, _)| *events).filter(|(events, _)| *events > 1) {
            Some((events, time)) => format!(
                "- `{}`: the hop with {events} events took {time:.0} µs of the board's time; usual / 95 % / most are {}. That includes \
                 what the host keeps the thread of an emulated core waiting; how much of it that is was not measured.\n",
                self.demo,
                usual.cell(0)
            ),
            None => String::new(),
        }
    }

    /// One line for each method.
    fn summary(&self) -> Value {
        let rows = Method::ALL.map(|method| {
            let wall = Spread::of(self.of(method).map(|halt| halt.took.as_secs_f64() * 1e3));
            let sum = |halt: &Halt| halt.reached.iter().filter_map(|reached| reached.unknown).map(f64::from).sum();
            let after = |halt: &Halt| halt.reached.iter().filter_map(|reached| reached.after).map(f64::from).sum();
            let (unknown, after) = (Spread::of(self.of(method).map(sum)), Spread::of(self.of(method).map(after)));
            let bad = self.of(method).filter(|halt| halt.violation.is_some()).count();
            let head = [method.name().to_owned(), wall.count().to_string(), bad.to_string()];
            [&head[..], &[unknown.cell(0), after.cell(0), wall.cell(1)]].concat()
        });
        let caption = format!("`{}`, {:.0} events a second: four nodes on two boards, {RANKS}", self.demo, self.rate);
        let columns = [
            "halted",
            "halts",
            "violations found",
            "events of the others that the first did not know of",
            "executed after it stood (by the kit: after a core of the same board did)",
            "whole halt, ms",
        ];
        json!({ "caption": caption, "columns": columns, "rows": rows })
    }

    /// One line for each method and node.
    fn by_node(&self) -> Value {
        let mut rows = Vec::new();
        for method in Method::ALL {
            for (node, name) in self.names.iter().enumerate() {
                let reached = || self.reached(method).filter(|reached| reached.node == node);
                let unknown = Spread::of(reached().filter_map(|reached| reached.unknown).map(f64::from));
                let after = Spread::of(reached().filter_map(|reached| reached.after).map(f64::from));
                let time = Spread::of(reached().filter_map(|reached| reached.time));
                let head = [method.name().to_owned(), name.clone(), reached().count().to_string()];
                rows.push([&head[..], &[unknown.cell(0), after.cell(0), time.cell(0)]].concat());
            }
        }
        let columns = [
            "halted",
            "node",
            "times not the first",
            "unknown to the first",
            "executed after",
            "time, µs of the board",
        ];
        json!({ "caption": format!("`{}`, node by node, {RANKS}", self.demo), "columns": columns, "rows": rows })
    }

    /// In band: one line for each distance from the trigger.
    fn by_hops(&self) -> Value {
        let mut distances: Vec<(usize, usize)> =
            self.reached(Method::InBand).filter_map(|reached| reached.hops).collect();
        distances.sort_unstable();
        distances.dedup();
        let rows = distances.into_iter().map(|(mailboxes, serials)| {
            let reached = || self.reached(Method::InBand).filter(|to| to.hops == Some((mailboxes, serials)));
            let bound = Spread::of(reached().filter_map(|reached| reached.unknown).map(f64::from));
            let hop = Spread::of(reached().filter_map(|reached| reached.after).map(f64::from));
            let head = [mailboxes, serials, reached().count()].map(|count| count.to_string());
            [&head[..], &[bound.cell(0), hop.cell(0)]].concat()
        });
        let columns = [
            "mailbox hops",
            "serial hops",
            "nodes reached",
            "stop[j] - V_trigger[j]",
            "executed during the last hop, if a mailbox",
        ];
        let caption = format!("`{}`, in band, by the way from the trigger, {RANKS}", self.demo);
        json!({ "caption": caption, "columns": columns, "rows": rows.collect::<Vec<_>>() })
    }

    /// What was wrong with states that have no certificate, each kind once, with how often.
    fn violations(&self) -> Vec<String> {
        let mut kinds: Vec<(Method, String, usize)> = Vec::new();
        for (method, violation) in self.halts.iter().filter_map(|halt| Some((halt.method, halt.violation.as_deref()?)))
        {
            let kind: String = violation.chars().map(|c| if c.is_ascii_digit() { 'n' } else { c }).collect();
            match kinds.iter_mut().find(|(by, known, _)| *by == method && *known == kind) {
                Some((.., count)) => *count += 1,
                None => kinds.push((method, kind, 1)),
            }
        }
        let line = |(method, kind, count): (Method, String, usize)| {
            format!("- `{}`, {}, {count} times: {kind}\n", self.demo, method.name())
        };
        kinds.into_iter().map(line).collect()
    }
}

const TEXT: &str = "Two emulated boards with two cores each, halted by four methods in turn, so that noise hits all alike; no \
debug breakpoint is set. The first to stand is another node each time.\n\n\
- **All commanded at once** is what `stillpoint halt` does: the host writes a command into every control block and then rings every node; \
markers still travel and prove the cut. The time is from before the first look to the certificate, without the start of the program.\n\
- **In band**, the host gives one node the command; markers go from there through mailboxes and the serial link.\n\
- **Core after core** is what debuggers do. **Board after board** stops both cores of a board as one, which QEMU can, \
and a chip only with a cross trigger (CTI) between its cores, of which it is the limit: an emulated stop takes no cycles. Boards still \
follow each other.\n\n\
*Did not know of* compares clocks: an upper bound of what a node did after the first stood, also across boards, where no time is \
common. It counts what the node had done unheard before, too, and a probe's halt has it as well. *Executed after* is counted: by a \
probe, what the log gained after the first core stood; by the kit, events that lie after the stop of the first core of the same board \
(in band, of the core that sent the marker) by the counter that the cores of a board share. Between boards no counter is shared.\n\n\
*Violations* of the kit's halts are what the certificate of the halt finds. A probe's halt has no certificate: there are no markers, nodes \
may stand in the middle of an event, and nobody knows what is on the wire. Held against each other are what the logs say was sent \
and received and what the mailboxes hold. That such a state was really reached makes it a possible one, so few violations are to be \
expected; what it lacks is proof, and a bound for what ran on.";

/// All demos as one section.
pub fn section(measured: &[Measured]) -> Value {
    let tables: Vec<Value> =
        measured.iter().flat_map(|demo| [demo.summary(), demo.by_hops(), demo.by_node()]).collect();
    let (mut after, mut most) = (String::new(), 0.0);
    for demo in measured {
        let hop = demo.mailbox_hop();
        let most_here = hop.most().unwrap_or(0.0);
        most = f64::max(most, most_here);
        after += &format!(
            "- `{}`: {} mailbox hops, at most {most_here:.0} event{} executed during one (goal: 1); {} of the hops had none.\n",
            demo.demo,
            hop.count(),
            if most_here == 1.0 { "" } else { "s" },
            hop.count_up_to(0.0),
        );
        after += &demo.longest_hop();
        after.extend(demo.violations());
        if demo.incomplete > 0 {
            after += &format!("- `{}`: {} halts left out: a log was full.\n", demo.demo, demo.incomplete);
        }
    }
    json!({
        "title": "Halting",
        "text": TEXT,
        "tables": tables,
        "counts": {},
        "figures": { "most events executed during a mailbox hop": most },
        "pictures": [],
        "after": after,
    })
}

//! Delayed halting off line and on line: Algorithm D of the Paradise paper, and a simulation of the shipped gate.
//!
//! A [`Program`] is what the paper calls an execution: some threads, each a row of fragments. [`offline`] computes from
//! it, with all stops known beforehand, when every fragment starts. [`online`] runs it against
//! `stillpoint_core::delay`, which learns of each stop when it happens. Both must let the threads enter every node in
//! the order of the undisturbed execution.
pub mod faulty;
pub mod offline;
pub mod online;

use std::fmt;

/// A stretch of one thread on one node, and how long a breakpoint stops the thread at its end (0: none).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fragment {
    /// Where it runs.
    pub node: u8,
    /// For how many ticks it runs.
    pub run: u64,
    /// For how many ticks a breakpoint then stops it.
    pub stop: u64,
}

/// An execution: each thread's fragments, in order.
#[derive(Clone, PartialEq, Eq)]
pub struct Program {
    /// The threads; where two neighbouring fragments are on different nodes, a call or return lies between them.
    pub threads: Vec<Vec<Fragment>>,
}

/// One fragment of a program, by thread and place in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// Which thread.
    pub thread: usize,
    /// Which of its fragments, from 0.
    pub fragment: usize,
}

/// A thread came into a node by a call or return.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The fragment that begins with it.
    pub place: Place,
    /// When, in real time.
    pub at: u64,
    /// The thread's delay by then.
    pub delay: u64,
}

impl Program {
    /// Builds a program from rows of `(node, run, stop)`.
    #[must_use]
    pub fn new(threads: &[&[(u8, u64, u64)]]) -> Self {
        let fragments =
            |row: &&[(u8, u64, u64)]| row.iter().map(|&(node, run, stop)| Fragment { node, run, stop }).collect();
        Self { threads: threads.iter().map(fragments).collect() }
    }

    /// When the fragment starts if nobody is ever stopped.
    #[must_use]
    pub fn undelayed_start(&self, place: Place) -> u64 {
        self.threads[place.thread][..place.fragment].iter().map(|fragment| fragment.run).sum()
    }

    /// Whether the fragment begins with a call or return.
    #[must_use]
    pub fn is_entry(&self, place: Place) -> bool {
        let thread = &self.threads[place.thread];
        place.fragment > 0 && thread[place.fragment - 1].node != thread[place.fragment].node
    }

    /// The node a fragment runs on.
    #[must_use]
    pub fn node(&self, place: Place) -> u8 {
        self.threads[place.thread][place.fragment].node
    }

    /// Every fragment, thread by thread.
    pub fn places(&self) -> impl Iterator<Item = Place> + '_ {
        let fragments = |(thread, row): (usize, &Vec<Fragment>)| {
            (0..row.len()).map(move |fragment| Place { thread, fragment }).collect::<Vec<_>>()
        };
        self.threads.iter().enumerate().flat_map(fragments)
    }

    /// The same program without its stops.
    #[must_use]
    pub fn undisturbed(&self) -> Self {
        let unstopped = |row: &Vec<Fragment>| row.iter().map(|&fragment| Fragment { stop: 0, ..fragment }).collect();
        Self { threads: self.threads.iter().map(unstopped).collect() }
    }

    /// The same program with every time multiplied.
    #[must_use]
    pub fn scaled(&self, by: u64) -> Self {
        let scaled =
            |row: &Vec<Fragment>| row.iter().map(|f| Fragment { run: f.run * by, stop: f.stop * by, ..*f }).collect();
        Self { threads: self.threads.iter().map(scaled).collect() }
    }

    /// Lengthens fragments, by as little as it takes, until no two threads have an event at the same undelayed time.
    #[must_use]
    pub fn with_distinct_times(mut self) -> Self {
        let mut taken = std::collections::HashSet::new();
        for thread in &mut self.threads {
            let mut end = 0;
            for fragment in thread {
                while taken.contains(&(end + fragment.run)) {
                    fragment.run += 1;
                }
                end += fragment.run;
                taken.insert(end);
            }
        }
        self
    }
}

/// The entries into each node in order of time: what delayed halting must preserve.
#[must_use]
pub fn order_of_entries(program: &Program, entries: &[Entry]) -> Vec<(u8, Vec<Place>)> {
    let mut nodes: Vec<u8> = entries.iter().map(|entry| program.node(entry.place)).collect();
    nodes.sort_unstable();
    nodes.dedup();
    let of_node = |node| {
        let mut here: Vec<_> = entries.iter().filter(|entry| program.node(entry.place) == node).collect();
        here.sort_by_key(|entry| entry.at);
        (node, here.into_iter().map(|entry| entry.place).collect())
    };
    nodes.into_iter().map(of_node).collect()
}

/// What a failing property test prints.
impl fmt::Debug for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\n{self}")
    }
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, thread) in self.threads.iter().enumerate() {
            write!(f, "h{number}:")?;
            for Fragment { node, run, stop } in thread {
                write!(f, " n{node} for {run}")?;
                if *stop > 0 {
                    write!(f, ", stop {stop}")?;
                }
                write!(f, ";")?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}

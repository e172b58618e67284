//! A simulated system on the command line of a transcript.
//!
//! | command | meaning |
//! |---|---|
//! | `system 3 0->1 1->2 [in-queue-order] [no-reverse-lanes] [capacity=K] [small-ring]` | build and start |
//! | `send 0->1 "text"`, `receive 0->1` | the application sends, takes what is next |
//! | `deliver 0->1`, `deliver ~0->1` | what is next on the control lane along, against the messages arrives |
//! | `settle` | all control messages arrive |
//! | `halt 0`, `release 0 #1`, `suspend 0`, `continue 0` | the host's commands, at a node |
//! | `trace 0 7`, `crash 0`, `reset 0`, `lose-patience 0` | what happens on a node |
//! | `link down 0->1`, `link up 0->1` | what happens to a link |
//! | `arm 0 then 2`, `arm 0 then 2 by-markers` | linked predicate: tracepoint 1 on 0, then tracepoint 2 on 2 |
//! | `record 1 only receive`, `record 1 off`, `record 1 everything` | what a node records |
//! | `repeat 60 trace 0 7` | a command many times, without its story |
//! | `clock 0`, `log 0`, `nodes`, `cut` | where a node stands, what a probe reads, phases, the certificate |
use super::{Entry, HaltMode, Lane, Setup, System, Violation};
use stillpoint_core::log::Recording;
use stillpoint_core::predicate::Detector;
use stillpoint_core::{Command, EventKind, HaltId, KindSet, Phase};

/// What answers the commands of a transcript.
///
/// # Example
/// ```
/// use stillpoint_tests::sim::Console;
/// let mut console = Console::default();
/// console.run("system 2 0->1");
/// assert_eq!(console.run("send 0->1 \"ping\""), ["0: send \"ping\" -> 1"]);
/// ```
#[derive(Default)]
pub struct Console {
    system: Option<Box<dyn Answers>>,
}

trait Answers {
    fn answer(&mut self, words: &[&str]) -> Result<Vec<String>, String>;
}

impl Console {
    /// Runs one command and says what happened, line by line.
    pub fn run(&mut self, command: &str) -> Vec<String> {
        let words: Vec<&str> = command.split(' ').collect();
        let answer = match (words[0], &mut self.system) {
            ("system", _) => build(&words).map(|system| self.system = Some(system)).map(|()| Vec::new()),
            (_, Some(system)) => system.answer(&words),
            _ => Err("there is no system yet".into()),
        };
        answer.unwrap_or_else(|what| vec![format!("not understood: {what}")])
    }
}

fn build(words: &[&str]) -> Result<Box<dyn Answers>, String> {
    let mut setup = Setup::new(&[]);
    let mut small = false;
    for word in &words[2..] {
        match *word {
            "in-queue-order" => setup.mode = HaltMode::InQueueOrder,
            "no-reverse-lanes" => setup.reverse_lanes = false,
            "small-ring" => small = true,
            _ => match word.strip_prefix("capacity=") {
                Some(capacity) => setup.capacity = number(capacity)?,
                None => setup.edges.push(edge_ends(word)?),
            },
        }
    }
    Ok(match (words[1], small) {
        ("2", false) => boxed::<2, 8192>(setup),
        ("2", true) => boxed::<2, 128>(setup),
        ("3", false) => boxed::<3, 8192>(setup),
        ("4", false) => boxed::<4, 8192>(setup),
        (other, _) => return Err(format!("a system of {other}")),
    })
}

fn boxed<const N: usize, const S: usize>(setup: Setup) -> Box<dyn Answers> {
    let mut system = System::<N, S>::new(setup);
    system.start().expect("a new system starts");
    Box::new(system)
}

impl<const N: usize, const S: usize> Answers for System<N, S> {
    fn answer(&mut self, words: &[&str]) -> Result<Vec<String>, String> {
        self.story = Some(Vec::new());
        let outcome = self.obey(words)?;
        let mut told = self.story.take().unwrap_or_default();
        match outcome {
            Ok(answers) => told.extend(answers),
            Err(violation) => told.push(format!("VIOLATION: {violation}")),
        }
        if told.is_empty() {
            told.push("nothing happens".into());
        }
        Ok(told)
    }
}

type Outcome = Result<Vec<String>, Violation>;

impl<const N: usize, const S: usize> System<N, S> {
    fn obey(&mut self, words: &[&str]) -> Result<Outcome, String> {
        let done = |result: Result<bool, Violation>| Ok(result.map(|_| Vec::new()));
        let node = |place: usize| words.get(place).ok_or("a node is missing".into()).and_then(|word| number(word));
        match *words {
            ["send", channel, text] => done(self.send(self.edge(channel)?.0, Some(text.trim_matches('"').as_bytes()))),
            ["receive", channel] => done(self.receive(self.edge(channel)?.0)),
            ["deliver", channel] => {
                let (edge, lane) = self.edge(channel)?;
                done(self.deliver(edge, lane))
            }
            ["settle"] => done(self.settle().map(|()| true)),
            ["halt", _] => done(self.halt(node(1)?)),
            ["release", _, halt] => done(self.release(node(1)?, HaltId(number(halt.trim_start_matches('#'))? as u16))),
            ["suspend", _] => done(self.suspend(node(1)?, true)),
            ["continue", _] => done(self.suspend(node(1)?, false)),
            ["trace", _, tag] => done(self.local(node(1)?, number(tag)? as u16)),
            ["crash", _] => done(self.fault(node(1)?)),
            ["reset", _] => done(self.reset(node(1)?, true).map(|()| true)),
            ["lose-patience", _] => done(self.drain_limit(node(1)?)),
            ["link", "down", channel] => done(self.link_down(self.edge(channel)?.0)),
            ["link", "up", channel] => done(Ok(self.link_up(self.edge(channel)?.0))),
            ["arm", _, "then", _, ref by @ ..] => {
                let detector = if by == ["by-markers"] { Detector::Marker } else { Detector::Causal };
                Ok(self.arm(node(1)?, node(3)?, detector).map(|()| vec!["armed".into()]))
            }
            ["record", _, ref what @ ..] => {
                let (node, recording) = (node(1)?, recording(what)?);
                let set = self.command(node, Command::Record(recording));
                Ok(set.map(|()| vec![format!("{node}: records {}", what.join(" "))]))
            }
            ["repeat", times, ref command @ ..] => {
                let story = self.story.take();
                for _ in 0..number(times)? {
                    if let Err(violation) = self.obey(command)? {
                        return Ok(Err(violation));
                    }
                }
                self.story = story;
                Ok(Ok(vec![format!("({times} times)")]))
            }
            ["clock", _] => {
                let node = node(1)?;
                Ok(Ok(vec![format!("{node}: {:?}", self.members[node].node.clock().entries())]))
            }
            ["log", _] => Ok(self.tell_log(node(1)?)),
            ["nodes"] => Ok(Ok((0..N).map(|node| self.tell_node(node)).collect())),
            ["cut"] => Ok(self.tell_cut()),
            _ => Err(words.join(" ")),
        }
    }

    fn edge(&self, word: &str) -> Result<(usize, Lane), String> {
        let lane = if word.starts_with('~') { Lane::Reverse } else { Lane::Forward };
        let ends = edge_ends(word.trim_start_matches('~'))?;
        let found = self.setup.edges.iter().position(|edge| *edge == ends);
        found.map(|edge| (edge, lane)).ok_or(format!("there is no channel {word}"))
    }

    fn tell_node(&self, node: usize) -> String {
        let phase = match self.members[node].node.phase() {
            Phase::Starting => "starting".into(),
            Phase::Running => "running".into(),
            Phase::Suspended => "stopped alone".into(),
            Phase::Faulted => "crashed".into(),
            Phase::Draining { .. } => format!("draining in halt {}", self.members[node].node.last_halt().0),
            Phase::Parked { undelivered, .. } if undelivered.is_empty() => {
                format!("parked in halt {}", self.members[node].node.last_halt().0)
            }
            Phase::Parked { undelivered, .. } => format!(
                "parked in halt {}, {} of its markers undelivered",
                self.members[node].node.last_halt().0,
                undelivered.len()
            ),
        };
        format!("{node}: {phase}")
    }

    fn tell_log(&mut self, node: usize) -> Outcome {
        let before = self.members[node].log.read.len();
        self.read_log(node)?;
        let entries = self.members[node].log.read[before..].iter().map(|entry| match entry {
            Entry::Gap(dropped) => format!("   -- {dropped} records are missing here --"),
            Entry::Record(record, clock) => {
                let message = record.message.map_or(String::new(), |message| format!(" (message {message})"));
                let number = format!("{}@{}.{}", node, record.number.epoch(), record.number.count());
                let clock = clock.as_ref().filter(|_| self.members[node].node.recording().mode() as u8 == 1);
                let after = clock.map_or(String::new(), |clock| format!(" after {clock:?}"));
                format!("   {number} {:?} {}{message}{after}", record.event.kind, record.event.arg)
            }
        });
        Ok(entries.collect())
    }

    fn tell_cut(&self) -> Outcome {
        let certificate = self.check_halted()?;
        let place = |node: usize| format!("{node}@{}", certificate.cut.frontier()[node].count());
        let places: Vec<String> = (0..N).map(place).collect();
        let mut told = vec![format!("halt {}: {} consistent", certificate.halt.0, places.join(" "))];
        for channel in self.channels.iter().filter(|channel| !channel.messages.is_empty()) {
            let messages = channel.messages.iter().map(|message| super::system::show(&message.bytes[message.stamp..]));
            let messages: Vec<String> = messages.collect();
            told.push(format!("in flight on {}: {}", channel.label(Lane::Forward), messages.join(" ")));
        }
        Ok(told)
    }
}

fn number(word: &str) -> Result<usize, String> {
    word.parse().map_err(|_| format!("{word} is no number"))
}

fn edge_ends(word: &str) -> Result<(usize, usize), String> {
    let (from, to) = word.split_once("->").ok_or(format!("{word} is no channel"))?;
    Ok((number(from)?, number(to)?))
}

fn recording(words: &[&str]) -> Result<Recording, String> {
    match words {
        ["off"] => Ok(Recording::OFF),
        ["everything"] => Ok(Recording::FULL),
        ["only", kinds @ ..] => {
            let kind = |word: &str| EventKind::ALL.into_iter().find(|kind| format!("{kind:?}").to_lowercase() == word);
            let kinds = kinds.iter().try_fold(KindSet::EMPTY, |set, word| Some(set.with(kind(word)?)));
            kinds.map(|kinds| Recording::restricted(kinds, u32::MAX)).ok_or("an event that does not exist".into())
        }
        _ => Err(words.join(" ")),
    }
}

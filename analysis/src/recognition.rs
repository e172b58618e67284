//! Where a simultaneous event can be recognised, and what has to be sent for it (sections 3.2.4 and 3.3).
//!
//! # The rule
//! The node of a component sends with its messages on the *carriers* whether its condition holds, and how many messages it
//! has taken from its release. The recognising node evaluates the event when such a message arrives or its own condition
//! changes. It halts if every condition holds and it has itself sent exactly as many messages on each release as were
//! taken. Then no message that would let a component change is under way, and the recognising node sends no more.
//!
//! A value is worth nothing after a reset of a node on its way: it is dropped with the session of a link.
use crate::stability::{Change, Class, Release, stability};
use crate::{Action, ChannelId, Flow, Program, StatementId, TaskId, WatchId};
use std::collections::VecDeque;
use stillpoint_core::NodeId;

/// One local condition of a simultaneous event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Component {
    /// The node whose state it reads.
    pub node: NodeId,
    /// The watches it reads.
    pub watches: Vec<WatchId>,
    /// Whether it stays true once it is.
    pub monotonic: bool,
}

/// A point of a node at which an event is evaluated. It stands for every source line with that event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Point {
    /// A message with a value is taken from this channel.
    Receive(ChannelId),
    /// A watch of the node's own condition is set.
    Write(WatchId),
}

/// How the recognising node knows of one component, and why that stays true.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hold {
    /// The component, by its place in the event.
    pub component: usize,
    /// Why it is stable.
    pub class: Class,
    /// The channels that carry the value, in the order of the way. Empty on the recognising node.
    pub carriers: Vec<ChannelId>,
    /// The channel that lets it change. `None` if nothing does, or on the recognising node.
    pub release: Option<Release>,
}

/// A node that can recognise the event so that the halted state shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recognition {
    /// The node that recognises.
    pub node: NodeId,
    /// Where it evaluates the event.
    pub points: Vec<Point>,
    /// What it knows of each component.
    pub holds: Vec<Hold>,
}

impl Recognition {
    /// The channels whose messages carry values, in ascending order. No other message carries anything.
    #[must_use]
    pub fn carried(&self) -> Vec<ChannelId> {
        let mut all: Vec<_> = self.holds.iter().flat_map(|hold| hold.carriers.iter().copied()).collect();
        all.sort_unstable();
        all.dedup();
        all
    }
}

/// Why a node cannot recognise an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// No chain of messages leads from the component to the node.
    Unheard {
        /// The node that would recognise.
        node: NodeId,
        /// The component.
        component: usize,
    },
    /// The node sends nothing that could hold the component back.
    Unreleased {
        /// The node that would recognise.
        node: NodeId,
        /// The component.
        component: usize,
    },
    /// The component can change without the node.
    Changes {
        /// The node that would recognise.
        node: NodeId,
        /// The component.
        component: usize,
        /// How.
        change: Change,
    },
}

/// Finds every node that can recognise a simultaneous event, and for each other node the first obstacle.
///
/// # Example: a fixed barrier
/// ```
/// use stillpoint_analysis::{Component, Program, recognise};
/// let program: Program = "
///     BAR: loop { recv in; recv in2; send out; send out2 }
///     P: loop { set x; send in; recv out }
///     Q: loop { set y; send in2; recv out2 }".parse()?;
/// let component = |name| {
///     let watch = program.watch(name).unwrap();
///     Component { node: program.watches()[watch.index()].node, watches: vec![watch], monotonic: false }
/// };
/// let (found, _) = recognise(&program, &[component("x"), component("y")]);
/// assert_eq!(found.len(), 1);
/// assert_eq!(found[0].node.0, 0);
/// # Ok::<(), stillpoint_analysis::TextError>(())
/// ```
#[must_use]
pub fn recognise(program: &Program, event: &[Component]) -> (Vec<Recognition>, Vec<Obstacle>) {
    let flow = Flow::new(program);
    let (mut found, mut obstacles) = (Vec::new(), Vec::new());
    for node in program.nodes() {
        let holds = event.iter().enumerate().map(|(at, component)| hold(program, &flow, node, at, component));
        match holds.collect::<Result<Vec<_>, _>>() {
            Ok(holds) => found.push(Recognition { node, points: points(program, node, event, &holds), holds }),
            Err(obstacle) => obstacles.push(obstacle),
        }
    }
    (found, obstacles)
}

/// Where the node evaluates: where a value arrives, and where its own condition may change.
fn points(program: &Program, node: NodeId, event: &[Component], holds: &[Hold]) -> Vec<Point> {
    let arrivals = holds.iter().filter_map(|hold| hold.carriers.last()).map(|last| Point::Receive(*last));
    let own = event.iter().filter(|component| component.node == node).flat_map(|component| &component.watches);
    let own = own.filter(|watch| program.statements_with(Action::Write(**watch)).next().is_some());
    let mut points: Vec<_> = arrivals.chain(own.map(|watch| Point::Write(*watch))).collect();
    points.sort_unstable();
    points.dedup();
    points
}

fn hold(program: &Program, flow: &Flow, node: NodeId, at: usize, component: &Component) -> Result<Hold, Obstacle> {
    if component.node == node {
        // The node halts at the very event that it evaluates.
        return Ok(Hold { component: at, class: Class::Dependent, carriers: Vec::new(), release: None });
    }
    let ways = ways(program, flow, component.node, node);
    let shortest = ways.first().ok_or(Obstacle::Unheard { node, component: at })?;
    if component.monotonic {
        let carriers = shortest.clone();
        return Ok(Hold { component: at, class: Class::Monotonic, carriers, release: None });
    }
    let mut obstacle = Obstacle::Unreleased { node, component: at };
    let releases = releases(program, node, component.node);
    for carriers in &ways {
        for release in &releases {
            match stability(program, component, carriers[0], release.received) {
                Ok(class) => {
                    return Ok(Hold { component: at, class, carriers: carriers.clone(), release: Some(*release) });
                }
                Err(change) => obstacle = Obstacle::Changes { node, component: at, change },
            }
        }
    }
    Err(obstacle)
}

/// The shortest way from a node to another for each channel it may begin with, the shortest of them first.
fn ways(program: &Program, flow: &Flow, from: NodeId, to: NodeId) -> Vec<Vec<ChannelId>> {
    let mut ways: Vec<_> = channels_of(program, |channel| channel.from == from)
        .filter(|first| program.statements_with(Action::Send(*first)).next().is_some())
        .filter_map(|first| way(program, flow, first, to))
        .collect();
    ways.sort_by_key(Vec::len);
    ways
}

fn way(program: &Program, flow: &Flow, first: ChannelId, to: NodeId) -> Option<Vec<ChannelId>> {
    let channels = program.channels();
    let mut before = vec![None; channels.len()];
    let mut seen = vec![false; channels.len()];
    let source = channels[first.index()].from;
    seen[first.index()] = true;
    let mut queue = VecDeque::from([first]);
    while let Some(at) = queue.pop_front() {
        if channels[at.index()].to == to && program.statements_with(Action::Receive(at)).next().is_some() {
            let mut way: Vec<_> = std::iter::successors(Some(at), |last| before[last.index()]).collect();
            way.reverse();
            return Some(way);
        }
        for next in channels_of(program, |channel| channel.from == channels[at.index()].to && channel.to != source) {
            if !seen[next.index()] && passes_on(program, flow, at, next) {
                seen[next.index()] = true;
                before[next.index()] = Some(at);
                queue.push_back(next);
            }
        }
    }
    None
}

/// Whether what is taken from one channel may be followed by a send on the other.
pub(crate) fn passes_on(program: &Program, flow: &Flow, from: ChannelId, to: ChannelId) -> bool {
    program.statements_with(Action::Receive(from)).any(|receive| {
        program
            .statements_with(Action::Send(to))
            .any(|send| program.statement(receive).task != program.statement(send).task || flow.reaches(receive, send))
    })
}

/// The releases by which a node can hold another back: a channel to it, or one that tasks pass on to it unchanged.
fn releases(program: &Program, from: NodeId, to: NodeId) -> Vec<Release> {
    let mut releases = Vec::new();
    for sent in channels_of(program, |channel| channel.from == from) {
        let mut received = sent;
        // At most as many tasks as there are channels: a circle of them ends the search.
        for _ in program.channels() {
            if program.channels()[received.index()].to == to {
                releases.push(Release { sent, received });
                break;
            }
            let Some(next) = wire(program, received) else { break };
            received = next;
        }
    }
    releases
}

/// The channels of a release, from the recognising node to the component's.
pub(crate) fn passes_through(program: &Program, release: Release) -> Vec<ChannelId> {
    let next = |at: &ChannelId| if *at == release.received { None } else { wire(program, *at) };
    std::iter::successors(Some(release.sent), next).take(program.channels().len()).collect()
}

/// The channel on which exactly the messages of `from` are passed on, if a task does nothing else and no other task uses
/// either channel.
fn wire(program: &Program, from: ChannelId) -> Option<ChannelId> {
    let only = |mut found: Box<dyn Iterator<Item = StatementId> + '_>| found.next().filter(|_| found.next().is_none());
    let receive = only(Box::new(program.statements_with(Action::Receive(from))))?;
    let task = program.statement(receive).task;
    let mut acting =
        statements_of(program, task).filter(|id| !matches!(program.action(*id), Action::Local | Action::Receive(_)));
    let send = acting.next().filter(|_| acting.next().is_none())?;
    let Action::Send(to) = program.action(send) else { return None };
    only(Box::new(program.statements_with(Action::Send(to))))?;
    // Receive, send, receive, send: nothing else, and no way round either.
    let next = |id| following(program, id);
    let alternates =
        next(receive)? == send && next(send)? == receive && next(program.tasks()[task.index()].entry)? == receive;
    alternates.then_some(to)
}

fn statements_of(program: &Program, task: TaskId) -> impl Iterator<Item = StatementId> + '_ {
    program.statements().filter(move |id| program.statement(*id).task == task)
}

/// The next statement that is not local, if there is exactly one way there.
fn following(program: &Program, from: StatementId) -> Option<StatementId> {
    let mut at = from;
    for _ in program.statements() {
        let mut next = program.successors(at);
        at = next.next().filter(|_| next.next().is_none())?;
        if program.action(at) != Action::Local {
            return Some(at);
        }
    }
    None
}

pub(crate) fn channels_of(
    program: &Program,
    which: impl Fn(&crate::Channel) -> bool,
) -> impl Iterator<Item = ChannelId> {
    let all = program.channels().iter().enumerate().filter(|(_, channel)| which(channel));
    all.map(|(at, _)| ChannelId(at as u32)).collect::<Vec<_>>().into_iter()
}

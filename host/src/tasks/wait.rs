//! Why tasks wait: the thing, the other end of it, and what that one does.
use super::Task;
use super::awaited::{Awaited, End};
use super::circle::mark_circles;
use crate::names::Names;
use crate::{Cut, Node};
use serde::Serialize;
use stillpoint_core::Channel;
use stillpoint_core::time::CounterRate;

/// One thing that a task waits for.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Wait {
    /// What it is, in words: `a message on ring`.
    pub thing: String,
    /// What kind of thing.
    pub kind: WaitKind,
    /// The port, if it is one.
    pub port: Option<String>,
    /// How long a timer still takes, in milliseconds of the node's time; negative if it has ended.
    pub remaining: Option<f64>,
    /// Messages on their way to the task.
    pub in_flight: Option<usize>,
    /// The node at the other end.
    pub node: Option<String>,
    /// The tasks that hold the other end, as `right0/pass[1]`.
    pub tasks: Vec<String>,
    /// What the first of them does: its state and line.
    pub doing: Option<String>,
    /// Whether this wait is a part of a circle: its task waits for itself, through others.
    pub circle: bool,
}

/// What kind of thing a task waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum WaitKind {
    /// A message.
    Receive,
    /// Room for a message.
    Send,
    /// The reply to a call.
    Call,
    /// A request.
    Serve,
    /// A moment.
    Timer,
    /// A primitive of embassy-sync.
    Sync,
    /// Something that only its line tells.
    Other,
}

/// What is known of a task besides its description.
pub(super) struct Holding {
    pub awaited: Vec<Awaited>,
    pub ends: Vec<End>,
    pub guards: Vec<u64>,
}

/// What waits are explained with.
pub(super) struct Explainer<'a> {
    pub cut: &'a Cut,
    pub names: &'a Names,
    /// The rate of each board's counter.
    pub rates: Vec<Option<CounterRate>>,
    /// The static at an address of a board, by its path.
    pub static_at: &'a dyn Fn(usize, u64) -> Option<String>,
}

impl Explainer<'_> {
    /// Fills in the waits of every task.
    pub fn explain(&self, tasks: &mut [Task], holdings: &[Holding], nodes: &[Option<usize>]) {
        let channels: Vec<Channel> = self.cut.pairs().collect();
        let waits: Vec<Vec<Wait>> = (0..tasks.len())
            .map(|index| {
                let node = nodes[index].map(|node| &self.cut.nodes[node]);
                let own = (index, node);
                let wait = |of: &Awaited| self.wait(of, own, tasks, holdings, nodes, &channels);
                holdings[index].awaited.iter().map(wait).collect()
            })
            .collect();
        for (task, waits) in tasks.iter_mut().zip(waits) {
            task.waits = waits;
        }
        mark_circles(tasks);
    }

    fn wait(
        &self,
        awaited: &Awaited,
        (index, node): (usize, Option<&Node>),
        tasks: &[Task],
        holdings: &[Holding],
        nodes: &[Option<usize>],
        channels: &[Channel],
    ) -> Wait {
        let mut wait = Wait {
            thing: String::new(),
            kind: WaitKind::Other,
            port: None,
            remaining: None,
            in_flight: None,
            node: None,
            tasks: Vec::new(),
            doing: None,
            circle: false,
        };
        // The channel that leaves or enters this node by a port.
        let out = |port: u8| channels.iter().find(|of| Some(of.from) == node.map(|node| node.id) && of.out.0 == port);
        let into = |port: u8| channels.iter().find(|of| Some(of.to) == node.map(|node| node.id) && of.into.0 == port);
        let holders = |peer: stillpoint_core::NodeId, port: u8, is_inbox: bool| -> Vec<usize> {
            let end = End { port, is_inbox };
            let on = |of: usize| nodes[of].is_some_and(|node| self.cut.nodes[node].id == peer);
            (0..tasks.len()).filter(|of| on(*of) && holdings[*of].ends.contains(&end)).collect()
        };
        let port_name = |port: u8| node.map_or_else(|| port.to_string(), |node| self.names.port(node.id, port));
        let mut others = Vec::new();
        match awaited {
            Awaited::Receive(port) => {
                wait.kind = WaitKind::Receive;
                wait.port = Some(port_name(*port));
                wait.thing = format!("a message on {}", port_name(*port));
                if let Some(channel) = into(*port) {
                    wait.node = Some(self.names.node(channel.from));
                    wait.in_flight = self.in_flight(channel);
                    others = holders(channel.from, channel.out.0, false);
                }
            }
            Awaited::Send(port) | Awaited::Call(port) => {
                let is_call = matches!(awaited, Awaited::Call(_));
                wait.kind = if is_call { WaitKind::Call } else { WaitKind::Send };
                wait.port = Some(port_name(*port));
                let thing = if is_call { "the reply to a call on" } else { "room on" };
                wait.thing = format!("{thing} {}", port_name(*port));
                if let Some(channel) = out(*port) {
                    wait.node = Some(self.names.node(channel.to));
                    others = holders(channel.to, channel.into.0, true);
                }
            }
            Awaited::Serve(ports) => {
                wait.kind = WaitKind::Serve;
                let names: Vec<String> = ports.iter().map(|port| port_name(*port)).collect();
                wait.thing = format!("a request on {}", names.join(", "));
                let channels: Vec<&Channel> = ports.iter().filter_map(|port| into(*port)).collect();
                let mut peers: Vec<String> = channels.iter().map(|of| self.names.node(of.from)).collect();
                peers.dedup();
                wait.node = (!peers.is_empty()).then(|| peers.join(", "));
                wait.in_flight = channels.iter().map(|of| self.in_flight(of)).sum();
                others = channels.iter().flat_map(|of| holders(of.from, of.out.0, false)).collect();
            }
            Awaited::Timer(ticks) => {
                wait.kind = WaitKind::Timer;
                wait.thing = "a timer".into();
                let rate = self.rates.get(tasks[index].on).copied().flatten();
                wait.remaining = node.zip(rate).map(|(node, rate)| {
                    let now = node.time.0.saturating_sub(node.delay.0);
                    (*ticks as f64 - now as f64) * 1000.0 / f64::from(rate.0)
                });
            }
            Awaited::Sync(what, address) => {
                wait.kind = WaitKind::Sync;
                let board = tasks[index].on;
                let place = (self.static_at)(board, *address).unwrap_or_else(|| format!("{address:#010x}"));
                wait.thing = format!("{what} on {place}");
                let holds = |of: &usize| tasks[*of].on == board && holdings[*of].guards.contains(address);
                others = (0..tasks.len()).filter(holds).collect();
                wait.node = others.first().and_then(|of| tasks[*of].node.clone());
            }
            Awaited::Other(what) => wait.thing = what.clone(),
        }
        wait.tasks = others.iter().map(|of| tasks[*of].id()).collect();
        wait.doing = others.first().map(|of| {
            let task = &tasks[*of];
            let line = task.line.as_ref().map_or_else(String::new, |line| format!(" at {line}"));
            format!("{}{line}", task.state)
        });
        wait
    }

    fn in_flight(&self, channel: &Channel) -> Option<usize> {
        let counted = self.cut.channels().into_iter().flatten().find(|of| of.state.channel == *channel)?;
        Some(counted.state.in_flight.len())
    }
}

//! Everything there is to say of a halted system: the certificate, where every node stands, what is in flight, the skew.
mod checks;

use crate::backtrace::Backtrace;
use crate::debug_info::DebugInfo;
use crate::dwarf::DebugTypes;
use crate::in_flight::{Found, Held, Holder, Message, message};
use crate::ledger::{SkewLedger, ledger};
use crate::names::Names;
use crate::recount::Recount;
use crate::tasks::TaskReport;
use crate::{Cut, CutError, Node, NodeAddress, Port, System, SystemError};
use serde::Serialize;
use std::time::{Duration, Instant};
use stillpoint_core::link::Ledger;
use stillpoint_core::{Direction, EventNumber, NodeId};

/// A halted system, as the user sees it.
#[derive(Clone, Debug, Serialize)]
pub struct CutReport {
    /// Which halt, if all nodes are in the same.
    pub halt: Option<u16>,
    /// Whether the halted state is one consistent moment.
    pub valid: bool,
    /// Each check of the certificate.
    pub checks: Vec<Check>,
    /// Every node.
    pub nodes: Vec<NodeMoment>,
    /// Every channel.
    pub channels: Vec<ChannelLine>,
    /// Who triggered, by which path, and what it cost.
    pub ledger: SkewLedger,
    /// The tasks of every node; none while cores run.
    pub tasks: TaskReport,
}

/// One thing that a certificate says.
#[derive(Clone, Debug, Serialize)]
pub struct Check {
    /// What was checked.
    pub what: &'static str,
    /// The figures.
    pub figures: String,
    /// Whether it was: what nodes that run say of channels is no moment at all.
    pub checked: bool,
    /// What is wrong, where something is.
    pub wrong: Vec<String>,
}

/// One node of a cut.
#[derive(Clone, Debug, Serialize)]
pub struct NodeMoment {
    /// What it is called.
    pub name: String,
    /// Its number.
    pub id: u8,
    /// Its board.
    pub board: String,
    /// Its core.
    pub core: usize,
    /// Whether it is parked in a consistent halt.
    pub parked: bool,
    /// How often it was reset.
    pub epoch: u8,
    /// The number of its last event in that epoch.
    pub event: u32,
    /// Where its core stands; `None` if that could not be found out.
    pub backtrace: Option<Backtrace>,
    /// Why there is no backtrace.
    pub no_backtrace: Option<String>,
}

/// One channel of a cut.
#[derive(Clone, Debug, Serialize)]
pub struct ChannelLine {
    /// Its two ends.
    pub name: String,
    /// The type of its messages.
    pub carries: Option<String>,
    /// Messages sent.
    pub sent: u32,
    /// Messages received.
    pub received: u32,
    /// Messages that resets took before the present session; they are in no other count.
    pub lost_by_reset: u32,
    /// Where the marker of this halt stands, if there is one.
    pub marker: Option<u32>,
    /// The messages in flight, oldest first.
    pub in_flight: Vec<Message>,
    /// What is wrong with it.
    pub wrong: Option<String>,
}

/// How long it may take until the frames that were on the wire when all nodes parked have arrived.
const QUIET_LIMIT: Duration = Duration::from_secs(5);

/// How long links must have moved nothing, where they carry messages that the peer has not acknowledged: it may have no room
/// for them. A frame takes 9 ms at 115200 baud.
const CALM: Duration = Duration::from_millis(30);

/// What the data lanes of all links say, and whether one carries messages that its peer has not acknowledged. A message moves
/// from one end to the other while a halted system is looked at.
fn carried(cut: &Cut) -> (Vec<Ledger>, bool) {
    let ledgers = cut.nodes.iter().flat_map(|node| &node.ports).filter_map(|port| port.ledger);
    let ledgers: Vec<Ledger> = ledgers.collect();
    let is_on_the_way = ledgers.iter().any(|ledger| ledger.sent_first != ledger.sent_end);
    (ledgers, is_on_the_way)
}

/// Whether the two ends of every link agree on what is between them.
fn is_quiet(cut: &Cut) -> bool {
    !cut.channels().iter().any(|channel| matches!(channel, Err(CutError::Sessions(_))))
}

impl System {
    /// Looks at a halted system. Boards stay as they are, and no core is stopped if the agent of each has saved its
    /// registers; otherwise the probe stops the cores of that board for the moment that the look takes.
    pub fn cut_report(&mut self) -> Result<CutReport, SystemError> {
        self.at_rest(|system, cut| system.describe(cut, false))
    }

    /// Looks at a system once nothing moves in it any more. Nodes that are not all parked are looked at as they are.
    pub(crate) fn at_rest<R>(
        &mut self,
        mut look: impl FnMut(&mut Self, &Cut) -> Result<R, SystemError>,
    ) -> Result<R, SystemError> {
        let until = Instant::now() + QUIET_LIMIT;
        let (mut before, mut calm_since) = (Vec::new(), Instant::now());
        loop {
            let last = Instant::now() > until;
            let cut = self.read_cut()?;
            let (ledgers, is_on_the_way) = carried(&cut);
            if ledgers != before {
                (before, calm_since) = (ledgers, Instant::now());
            }
            let is_calm = !is_on_the_way || calm_since.elapsed() > CALM;
            if !cut.nodes.iter().all(Node::is_parked) {
                return look(self, &cut);
            }
            // Frames may still move: then one end's ledger is older than what the other end heard of it.
            let look = |system: &mut Self| {
                if !last && !system.is_steady()? {
                    return Ok(None);
                }
                let again = system.read_cut()?;
                let stays = again.rings == cut.rings && carried(&again).0 == carried(&cut).0;
                if last || is_quiet(&again) && stays { look(system, &again).map(Some) } else { Ok(None) }
            };
            if (last || is_quiet(&cut) && is_calm)
                && let Some(found) = self.while_frozen(look)?
            {
                return Ok(found);
            }
            crate::poll::pause();
        }
    }

    /// What there is to say of a cut. `standing` says that every core stands still, parked or not.
    pub(crate) fn describe(&mut self, cut: &Cut, standing: bool) -> Result<CutReport, SystemError> {
        let names = Names::of(self, &cut.nodes);
        let mut debug = DebugInfo::default();
        let (mut channels, mut lost) = (Vec::new(), Vec::new());
        for recount in cut.channels() {
            match recount {
                Ok(recount) => channels.push(self.channel_line(cut, &recount, &names, &mut debug)?),
                Err(error) => lost.push(checks::no_channel(&error, &names)),
            }
        }
        let checks = checks::all(cut, &channels, lost, &names);
        let standing = standing || cut.nodes.iter().all(Node::is_parked);
        let addresses = self.addresses();
        let mut nodes = Vec::new();
        for (at, node) in addresses.iter().zip(&cut.nodes) {
            nodes.push(self.node_moment(*at, node, &names, standing, &mut debug));
        }
        let stacks: Vec<_> = addresses.iter().zip(&nodes).map(|(at, node)| (*at, node.backtrace.clone())).collect();
        let is_still = standing || self.boards().iter().all(|board| board.dumped().is_some());
        let tasks = if is_still { self.tasks_with(&stacks, cut, &mut debug)? } else { TaskReport::default() };
        let pairs: Vec<_> = addresses.into_iter().zip(&cut.nodes).collect();
        let rates: Vec<_> = self.boards().iter().map(|board| board.firmware().counter_rate).collect();
        let halt = cut.check_sized(&[]).ok().map(|(halt, _)| halt.0);
        let valid = checks.iter().all(|check| check.checked && check.wrong.is_empty());
        let ledger = ledger(&pairs, &names, |board| rates[board]);
        Ok(CutReport { halt, valid, checks, nodes, channels, ledger, tasks })
    }

    fn node_moment(
        &mut self,
        at: NodeAddress,
        node: &Node,
        names: &Names,
        standing: bool,
        debug: &mut DebugInfo,
    ) -> NodeMoment {
        let number = EventNumber(node.clock.get(usize::from(node.id.0)).copied().unwrap_or(0));
        let board = &mut self.boards()[at.board];
        let may_look = standing || board.dumped().is_some();
        let backtrace = match may_look {
            true => self.stack_of(at, debug),
            false => Err("not every node is parked, so no core is disturbed".into()),
        };
        NodeMoment {
            name: names.node(node.id),
            id: node.id.0,
            board: self.boards()[at.board].name().to_owned(),
            core: at.core,
            parked: node.is_parked(),
            epoch: number.epoch(),
            event: number.count(),
            no_backtrace: backtrace.as_ref().err().cloned(),
            backtrace: backtrace.ok(),
        }
    }

    fn channel_line(
        &mut self,
        cut: &Cut,
        recount: &Recount,
        names: &Names,
        debug: &mut DebugInfo,
    ) -> Result<ChannelLine, SystemError> {
        let state = &recount.state;
        let channel = state.channel;
        let out = self.end(cut, channel.from, channel.out.0, Direction::Out);
        let into = self.end(cut, channel.to, channel.into.0, Direction::In);
        let (mut found, mut carries) = (Found::new(), None);
        if let (Some((sender, out)), Some((receiver, into))) = (out, into) {
            let fail = |board: &str| {
                let board = board.to_owned();
                move |source| SystemError::Board { board, source: crate::BoardError::Memory(source) }
            };
            let [sender_name, receiver_name] = [sender, receiver].map(|at| self.boards()[at.board].name().to_owned());
            let holder = &mut self.holder(receiver.board, debug);
            carries = holder.carries(&into);
            found = holder.ring(&into, Held::Ring).map_err(fail(&receiver_name))?;
            if let (Some(sent), Some(accepted)) = (&out.ledger, &into.ledger) {
                let (first, count) = (accepted.waiting_before_reset, accepted.waiting);
                found.extend(holder.link(&into, Held::ReceiverLink, first, count).map_err(fail(&receiver_name))?);
                let holder = &mut self.holder(sender.board, debug);
                let above = accepted.accepted_next.wrapping_sub(sent.sent_first);
                let count = sent.sent_end.wrapping_sub(accepted.accepted_next);
                found.extend(holder.link(&out, Held::SenderLink, above, count).map_err(fail(&sender_name))?);
                found.extend(holder.ring(&out, Held::SenderRing).map_err(fail(&sender_name))?);
            }
        }
        let types = self.types_of(cut, channel.to, debug);
        let plain = types.zip(carries.as_ref().map(|(_, ty)| *ty));
        let nodes = cut.nodes.first().map_or(0, |node| node.nodes);
        let missing = || (Held::Ring, None);
        let mut found = found.into_iter();
        let numbered = state.in_flight.iter().map(|of| (of.number, found.next().unwrap_or_else(missing)));
        let in_flight: Vec<Message> = numbered.map(|(number, raw)| message(number, raw, nodes, plain)).collect();
        Ok(ChannelLine {
            name: names.channel(&channel),
            carries: carries.map(|(name, _)| name),
            sent: state.sent,
            received: state.received,
            lost_by_reset: state.lost_by_reset,
            marker: state.marker,
            in_flight,
            wrong: self.channel_wrong(cut, recount)?,
        })
    }

    /// What is wrong with a channel, without its name.
    fn channel_wrong(&mut self, cut: &Cut, recount: &Recount) -> Result<Option<String>, SystemError> {
        // What is wrong with the nodes is said of the nodes.
        if cut.check_sized(&[]).is_err() {
            return Ok(None);
        }
        let Err(error) = cut.check_channel(recount) else { return Ok(None) };
        let text = self.explain(error, &cut.nodes)?.why.to_string();
        let prefix = format!("{}: ", recount.state.channel);
        Ok(Some(text.rsplit_once(&prefix).map_or(text.clone(), |(_, rest)| rest.to_owned())))
    }

    /// One end of a channel: where it is, and its port.
    fn end(&self, cut: &Cut, node: NodeId, port: u8, direction: Direction) -> Option<(NodeAddress, Port)> {
        let (at, node) = self.addresses().into_iter().zip(&cut.nodes).find(|(_, of)| of.id == node)?;
        let port = node.ports.iter().find(|of| of.id.0 == port && of.direction == direction)?;
        Some((at, port.clone()))
    }

    fn holder<'a>(&'a mut self, board: usize, debug: &'a mut DebugInfo) -> Holder<'a> {
        let board = &mut self.boards()[board];
        let path = board.firmware().path.clone();
        Holder { memory: board.memory(), types: debug.types(&path) }
    }

    fn types_of<'a>(&mut self, cut: &Cut, node: NodeId, debug: &'a DebugInfo) -> Option<&'a DebugTypes> {
        let (at, _) = self.addresses().into_iter().zip(&cut.nodes).find(|(_, of)| of.id == node)?;
        debug.types_read(&self.boards()[at.board].firmware().path)
    }
}

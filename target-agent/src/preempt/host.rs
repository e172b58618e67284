//! The host: halts, checks the cut, resumes; and reads control blocks while they change.
extern crate std;
use super::SEAT;
use super::point;
use super::system::{LOG, NODES, PORTS, Statics};
use super::world::{Act, CORES, Irq};
use core::sync::atomic::{AtomicU32, Ordering};
use std::format;
use std::string::String;
use std::vec::Vec;
use stillpoint_core::control::{BY_DEBUGGER, CommandWords, ControlBlock, StateCode};
use stillpoint_core::link::Ledger;
use stillpoint_core::log::{LogItem, LogReader};
use stillpoint_core::{
    Certificate, Channel, ChannelReport, Command, EventKind, HaltId, HaltOrder, InFlight, NodeId, NodeReport, PortId,
    PortSet, VectorClock,
};

/// What a control block said when its revision was stored.
pub(super) struct Snapshot {
    core: usize,
    revision: u32,
    words: Vec<u32>,
}

type Block = ControlBlock<NODES, PORTS>;

/// The words that one publication writes, each read by `read`.
fn words(block: &Block, read: impl Fn(&AtomicU32) -> u32) -> Vec<u32> {
    let head = [&block.phase, &block.last_halt, &block.markers_seen, &block.undelivered, &block.up, &block.refused];
    let head = head.into_iter().chain(&block.time).chain(&block.delay).chain(&block.order);
    let ports = block.ports.iter().flat_map(|port| [&port.count, &port.lost, &port.ledger[0], &port.ledger[1]]);
    let watches = block.watches.iter().map(|watch| &watch.value);
    head.chain(watches).chain(&block.clock).chain(ports).map(read).collect()
}

fn peek(word: &AtomicU32) -> u32 {
    word.load(Ordering::Relaxed)
}

/// Keeps what a block says at the moment its revision was stored.
pub(super) fn note(statics: &'static Statics, core: usize) {
    let block = statics.block(core);
    let snapshot = Snapshot { core, revision: peek(&block.revision), words: words(block, peek) };
    statics.published.lock().unwrap().push(snapshot);
}

/// What the host reads of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Seen {
    state: StateCode,
    halt: HaltId,
    up: u32,
}

/// Reads a block as the host does: twice the revision, and what is between.
fn read(statics: &'static Statics, core: usize) -> Option<Seen> {
    let block = statics.block(core);
    let look = |word: &AtomicU32| {
        point();
        peek(word)
    };
    let revision = look(&block.revision);
    if revision == 0 || revision & 1 != 0 {
        return None;
    }
    let found = words(block, look);
    if look(&block.revision) != revision {
        return None;
    }
    let published = statics.published.lock().unwrap();
    let said = published.iter().find(|snapshot| snapshot.core == core && snapshot.revision == revision);
    assert!(said.is_some_and(|said| said.words == found), "the host accepted a torn block of node {core}");
    Some(Seen { state: StateCode::from_word(found[0])?, halt: HaltId(found[1] as u16), up: found[4] })
}

/// Writes a command into the block of a node, calling `between` before each word. Returns its number.
fn write_command(statics: &'static Statics, core: usize, command: &Command<'_>, between: fn()) -> u32 {
    let block = statics.block(core);
    let sequence = peek(&block.command.sequence).wrapping_add(1);
    let found = CommandWords::encode(command, sequence).expect("a command without a program");
    let (words, checksum, _) = found.as_block();
    for (word, value) in block.command.words.iter().zip(words) {
        between();
        word.store(*value, Ordering::Relaxed);
    }
    block.command.checksum.store(checksum, Ordering::Relaxed);
    between();
    block.command.sequence.store(sequence, Ordering::Relaxed);
    sequence
}

/// The command to halt is there at once; nobody waits for its answer.
pub(super) fn halt_now(core: usize) -> u32 {
    let statics = super::system::statics();
    write_command(statics, core, &halt_command(statics), || ())
}

/// The command to take part in the halt that some node is in, otherwise in the next one.
fn halt_command(statics: &'static Statics) -> Command<'static> {
    let blocks = || (0..CORES).map(|core| statics.block(core));
    let newest = blocks().map(|block| peek(&block.last_halt)).max().unwrap_or(0);
    let is_in = |block: &Block| {
        let is_halted =
            [StateCode::Draining, StateCode::Parked].map(|state| state as u32).contains(&peek(&block.phase));
        is_halted && peek(&block.last_halt) == newest
    };
    let next = u32::from(!blocks().any(is_in));
    Command::Halt(HaltId((newest + next) as u16))
}

/// A parked core that goes to sleep, with no bell pending and no byte, has answered every command whose bell has rung and
/// fetched every byte.
pub(super) fn assert_nothing_is_left(seat: super::world::Seat) {
    let statics = super::system::statics();
    let state = statics.world.lock();
    let (core, block) = (&state.cores[seat.actor], statics.block(seat.actor));
    // A crash can come between taking a command and storing its answer.
    let answered = statics.board(seat.actor).answered(seat.actor % 2);
    let is_unanswered = answered.is_some_and(|answered| answered != peek(&block.command.sequence));
    let is_rung = state.rung == Some((seat.actor, peek(&block.command.sequence)));
    let is_lost = is_unanswered && is_rung && !core.is_pending(Irq::Urgent);
    let is_unread = !core.is_pending(Irq::Receive) && !state.wires[seat.actor].is_empty();
    let is_untaken = !statics.world.received[seat.actor].is_empty();
    drop(state);
    assert!(!is_lost, "core {} sleeps and no bell wakes it for the command in its block", seat.actor);
    assert!(!is_unread && !is_untaken, "core {} sleeps and leaves bytes unread", seat.actor);
}

/// Gives a node a command and waits for the answer.
fn command(statics: &'static Statics, core: usize, command: &Command<'_>) -> Result<(), String> {
    statics.world.lock().commands = true;
    let answered = await_answer(statics, core, command);
    statics.world.lock().commands = false;
    answered
}

fn await_answer(statics: &'static Statics, core: usize, command: &Command<'_>) -> Result<(), String> {
    let block = statics.block(core);
    let sequence = write_command(statics, core, command, point);
    let mut state = statics.world.lock();
    state.raise(core, Irq::Urgent);
    state.rung = Some((core, sequence));
    drop(state);
    for turn in 0..2_000 {
        if peek(&block.answer.sequence) == sequence {
            // A node refuses what makes no sense where it stands.
            return Ok(());
        }
        SEAT.get().expect("the host").give_way();
        if turn > 30 && statics.world.lock().cores[core].crashed {
            // It crashed between the command and its answer. A host gives up after a while.
            return Ok(());
        }
    }
    Err(format!("node {core} does not answer {command:?}"))
}

/// Messages between the ends of each channel: sender's node and port, receiver's, and what lies between.
///
/// A link whose ends are not in the same session has no count; the host says so instead of proving the cut.
fn channels(statics: &'static Statics) -> [(Channel, Option<u32>); super::reference::CHANNELS] {
    let held = |head: &crate::channel::Head| head.written.peek().wrapping_sub(head.read.peek());
    let channel =
        |from, out, to, into| Channel { from: NodeId(from), out: PortId(out), to: NodeId(to), into: PortId(into) };
    let link = |out: (usize, usize), into: (usize, usize)| {
        let ledger = |(core, port): (usize, usize)| {
            let [first, second] = statics.block(core).ports[port].ledger.each_ref().map(peek);
            let ([mine, peer, sent_first, sent_end], [accepted_next, waiting, before, _]) =
                (first.to_le_bytes(), second.to_le_bytes());
            Ledger { mine, peer, sent_first, sent_end, accepted_next, waiting, waiting_before_reset: before }
        };
        let between = ledger(out).in_flight_to(&ledger(into)).map(u32::from)?;
        let (from, to) = (&statics.link_rings[out.0 / 2][0], &statics.link_rings[into.0 / 2][1]);
        Some(held(from.head()) + between + held(to.head()))
    };
    [
        (channel(0, 2, 1, 0), Some(held(statics.there.head()))),
        (channel(1, 1, 0, 3), Some(held(statics.back.head()))),
        (channel(0, 4, 1, 2), Some(held(statics.requests.head()))),
        (channel(1, 3, 0, 5), Some(held(statics.replies.head()))),
        (channel(0, 0, 2, 1), link((0, 0), (2, 1))),
        (channel(2, 0, 0, 1), link((2, 0), (0, 1))),
    ]
}

/// The halted state equals the snapshot: everything that was sent was received or is in flight, and ends with its marker.
///
/// A node's record of its stop lags behind by as much as its control block does, so the caller tries again for a while.
fn check_cut(statics: &'static Statics) -> Result<(), String> {
    let reports: Vec<NodeReport<NODES>> = (0..CORES)
        .map(|core| {
            let block = statics.block(core);
            let [count, names @ ..] = &block.order;
            let names = names
                .iter()
                .flat_map(|word| peek(word).to_le_bytes())
                .take((peek(count) & !BY_DEBUGGER) as usize)
                .map(NodeId);
            NodeReport {
                node: NodeId(core as u8),
                parked: Some(HaltId(peek(&block.last_halt) as u16)),
                clock: VectorClock::from_entries(block.clock.each_ref().map(peek)),
                order: names.fold(HaltOrder::new(), HaltOrder::then),
                undelivered: PortSet(peek(&block.undelivered)),
            }
        })
        .collect();
    let found = channels(statics);
    super::reference::check(found.map(|(_, held)| held))?;
    let found: Vec<_> = found.into_iter().filter_map(|(channel, held)| Some((channel, held?))).collect();
    let port = |node: NodeId, port: PortId| &statics.block(node.0.into()).ports[usize::from(port.0)];
    let flights: Vec<Vec<InFlight>> = found
        .iter()
        .map(|(channel, count)| {
            let received = peek(&port(channel.to, channel.into).count);
            (1..=*count).map(|step| InFlight { number: received.wrapping_add(step) }).collect()
        })
        .collect();
    let markers: Vec<Option<u32>> = found
        .iter()
        .map(|(channel, _)| {
            let seen = peek(&statics.block(channel.to.0.into()).markers_seen) >> channel.into.0 & 1 != 0;
            seen.then(|| peek(&port(channel.to, channel.into).marker))
        })
        .collect();
    let reports_of: Vec<ChannelReport<'_>> = found
        .iter()
        .zip(&flights)
        .zip(&markers)
        .map(|(((channel, _), in_flight), marker)| ChannelReport {
            channel: *channel,
            sent: peek(&port(channel.from, channel.out).count),
            received: peek(&port(channel.to, channel.into).count),
            lost_by_reset: 0,
            in_flight,
            markers: marker.as_slice(),
        })
        .collect();
    Certificate::check(&reports, &reports_of).map(drop).map_err(|violation| format!("the cut is wrong: {violation}"))
}

/// No event was lost or refused: the log and the node have as many as the application.
fn check_events(statics: &'static Statics) -> Result<(), String> {
    for core in 0..CORES {
        let (_, refused) = statics.board(core).peek(core % 2).ok_or("a node is in use at the end")?;
        if refused > 0 {
            return Err(format!("node {core} refused {refused} steps"));
        }
        let (counted, told) = (statics.world.overruns[core].peek(), statics.world.lock().wires[core].told_overruns());
        if counted != told {
            return Err(format!("the UART of core {core} told of {told} overruns, its driver counted {counted}"));
        }
        let mut bytes = [0; LOG];
        let length = statics.board(core).log_of(core % 2).peek(&mut bytes).length;
        let (mut rest, mut reader, mut found) = (&bytes[..length], LogReader::new(), [0u32; 4]);
        while let Ok(Some((item, used))) = reader.next(rest) {
            if let LogItem::Record(record) = item {
                match record.event.kind {
                    EventKind::Local => found[0] += 1,
                    EventKind::Watch => found[1] += 1,
                    EventKind::Send => found[2] += 1,
                    EventKind::Receive => found[3] += 1,
                    _ => {}
                }
            }
            rest = &rest[used..];
        }
        let counts = statics.counts[core].lock().unwrap();
        let said = [counts.traces, counts.watches, counts.sent, counts.received];
        // Requests and replies are messages, too.
        let calls = if core < 2 { statics.rounds } else { 0 };
        if found[..2] != said[..2] || found[2] != said[2] + calls || found[3] != said[3] + calls {
            return Err(format!("the log of node {core} has {found:?} events, the application made {said:?}"));
        }
    }
    Ok(())
}

/// Does what a host does until the applications are done or a crash has stopped them.
pub(super) fn main(statics: &'static Statics) {
    let seat = SEAT.get().expect("the host");
    let world = &statics.world;
    let outcome = loop {
        seat.give_way();
        if !world.lock().counts {
            continue;
        }
        match turn(statics) {
            Ok(false) => {}
            Ok(true) => break Ok(()),
            Err(error) => break Err(error),
        }
        if seat.is_idle() {
            break Err(format!("everyone sleeps: a wake-up was lost: {}", describe()));
        }
    };
    world.finish(outcome);
}

/// Where everybody is, for a reader.
pub(super) fn describe() -> String {
    let statics = super::system::statics();
    let state = statics.world.lock();
    let core = |core: usize| {
        let counts = statics.counts[core].lock().unwrap();
        let seen = (peek(&statics.block(core).phase), peek(&statics.block(core).last_halt));
        let asleep = state.cores[core].asleep;
        format!("{core}: {:?}, block {seen:?}, asleep {asleep}, {counts:?}", statics.phase(core))
    };
    format!("time {}, {:?}", state.time, (0..CORES).map(core).collect::<Vec<_>>())
}

/// So many counts a halt may take: three seconds, many times what a link waits for an answer.
const HALT_LIMIT: u64 = 60_000_000;

/// One look at the system. True when the run is over.
fn turn(statics: &'static Statics) -> Result<bool, String> {
    let request = statics.world.lock().requests.pop_front();
    match request {
        Some(Act::Halt(core)) => command(statics, core, &halt_command(statics))?,
        Some(Act::Suspend(core)) => {
            command(statics, core, &Command::Suspend)?;
            (0..20).for_each(|_| SEAT.get().expect("the host").give_way());
            command(statics, core, &Command::Continue)?;
        }
        _ => {}
    }
    let seen: Vec<Option<Seen>> = (0..CORES).map(|core| read(statics, core)).collect();
    let Some(seen) = seen.into_iter().collect::<Option<Vec<Seen>>>() else { return Ok(false) };
    let crashed = statics.world.lock().cores.iter().any(|core| core.crashed);
    let parked = |seen: &Seen| seen.state == StateCode::Parked;
    let newest = seen.iter().map(|seen| seen.halt.0).max().unwrap_or(0);
    if seen.iter().all(|seen| parked(seen) && seen.halt.0 == newest) {
        // A marker that comes in after the node is parked is published a moment later.
        let cut = check_cut(statics);
        if cut.is_err() && statics.world.lock().patience(newest).0 {
            return Ok(false);
        }
        cut?;
        if crashed {
            return Ok(true);
        }
        release(statics, HaltId(newest))?;
        return Ok(false);
    }
    if seen.iter().any(parked) {
        let (reached, took) = statics.world.lock().patience(newest);
        if took > HALT_LIMIT {
            return Err(format!("a halt took {took} counts"));
        }
        if !reached {
            // Before the link is up no marker can pass it; the host halts the other board itself.
            let is_up = seen[0].up & 1 != 0 && seen[2].up & 1 != 0;
            if is_up {
                return Err(format!("a halt did not reach every node: {seen:?}"));
            }
            for (core, _) in seen.iter().enumerate().filter(|(_, seen)| !parked(seen)) {
                command(statics, core, &halt_command(statics))?;
            }
        }
        return Ok(false);
    }
    if seen.iter().any(|seen| seen.state == StateCode::Faulted) {
        // The crash came in the middle of a halt that was released since; the next halt has to reach every node, too.
        command(statics, 0, &halt_command(statics))?;
        return Ok(false);
    }
    let done = statics.counts.iter().all(|counts| counts.lock().unwrap().is_done);
    let running = seen.iter().all(|seen| seen.state == StateCode::Running);
    if done && running && !crashed && statics.world.lock().requests.is_empty() {
        // The last reply's record may still be missing.
        return Ok(statics.world.lock().is_settled() && check_events(statics).map(|()| true)?);
    }
    Ok(false)
}

/// Ends a halt, by a release to one node, repeated to those that it missed.
fn release(statics: &'static Statics, halt: HaltId) -> Result<(), String> {
    let mut to: Vec<usize> = std::vec![0];
    for _ in 0..20 {
        for core in to {
            command(statics, core, &Command::Release(halt))?;
        }
        for _ in 0..200 {
            SEAT.get().expect("the host").give_way();
            let seen: Vec<_> = (0..CORES).map(|core| read(statics, core)).collect();
            let held = |seen: &Option<Seen>| {
                seen.is_none_or(|seen| {
                    matches!(seen.state, StateCode::Parked | StateCode::Draining) && seen.halt == halt
                })
            };
            if !seen.iter().any(held) {
                return Ok(());
            }
        }
        to = (0..CORES).filter(|core| peek(&statics.block(*core).phase) == StateCode::Parked as u32).collect();
    }
    Err(format!("halt {} was not released", halt.0))
}

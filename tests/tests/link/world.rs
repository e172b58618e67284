//! Two links, two faulty lines, random traffic on both lanes both ways, and an account of every message.

use std::collections::HashSet;

use stillpoint_core::link::{
    Config, Counters, FrameDecoder, Kind, Lane, Ledger, Link, LinkEvent, LinkPhase, wire_bytes,
};
use stillpoint_core::time::{TickRate, Ticks};
use stillpoint_tests::faulty::{Faults, Faulty, Line, Pipe, Random};

pub const LANES: [Lane; 2] = [Lane::Data, Lane::Control];

/// What is simulated.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    pub seed: u64,
    pub config: Config,
    pub faults: Faults,
    /// Ticks (microseconds) per byte.
    pub byte_time: u32,
    /// Messages each side sends on the data lane; a fifth as many go on the control lane.
    pub messages: u32,
    /// How often, in 10,000 steps, a side takes what has arrived.
    pub appetite: u32,
    /// How often, in 1,000,000 steps, a side is reset while there is traffic.
    pub resets: u32,
    /// Whether a reset side starts with the number it had before, as one without retained RAM does.
    pub forgetful: bool,
    pub sabotage: Option<Sabotage>,
}

impl Plan {
    pub fn calm(seed: u64) -> Self {
        Self {
            seed,
            config: Config::BAUD_1M,
            faults: Faults::default(),
            byte_time: 10,
            messages: 100,
            appetite: 5_000,
            resets: 0,
            forgetful: false,
            sabotage: None,
        }
    }
}

/// A broken link, made by changing headers between the line and the link that ships.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sabotage {
    /// A frame that comes too early is taken for the next.
    AcceptOutOfOrder,
    /// A frame that was accepted before is taken for the next.
    ForgetDuplicates,
    /// A frame is acknowledged because it arrived, not because it was accepted.
    AcknowledgeBeforeAccepting,
    /// A frame of an earlier incarnation is taken for one of this.
    ForgetSessions,
    /// An acknowledgement says one more than was accepted.
    AcknowledgeOneTooMany,
}

/// What must never happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Violation {
    WrongBytes,
    Twice,
    OutOfOrder,
    Missing,
    Stuck,
}

/// What was seen in a run without violation.
#[derive(Clone, Copy, Debug, Default)]
pub struct Report {
    pub delivered: u32,
    pub lost_by_reset: u32,
    pub resets: u32,
    pub downs: u32,
    pub resumed: u32,
    pub ticks: u32,
    pub counters: [Counters; 2],
}

/// The content of a message follows from its name, so a receiver can tell whether it is right.
fn message(epoch: u32, lane: Lane, number: u32, limit: usize) -> Vec<u8> {
    let mut random = Random::new(u64::from(epoch) << 40 ^ u64::from(number) << 4 ^ lane as u64);
    let filler = random.below(limit as u32 - 8 + 1);
    let mut bytes = [epoch.to_le_bytes(), number.to_le_bytes()].concat();
    bytes.extend((0..filler).map(|_| random.next() as u8));
    bytes
}

fn name_of(bytes: &[u8]) -> Option<(u32, u32)> {
    let (epoch, rest) = bytes.split_first_chunk()?;
    let (number, _) = rest.split_first_chunk()?;
    Some((u32::from_le_bytes(*epoch), u32::from_le_bytes(*number)))
}

/// One lane of one side: what its application sent in this epoch, and what it took.
#[derive(Default)]
struct Account {
    sent: u32,
    /// Everything sent that may legally be missing at the other side: lost by a reset, and reported so.
    excused: HashSet<(u32, u32)>,
    /// Every message taken, over all incarnations of this side.
    taken: HashSet<(u32, u32)>,
    /// The last message taken by this incarnation.
    last: Option<(u32, u32)>,
    /// How much is still to be sent, over all incarnations.
    left: u32,
    /// Every message sent, over all incarnations.
    all: Vec<(u32, u32)>,
}

struct Side<const W: usize, const F: usize> {
    link: Link<W, F>,
    incarnation: u8,
    epoch: u32,
    accounts: [Account; 2],
    out: Faulty<Line>,
    tap: FrameDecoder<F>,
    /// For the sabotage: one past the highest data frame that arrived.
    arrived: Option<u8>,
}

pub struct World<const W: usize, const F: usize> {
    plan: Plan,
    random: Random,
    sides: [Side<W, F>; 2],
    report: Report,
}

impl<const W: usize, const F: usize> World<W, F> {
    pub fn run(plan: Plan) -> Result<Report, Violation> {
        let mut world = Self::new(plan);
        let step = plan.byte_time * 8;
        let mut now = u32::MAX - step * 1000; // the clock wraps early in every run
        let start = now;
        let mut simulated = 0_u32; // the lines have no clock that wraps
        let patience = 5_000_000 + plan.faults.longest_cut + plan.faults.longest_delay;
        let mut progress = (0, 0);
        while world.left() > 0 {
            world.step(now, simulated, true)?;
            (now, simulated) = (now.wrapping_add(step), simulated + step);
            if world.report.delivered > progress.0 {
                progress = (world.report.delivered, simulated);
            } else if simulated - progress.1 > 4 * patience {
                return Err(Violation::Stuck);
            }
        }
        // The storm ends; whatever is still on its way has to arrive.
        world.sides.iter_mut().for_each(|side| side.out.set_faults(Faults::default()));
        let limit = simulated + patience;
        while !world.is_quiet() {
            world.step(now, simulated, false)?;
            (now, simulated) = (now.wrapping_add(step), simulated + step);
            if simulated > limit {
                return Err(world.missing().err().unwrap_or(Violation::Stuck));
            }
        }
        world.missing()?;
        world.report.ticks = now.wrapping_sub(start);
        world.report.counters = [*world.sides[0].link.counters(), *world.sides[1].link.counters()];
        Ok(world.report)
    }

    fn new(plan: Plan) -> Self {
        let side = |index: u64| Side {
            link: Link::new(plan.config, TickRate::MEGAHERTZ, 1),
            incarnation: 1,
            epoch: 1,
            accounts: [plan.messages, plan.messages / 5].map(|left| Account { left, ..Account::default() }),
            out: Faulty::new(Line::new(plan.byte_time), plan.faults, plan.seed.wrapping_mul(3) + index),
            tap: FrameDecoder::new(),
            arrived: None,
        };
        Self { plan, random: Random::new(!plan.seed), sides: [side(0), side(1)], report: Report::default() }
    }

    fn left(&self) -> u32 {
        self.sides.iter().flat_map(|side| &side.accounts).map(|account| account.left).sum()
    }

    fn is_quiet(&self) -> bool {
        self.sides.iter().all(|side| {
            side.link.phase() == LinkPhase::Up
                && LANES.iter().all(|&lane| side.link.unacknowledged(lane) == 0 && side.link.front(lane).is_none())
        })
    }

    /// Every message that was sent has been taken, or was lost by a reset that was reported.
    fn missing(&self) -> Result<(), Violation> {
        let [a, b] = &self.sides;
        for (from, to) in [(a, b), (b, a)] {
            for (sent, got) in from.accounts.iter().zip(&to.accounts) {
                if sent.all.iter().any(|name| !got.taken.contains(name) && !sent.excused.contains(name)) {
                    return Err(Violation::Missing);
                }
            }
        }
        Ok(())
    }

    fn step(&mut self, now: u32, wire_now: u32, storm: bool) -> Result<(), Violation> {
        for index in 0..2 {
            if storm && self.plan.resets > 0 && self.random.below(1_000_000) < self.plan.resets {
                self.reset(index);
            }
            self.send(index);
            self.transmit(index, now, wire_now);
            self.receive(index, now, wire_now);
            if !storm || self.random.chance(self.plan.appetite) {
                self.take(index)?;
            }
        }
        if self.plan.sabotage.is_none() {
            self.check_in_flight();
        }
        Ok(())
    }

    fn send(&mut self, index: usize) {
        let Side { link, accounts, epoch, .. } = &mut self.sides[index];
        for (lane, account) in LANES.into_iter().zip(accounts) {
            if account.left == 0 || !self.random.chance(2_000) {
                continue;
            }
            let item = message(*epoch, lane, account.sent, Link::<W, F>::limit(lane));
            if link.send(lane, &item).is_ok() {
                account.all.push((*epoch, account.sent));
                account.sent += 1;
                account.left -= 1;
            }
        }
    }

    fn transmit(&mut self, index: usize, now: u32, wire_now: u32) {
        let side = &mut self.sides[index];
        let event = side.link.on_tick(Ticks(now));
        self.note(index, event);
        let side = &mut self.sides[index];
        let mut wire = vec![0; wire_bytes(F)];
        while side.out.is_ready(wire_now) {
            let Some(length) = side.link.poll_transmit(Ticks(now), &mut wire).expect("the buffer is long enough")
            else {
                break;
            };
            side.out.put(&wire[..length], wire_now);
        }
        let deadline = side.link.next_deadline(Ticks(now));
        assert!(
            deadline.is_none_or(|at| (at.wrapping_since(Ticks(now)).0 as i32) >= 0),
            "a deadline never lies in the past"
        );
    }

    fn receive(&mut self, index: usize, now: u32, wire_now: u32) {
        while let Some(byte) = self.sides[1 - index].out.get(wire_now) {
            let bytes = match self.plan.sabotage {
                None => vec![byte],
                Some(sabotage) => self.tamper(index, byte, sabotage),
            };
            for byte in bytes {
                let event = self.sides[index].link.on_byte(byte, Ticks(now));
                self.note(index, event);
            }
        }
    }

    fn note(&mut self, index: usize, event: Option<LinkEvent>) {
        match event {
            Some(LinkEvent::Down) => self.report.downs += 1,
            Some(LinkEvent::Up { resumed }) => self.report.resumed += u32::from(resumed),
            Some(LinkEvent::PeerReset { lost_data, lost_control }) => {
                self.report.lost_by_reset += u32::from(lost_data) + u32::from(lost_control);
                let side = &mut self.sides[index];
                for (account, lost) in side.accounts.iter_mut().zip([lost_data, lost_control]) {
                    let lost = account.sent - u32::from(lost)..account.sent;
                    account.excused.extend(lost.map(|number| (side.epoch, number)));
                }
            }
            Some(LinkEvent::Incompatible { .. }) => unreachable!("both sides have the same version"),
            None => {}
        }
    }

    fn take(&mut self, index: usize) -> Result<(), Violation> {
        let Side { link, accounts, .. } = &mut self.sides[index];
        for (lane, account) in LANES.into_iter().zip(accounts) {
            let Some(item) = link.front(lane) else { continue };
            let name = name_of(item.bytes).ok_or(Violation::WrongBytes)?;
            if message(name.0, lane, name.1, Link::<W, F>::limit(lane)) != item.bytes {
                return Err(Violation::WrongBytes);
            }
            link.take(lane);
            if !account.taken.insert(name) {
                return Err(Violation::Twice);
            }
            // A new epoch of the sender begins at 0; only a receiver that was itself reset may begin in the middle.
            let in_order = match account.last {
                Some((epoch, number)) if epoch == name.0 => name.1 == number + 1,
                Some((epoch, _)) => name.0 > epoch,
                None => true,
            };
            if !in_order {
                return Err(Violation::OutOfOrder);
            }
            account.last = Some(name);
            self.report.delivered += 1;
        }
        Ok(())
    }

    /// Replaces a side by one that knows nothing.
    fn reset(&mut self, index: usize) {
        self.report.resets += 1;
        let (config, forgetful) = (self.plan.config, self.plan.forgetful);
        let [a, b] = &mut self.sides;
        let (side, other) = if index == 0 { (a, b) } else { (b, a) };
        for ((lane, mine), theirs) in LANES.into_iter().zip(&mut side.accounts).zip(&mut other.accounts) {
            // What it had accepted and not taken dies with it, and so does what it had not got acknowledged.
            while let Some(item) = side.link.front(lane) {
                theirs.excused.extend(name_of(item.bytes));
                side.link.take(lane);
            }
            let gone = mine.sent - u32::from(side.link.unacknowledged(lane))..mine.sent;
            mine.excused.extend(gone.map(|number| (side.epoch, number)));
            (mine.sent, mine.last) = (0, None);
        }
        side.epoch += 1;
        if !forgetful {
            side.incarnation = side.incarnation.wrapping_add(1).max(1);
        }
        side.link = Link::new(config, TickRate::MEGAHERTZ, side.incarnation);
        side.arrived = None;
    }

    /// Never both: what is in flight, as the two ends count it, is what was sent and not taken.
    fn check_in_flight(&self) {
        if self.plan.resets > 0 {
            return;
        }
        let [a, b] = &self.sides;
        for (from, to) in [(a, b), (b, a)] {
            for (lane, (sent, got)) in LANES.into_iter().zip(from.accounts.iter().zip(&to.accounts)) {
                let ledgers: [Ledger; 2] = [from.link.ledger(lane), to.link.ledger(lane)];
                if let Some(in_flight) = ledgers[0].in_flight_to(&ledgers[1]) {
                    assert_eq!(sent.sent, got.taken.len() as u32 + u32::from(in_flight));
                }
            }
        }
    }

    fn tamper(&mut self, index: usize, byte: u8, sabotage: Sabotage) -> Vec<u8> {
        let lossy = self.sides[1 - index].arrived;
        let side = &mut self.sides[index];
        let Some(Ok((mut header, payload))) = side.tap.push(byte) else { return Vec::new() };
        let ledger = side.link.ledger(if header.kind == Kind::Control { Lane::Control } else { Lane::Data });
        let carries = matches!(header.kind, Kind::Data | Kind::Control);
        let ahead = header.number.wrapping_sub(ledger.accepted_next) as i8;
        match sabotage {
            Sabotage::AcceptOutOfOrder if carries && ahead > 0 => header.number = ledger.accepted_next,
            Sabotage::ForgetDuplicates if carries && ahead < 0 => header.number = ledger.accepted_next,
            Sabotage::ForgetSessions if carries && (header.from, header.to) != (ledger.peer, ledger.mine) => {
                (header.from, header.to) = (ledger.peer, ledger.mine);
                header.data_next = side.link.ledger(Lane::Data).sent_first;
                header.control_next = side.link.ledger(Lane::Control).sent_first;
            }
            Sabotage::AcknowledgeBeforeAccepting if header.kind != Kind::Hello => {
                if header.kind == Kind::Data {
                    side.arrived = Some(header.number.wrapping_add(1));
                }
                // What the other side's broken link would have acknowledged.
                header.data_next = lossy.unwrap_or(header.data_next);
            }
            Sabotage::AcknowledgeOneTooMany if header.kind != Kind::Hello => {
                header.data_next = header.data_next.wrapping_add(1);
            }
            _ => {}
        }
        let mut wire = vec![0; wire_bytes(F)];
        let length = header.encode(payload, &mut wire).expect("the buffer is long enough");
        wire.truncate(length);
        wire
    }
}

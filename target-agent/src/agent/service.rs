//! Serving: events of the application, the urgent bell, the host, and the time a core stands still.
use super::local::Wire;
use super::park::{ParkedAgent, stillpoint_park};
use super::{Agents, Local};
use crate::channel::Ring;
use crate::doorbell::Urgent;
use crate::platform::Platform;
use crate::sync::{Mutant, mutated};
use crate::tap::{Outgoing, Sections};
use core::sync::atomic::Ordering;
use core::task::Waker;
use stillpoint_core::control::{CommandWords, Refusal, SavedRegisters};
use stillpoint_core::log::LogRing;
use stillpoint_core::time::Counts;
use stillpoint_core::{Event, Input, MessageStamp, Phase, PortId, Then};

impl<P: Platform, const N: usize, const PORTS: usize, const LOG: usize> Agents<P, N, PORTS, LOG> {
    /// Runs `act` as one event of the calling core: masked, and a halt that it brings takes effect at its end.
    #[inline]
    pub(super) fn section<R>(&self, act: impl FnOnce(&mut Local<N, PORTS>) -> (R, Then)) -> R {
        let before = P::mask();
        let (result, then) = self.local.rarely(|local| act(local));
        if then == Then::Continue || self.stand_still() {
            P::unmask(before);
        }
        result
    }

    /// The same for what the application does at every turn. `None` from `act` is a step that was refused; true otherwise.
    #[inline]
    pub(super) fn quick_section(
        &self,
        act: impl FnOnce(&mut Local<N, PORTS>, &'static LogRing<LOG>) -> Option<Then>,
    ) -> bool {
        // Who runs on a core stays there, so this need not wait until interrupts are masked.
        let core = P::core();
        let ring = &self.shared.logs[core.index()];
        // SAFETY: this is the core that runs, and interrupts are masked while the entry is used.
        let local = unsafe { self.local.own(core) };
        let before = P::mask();
        let then = act(&mut local.borrow_mut(), ring);
        if then.is_some_and(|then| then != Then::Continue) && !self.stand_still() {
            return true;
        }
        P::unmask(before);
        then.is_some()
    }

    /// An event without a message. One copy: tracepoints are many.
    #[inline(never)]
    pub fn event(&self, event: Event) {
        self.quick_section(|local, ring| local.event::<P, LOG>(ring, event));
    }

    /// Stays until the node runs. Interrupts are masked, nothing is borrowed. Returns whether the caller unmasks them.
    ///
    /// If the caller interrupted the pump of a link, that pump stands still when it is done. Interrupts stay masked until
    /// then, and events that the interrupted handlers still raise are kept: the application does not go on.
    #[cold]
    pub(super) fn stand_still(&self) -> bool {
        loop {
            if !self.stop() {
                return halts_inside_pumps();
            }
            // What was raised while the node was halted happens now, and may halt it again.
            let then = self.local.rarely(|local| local.replay_late::<P, LOG>(self.ring()));
            if then == Then::Continue {
                return true;
            }
        }
    }

    /// Ends the pump of a link, with interrupts masked: what came in meanwhile may have been a halt.
    pub(super) fn end_pump(&self) {
        let deferred = self.local.rarely(|local| core::mem::take(&mut local.deferred));
        // While the node runs and no bell rang there is nothing to stand still for.
        if deferred || !self.runs() {
            self.stand_still();
        } else {
            P::thaw_time();
        }
    }

    /// Stands still, if the node does not run. False if it has to and cannot, because the caller interrupted a pump.
    fn stop(&self) -> bool {
        let served = self.look_at_lanes_and_host();
        if self.runs() {
            self.tell(served);
            // It may have been stopped and released again while it pumped a link.
            P::thaw_time();
            return true;
        }
        P::freeze_time();
        if self.is_pumping() {
            self.tell(served);
            return false;
        }
        // Before the host is told that it may look at them.
        P::save_registers(&self.shared.control[P::core().index()].registers);
        // Once, though it is news that the node stands still.
        self.tell(Served { news: true, ..served });
        if self.drain() {
            self.publish();
        }
        stillpoint_park(self);
        self.shared.control[P::core().index()].registers[SavedRegisters::SP].store(0, Ordering::Relaxed);
        P::thaw_time();
        self.publish();
        // While the core was parked the links were served without their task's waker.
        self.wake_links();
        true
    }

    /// Serves links until every marker has arrived, or too long: a stopped node cannot serve its links. False if there was
    /// nothing to wait for.
    pub(super) fn drain(&self) -> bool {
        let (began, mut waited) = (P::counter(), false);
        let limit = P::COUNTER_RATE.0 / DRAIN_LIMIT;
        while matches!(self.phase(), Phase::Draining { .. }) {
            let has_more = self.serve();
            let left = limit.saturating_sub(P::counter().wrapping_since(began).0);
            if left == 0 {
                self.local.rarely(|local| local.step::<P, LOG>(self.ring(), Input::DrainLimit));
            } else if !has_more && matches!(self.phase(), Phase::Draining { .. }) {
                self.sleep_at_most(Counts(left));
            }
            waited = true;
        }
        waited
    }

    /// Sleeps until a bell rings, a line has something, a link wants to be served, or `limit` has passed. Whatever was
    /// there before was served.
    pub(super) fn sleep_at_most(&self, limit: Counts<u32>) {
        let gate_may_act = self.local.rarely(|local| {
            // Callers of a node that is stopped alone arrive at its gate without a bell.
            let is_halted = matches!(local.node.phase(), Phase::Draining { .. } | Phase::Parked { .. });
            !is_halted && local.gate.is_some()
        });
        let at_most = if gate_may_act { Counts(0) } else { self.links_rest(limit) };
        if at_most.0 == 0 {
            // A core that looks at its peripherals without a pause keeps the others from the bus they share.
            (0..PAUSE).for_each(|_| core::hint::spin_loop());
        } else {
            P::sleep(at_most);
        }
    }

    /// Whether the caller interrupted the pump of one of this core's links.
    fn is_pumping(&self) -> bool {
        self.local.rarely(|local| local.wires.iter().any(|wire| matches!(wire, Wire::Link(link) if link.is_busy())))
    }

    /// Whether no halt keeps the node from running.
    pub(super) fn runs(&self) -> bool {
        matches!(self.phase(), Phase::Running | Phase::Starting | Phase::Faulted)
    }

    /// Looks once at the lanes of this core and at the host's commands, and tells what came of it. True if there was anything.
    fn serve_lanes_and_host(&self) -> bool {
        let served = self.look_at_lanes_and_host();
        let news = served.news;
        self.tell(served);
        news
    }

    /// Looks once at the lanes of this core and at the host's commands, and lets the gate know.
    fn look_at_lanes_and_host(&self) -> Served {
        let (news, answer) = self.local.rarely(|local| (self.serve_lanes(local), self.serve_host(local)));
        self.serve_gate();
        Served { news: news || answer.is_some(), answer }
    }

    /// Publishes where the node stands, if there is news, and answers the host.
    fn tell(&self, Served { news, answer }: Served) {
        if news {
            self.publish();
        }
        // Last: whoever sees the answer finds what the command did.
        if let Some(Answer { sequence, error, value }) = answer {
            let answer = &self.shared.control[P::core().index()].answer;
            answer.error.store(error, Ordering::Relaxed);
            answer.value.store(value, Ordering::Relaxed);
            answer.sequence.store(sequence, Ordering::Release);
        }
    }

    pub(super) fn phase(&self) -> Phase {
        self.local.rarely(|local| local.node.phase())
    }

    pub(super) fn ring(&self) -> &'static stillpoint_core::log::LogRing<LOG> {
        &self.shared.logs[P::core().index()]
    }

    /// Takes what the peers' lanes hold: markers first, then releases, then predicate markers.
    ///
    /// True if there was anything.
    fn serve_lanes(&self, local: &mut Local<N, PORTS>) -> bool {
        let mut news = false;
        for index in 0..PORTS {
            let port = PortId(index as u8);
            let Wire::Lanes { from, taken, .. } = &mut local.wires[index] else { continue };
            let from = *from;
            let marker = from.take_marker(taken);
            let release = from.take_release(taken);
            let mut seen = *taken;
            news |= marker.is_some() || release.is_some();
            if let Some(marker) = marker {
                local.step::<P, LOG>(self.ring(), Input::Marker { port, marker: &marker });
            }
            if let Some(id) = release {
                local.step::<P, LOG>(self.ring(), Input::Release { port, id });
            }
            while let Some(reached) = from.take_predicate(&mut seen) {
                news = true;
                local.step::<P, LOG>(self.ring(), Input::PredicateMarker { port, reached });
            }
            if let Wire::Lanes { taken, .. } = &mut local.wires[index] {
                *taken = seen;
            }
        }
        news
    }

    /// Does what the host's command block asks for, once.
    fn serve_host(&self, local: &mut Local<N, PORTS>) -> Option<Answer> {
        let control = &self.shared.control[P::core().index()];
        let sequence = control.command.sequence.load(Ordering::Acquire);
        if sequence == local.answered {
            return None;
        }
        let mut words = [0; CommandWords::LEN];
        for (word, found) in words.iter_mut().zip(&control.command.words) {
            *word = found.load(Ordering::Relaxed);
        }
        let found = CommandWords::from_block(words, control.command.checksum.load(Ordering::Relaxed), sequence);
        let [error, value] = match found.decode() {
            Ok(command) => {
                let done = local.command::<P, LOG>(self.ring(), command);
                local.resynchronise::<P>();
                done.err().map_or([0, 0], Refusal::to_words)
            }
            Err(error) => [error as u32, 0],
        };
        local.answered = sequence;
        Some(Answer { sequence, error, value })
    }
}

#[cfg(test)]
impl<P: Platform, const N: usize, const PORTS: usize, const LOG: usize> Agents<P, N, PORTS, LOG> {
    /// The control block of a core, for oracles.
    pub(crate) fn block(&self, core: usize) -> &stillpoint_core::control::ControlBlock<N, PORTS> {
        &self.shared.control[core]
    }

    /// The log of a core, for oracles.
    pub(crate) fn log_of(&self, core: usize) -> &LogRing<LOG> {
        &self.shared.logs[core]
    }

    /// The number of the last command that a core has taken, for oracles; `None` while the node is in use.
    pub(crate) fn answered(&self, core: usize) -> Option<u32> {
        self.local.peek(core).try_borrow_mut().map(|local| local.answered)
    }

    /// The phase of a core's node and the steps it refused, for oracles; `None` while the node is in use.
    pub(crate) fn peek(&self, core: usize) -> Option<(Phase, u32)> {
        self.local.peek(core).try_borrow_mut().map(|local| (local.node.phase(), local.refused))
    }
}

/// Whether a halt takes effect while a link is in use. A fault of the past; see [`Mutant`].
fn halts_inside_pumps() -> bool {
    mutated(Mutant::HaltInsidePump) || mutated(Mutant::AnyUseIsAPump)
}

/// What a look at lanes and host found.
struct Served {
    /// Whether the node may stand elsewhere than was published.
    news: bool,
    /// The answer to the host, if it asked.
    answer: Option<Answer>,
}

/// What came of a command.
struct Answer {
    sequence: u32,
    error: u32,
    value: u32,
}

/// A node waits for its markers to arrive for at most one second divided by this.
const DRAIN_LIMIT: u32 = 2;

/// How often a core that may not sleep spins between two looks: some microseconds.
const PAUSE: u32 = 200;

impl<P: Platform, const N: usize, const PORTS: usize, const LOG: usize> ParkedAgent for Agents<P, N, PORTS, LOG> {
    fn serve(&self) -> bool {
        P::feed_watchdog();
        P::poll_lines();
        // First: what these bring is sent over the links at once.
        let commanded = self.serve_lanes_and_host();
        let moved = self.serve_links(Waker::noop());
        if moved {
            self.publish();
        }
        (commanded || moved) && !mutated(Mutant::SleepWithoutALastLook)
    }

    fn is_over(&self) -> bool {
        self.runs()
    }

    fn sleep(&self) {
        self.sleep_at_most(Counts(u32::MAX));
    }
}
impl<P: Platform, const N: usize, const PORTS: usize, const LOG: usize> Urgent for Agents<P, N, PORTS, LOG> {
    fn on_urgent(&self) {
        let before = P::mask();
        if self.is_pumping() && !halts_inside_pumps() {
            // A halt now would find the link in use and the application's handlers running. The pump is done soon.
            self.local.rarely(|local| local.deferred = true);
            P::unmask(before);
        } else if self.stand_still() {
            P::unmask(before);
        }
    }

    fn keep_time(&self) {
        self.local.rarely(|local| local.keep_time::<P>());
    }
}

impl<P: Platform, const N: usize, const PORTS: usize, const LOG: usize> Sections for Agents<P, N, PORTS, LOG> {
    fn stamp_room(&self) -> usize {
        stillpoint_core::Node::<N, PORTS>::STAMP_ROOM
    }

    fn send(&self, port: PortId, message: &mut Outgoing<'_>) -> bool {
        self.quick_section(|local, ring| local.send::<P, LOG>(ring, port, message))
    }

    fn read_stamp<'a>(&self, message: &'a [u8]) -> Option<MessageStamp<'a>> {
        MessageStamp::read::<N>(message)
    }

    fn receive(&self, port: PortId, stamp: &MessageStamp<'_>, from: &Ring, before: u32) -> bool {
        self.quick_section(|local, ring| {
            if from.head.count(false) != before {
                return None;
            }
            local.receive::<P, LOG>(ring, port, stamp, from)
        })
    }

    #[cfg(feature = "replay")]
    fn observe(&self, event: Event) {
        crate::replay::Observer::observe(self, event);
    }
}

#[cfg(feature = "replay")]
impl<P: Platform, const N: usize, const PORTS: usize, const LOG: usize> crate::replay::Observer
    for Agents<P, N, PORTS, LOG>
{
    fn observe(&self, event: Event) {
        self.section(|local| {
            // Before the node starts and while it stands still nothing of the application happens.
            let records = local.node.phase() == Phase::Running && local.node.recording().records(&event);
            let then = if records { local.event::<P, LOG>(self.ring(), event) } else { None };
            ((), then.unwrap_or(Then::Continue))
        });
    }
}

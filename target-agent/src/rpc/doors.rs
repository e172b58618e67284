//! A chip's gates as its clients and servers see them, and as its agents do.
use super::door::{DoorId, Standing};
use super::{Core, NOBODY, Rpc};
use crate::agent::{Gated, Locked};
use crate::platform::{Bell, CoreId, MAX_CORES, Platform};
use core::sync::atomic::Ordering;
use core::task::Waker;
use stillpoint_core::delay::{Deadline, Left, Notice, Passage, Step, ThreadId};
use stillpoint_core::{NodeId, Phase};

/// How often those are told of again who are suspended or held: this many times a second.
const REFRESHES: u32 = 1;

/// The gate of the calling core, whatever its sizes.
pub(super) trait Doors: Sync {
    /// Looks at what has come to the doors.
    fn look(&self);
    fn standing(&self, door: DoorId) -> Standing;
    /// The next change at this door wakes `waker`.
    fn register(&self, door: DoorId, waker: &Waker);
    /// The reply that a client waits for.
    fn expect(&self, door: DoorId, number: Option<u16>);
    /// `thread` leaves with a request or reply; to be called inside the event that sends it.
    fn leave(&self, thread: Option<ThreadId>, step: Step) -> Option<Passage>;
    /// `thread` goes on here without a reply. False if the reply is at the door.
    fn abandon(&self, thread: ThreadId) -> bool;
    /// A server begins with a request, or ends with the one it had.
    fn serve(&self, server: u8, thread: Option<ThreadId>);
    fn deadline(&self, thread: ThreadId, ticks: u64) -> Option<Deadline>;
    fn left(&self, deadline: Deadline) -> Left;
    /// After how many counts to look again if nothing happens before.
    fn alarm(&self) -> Option<u64>;
}

impl<P: Platform, const T: usize, const N: usize, const DOORS: usize> Rpc<P, T, N, DOORS> {
    /// Lets something happen at the gate of the calling core, then tells the other cores and wakes who waits.
    pub(super) fn run<R>(&self, act: impl FnOnce(&mut Core<T, N, DOORS>, u64) -> R) -> Option<R> {
        let (mut core, now) = self.enter()?;
        let result = act(&mut core.held, now);
        self.tell(&mut core.held);
        Some(result)
    }

    /// The gate of the calling core, if it has begun, and the time there. One copy.
    #[inline(never)]
    fn enter(&self) -> Option<(Locked<'_, P, Core<T, N, DOORS>>, u64)> {
        let mut core = self.cores.lock_filled()?;
        let now = core.held.clock.now(P::long_counter(), P::LONG_COUNTER_BITS);
        Some((core, now))
    }

    /// Tells the other cores what they have not been told, and wakes who waits. One copy.
    #[inline(never)]
    fn tell(&self, core: &mut Core<T, N, DOORS>) {
        self.tell_cores(core);
        if core::mem::take(&mut core.gate.changed) {
            core.gate.doors().filter_map(|door| door.waker.take()).for_each(Waker::wake);
        }
    }

    /// The other cores of this chip and which nodes they are.
    fn others(&self) -> impl Iterator<Item = (CoreId, NodeId)> {
        let cores = (0..MAX_CORES).filter_map(CoreId::new).filter(|core| *core != P::core());
        let nodes = cores.map(|core| (core, self.nodes[core.index()].load(Ordering::Acquire)));
        nodes.filter(|(_, node)| *node != NOBODY).map(|(core, node)| (core, NodeId(node - 1)))
    }

    fn tell_cores(&self, core: &mut Core<T, N, DOORS>) {
        if !core.gate.owes() {
            return;
        }
        for (other, node) in self.others() {
            let mut rings = false;
            while let Some(notice) = core.gate.owed(node) {
                if let Some(slot) = self.slots[P::core().index()].get(usize::from(notice.thread().0)) {
                    slot.post(notice);
                }
                core.gate.told(node, notice);
                rings = true;
            }
            if rings {
                P::ring(other, Bell::Urgent);
            }
        }
    }

    fn hear_cores(&self, core: &mut Core<T, N, DOORS>, now: u64) {
        for (other, node) in self.others() {
            for thread in 0..T {
                let taken = &mut core.taken[other.index()][thread];
                if let Some(notice) = self.slots[other.index()][thread].take(taken) {
                    core.gate.hear(node, notice, now);
                }
            }
        }
    }
}

impl<P: Platform, const T: usize, const N: usize, const DOORS: usize> Doors for Rpc<P, T, N, DOORS> {
    fn look(&self) {
        self.run(|core, now| core.gate.look(now));
    }

    fn standing(&self, door: DoorId) -> Standing {
        self.run(|core, _| core.gate.standing(door)).unwrap_or(Standing::Shut)
    }

    fn register(&self, door: DoorId, waker: &Waker) {
        self.run(|core, _| {
            if let Some(door) = core.gate.door(door) {
                door.waker = Some(waker.clone());
            }
        });
    }

    fn expect(&self, door: DoorId, number: Option<u16>) {
        self.run(|core, _| {
            if let Some(door) = core.gate.door(door) {
                door.expect(number);
            }
        });
    }

    fn leave(&self, thread: Option<ThreadId>, step: Step) -> Option<Passage> {
        let thread = thread?;
        self.run(|core, now| core.gate.leave(thread, step, now)).flatten()
    }

    fn abandon(&self, thread: ThreadId) -> bool {
        self.run(|core, now| core.gate.abandon(thread, now)).unwrap_or(true)
    }

    fn serve(&self, server: u8, thread: Option<ThreadId>) {
        self.run(|core, now| core.gate.serve(server, thread, now));
    }

    fn deadline(&self, thread: ThreadId, ticks: u64) -> Option<Deadline> {
        self.run(|core, now| core.gate.deadline(thread, ticks, now)).flatten()
    }

    fn left(&self, deadline: Deadline) -> Left {
        self.run(|core, now| core.gate.left(deadline, now)).unwrap_or(Left::Elapsed)
    }

    fn alarm(&self) -> Option<u64> {
        self.run(|core, now| {
            let refresh = core.gate.refresh((P::COUNTER_RATE.0 / REFRESHES).into(), now);
            core.gate.alarm(now).into_iter().chain(refresh).min()
        })
        .flatten()
    }
}

impl<P: Platform, const T: usize, const N: usize, const DOORS: usize> Gated for Rpc<P, T, N, DOORS> {
    fn serve(&self, phase: Phase) {
        // A consistent halt stops everybody alike: nobody falls behind by it.
        let stands = matches!(phase, Phase::Draining { .. } | Phase::Parked { .. });
        self.run(|core, now| {
            core.clock.stand(stands && P::has_logical_time(), P::long_counter(), P::LONG_COUNTER_BITS);
            self.hear_cores(core, now);
            if !stands {
                core.gate.park(phase == Phase::Suspended && !self.unprotected.load(Ordering::Relaxed), now);
                core.gate.look(now);
                core.gate.refresh((P::COUNTER_RATE.0 / REFRESHES).into(), now);
            }
        });
    }

    fn hear(&self, from: NodeId, item: &[u8]) -> bool {
        let Ok(notice) = Notice::from_bytes(item) else { return false };
        self.run(|core, now| core.gate.hear(from, notice, now)).unwrap_or(false)
    }

    fn owed(&self, node: NodeId) -> Option<Notice> {
        self.run(|core, _| core.gate.owed(node)).flatten()
    }

    fn told(&self, node: NodeId, notice: Notice) {
        self.run(|core, _| core.gate.told(node, notice));
    }

    fn owe_all(&self, node: NodeId) {
        self.run(|core, _| core.gate.owe_all(node));
    }

    unsafe fn take_over(&self) {
        // SAFETY: the caller's promise.
        self.cores.with(|core| unsafe { core.take_over() });
    }
}

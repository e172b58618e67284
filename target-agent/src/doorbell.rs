//! Doorbells: how one core tells another that a shared place is worth a look.
//!
//! The hardware has few bells, the agent many places. So a [`Waiter`] is a numbered place of one core; ringing it
//! leaves a flag and rings the core's [`Bell::Mailbox`], whose interrupt handler calls [`Doorbells::answer`] *on that
//! core*. Flags are written by one side only, so no compare-and-swap is needed, and no lock between cores is taken.
use crate::per_core::PerCore;
use crate::platform::{Bell, CoreId, MAX_CORES, Platform};
use crate::sync::atomic::{AtomicBool, AtomicU8, Ordering, fence};
use core::cell::Cell;
use core::task::Waker;

/// How many places each core can wait at.
pub const WAITERS: usize = 16;

/// Every core's waiters and urgent handler. A platform has exactly one of these.
pub struct Doorbells<P> {
    places: [[Place; WAITERS]; MAX_CORES],
    claimed: [AtomicU8; MAX_CORES],
    wakers: PerCore<P, [Cell<Option<Waker>>; WAITERS]>,
    #[cfg(feature = "enabled")]
    urgent: PerCore<P, Cell<Handler>>,
}

/// What a core does when its urgent bell rings.
#[cfg(feature = "enabled")]
pub trait Urgent: Sync {
    /// Serves the bell, in interrupt context, on the core that was rung.
    fn on_urgent(&self);

    /// Looks at the counter, in interrupt context: see [`Doorbells::keep_time`].
    fn keep_time(&self) {}
}

#[cfg(feature = "enabled")]
impl<F: Fn() + Sync> Urgent for F {
    fn on_urgent(&self) {
        self();
    }
}

#[cfg(feature = "enabled")]
type Handler = Option<&'static dyn Urgent>;

struct Place {
    /// Somebody waits. Written by the core that waits.
    waiting: AtomicBool,
    /// The bell was rung for this place. Set by who rings, cleared by the core that waits.
    rung: AtomicBool,
}

/// Why no waiter was given out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClaimError {
    /// All [`WAITERS`] places of this core are taken; use fewer mailboxes or raise the number.
    NoneLeft(CoreId),
}

impl<P: Platform> Doorbells<P> {
    /// Nobody waits anywhere.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            places: [const { [const { Place { waiting: AtomicBool::new(false), rung: AtomicBool::new(false) } }; WAITERS] };
                MAX_CORES],
            claimed: [const { AtomicU8::new(0) }; MAX_CORES],
            wakers: PerCore::new([const { [const { Cell::new(None) }; WAITERS] }; MAX_CORES]),
            #[cfg(feature = "enabled")]
            urgent: PerCore::new([const { Cell::new(None) }; MAX_CORES]),
        }
    }

    /// Takes a place of `core` for good.
    ///
    /// # Errors
    /// [`ClaimError::NoneLeft`] when all are taken.
    pub fn claim(&'static self, core: CoreId) -> Result<Waiter<P>, ClaimError> {
        // Claims are rare and may come from both cores: the cross-core lock is right here.
        crate::sync::critical_section::with(|_| {
            let count = &self.claimed[core.index()];
            let place = count.load(Ordering::Relaxed);
            if usize::from(place) >= WAITERS {
                return Err(ClaimError::NoneLeft(core));
            }
            count.store(place + 1, Ordering::Relaxed);
            Ok(Waiter { bells: self, core, place: place.into() })
        })
    }

    /// The place of `core` with this number, for who wants to ring there.
    pub(crate) fn place(&'static self, core: CoreId, number: usize) -> Waiter<P> {
        Waiter { bells: self, core, place: number }
    }

    /// Serves [`Bell::Mailbox`] on the core that was rung: wakes who waits where it was rung.
    pub fn answer(&self) {
        for (number, place) in self.places[P::core().index()].iter().enumerate() {
            if place.rung.load(Ordering::Acquire) {
                // Cleared before waking: a ring from now on is answered by the next interrupt.
                place.rung.store(false, Ordering::Relaxed);
                place.waiting.store(false, Ordering::Relaxed);
                if let Some(waker) = self.wakers.with(|wakers| wakers[number].take()) {
                    waker.wake();
                }
            }
        }
    }

    /// Serves [`Bell::Urgent`] on the core that was rung.
    #[cfg(feature = "enabled")]
    pub fn answer_urgent(&self) {
        if let Some(handler) = self.urgent.with(Cell::get) {
            handler.on_urgent();
        }
    }

    /// Lets the calling core's agent see every wrap of the counter.
    ///
    /// The alarm's interrupt handler calls this first, at least once in a quarter of the counter's range while the core
    /// is not stopped. [`TimeDriver`](crate::time) does so. Without it, recorded time falls behind in silent gaps.
    #[cfg(feature = "enabled")]
    pub fn keep_time(&self) {
        if let Some(handler) = self.urgent.with(Cell::get) {
            handler.keep_time();
        }
    }

    /// What the calling core does when its urgent bell rings.
    #[cfg(feature = "enabled")]
    pub fn on_urgent(&self, handler: &'static dyn Urgent) {
        self.urgent.with(|cell| cell.set(Some(handler)));
    }
}

impl<P: Platform> Default for Doorbells<P> {
    fn default() -> Self {
        Self::new()
    }
}

/// A place where a task of one core waits until another core rings.
///
/// The protocol: [`wait`](Self::wait), *then* look again, and only then return `Pending`. Who changes something calls
/// [`ring`](Self::ring) afterwards. Either the look sees the change or the ring sees the wait.
pub struct Waiter<P: 'static> {
    bells: &'static Doorbells<P>,
    core: CoreId,
    place: usize,
}

impl<P> Clone for Waiter<P> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<P> Copy for Waiter<P> {}

impl<P: Platform> Waiter<P> {
    /// The core that waits here.
    #[must_use]
    pub fn core(&self) -> CoreId {
        self.core
    }

    /// The number of the place.
    pub(crate) fn number(&self) -> usize {
        self.place
    }

    /// Announces that `waker` is to be woken by the next ring.
    ///
    /// # Panics
    /// On any other core than [`core`](Self::core): its waker would never be woken.
    pub fn wait(&self, waker: &Waker) {
        let here = P::core();
        assert!(here == self.core, "core {} waits at a place of core {}", here.index(), self.core.index());
        self.bells.wakers.with(|wakers| wakers[self.place].set(Some(waker.clone())));
        self.place().waiting.store(true, Ordering::Relaxed);
        // Pairs with the fence in `ring`: of "I wait, then look" and "I change, then ring" one sees the other.
        fence(Ordering::SeqCst);
    }

    /// Takes the announcement back: what was waited for is there.
    pub fn stop_waiting(&self) {
        self.place().waiting.store(false, Ordering::Relaxed);
    }

    /// Wakes who waits here, if anybody does.
    pub fn ring(&self) {
        fence(Ordering::SeqCst);
        let place = self.place();
        if place.waiting.load(Ordering::Relaxed) {
            place.rung.store(true, Ordering::Release);
            P::ring(self.core, Bell::Mailbox);
        }
    }

    fn place(&self) -> &'static Place {
        &self.bells.places[self.core.index()][self.place % WAITERS]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::{self, Fake, Flag};

    #[test]
    fn a_ring_wakes_who_waits_there_and_nobody_else() {
        let _alone = fake::begin();
        let (here, elsewhere) =
            (Fake::doorbells().claim(CoreId::ONE).unwrap(), Fake::doorbells().claim(CoreId::ONE).unwrap());
        let (woken, not_woken) = (Flag::new(), Flag::new());
        fake::on(CoreId::ONE, || {
            here.wait(&woken.waker());
            elsewhere.wait(&not_woken.waker());
        });
        here.ring();
        assert!(!woken.is_set(), "woken before the interrupt on its own core");
        fake::deliver_bells();
        assert!(woken.is_set() && !not_woken.is_set());
    }

    #[test]
    fn a_ring_where_nobody_waits_disturbs_nobody() {
        let _alone = fake::begin();
        let waiter = Fake::doorbells().claim(CoreId::ONE).unwrap();
        waiter.ring();
        fake::on(CoreId::ONE, || waiter.wait(&Flag::new().waker()));
        waiter.stop_waiting();
        waiter.ring();
        assert_eq!(fake::bells_rung(), 0);
    }

    #[test]
    fn places_run_out_with_an_error_that_names_the_core() {
        let _alone = fake::begin();
        let refused = (0..=WAITERS).find_map(|_| Fake::doorbells().claim(CoreId::ZERO).err());
        assert_eq!(refused, Some(ClaimError::NoneLeft(CoreId::ZERO)));
        assert!(Fake::doorbells().claim(CoreId::ONE).is_ok());
    }

    #[cfg(feature = "enabled")]
    #[test]
    fn the_urgent_bell_runs_the_handler_of_the_core_that_was_rung() {
        static HEARD_BY: AtomicU8 = AtomicU8::new(9);
        let _alone = fake::begin();
        fake::on(CoreId::ONE, || {
            Fake::doorbells().on_urgent(&|| HEARD_BY.store(Fake::core().index() as u8, Ordering::Relaxed))
        });
        Fake::ring(CoreId::ONE, Bell::Urgent);
        fake::deliver_bells();
        assert_eq!(HEARD_BY.load(Ordering::Relaxed), 1);
    }
}

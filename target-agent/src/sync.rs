//! Atomics, spinning and the cross-core lock, as the agent uses them.
//!
//! In firmware these are the ones of `core` and `critical-section`. In this crate's own tests every access is a point at
//! which an interrupt, a crash or another core can come in between; see `preempt`. With `--cfg loom_agent` they are loom's;
//! see `model`.
#[cfg(not(all(feature = "calls", test)))]
pub(crate) use core::hint::spin_loop;
#[cfg(not(all(feature = "calls", test)))]
pub(crate) use core::sync::atomic;
#[cfg(not(all(feature = "calls", test)))]
pub(crate) use critical_section::{self};

#[cfg(all(feature = "calls", test, loom_agent))]
use crate::model as hooks;
#[cfg(all(feature = "calls", test, not(loom_agent)))]
use crate::preempt as hooks;
#[cfg(all(feature = "calls", test))]
pub(crate) use hooks::{atomic, critical_section, mutated, point, published, spin_loop};

/// Stores a word that the host reads.
#[cfg(feature = "enabled")]
#[inline]
pub(crate) fn publish(word: &core::sync::atomic::AtomicU32, value: u32, ordering: core::sync::atomic::Ordering) {
    point();
    word.store(value, ordering);
}

/// Where something else can come in between.
#[cfg(all(feature = "enabled", not(all(feature = "calls", test))))]
#[inline(always)]
pub(crate) fn point() {}

/// A fault of the past, put back for a test that must find it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(test), allow(dead_code, reason = "without a chip or parts of the kit some are not asked for"))]
pub(crate) enum Mutant {
    /// The receive ring of a UART is filled with interrupts open.
    UnmaskedReceive,
    /// A crash does not take the gate of calls over from the context that it ended.
    GateNotTakenOver,
    /// A notice slot that a crash left odd stays odd.
    OddNoticeSlot,
    /// Any use of a link counts as its pump.
    AnyUseIsAPump,
    /// A halt takes effect while the pump of a link is interrupted.
    HaltInsidePump,
    /// The control block is written with interrupts open.
    UnmaskedPublish,
    /// A parked core silences its bells after it has looked, and then sleeps.
    BellsSilencedBeforeSleep,
    /// A parked core sleeps though its last look found something.
    SleepWithoutALastLook,
    /// A parked core sleeps until something comes in, and no link's timer ends that.
    SleepPastTimers,
}

/// Whether a fault of the past is put back. Never in firmware.
#[cfg(not(all(feature = "calls", test)))]
#[inline(always)]
pub(crate) const fn mutated(_: Mutant) -> bool {
    false
}

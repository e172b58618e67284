//! Events into the log of their node, with their time.
use super::local::Local;
use crate::platform::Platform;
use stillpoint_core::log::{LogRing, LogWriter};
use stillpoint_core::time::{Counts, Ticks};
use stillpoint_core::{Event, EventKind, PortId};

/// The time of the log: counts of the 32-bit counter, in coarser ticks, without losing the rest.
#[derive(Clone, Copy, Debug)]
pub(super) struct LogClock {
    /// The last reading of the counter.
    ticks: Ticks<u32>,
}

impl LogClock {
    /// At the counter's beginning.
    pub const NEW: Self = Self { ticks: Ticks(0) };

    /// The whole ticks since it was last asked.
    #[inline]
    pub fn ticks(&mut self, counter: Counts<u32>) -> Ticks<u32> {
        let now = counter.ticks();
        let Ticks(ticks) = now.wrapping_since(self.ticks);
        self.ticks = now;
        // The counter wraps after so many ticks.
        Ticks(ticks & Ticks::COUNTER_RANGE.0)
    }

    /// Sets it after a pause in which the counter may have wrapped. Returns the full time.
    pub fn set(&mut self, long_counter: Counts) -> Ticks {
        self.ticks = long_counter.low().ticks();
        long_counter.ticks()
    }
}

impl<const N: usize, const PORTS: usize> Local<N, PORTS> {
    /// Writes a sync record before the next record.
    pub fn resynchronise<P: Platform>(&mut self) {
        let now = self.clock.set(P::long_counter());
        self.writer.resynchronise(now);
    }

    /// Writes the record of any event.
    #[inline(never)]
    pub fn record<P: Platform, const LOG: usize>(&mut self, ring: &LogRing<LOG>, event: Event) {
        let ticks = self.clock.ticks(P::counter());
        self.push(ring, event, ticks);
    }

    #[inline(never)]
    pub(super) fn push<const LOG: usize>(&mut self, ring: &LogRing<LOG>, event: Event, ticks: Ticks<u32>) {
        self.writer.push(ring, &event, self.writer.time_after(ticks), &self.node.standing());
    }

    /// The same for what has a short record, of which `first` is the first byte.
    #[inline(always)]
    pub(super) fn record_short<P: Platform, const LOG: usize>(
        &mut self,
        ring: &LogRing<LOG>,
        first: u8,
        kind: EventKind,
        arg: u16,
    ) {
        let ticks = self.clock.ticks(P::counter());
        if !self.writer.push_short(ring, first, ticks, self.node.number()) {
            self.push_long(ring, kind, arg, ticks);
        }
    }

    /// In registers: the event in memory would be made for every short record, too.
    #[cold]
    #[inline(never)]
    fn push_long<const LOG: usize>(&mut self, ring: &LogRing<LOG>, kind: EventKind, arg: u16, ticks: Ticks<u32>) {
        self.push(ring, Event::new(kind, arg), ticks);
    }

    /// The record of the first message from a channel, which says more.
    #[cold]
    #[inline(never)]
    pub(super) fn record_first<P: Platform, const LOG: usize>(&mut self, ring: &LogRing<LOG>, port: PortId) {
        self.record::<P, LOG>(ring, Event::receive(port));
    }

    /// The same for a message.
    #[inline(always)]
    pub(super) fn record_message<P: Platform, const LOG: usize>(
        &mut self,
        ring: &LogRing<LOG>,
        kind: EventKind,
        port: PortId,
    ) {
        let arg = port.0.into();
        if let Some(first) = LogWriter::<N>::short_record(&Event::new(kind, arg)) {
            self.record_short::<P, LOG>(ring, first, kind, arg);
        }
    }
}

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

    /// Sets it after a pause in which the counter may have wrapped.
    pub fn set(&mut self, long_counter: Counts) {
        self.ticks = long_counter.low().ticks();
    }
}

impl<const N: usize, const PORTS: usize> Local<N, PORTS> {
    /// Writes a sync record before the next record.
    pub fn resynchronise<P: Platform>(&mut self) {
        let now = P::long_counter();
        self.clock.set(now);
        self.writer.resynchronise(self.writer.time().wrapping_after(self.silence::<P>(now)));
    }

    /// Writes a sync record before the next record if the counter may have wrapped by then.
    ///
    /// Called at least once in a quarter of the counter's range, so half of it is early enough; and with the long counter,
    /// so a core that a debugger kept from calling it for longer is seen, too.
    pub fn keep_time<P: Platform>(&mut self) {
        if self.silence::<P>(P::long_counter()) >= Ticks(u64::from(Ticks::COUNTER_RANGE.0 / 2)) {
            self.resynchronise::<P>();
        }
    }

    /// The time from the last record to this reading of the long counter, which may have wrapped once.
    fn silence<P: Platform>(&self, long_counter: Counts) -> Ticks {
        let range = Counts(u64::MAX >> (64 - P::LONG_COUNTER_BITS)).ticks();
        Ticks(long_counter.ticks().wrapping_since(self.writer.time()).0 & range.0)
    }

    /// Writes the record of any event.
    #[inline(never)]
    pub fn record<P: Platform, const LOG: usize>(&mut self, ring: &LogRing<LOG>, event: Event) {
        let ticks = self.clock.ticks(P::counter());
        self.push(ring, event, ticks);
    }

    #[inline(never)]
    pub(super) fn push<const LOG: usize>(&mut self, ring: &LogRing<LOG>, event: Event, ticks: Ticks<u32>) {
        let now = self.writer.time_after(ticks);
        if !self.writer.push_plain(ring, &event, now, &self.node.standing()) {
            self.push_rarely(ring, event, now);
        }
    }

    /// In a function of its own: a short record that needs a sync record comes here without another look at what is plain.
    #[cold]
    #[inline(never)]
    fn push_rarely<const LOG: usize>(&mut self, ring: &LogRing<LOG>, event: Event, now: Ticks<u32>) {
        self.writer.push_with_context(ring, &event, now, &self.node.standing());
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
        self.push_rarely(ring, Event::new(kind, arg), self.writer.time_after(ticks));
    }

    /// The record of the first message from a channel, which says more.
    #[cold]
    #[inline(never)]
    pub(super) fn record_first<P: Platform, const LOG: usize>(&mut self, ring: &LogRing<LOG>, port: PortId) {
        let ticks = self.clock.ticks(P::counter());
        self.push_long(ring, EventKind::Receive, port.0.into(), ticks);
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

#[cfg(test)]
mod tests {
    extern crate std;
    use crate::agent::{Agent, Agents, Locals, Shared};
    use crate::fake::{Fake, begin, pass, pass_in_debug_state};
    use crate::name::Name;
    use crate::platform::Platform;
    use std::boxed::Box;
    use std::vec::Vec;
    use stillpoint_core::log::{LogItem, LogReader};
    use stillpoint_core::time::{Counts, Ticks};
    use stillpoint_core::{EventKind, NodeId, StampKind};

    const LOG: usize = 1024;
    /// The counter's range, in counts.
    const WRAP: u64 = 1 << 32;

    fn node() -> Agent<Fake, 1, 1, LOG> {
        let agents: &'static Agents<Fake, 1, 1, LOG> =
            Box::leak(Box::new(Agents::new(Box::leak(Box::new(Shared::new())), Box::leak(Box::new(Locals::new())))));
        let agent = agents.begin(Name(1), NodeId(0), StampKind::Vector).unwrap();
        agent.start().unwrap();
        agent
    }

    /// The times of the node's own events.
    fn times(agent: &Agent<Fake, 1, 1, LOG>) -> Vec<Ticks> {
        let mut bytes = [0; LOG];
        let length = agent.log().peek(&mut bytes).length;
        let (mut rest, mut reader, mut times) = (&bytes[..length], LogReader::new(), Vec::new());
        while let Ok(Some((item, used))) = reader.next(rest) {
            if let LogItem::Record(record) = item
                && record.event.kind == EventKind::Local
            {
                times.push(record.time);
            }
            rest = &rest[used..];
        }
        times
    }

    /// The recorded time between two events with `silence` between them.
    fn recorded(silence: impl FnOnce()) -> Ticks {
        let agent = node();
        agent.trace(Name(7));
        silence();
        agent.trace(Name(7));
        let times = times(&agent);
        assert_eq!(times.len(), 2);
        times[1].wrapping_since(times[0])
    }

    #[test]
    fn a_silent_gap_of_any_length_is_recorded_whole() {
        let _clean = begin();
        for counts in [WRAP / 4, WRAP / 2, WRAP - 16, WRAP, WRAP + 320, 5 * WRAP / 2, 7 * WRAP + 1600, 300 * WRAP] {
            let counts = Counts(counts);
            assert_eq!(recorded(|| pass(counts)), counts.ticks(), "{counts:?}");
        }
    }

    #[test]
    fn a_gap_is_recorded_whole_though_the_long_counter_wraps_in_it_and_it_begins_anywhere() {
        let _clean = begin();
        for ahead in [0, 1, WRAP / 4 - 1, WRAP / 2, WRAP - 1] {
            pass(Counts(ahead));
            let counts = Counts((1 << Fake::LONG_COUNTER_BITS) + 320);
            // Some counts more or less end in the next tick.
            assert!(recorded(|| pass(counts)).wrapping_since(counts.ticks()).0 <= 1, "{ahead}");
        }
    }

    #[test]
    fn a_stop_in_debug_state_for_more_than_a_wrap_is_recorded_whole() {
        let _clean = begin();
        for counts in [WRAP - 16, WRAP, WRAP + 320, 3 * WRAP + 1600].map(Counts) {
            assert_eq!(recorded(|| pass_in_debug_state(counts)), counts.ticks(), "{counts:?}");
        }
    }

    #[test]
    fn a_short_gap_needs_no_sync_record() {
        let _clean = begin();
        let agent = node();
        agent.trace(Name(7));
        let before = agent.log().peek(&mut [0; LOG]).length;
        pass(Counts(WRAP / 4));
        agent.trace(Name(7));
        assert!(agent.log().peek(&mut [0; LOG]).length - before <= 6, "a byte and a time");
    }
}

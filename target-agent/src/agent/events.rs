//! Events of the application: the quick way that nearly all of them go, and what follows where that is not enough.
use super::local::Local;
use crate::channel::Ring;
use crate::platform::Platform;
use crate::tap::Outgoing;
use stillpoint_core::log::{LogRing, LogWriter};
use stillpoint_core::{Effects, Event, EventKind, Input, MessageStamp, PortId, Quick, Then};

impl<const N: usize, const PORTS: usize> Local<N, PORTS> {
    /// A tracepoint, or another step without a message.
    #[inline]
    pub fn event<P: Platform, const LOG: usize>(&mut self, ring: &LogRing<LOG>, event: Event) -> Option<Then> {
        let Some(quick) = self.node.quick_event(&event) else { return self.event_slowly::<P, LOG>(ring, event) };
        if !quick.satisfied.is_empty() {
            return self.go_on::<P, LOG>(ring, event, quick);
        }
        if quick.is_recorded {
            match LogWriter::<N>::short_record(&event) {
                Some(first) => self.record_short::<P, LOG>(ring, first, event.kind, event.arg),
                None => self.record::<P, LOG>(ring, event),
            }
        }
        Some(Then::Continue)
    }

    /// What else follows from an event that moved a predicate on.
    #[cold]
    #[inline(never)]
    fn go_on<P: Platform, const LOG: usize>(
        &mut self,
        ring: &LogRing<LOG>,
        event: Event,
        quick: Quick,
    ) -> Option<Then> {
        let effects = self.node.go_on(event, quick);
        self.settle_all::<P, LOG>(ring, effects)
    }

    #[cold]
    #[inline(never)]
    pub(super) fn event_slowly<P: Platform, const LOG: usize>(
        &mut self,
        ring: &LogRing<LOG>,
        event: Event,
    ) -> Option<Then> {
        let Ok(effects) = self.node.step(Input::Event(event)) else { return self.keep_late(event) };
        self.settle_all::<P, LOG>(ring, effects)
    }

    /// A watch has a new value.
    #[inline(never)]
    pub fn watch<P: Platform, const LOG: usize>(&mut self, ring: &LogRing<LOG>, watch: u8, value: i32) -> Option<Then> {
        let Some(quick) = self.node.quick_watch(watch, value) else {
            return self.watch_slowly::<P, LOG>(ring, watch, value);
        };
        let event = Event::watch(watch, value);
        if !quick.satisfied.is_empty() {
            return self.go_on::<P, LOG>(ring, event, quick);
        }
        if quick.is_recorded {
            self.record::<P, LOG>(ring, event);
        }
        Some(Then::Continue)
    }

    #[cold]
    #[inline(never)]
    fn watch_slowly<P: Platform, const LOG: usize>(
        &mut self,
        ring: &LogRing<LOG>,
        watch: u8,
        value: i32,
    ) -> Option<Then> {
        let Ok(effects) = self.node.step(Input::Watch { watch, value }) else {
            return self.keep_late(Event::watch(watch, value));
        };
        self.settle_all::<P, LOG>(ring, effects)
    }

    /// Sends a message: record, commit, and only then what else the step asks for.
    #[inline]
    pub fn send<P: Platform, const LOG: usize>(
        &mut self,
        ring: &LogRing<LOG>,
        port: PortId,
        message: &mut Outgoing<'_>,
    ) -> Option<Then> {
        let quick = match self.node.quick_send(port, message.stamp) {
            Some(quick) if quick.satisfied.is_empty() => quick,
            other => return self.send_slowly::<P, LOG>(ring, port, message, other),
        };
        if quick.is_recorded {
            self.record_message::<P, LOG>(ring, EventKind::Send, port);
        }
        message.commit::<P>(port, quick.begin.into());
        Some(Then::Continue)
    }

    #[cold]
    #[inline(never)]
    fn send_slowly<P: Platform, const LOG: usize>(
        &mut self,
        ring: &LogRing<LOG>,
        port: PortId,
        message: &mut Outgoing<'_>,
        quick: Option<Quick>,
    ) -> Option<Then> {
        let stamp = &mut *message.stamp;
        let effects = match quick {
            Some(quick) => Ok(self.node.go_on_sending(port, stamp, quick)),
            None => self.node.step(Input::Send { port, stamp }),
        };
        let Ok(effects) = effects else { return self.refuse() };
        if let Some(event) = effects.log {
            self.record::<P, LOG>(ring, event);
        }
        message.commit_from_front::<P>(port, effects.stamp.into());
        self.settle_rest::<P, LOG>(ring, effects)
    }

    /// Receives a message: record, commit, and only then what else the step asks for.
    #[inline]
    pub fn receive<P: Platform, const LOG: usize>(
        &mut self,
        ring: &LogRing<LOG>,
        port: PortId,
        stamp: &MessageStamp<'_>,
        from: &Ring,
    ) -> Option<Then> {
        let Some(quick) = self.node.quick_receive(port, stamp) else {
            return self.receive_slowly::<P, LOG>(ring, port, stamp.message(), from);
        };
        if !quick.satisfied.is_empty() {
            return self.go_on_receiving::<P, LOG>(ring, port, from, quick);
        }
        if quick.is_recorded {
            if quick.is_first {
                self.record_first::<P, LOG>(ring, port);
            } else {
                self.record_message::<P, LOG>(ring, EventKind::Receive, port);
            }
        }
        from.free();
        Some(Then::Continue)
    }

    #[cold]
    #[inline(never)]
    fn receive_slowly<P: Platform, const LOG: usize>(
        &mut self,
        ring: &LogRing<LOG>,
        port: PortId,
        message: &[u8],
        from: &Ring,
    ) -> Option<Then> {
        let Ok(effects) = self.node.step(Input::Receive { port, stamp: message }) else { return self.refuse() };
        self.settle_received::<P, LOG>(ring, from, effects)
    }

    #[cold]
    #[inline(never)]
    fn go_on_receiving<P: Platform, const LOG: usize>(
        &mut self,
        ring: &LogRing<LOG>,
        port: PortId,
        from: &Ring,
        quick: Quick,
    ) -> Option<Then> {
        let effects = self.node.go_on(Event::receive(port), quick);
        self.settle_received::<P, LOG>(ring, from, effects)
    }

    fn settle_received<P: Platform, const LOG: usize>(
        &mut self,
        ring: &LogRing<LOG>,
        from: &Ring,
        effects: Effects,
    ) -> Option<Then> {
        if let Some(event) = effects.log {
            self.record::<P, LOG>(ring, event);
        }
        from.free();
        self.settle_rest::<P, LOG>(ring, effects)
    }

    /// The record of a step and whatever else it asks for.
    pub(super) fn settle_all<P: Platform, const LOG: usize>(
        &mut self,
        ring: &LogRing<LOG>,
        effects: Effects,
    ) -> Option<Then> {
        if let Some(event) = effects.log {
            self.record::<P, LOG>(ring, event);
        }
        self.settle_rest::<P, LOG>(ring, effects)
    }

    #[inline]
    fn settle_rest<P: Platform, const LOG: usize>(&mut self, ring: &LogRing<LOG>, effects: Effects) -> Option<Then> {
        if has_more(&effects) {
            self.settle::<P, LOG>(ring, &effects);
        }
        Some(effects.then)
    }

    #[cold]
    pub(super) fn refuse(&mut self) -> Option<Then> {
        self.count_refused();
        None
    }

    pub(super) fn count_refused(&mut self) {
        self.refused = self.refused.wrapping_add(1);
    }
}

/// Whether a step asks for more than a record.
#[inline]
fn has_more(effects: &Effects) -> bool {
    let predicates = !effects.announce.is_empty() || !effects.advanced.is_empty();
    effects.then != Then::Continue || effects.markers.0 | effects.releases.0 != 0 || predicates
}

//! Spans: stretches of a program with a name, whose beginning and end are events.
use super::Agent;
use crate::name::Name;
use crate::platform::Platform;
use stillpoint_core::{Event, EventKind};

/// A span that lasts until this is dropped. Made by [`span!`](crate::span).
///
/// It may be held across an `.await`: other tasks of the node then run inside of it, and a future that is cancelled ends it.
/// Spans of one name on one node end in the reverse of the order in which they began, as far as pictures can tell.
#[must_use = "a span lasts until its guard is dropped: give it a name, as in `let _span = span!(..)`"]
pub struct Span<P: Platform, const N: usize, const PORTS: usize, const LOG: usize> {
    agent: Agent<P, N, PORTS, LOG>,
    name: Name,
}

impl<P: Platform, const N: usize, const PORTS: usize, const LOG: usize> Span<P, N, PORTS, LOG> {
    #[inline]
    pub(super) fn begin(agent: Agent<P, N, PORTS, LOG>, name: Name) -> Self {
        agent.event(Event::new(EventKind::Enter, name.0));
        Self { agent, name }
    }
}

impl<P: Platform, const N: usize, const PORTS: usize, const LOG: usize> Drop for Span<P, N, PORTS, LOG> {
    #[inline]
    fn drop(&mut self) {
        self.agent.event(Event::new(EventKind::Leave, self.name.0));
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use crate::agent::{Agents, Locals, Shared};
    use crate::fake::{Fake, begin};
    use crate::name::Name;
    use std::boxed::Box;
    use std::vec::Vec;
    use stillpoint_core::log::{LogItem, LogReader};
    use stillpoint_core::{EventKind, NodeId, StampKind};

    const LOG: usize = 1024;

    #[test]
    fn a_span_is_an_event_where_it_begins_and_one_where_its_guard_is_dropped() {
        let _clean = begin();
        let agents: &'static Agents<Fake, 1, 1, LOG> =
            Box::leak(Box::new(Agents::new(Box::leak(Box::new(Shared::new())), Box::leak(Box::new(Locals::new())))));
        let agent = agents.begin(Name(1), NodeId(0), StampKind::Vector).unwrap();
        agent.start().unwrap();
        {
            let _outer = agent.span(Name(7));
            agent.trace(Name(9));
            drop(agent.span(Name(8)));
        }
        let mut bytes = [0; LOG];
        let length = agent.log().peek(&mut bytes).length;
        let (mut rest, mut reader, mut events) = (&bytes[..length], LogReader::new(), Vec::new());
        while let Ok(Some((item, used))) = reader.next(rest) {
            if let LogItem::Record(record) = item {
                events.push((record.event.kind, record.event.arg));
            }
            rest = &rest[used..];
        }
        let expected = [
            (EventKind::Enter, 7),
            (EventKind::Local, 9),
            (EventKind::Enter, 8),
            (EventKind::Leave, 8),
            (EventKind::Leave, 7),
        ];
        assert!(events.ends_with(&expected), "{events:?}");
    }
}

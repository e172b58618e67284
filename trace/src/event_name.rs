//! Events as people name them: `left0#41`, or `left0@2#41` for the second epoch after the first.
use crate::{EventId, History, did_you_mean};

/// Why a text does not name an event of a trace.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EventNameError {
    /// It has not the form of a name.
    #[error(
        "{text:?} does not name an event: write NODE#NUMBER, such as {example}, or NODE@EPOCH#NUMBER after a reset"
    )]
    Form {
        /// The text.
        text: String,
        /// An event that is there, or could be.
        example: String,
    },
    /// No node has this name.
    #[error("there is no node {name} in this trace{hint}")]
    Node {
        /// The name.
        name: String,
        /// What may have been meant.
        hint: String,
    },
    /// The node has no such event.
    #[error("{event} is not in this trace, {has}")]
    Event {
        /// The event.
        event: String,
        /// What is.
        has: String,
    },
    /// Several lives of the node have an event of this number.
    #[error("{event} may be any of {}: say which epoch", .which.join(", "))]
    WhichLife {
        /// The text.
        event: String,
        /// The events.
        which: Vec<String>,
    },
}

impl History {
    /// The place of the event that a text names: `left0#41` or `left0@2#41`.
    ///
    /// Without an epoch it is the only event of that number, or the one of epoch 0.
    ///
    /// # Example: an event that is not there
    /// ```
    /// use stillpoint_trace::Sketch;
    /// let mut sketch = Sketch::new(&["left0", "left1"]);
    /// sketch.local(0, 7);
    /// let history = sketch.history();
    /// assert_eq!(history.find("left0#1"), Ok(0));
    /// assert!(history.find("lfet0#1").unwrap_err().to_string().contains("did you mean left0?"));
    /// ```
    pub fn find(&self, text: &str) -> Result<usize, EventNameError> {
        let (name, epoch, count) = self.split(text)?;
        let mut nodes = self.header.nodes.iter().filter(|node| node.name == name);
        let Some(node) = nodes.next().map(|node| node.id) else {
            let names = self.header.nodes.iter().map(|node| node.name.as_str());
            return Err(EventNameError::Node { name: name.into(), hint: did_you_mean(name, names) });
        };
        let id = |epoch: u8| EventId { node, number: u32::from(epoch) << 24 | count };
        if let Some(epoch) = epoch {
            return self.index_of(id(epoch)).ok_or_else(|| self.absent(id(epoch)));
        }
        let found: Vec<u8> =
            self.epochs(node).into_iter().filter(|epoch| self.index_of(id(*epoch)).is_some()).collect();
        match found[..] {
            [] => Err(self.absent(id(0))),
            [0, ..] => self.index_of(id(0)).ok_or_else(|| self.absent(id(0))),
            [epoch] => self.index_of(id(epoch)).ok_or_else(|| self.absent(id(epoch))),
            _ => {
                let which = found.into_iter().map(|epoch| self.header.event_name(id(epoch))).collect();
                Err(EventNameError::WhichLife { event: text.into(), which })
            }
        }
    }

    /// The epochs of which a trace has events of a node, in their order.
    #[must_use]
    pub fn epochs(&self, node: u8) -> Vec<u8> {
        let mut epochs: Vec<u8> = self.of_node(node).iter().map(|at| self.events[*at as usize].id.epoch()).collect();
        epochs.dedup();
        epochs
    }

    fn split<'a>(&self, text: &'a str) -> Result<(&'a str, Option<u8>, u32), EventNameError> {
        let form = || EventNameError::Form {
            text: text.into(),
            example: self.events.last().map_or_else(|| "left0#41".into(), |event| self.header.event_name(event.id)),
        };
        let (node, number) = text.rsplit_once('#').ok_or_else(form)?;
        let (name, epoch) = match node.trim().rsplit_once('@') {
            Some((name, epoch)) => (name, Some(epoch.parse().map_err(|_| form())?)),
            None => (node.trim(), None),
        };
        let count: u32 = number.trim().parse().map_err(|_| form())?;
        if name.is_empty() || count >> 24 != 0 { Err(form()) } else { Ok((name, epoch, count)) }
    }

    fn absent(&self, id: EventId) -> EventNameError {
        let name = |place: &u32| self.header.event_name(self.events[*place as usize].id);
        let has = match self.of_node(id.node) {
            [] => format!("which has no event of {}", self.node_name(id.node)),
            places @ [first, .., last] => {
                let next = places.iter().find(|place| self.events[**place as usize].id.number > id.number);
                let between = next.filter(|next| *next != first).map(|next| format!("; the next is {}", name(next)));
                format!("which has {} to {}{}", name(first), name(last), between.unwrap_or_default())
            }
            [only] => format!("which has {}", name(only)),
        };
        EventNameError::Event { event: self.header.event_name(id), has }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Builder, Item, Sketch};
    use stillpoint_core::log::Record;
    use stillpoint_core::{Event, EventNumber};

    /// Two nodes; the first has events 1 to 3 in the epochs given.
    fn lives(epochs: &[u8]) -> History {
        let mut builder = Builder::new(Sketch::new(&["left0", "left1"]).header());
        for epoch in epochs {
            for count in 1..=3 {
                let number = EventNumber(u32::from(*epoch) << 24 | count);
                let record =
                    Record { event: Event::local(0), number, time: stillpoint_core::time::Ticks(0), message: None };
                builder.push(0, 0, Item::Record(record));
            }
        }
        builder.finish(None)
    }

    #[test]
    fn every_event_is_found_by_its_name() {
        let history = lives(&[0, 1, 3]);
        for (place, event) in history.events.iter().enumerate() {
            assert_eq!(history.find(&history.header.event_name(event.id)), Ok(place));
        }
        assert_eq!(history.find("left0@3 #2"), history.find("left0@3#2"), "as other messages write it");
    }

    #[test]
    fn the_epoch_may_be_left_out_where_it_is_clear() {
        assert_eq!(lives(&[4]).find("left0#2"), Ok(1));
        assert_eq!(lives(&[0, 1]).find("left0#2"), Ok(1));
        let error = lives(&[1, 2]).find("left0#2").unwrap_err().to_string();
        assert_eq!(error, "left0#2 may be any of left0@1#2, left0@2#2: say which epoch");
    }

    #[test]
    fn what_is_not_there_is_refused_with_what_is() {
        let history = lives(&[0]);
        let says = |text: &str| history.find(text).unwrap_err().to_string();
        assert_eq!(says("lefft0#1"), "there is no node lefft0 in this trace; did you mean left0?");
        assert_eq!(says("left0#9"), "left0#9 is not in this trace, which has left0#1 to left0#3");
        assert_eq!(says("left1#1"), "left1#1 is not in this trace, which has no event of left1");
        for text in ["left0", "#1", "left0#", "left0#x", "left0@#1", "left0@300#1", "left0#99999999", ""] {
            assert!(matches!(history.find(text), Err(EventNameError::Form { .. })), "{text}");
        }
        assert!(says("left0").ends_with("such as left0#3, or NODE@EPOCH#NUMBER after a reset"), "{}", says("left0"));
    }
}

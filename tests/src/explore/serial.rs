//! A wire that is a serial line: two shipped links and the frames between them, some of which get lost.
use super::system::{Control, NODES};
use std::hash::Hash;
use stillpoint_core::link::{Config, Lane, Link, LinkEvent, LinkPhase, wire_bytes};
use stillpoint_core::time::{Micros, TickRate, Ticks};
use stillpoint_core::{HaltId, HaltMarker};

/// A link that has room for all messages of a model; its window is one frame.
pub type End = Link<2, 48>;

/// Nothing but differences of times matter to a link, so all but a time-out happens at one moment.
const NOW: Ticks<u32> = Ticks(0);
const TIMEOUT: u32 = 100;

/// Two ends of a serial line and what is on the line.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Serial {
    /// The shipped links, that of the sender of messages first.
    pub ends: [End; 2],
    /// The frames on the line, by the end that sent them.
    pub air: [Vec<Vec<u8>>; 2],
}

impl Serial {
    /// A line whose ends have greeted each other.
    pub fn up() -> Self {
        let config = Config { window: 1, timeout: Micros(TIMEOUT), retry_limit: None, hello_interval: Micros(TIMEOUT) };
        let ends = [1, 1].map(|incarnation| End::new(config, TickRate::MEGAHERTZ, incarnation));
        let mut line = Self { ends, air: [Vec::new(), Vec::new()] };
        for turn in 0..8 {
            line.transmit(turn % 2);
            line.carry(turn % 2);
        }
        assert!(line.is_quiet() && line.ends.iter().all(|end| end.phase() == LinkPhase::Up));
        line
    }

    /// Whether the end has a frame to send and the line is free.
    pub fn can_transmit(&self, end: usize) -> bool {
        self.air[end].is_empty() && self.ends[end].next_deadline(NOW) == Some(NOW)
    }

    /// Puts the end's next frame on the line.
    pub fn transmit(&mut self, end: usize) {
        let mut bytes = [0; wire_bytes(48)];
        if let Ok(Some(length)) = self.ends[end].poll_transmit(NOW, &mut bytes) {
            self.air[end].push(bytes[..length].to_vec());
        }
    }

    /// The oldest frame of `end` arrives at the other.
    pub fn carry(&mut self, end: usize) {
        if !self.air[end].is_empty() {
            let frame = self.air[end].remove(0);
            self.hear(1 - end, &frame);
        }
    }

    /// The oldest frame of `end` arrives at the other, and will arrive again.
    pub fn carry_twice(&mut self, end: usize) {
        if let Some(frame) = self.air[end].first().cloned() {
            self.hear(1 - end, &frame);
        }
    }

    /// The oldest frame of `end` gets lost.
    pub fn drop_frame(&mut self, end: usize) {
        if !self.air[end].is_empty() {
            self.air[end].remove(0);
        }
    }

    fn hear(&mut self, end: usize, frame: &[u8]) {
        for &byte in frame {
            let event = self.ends[end].on_byte(byte, NOW);
            // Links that never give up, on a line without resets, have nothing else to report.
            assert!(matches!(event, None | Some(LinkEvent::Up { resumed: false })), "{event:?}");
        }
    }

    /// Whether nothing happens any more unless time passes.
    pub fn is_quiet(&self) -> bool {
        self.air.iter().all(Vec::is_empty) && !self.can_transmit(0) && !self.can_transmit(1)
    }

    /// Whether an end waits for an acknowledgement that only time can bring. A time-out is longer than a round trip, so
    /// time counts only when the line is quiet.
    pub fn can_time_out(&self, end: usize) -> bool {
        self.is_quiet() && self.ends[end].next_deadline(NOW).is_some()
    }

    /// Time passes until the end gives up waiting.
    pub fn time_out(&mut self, end: usize) {
        // A stopped peer is asked less and less often, so this may be longer than a time-out.
        let deadline = self.ends[end].next_deadline(NOW).unwrap_or(NOW);
        assert_eq!(self.ends[end].on_tick(deadline), None);
    }
}

/// The item of a control lane that stands for this; hellos are the link's own business.
pub fn control_bytes(control: &Control) -> Option<Vec<u8>> {
    let mut bytes = vec![0; 1 + HaltMarker::<NODES>::MAX_LEN];
    match control {
        Control::Marker(marker) => {
            let length = marker.write(bytes.get_mut(1..)?).ok()?;
            bytes.truncate(1 + length);
        }
        Control::Release(id) => {
            let [low, high] = id.0.to_le_bytes();
            bytes = vec![1, low, high];
        }
        Control::Predicate(..) | Control::Hello(..) => return None,
    }
    Some(bytes)
}

/// What an item of a control lane stands for.
pub fn control_of(bytes: &[u8]) -> Option<Control> {
    match bytes.split_first()? {
        (0, rest) => HaltMarker::read(rest).ok().map(Control::Marker),
        (1, &[low, high]) => Some(Control::Release(HaltId(u16::from_le_bytes([low, high])))),
        _ => None,
    }
}

/// The oldest accepted control item of an end.
pub fn next_control(end: &End) -> Option<Control> {
    end.front(Lane::Control).and_then(|item| control_of(item.bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use stillpoint_core::{HaltOrder, NodeId};

    #[test]
    fn what_is_lost_on_the_line_arrives_after_a_time_out_and_once() {
        let mut line = Serial::up();
        line.ends[0].send(Lane::Control, &[1, 7, 0]).unwrap();
        line.transmit(0);
        line.drop_frame(0);
        assert!(line.is_quiet() && line.can_time_out(0) && !line.can_time_out(1));
        // The end asks what has arrived, and sends again what has not.
        line.time_out(0);
        for end in [0, 1] {
            line.transmit(end);
            line.carry(end);
        }
        assert_eq!(next_control(&line.ends[1]), None);
        line.transmit(0);
        line.carry_twice(0);
        line.carry(0);
        assert_eq!(next_control(&line.ends[1]), Some(Control::Release(HaltId(7))));
        assert!(line.ends[1].take(Lane::Control));
        assert_eq!(next_control(&line.ends[1]), None);
        line.transmit(1);
        line.carry(1);
        assert_eq!(line.ends[0].unacknowledged(Lane::Control), 0);
    }

    #[test]
    fn control_survives_the_line() {
        let order = HaltOrder::new().then(NodeId(2));
        for control in
            [Control::Marker(HaltMarker { id: HaltId(9), position: 2, order }), Control::Release(HaltId(65535))]
        {
            assert_eq!(control_of(&control_bytes(&control).unwrap()), Some(control));
        }
    }
}

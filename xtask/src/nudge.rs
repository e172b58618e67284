//! Makes QEMU look at its serial links.
//!
//! QEMU looks only when its main loop turns, and firmware that opens a UART does not turn it: bytes that were there before
//! would wait for the next timer, up to a minute. Cutting a wire to QEMU does turn it; so a machine gets some wires that
//! lead nowhere, and they are cut one after the other.
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use qemu_probe::{Link, Serial};

/// The host's ends of the wires.
#[derive(Debug)]
pub struct Nudges {
    wires: Vec<UnixStream>,
    next: Instant,
    pause: Duration,
    growth: u32,
}

impl Nudges {
    /// `count` nudges, the first after `pause`, each further one after `growth` times the pause before; and the other ends
    /// of their wires, to be plugged in behind the UARTs that are in use.
    pub fn new(count: usize, pause: Duration, growth: u32) -> std::io::Result<(Self, Vec<Serial>)> {
        let (mut wires, mut serial) = (Vec::new(), Vec::new());
        for _ in 0..count {
            let (ours, theirs) = Link::pair()?;
            wires.push(ours.into_stream());
            serial.push(Serial::Link(theirs));
        }
        Ok((Self { wires, next: Instant::now() + pause, pause, growth }, serial))
    }

    /// Cuts a wire if it is time to.
    pub fn nudge(&mut self) {
        if Instant::now() >= self.next {
            self.wires.pop();
            self.pause *= self.growth;
            self.next += self.pause;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wires_are_cut_one_after_the_other_and_not_before_their_time() {
        let (mut nudges, ends) = Nudges::new(2, Duration::from_secs(3600), 4).unwrap();
        nudges.nudge();
        assert_eq!((nudges.wires.len(), ends.len()), (2, 2));
        for left in [1, 0, 0] {
            nudges.next = Instant::now();
            nudges.nudge();
            assert_eq!(nudges.wires.len(), left);
        }
    }
}

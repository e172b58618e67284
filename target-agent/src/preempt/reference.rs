//! Chandy & Lamport's snapshot of the same schedule, taken beside the agents.
//!
//! A node records its state when it stops; the state of a channel is what was sent before its sender stopped and not received
//! before its receiver did. Nothing here asks a node or its ports: both are told from the rings of the application's messages.
extern crate std;
use super::system::{Statics, statics};
use super::world::CORES;
use core::sync::atomic::Ordering;
use std::format;
use std::string::String;
use stillpoint_core::control::StateCode;

/// What a node had done when it stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stopped {
    halt: u32,
    done: Done,
}

/// What the application of a node has done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Done {
    /// Messages, requests and replies ever sent on each of its outgoing channels.
    sent: [u32; CHANNELS],
    /// The same received.
    received: [u32; CHANNELS],
    watches: u32,
}

/// Channels of the system, in the order of [`ends`].
pub(super) const CHANNELS: usize = 6;

/// The nodes and the rings at both ends of each channel.
fn ends(
    statics: &'static Statics,
) -> [(usize, &'static crate::channel::Head, usize, &'static crate::channel::Head); 6] {
    let [near, far] = &statics.link_rings;
    [
        (0, statics.there.head(), 1, statics.there.head()),
        (1, statics.back.head(), 0, statics.back.head()),
        (0, statics.requests.head(), 1, statics.requests.head()),
        (1, statics.replies.head(), 0, statics.replies.head()),
        (0, near[0].head(), 2, far[1].head()),
        (2, far[0].head(), 0, near[1].head()),
    ]
}

fn done(statics: &'static Statics, core: usize) -> Done {
    let ends = ends(statics);
    Done {
        sent: ends.map(|(from, ring, ..)| if from == core { ring.written.peek() } else { 0 }),
        received: ends.map(|(_, _, to, ring)| if to == core { ring.read.peek() } else { 0 }),
        watches: statics.counts[core].lock().unwrap().watches,
    }
}

/// Records the state of a node that has just stopped.
pub(super) fn note(statics: &'static Statics, core: usize) {
    let block = statics.block(core);
    let state = StateCode::from_word(block.phase.load(Ordering::Relaxed));
    let halt = block.last_halt.load(Ordering::Relaxed);
    let mut stopped = statics.stopped[core].lock().unwrap();
    if !matches!(state, Some(StateCode::Draining | StateCode::Parked)) {
        *stopped = None;
    } else if stopped.is_none_or(|stopped| stopped.halt != halt) {
        *stopped = Some(Stopped { halt, done: done(statics, core) });
    }
}

/// Compares the halted state with the snapshot. `held` is how many messages each channel has, as the host counts them.
pub(super) fn check(held: [Option<u32>; CHANNELS]) -> Result<(), String> {
    let statics = statics();
    let mut recorded = [None; CORES];
    for (core, recorded) in recorded.iter_mut().enumerate() {
        let stopped = *statics.stopped[core].lock().unwrap();
        let now = done(statics, core);
        if stopped.is_some_and(|stopped| stopped.done != now) {
            return Err(format!("node {core} stopped as {stopped:?} and went on to {now:?}"));
        }
        *recorded = stopped.map(|stopped| stopped.done);
    }
    for (channel, ((from, _, to, _), held)) in ends(statics).into_iter().zip(held).enumerate() {
        let (Some(sender), Some(receiver), Some(held)) = (recorded[from], recorded[to], held) else { continue };
        let in_flight = sender.sent[channel].wrapping_sub(receiver.received[channel]);
        if in_flight != held {
            return Err(format!("channel {channel} has {held} messages, its snapshot {in_flight}"));
        }
    }
    Ok(())
}

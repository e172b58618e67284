//! A wire between two boards that a test holds in its hands: it reads every frame and decides what becomes of it.
#![allow(dead_code, reason = "each test uses a part of it")]
use anyhow::ensure;
use qemu_probe::{Link, LinkEnd};
use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use stillpoint_core::link::{FrameDecoder, Header, Kind, MAX_FRAME};

/// The first byte of a control item, as `docs/WIRE.md` has it.
const MARKERS: [u8; 2] = [1, 2];
const RELEASE: u8 = 3;

/// What a frame is to a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sort {
    /// It carries a halt marker.
    Marker,
    /// It carries a release.
    Release,
    /// It carries nothing but the news that a control item arrived.
    Acknowledgement,
    /// It carries a message.
    Message,
}

/// What the wire does with one direction, from the next byte on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Doing {
    /// Everything passes.
    #[default]
    Passing,
    /// The first frame of this sort does not pass, everything after it does.
    Dropping(Sort),
    /// Half of the first frame of this sort passes and then nothing more, as if its sender hung.
    Hanging(Sort),
    /// No frame of this sort passes, everything else does.
    Withholding(Sort),
    /// Nothing passes.
    Discarding,
    /// Such frames lose their second half, their end included, as in a UART whose bytes nobody fetches in time.
    Overrunning(Which),
    /// In such frames a byte is read with wrong bits and as a break, as by a UART that misses a stop bit.
    Misframing(Which),
}

/// The frames that a wire spoils.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// One in eight, at irregular intervals.
    OneInEight,
    /// Exactly every third. Such a loss could meet every repetition of the same frame.
    EveryThird,
}

impl Which {
    fn spoils(self, frame: u32) -> bool {
        match self {
            Self::OneInEight => frame.wrapping_mul(2_654_435_761) >> 29 == 0,
            Self::EveryThird => frame.is_multiple_of(3),
        }
    }
}

/// One direction of the wire.
#[derive(Debug, Default)]
struct Way {
    doing: Doing,
    frames: u32,
    dropped: u32,
    discarded: usize,
    control_next: Option<u8>,
}

/// Both directions: index 0 is towards board A, index 1 towards board B.
pub struct Wire([Arc<Mutex<Way>>; 2]);

fn lock(way: &Mutex<Way>) -> MutexGuard<'_, Way> {
    way.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Wire {
    /// A wire, and the ends for the boards. They first find `noise` in their UARTs.
    pub fn new(noise: &[u8]) -> anyhow::Result<(Self, [LinkEnd; 2])> {
        let ((board_a, host_a), (board_b, host_b)) = (Link::pair()?, Link::pair()?);
        let (mut a, mut b) = (host_a.into_stream(), host_b.into_stream());
        a.write_all(noise)?;
        b.write_all(noise)?;
        let ways = [Arc::<Mutex<Way>>::default(), Arc::default()];
        let [towards_a, towards_b] = ways.clone();
        let (from_a, from_b) = (a.try_clone()?, b.try_clone()?);
        // They end when the machine at their side is gone.
        std::thread::spawn(move || carry(from_b, a, &towards_a));
        std::thread::spawn(move || carry(from_a, b, &towards_b));
        Ok((Self(ways), [board_a, board_b]))
    }

    /// From now on the wire does this on its way to board `to`.
    pub fn set(&self, to: usize, doing: Doing) {
        lock(&self.0[to]).doing = doing;
    }

    /// How many frames were dropped, whole or in part, or spoiled on the way to board `to`.
    pub fn dropped(&self, to: usize) -> u32 {
        lock(&self.0[to]).dropped
    }

    /// Waits until something was dropped and at least so many bytes were discarded on the way to board `to`.
    pub fn wait_for(&self, to: usize, dropped: u32, discarded: usize, limit: Duration) -> anyhow::Result<()> {
        let until = Instant::now() + limit;
        loop {
            let way = lock(&self.0[to]);
            if way.dropped >= dropped && way.discarded >= discarded {
                return Ok(());
            }
            ensure!(Instant::now() < until, "within {limit:?} no more than this happened on the wire: {way:?}");
            drop(way);
            std::thread::yield_now();
        }
    }
}

/// Carries frames, whole, from one board to the other.
fn carry(mut from: UnixStream, mut to: UnixStream, way: &Mutex<Way>) {
    let mut decoder = FrameDecoder::<MAX_FRAME>::new();
    let (mut frame, mut bytes) = (Vec::new(), [0; 256]);
    while let Ok(count @ 1..) = from.read(&mut bytes) {
        for &byte in &bytes[..count] {
            frame.push(byte);
            let decoded = decoder.push(byte).and_then(Result::ok).map(|(header, payload)| (header, payload.first()));
            let passes = lock(way).passes(decoded, byte == 0, frame.len());
            if byte != 0 {
                continue;
            }
            frame.truncate(passes);
            lock(way).spoil(&mut frame);
            if to.write_all(&frame).is_err() {
                return;
            }
            frame.clear();
        }
    }
}

impl Way {
    /// How many bytes of a frame of this length pass. Asked for every byte; the answer counts when the frame `ends`.
    fn passes(&mut self, decoded: Option<(Header, Option<&u8>)>, ends: bool, length: usize) -> usize {
        let sort = decoded.and_then(|(header, first)| self.sort(header, first.copied()));
        match self.doing {
            _ if !ends => length,
            Doing::Passing | Doing::Overrunning(_) | Doing::Misframing(_) => length,
            Doing::Dropping(wanted) if sort == Some(wanted) => {
                (self.doing, self.dropped) = (Doing::Passing, self.dropped + 1);
                0
            }
            Doing::Hanging(wanted) if sort == Some(wanted) => {
                (self.doing, self.dropped) = (Doing::Discarding, self.dropped + 1);
                length / 2
            }
            Doing::Withholding(wanted) if sort == Some(wanted) => {
                self.dropped += 1;
                0
            }
            Doing::Dropping(_) | Doing::Hanging(_) | Doing::Withholding(_) => length,
            Doing::Discarding => {
                self.discarded += length;
                0
            }
        }
    }

    /// Changes the bytes of a whole frame as a UART in trouble does.
    fn spoil(&mut self, frame: &mut Vec<u8>) {
        self.frames += 1;
        let middle = frame.len() / 2;
        match self.doing {
            Doing::Overrunning(which) if which.spoils(self.frames) => frame.truncate(middle),
            Doing::Misframing(which) if which.spoils(self.frames) => {
                frame[middle] = frame[middle] >> 1 | 0x80;
                frame.insert(middle, 0);
            }
            _ => return,
        }
        self.dropped += 1;
    }

    fn sort(&mut self, header: Header, first: Option<u8>) -> Option<Sort> {
        let before = self.control_next.replace(header.control_next);
        match (header.kind, first) {
            (Kind::Control, Some(item)) if MARKERS.contains(&item) => Some(Sort::Marker),
            (Kind::Control, Some(RELEASE)) => Some(Sort::Release),
            (Kind::Ack, _) if before.is_some_and(|before| before != header.control_next) => Some(Sort::Acknowledgement),
            (Kind::Data, _) => Some(Sort::Message),
            _ => None,
        }
    }
}

extern crate std;
use super::*;
use core::cell::Cell;
use core::convert::Infallible;
use core::pin::pin;
use core::task::{Context, Waker};
use std::boxed::Box;
use std::collections::VecDeque;
use std::vec::Vec;

std::thread_local! {
    static NOW: Cell<u32> = const { Cell::new(0) };
}

fn now() -> u32 {
    NOW.get()
}

/// A line that takes and gives a few bytes at a time, and is not ready every other time.
#[derive(Default)]
struct Line {
    bytes: VecDeque<u8>,
    ready: bool,
}

impl Line {
    fn holding(bytes: impl IntoIterator<Item = u8>) -> Self {
        Self { bytes: bytes.into_iter().collect(), ready: false }
    }

    fn gets_ready(&mut self) -> Poll<()> {
        self.ready = !self.ready;
        if self.ready { Poll::Ready(()) } else { Poll::Pending }
    }
}

impl ErrorType for Line {
    type Error = Infallible;
}

impl Read for Line {
    async fn read(&mut self, into: &mut [u8]) -> Result<usize, Infallible> {
        poll_fn(|_| self.gets_ready()).await;
        let count = into.len().min(5).min(self.bytes.len());
        into.iter_mut().zip(self.bytes.drain(..count)).for_each(|(place, byte)| *place = byte);
        Ok(count)
    }
}

impl Write for Line {
    async fn write(&mut self, from: &[u8]) -> Result<usize, Infallible> {
        poll_fn(|_| self.gets_ready()).await;
        let count = from.len().min(5);
        self.bytes.extend(&from[..count]);
        Ok(count)
    }

    async fn flush(&mut self) -> Result<(), Infallible> {
        Ok(())
    }
}

/// Polls once and drops the future, as the pump of a link does.
fn once<R>(work: impl Future<Output = R>) -> Option<R> {
    match pin!(work).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(result) => Some(result),
        Poll::Pending => None,
    }
}

fn plan(faults: Faults) -> &'static FaultPlan {
    Box::leak(Box::new(FaultPlan::new(faults)))
}

/// What arrives of `bytes` through a receiving half that is asked for `room` bytes at a time.
fn received(bytes: &[u8], plan: &'static FaultPlan, seed: u64, room: usize) -> Vec<u8> {
    let mut line = Faulty::new(Line::holding(bytes.iter().copied()), plan, seed, now);
    let (mut arrived, mut into) = (Vec::new(), [0; 64]);
    loop {
        match once(line.read(&mut into[..room])) {
            Some(Ok(0)) => return arrived,
            Some(Ok(count)) => arrived.extend(&into[..count]),
            None => {}
        }
    }
}

/// What arrives of `bytes` through a sending half.
fn sent(bytes: &[u8], plan: &'static FaultPlan, seed: u64) -> Vec<u8> {
    let mut line = Faulty::new(Line::default(), plan, seed, now);
    let mut left = bytes;
    while !left.is_empty() {
        if let Some(Ok(count)) = once(line.write(left)) {
            left = &left[count..];
        }
    }
    line.line.bytes.into()
}

fn message(length: u32) -> Vec<u8> {
    (0..length).map(|number| number as u8).collect()
}

#[test]
fn without_faults_every_byte_arrives_once_and_in_order_through_either_half() {
    let bytes = message(1000);
    for room in [1, 2, 3, 64] {
        assert_eq!(received(&bytes, plan(Faults::NONE), 1, room), bytes);
    }
    assert_eq!(sent(&bytes, plan(Faults::NONE), 1), bytes);
}

#[test]
fn the_same_seed_does_the_same_harm_and_another_does_other_harm() {
    let (bytes, faults) = (message(1000), Faults::bytes(50_000));
    assert_eq!(sent(&bytes, plan(faults), 1), sent(&bytes, plan(faults), 1));
    assert_eq!(received(&bytes, plan(faults), 1, 64), received(&bytes, plan(faults), 1, 64));
    assert_ne!(sent(&bytes, plan(faults), 1), sent(&bytes, plan(faults), 2));
}

#[test]
fn what_arrives_is_what_the_counters_say() {
    let bytes = message(100_000);
    let faults = Faults::bytes(30_000);
    for half in 0..3 {
        let plan = plan(faults);
        let arrived = match half {
            0 => sent(&bytes, plan, 3),
            1 => received(&bytes, plan, 3, 64),
            _ => received(&bytes, plan, 3, 1),
        };
        let done = plan.done();
        assert_eq!(done.bytes, 100_000);
        for count in [done.dropped, done.flipped, done.duplicated] {
            assert!((800..1200).contains(&count), "about one in a hundred: {done:?}");
        }
        assert_eq!(arrived.len() as u32, done.bytes - done.dropped + done.duplicated);
    }
}

#[test]
fn a_byte_that_is_polled_for_often_is_not_spoiled_more_often() {
    // The line is ready every other time, so each byte is tried twice; its fate is decided once.
    let bytes = message(50_000);
    let plan = plan(Faults { drop: 100_000, ..Faults::NONE });
    let arrived = sent(&bytes, plan, 9);
    assert_eq!(arrived.len() as u32, 50_000 - plan.done().dropped);
    assert!((4_500..5_500).contains(&plan.done().dropped), "{:?}", plan.done());
}

#[test]
fn a_flipped_byte_is_never_the_byte_it_was() {
    let plan = plan(Faults { flip: 1_000_000, ..Faults::NONE });
    let bytes = message(2000);
    assert!(sent(&bytes, plan, 4).iter().zip(&bytes).all(|(arrived, sent)| arrived != sent));
    assert!(received(&bytes, plan, 4, 7).iter().zip(&bytes).all(|(arrived, sent)| arrived != sent));
}

#[test]
fn a_delay_holds_back_all_that_follows_and_loses_nothing() {
    NOW.set(u32::MAX - 10);
    let plan = plan(Faults { delay: 1_000_000, delay_length: 100, ..Faults::NONE });
    let mut line = Faulty::new(Line { ready: false, ..Line::holding([1, 2, 3]) }, plan, 5, now);
    let mut into = [0; 2];
    assert_eq!(once(line.read(&mut into)), Some(Ok(1)));
    for _ in 0..10 {
        assert_eq!(once(line.read(&mut into)), None);
    }
    NOW.set(89);
    assert_eq!(once(line.read(&mut into)), None, "the delay lasts across the wrap of the clock");
    NOW.set(90);
    let second = once(line.read(&mut into)).or_else(|| once(line.read(&mut into)));
    assert_eq!((second, into[0]), (Some(Ok(1)), 2));
    assert_eq!(plan.done().delayed, 2);
}

#[test]
fn a_cut_takes_everything_until_its_end_and_nothing_after() {
    NOW.set(0);
    let plan = plan(Faults { cut: 1_000_000, cut_length: 50, ..Faults::NONE });
    assert_eq!(sent(b"gone", plan, 6), b"");
    let mut line = Faulty::new(Line::default(), plan, 6, now);
    while once(line.write(b"x")).is_none() {}
    plan.set(Faults::NONE);
    NOW.set(49);
    while once(line.write(b"y")).is_none() {}
    assert_eq!(line.line.bytes, b"", "a cut that has begun lasts");
    NOW.set(50);
    while once(line.write(b"z")).is_none() {}
    assert_eq!(line.line.bytes, b"z");
    assert_eq!((plan.done().cuts, plan.done().cut_off), (5, 6));
}

#[test]
fn a_line_that_is_cut_by_hand_stays_cut_until_it_is_mended() {
    let plan = plan(Faults::NONE);
    plan.cut();
    assert_eq!(sent(b"gone", plan, 8), b"");
    assert_eq!(received(b"gone", plan, 8, 4), b"");
    plan.mend();
    assert_eq!(sent(b"here", plan, 8), b"here");
    assert_eq!((plan.done().cuts, plan.done().cut_off), (2, 8));
}

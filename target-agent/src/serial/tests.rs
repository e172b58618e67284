//! The pump's patience, and lines that fail.
use super::*;
extern crate std;
use crate::channel::Channel;
use crate::fake::{Fake, Flag, begin};
use crate::platform::CoreId;
use core::cell::{Cell, RefCell};
use embedded_io_async::{ErrorKind, ErrorType};
use std::boxed::Box;
use std::collections::VecDeque;
use stillpoint_core::time::{Counts, TickRate};

/// A counter of 20 MHz, as the reference board's.
const RATE: TickRate = TickRate(1_250_000);

#[test]
fn the_pump_sleeps_as_long_as_the_link_is_patient_however_long_the_board_has_run() {
    let mut link = Link::<4, 64>::new(Config::BAUD_115200, RATE, 1);
    for now in [0, 5_000_000, u32::MAX - 10].map(Ticks) {
        let mut frame = [0; wire_bytes(MAX_FRAME)];
        let _ = link.on_tick(now);
        while link.poll_transmit(now, &mut frame).is_ok_and(|length| length.is_some()) {}
        // 100 ms.
        let left = link.next_deadline(now).map(|deadline| deadline.wrapping_since(now).counts());
        assert_eq!(left, Some(Counts(2_000_000)));
    }
}

/// A line that takes everything it is given and gives what `COMES` holds: bytes, and errors between them.
struct Noisy;

std::thread_local! {
    static COMES: RefCell<VecDeque<Result<u8, ErrorKind>>> = const { RefCell::new(VecDeque::new()) };
    static READER: Cell<Option<Waker>> = const { Cell::new(None) };
    static FAILED_WRITES: Cell<u32> = const { Cell::new(0) };
    static LEFT: Cell<usize> = const { Cell::new(0) };
}

impl ErrorType for Noisy {
    type Error = ErrorKind;
}
impl Read for Noisy {
    async fn read(&mut self, into: &mut [u8]) -> Result<usize, ErrorKind> {
        poll_fn(|context| match COMES.with_borrow_mut(VecDeque::pop_front) {
            None => {
                READER.set(Some(context.waker().clone()));
                Poll::Pending
            }
            Some(came) => Poll::Ready(came.map(|byte| {
                into[0] = byte;
                1
            })),
        })
        .await
    }
}
impl Write for Noisy {
    async fn write(&mut self, from: &[u8]) -> Result<usize, ErrorKind> {
        if FAILED_WRITES.get() > 0 {
            FAILED_WRITES.set(FAILED_WRITES.get() - 1);
            return Err(ErrorKind::Other);
        }
        LEFT.set(LEFT.get() + from.len());
        Ok(from.len())
    }
    async fn flush(&mut self) -> Result<(), ErrorKind> {
        Ok(())
    }
}
impl CancelSafe for Noisy {}

fn noisy() -> &'static Serial<Fake, Noisy, Noisy> {
    let rings: [&'static Channel<u32, 2, 64>; 2] = core::array::from_fn(|_| &*Box::leak(Box::new(Channel::new())));
    let stage = |ring: &'static Channel<u32, 2, 64>, end| Stage {
        ring: ring.claim(end).unwrap(),
        waiter: Fake::doorbells().claim(CoreId::ZERO).unwrap(),
    };
    let link: &'static Serial<Fake, Noisy, Noisy> = Box::leak(Box::new(Serial::new()));
    let line = Line { receiver: Noisy, sender: Noisy };
    let (out, into) = (stage(rings[0], End::Receiver), stage(rings[1], End::Sender));
    link.open(line, Config::BAUD_1M, 1, out, into).unwrap();
    link
}

fn pump(link: &Serial<Fake, Noisy, Noisy>, waker: &Waker) -> bool {
    link.line.try_with(|inner| inner.pump(Flow::Running, waker, &mut |_| ())).unwrap()
}

#[test]
fn after_an_error_of_the_line_the_next_byte_wakes_the_pump() {
    let _clean = begin();
    let (link, woken) = (noisy(), Flag::new());
    COMES.with_borrow_mut(|comes| comes.extend([Err(ErrorKind::Other), Err(ErrorKind::InvalidData)]));
    while pump(link, &woken.waker()) {}
    READER.take().expect("the pump waits for the next byte").wake();
    assert!(woken.is_set());
    assert_eq!(link.report().unwrap().line_errors, 2);
}

#[test]
fn a_line_that_only_fails_is_left_to_the_timer_of_its_link() {
    let _clean = begin();
    let link = noisy();
    COMES.with_borrow_mut(|comes| comes.extend([Err(ErrorKind::Other); 1000]));
    FAILED_WRITES.set(1000);
    assert!(!pump(link, Waker::noop()), "nothing moved");
    assert!(COMES.with_borrow(VecDeque::len) > 900 && FAILED_WRITES.get() > 900, "the pump gives up for now");
}

#[test]
fn a_write_that_fails_is_tried_again_at_once() {
    let _clean = begin();
    let link = noisy();
    FAILED_WRITES.set(1);
    pump(link, Waker::noop());
    assert!(LEFT.get() > 0, "the hello leaves");
}

#[test]
fn a_marker_finds_a_place_where_other_control_items_have_taken_all_they_may() {
    let _clean = begin();
    let link = noisy();
    let sent = (0..10).filter(|_| link.send_control(&[4, 0, 0], false)).count();
    assert_eq!(sent, stillpoint_core::link::CONTROL_WINDOW - 1);
    assert!(link.send_control(&[1, 0, 0], true));
    assert!(!link.send_control(&[1, 0, 0], true));
}

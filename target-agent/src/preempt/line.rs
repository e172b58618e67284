//! A UART between two cores of the world: registers that are points, and the shipped receive ring.
extern crate std;
use super::point;
use super::world::{Irq, Seat};
use core::convert::Infallible;
use core::future::poll_fn;
use core::task::{Poll, Waker};
use embedded_io_async::{ErrorType, Read, Write};
use std::collections::VecDeque;

/// What is on its way to a core.
#[derive(Default)]
pub(super) struct Wire {
    bytes: VecDeque<u8>,
    sender: Option<Waker>,
    lose: bool,
    garble: bool,
}

/// Bytes that fit between two UARTs.
const DEPTH: usize = 24;

impl Wire {
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    pub fn lose(&mut self) {
        if self.bytes.pop_front().is_none() {
            self.lose = true;
        }
    }

    /// The next byte is read with wrong bits, as after a stop bit that was missed.
    pub fn garble(&mut self) {
        match self.bytes.front_mut() {
            Some(byte) => *byte ^= GARBLED,
            None => self.garble = true,
        }
    }
}

/// The bits of a byte that are read wrong.
const GARBLED: u8 = 0b101;

/// Serves the receive interrupt, or polls while interrupts are masked.
pub(super) fn on_receive(seat: Seat) {
    seat.world().received[seat.actor].fill(|has_room| {
        point();
        let mut state = seat.world().lock();
        if state.wires[seat.actor].bytes.is_empty() || !has_room {
            return None;
        }
        drop(state);
        point();
        state = seat.world().lock();
        let byte = state.wires[seat.actor].bytes.pop_front();
        state.raise(peer(seat.actor), Irq::Send);
        byte
    });
}

/// Does what both interrupts of the UART would do.
pub(super) fn poll(seat: Seat) {
    point();
    // Acknowledged first: what comes in from here on is pending again.
    seat.world().lock().cores[seat.actor].unpend(&[Irq::Receive, Irq::Send]);
    on_receive(seat);
    on_send(seat);
}

/// Serves the send interrupt.
pub(super) fn on_send(seat: Seat) {
    point();
    let waker = seat.world().lock().wires[seat.actor].sender.take();
    waker.into_iter().for_each(Waker::wake);
}

/// The core at the other end of the line.
const fn peer(core: usize) -> usize {
    if core == 0 { 2 } else { 0 }
}

/// Both halves of the UART of a core.
pub(super) struct Uart(pub Seat);

impl ErrorType for Uart {
    type Error = Infallible;
}

impl crate::serial::CancelSafe for Uart {}

impl Read for Uart {
    async fn read(&mut self, into: &mut [u8]) -> Result<usize, Infallible> {
        poll_fn(|context| match self.0.world().received[self.0.actor].take(into, context.waker()) {
            0 => Poll::Pending,
            count => {
                // Bytes may have waited for room.
                let mut state = self.0.world().lock();
                if !state.wires[self.0.actor].bytes.is_empty() {
                    state.raise(self.0.actor, Irq::Receive);
                }
                Poll::Ready(Ok(count))
            }
        })
        .await
    }
}

impl Write for Uart {
    async fn write(&mut self, from: &[u8]) -> Result<usize, Infallible> {
        poll_fn(|context| {
            let (here, there) = (self.0.actor, peer(self.0.actor));
            point();
            self.0.world().lock().wires[here].sender = Some(context.waker().clone());
            let mut count = 0;
            for byte in from {
                point();
                let mut state = self.0.world().lock();
                let wire = &mut state.wires[there];
                if wire.bytes.len() >= DEPTH {
                    break;
                }
                let wrong = if core::mem::take(&mut wire.garble) { GARBLED } else { 0 };
                if !core::mem::take(&mut wire.lose) {
                    wire.bytes.push_back(*byte ^ wrong);
                }
                state.raise(there, Irq::Receive);
                count += 1;
            }
            if count == 0 { Poll::Pending } else { Poll::Ready(Ok(count)) }
        })
        .await
    }

    async fn flush(&mut self) -> Result<(), Infallible> {
        Ok(())
    }
}

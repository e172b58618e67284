//! A UART between two cores of the world: registers that are points, and the shipped receive ring.
extern crate std;
use super::point;
use super::world::{Irq, Seat};
use crate::cmsdk_uart::{DATA, INTERRUPT, INTERRUPT_RECEIVE, Registers, STATE, STATE_OVERRUN, STATE_RECEIVED, fetch};
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
    /// The flag of the UART that receives, and how often it was raised.
    overrun: bool,
    overruns: u32,
    garble: bool,
}

/// Bytes that fit between two UARTs.
const DEPTH: usize = 24;

impl Wire {
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The next byte that arrives finds one that waits to be read. It is lost, and the UART says so.
    pub fn lose(&mut self) {
        if self.bytes.remove(1).is_some() {
            self.overrun();
        } else {
            self.lose = true;
        }
    }

    fn overrun(&mut self) {
        self.overruns += u32::from(!self.overrun);
        self.overrun = true;
    }

    /// How many overruns the driver has been told of.
    pub fn told_overruns(&self) -> u32 {
        self.overruns - u32::from(self.overrun)
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

/// The UART of a core. Each access to a register is a point.
struct Hardware(Seat);

impl Registers for Hardware {
    fn read(&self, register: usize) -> u32 {
        point();
        let mut state = self.0.world().lock();
        let wire = &mut state.wires[self.0.actor];
        if register == STATE {
            let overrun = if wire.overrun { STATE_OVERRUN } else { 0 };
            return overrun | if wire.bytes.is_empty() { 0 } else { STATE_RECEIVED };
        }
        assert_eq!(register, DATA);
        let byte = wire.bytes.pop_front().expect("a byte that was received");
        state.raise(peer(self.0.actor), Irq::Send);
        byte.into()
    }
    fn write(&self, register: usize, value: u32) {
        point();
        let mut state = self.0.world().lock();
        if register == STATE {
            state.wires[self.0.actor].overrun &= value & STATE_OVERRUN == 0;
        } else {
            assert_eq!((register, value), (INTERRUPT, INTERRUPT_RECEIVE));
            state.cores[self.0.actor].unpend(&[Irq::Receive]);
        }
    }
    /// The interrupt is edge triggered here, so none comes before a reader raises it again.
    fn close_receive(&self) {}
}

/// Serves the receive interrupt, or polls while interrupts are masked.
pub(super) fn on_receive(seat: Seat) {
    let world = seat.world();
    world.received[seat.actor].fill(|has_room| fetch(&Hardware(seat), has_room, &world.overruns[seat.actor]));
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
                if core::mem::take(&mut wire.lose) {
                    wire.overrun();
                } else {
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

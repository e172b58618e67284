//! How bytes come out of a CMSDK UART, wherever its registers are.
use crate::sync::atomic::{AtomicU32, Ordering};

pub const DATA: usize = 0x0;
pub const STATE: usize = 0x4;
pub const INTERRUPT: usize = 0xC;

pub const STATE_RECEIVED: u32 = 1 << 1;
/// A byte arrived while the one before it waited to be read, and one of them is lost. Written to clear it.
pub const STATE_OVERRUN: u32 = 1 << 3;
pub const INTERRUPT_RECEIVE: u32 = 1 << 1;

/// A UART as one core reaches it.
pub(crate) trait Registers {
    fn read(&self, register: usize) -> u32;
    fn write(&self, register: usize, value: u32);
    /// Keeps the receive interrupt from the calling core; it stays pending.
    fn close_receive(&self);
}

/// Takes the next byte that was received, as [`ReceiveRing::fill`](crate::receive_ring::ReceiveRing::fill) asks for it, and
/// counts an overrun before it. Interrupts are masked.
#[inline]
pub(crate) fn fetch(uart: &impl Registers, has_room: bool, overruns: &AtomicU32) -> Option<u8> {
    if uart.read(STATE) & STATE_RECEIVED == 0 {
        return None;
    }
    if !has_room {
        // The byte waits in the hardware until a reader has made room and opens the interrupt again.
        uart.close_receive();
        return None;
    }
    // Acknowledge first: reading lets the next byte in, whose interrupt must not be acknowledged unseen.
    uart.write(INTERRUPT, INTERRUPT_RECEIVE);
    let byte = uart.read(DATA) as u8;
    if uart.read(STATE) & STATE_OVERRUN != 0 {
        uart.write(STATE, STATE_OVERRUN);
        overruns.store(overruns.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
    }
    Some(byte)
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use crate::fake::{self, Fake, Flag};
    use crate::receive_ring::ReceiveRing;
    use core::cell::Cell;
    use std::vec::Vec;

    /// What the manual says of the receive half: one byte of buffer, flags that a written 1 clears.
    #[derive(Default)]
    struct Chip {
        data: Cell<u8>,
        state: Cell<u32>,
        interrupt: Cell<u32>,
        is_closed: Cell<bool>,
    }

    impl Chip {
        fn arrive(&self, byte: u8) {
            let overrun = if self.state.get() & STATE_RECEIVED == 0 { 0 } else { STATE_OVERRUN };
            self.data.set(byte);
            self.state.set(self.state.get() | STATE_RECEIVED | overrun);
            self.interrupt.set(self.interrupt.get() | INTERRUPT_RECEIVE);
        }
    }

    impl Registers for Chip {
        fn read(&self, register: usize) -> u32 {
            match register {
                DATA => {
                    self.state.set(self.state.get() & !STATE_RECEIVED);
                    self.data.get().into()
                }
                STATE => self.state.get(),
                _ => panic!("register {register:#x} is not read"),
            }
        }
        fn write(&self, register: usize, value: u32) {
            let register = match register {
                STATE => &self.state,
                INTERRUPT => &self.interrupt,
                _ => panic!("register {register:#x} is not written"),
            };
            register.set(register.get() & !value);
        }
        fn close_receive(&self) {
            self.is_closed.set(true);
        }
    }

    fn take(ring: &ReceiveRing<Fake, 4>) -> Vec<u8> {
        let mut bytes = [0; 8];
        let count = ring.take(&mut bytes, &Flag::new().waker());
        bytes[..count].to_vec()
    }

    #[test]
    fn each_overrun_is_counted_once_and_the_bytes_around_it_arrive() {
        let _alone = fake::begin();
        let (chip, ring, overruns) = (Chip::default(), ReceiveRing::<Fake, 4>::new(), AtomicU32::new(0));
        let serve = || ring.fill(|has_room| fetch(&chip, has_room, &overruns));
        let mut counts = Vec::new();
        // The handler comes in time, then after a second byte, after a third, and in time again.
        for bytes in [&b"a"[..], b"bc", b"def", b"g"] {
            bytes.iter().for_each(|byte| chip.arrive(*byte));
            serve();
            counts.push((take(&ring), overruns.load(Ordering::Relaxed)));
        }
        let expected = [(b"a", 0), (b"c", 1), (b"f", 2), (b"g", 2)].map(|(byte, count)| (byte.to_vec(), count));
        assert_eq!(counts, expected);
        assert_eq!((chip.state.get(), chip.interrupt.get(), chip.is_closed.get()), (0, 0, false));
    }

    #[test]
    fn without_room_the_interrupt_is_closed_and_the_byte_waits_in_the_hardware() {
        let _alone = fake::begin();
        let (chip, ring, overruns) = (Chip::default(), ReceiveRing::<Fake, 4>::new(), AtomicU32::new(0));
        let serve = || ring.fill(|has_room| fetch(&chip, has_room, &overruns));
        for byte in *b"abcd" {
            chip.arrive(byte);
            serve();
        }
        assert!(!chip.is_closed.get(), "there was room for four");
        chip.arrive(b'e');
        serve();
        assert!(chip.is_closed.get());
        assert_eq!(
            (chip.interrupt.get(), overruns.load(Ordering::Relaxed)),
            (INTERRUPT_RECEIVE, 0),
            "it stays pending"
        );
        // Longer than the hardware can wait.
        chip.arrive(b'f');
        assert_eq!(take(&ring), b"abcd");
        serve();
        assert_eq!((take(&ring), overruns.load(Ordering::Relaxed)), (b"f".to_vec(), 1));
    }
}

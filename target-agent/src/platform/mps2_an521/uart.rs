//! The CMSDK UARTs, interrupt driven, as `embedded-io-async`.
//!
//! A UART has two halves with an interrupt each. A half works on the core that claims it, and the two halves of one
//! UART may belong to different cores: they share no register that both write with interrupts open.
use super::Mps2An521;
use super::interrupts;
use super::registers::{self, read, write};
use crate::cmsdk_uart::{self, DATA, INTERRUPT, STATE};
use crate::per_core::CoreWaker;
use crate::platform::Platform;
use crate::receive_ring::ReceiveRing;
use crate::serial::CancelSafe;
use core::convert::Infallible;
use core::future::poll_fn;
use core::marker::PhantomData;
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use core::task::Poll;
use embedded_io_async::{ErrorType, Read, Write};

/// How many UARTs the board has.
pub const COUNT: usize = 5;
/// Bytes a UART holds that were received and not yet read.
const BUFFER: usize = 512;

const CONTROL: usize = 0x8;
const BAUD_DIVIDER: usize = 0x10;

const STATE_SEND_FULL: u32 = 1 << 0;
const INTERRUPT_SEND: u32 = 1 << 0;
/// Both directions and both interrupts; which core hears them is the NVICs' matter.
const CONTROL_ALL: u32 = 0b1111;

pub(super) const fn receive_interrupt(number: usize) -> usize {
    32 + 2 * number
}
pub(super) const fn send_interrupt(number: usize) -> usize {
    33 + 2 * number
}

/// What the interrupt handlers of one UART share with its tasks.
struct Shared {
    opened: AtomicBool,
    overruns: AtomicU32,
    received: ReceiveRing<Mps2An521, BUFFER>,
    sender: CoreWaker<Mps2An521>,
}

static UARTS: [Shared; COUNT] = [const {
    Shared {
        opened: AtomicBool::new(false),
        overruns: AtomicU32::new(0),
        received: ReceiveRing::new(),
        sender: CoreWaker::new(),
    }
}; COUNT];

/// Why a UART was not opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenError {
    /// The board has UARTs 0 to 4.
    NoSuchUart(usize),
    /// Somebody opened it before.
    InUse(usize),
    /// The divider must lie between 16 and 2^20: 20 baud to 1.25 Mbaud.
    BaudOutOfRange(u32),
}

/// Opens a UART: its receiving and its sending half, each to be claimed on the core that uses it.
///
/// # Errors
/// [`OpenError`], and nothing changed.
pub fn open(number: usize, baud: u32) -> Result<(ReceivingHalf, SendingHalf), OpenError> {
    let shared = UARTS.get(number).ok_or(OpenError::NoSuchUart(number))?;
    let divider = Mps2An521::COUNTER_RATE.0.checked_div(baud).unwrap_or(0);
    if !(16..1 << 20).contains(&divider) {
        return Err(OpenError::BaudOutOfRange(baud));
    }
    if shared.opened.swap(true, Ordering::Relaxed) {
        return Err(OpenError::InUse(number));
    }
    let base = registers::uart(number);
    write(base + BAUD_DIVIDER, divider);
    write(base + CONTROL, CONTROL_ALL);
    Ok((ReceivingHalf(number), SendingHalf(number)))
}

/// How often the hardware reported a byte that nobody fetched in time; at least as many bytes were lost.
#[must_use]
pub fn overruns(number: usize) -> u32 {
    UARTS.get(number).map_or(0, |shared| shared.overruns.load(Ordering::Relaxed))
}

/// The receiving half, on its way to its core.
pub struct ReceivingHalf(usize);
/// The sending half, on its way to its core.
pub struct SendingHalf(usize);

impl ReceivingHalf {
    /// Receives on the calling core from now on.
    #[must_use]
    pub fn claim(self) -> UartRx {
        interrupts::open(receive_interrupt(self.0));
        UartRx { number: self.0, stays_here: PhantomData }
    }
}

impl SendingHalf {
    /// Sends from the calling core from now on.
    #[must_use]
    pub fn claim(self) -> UartTx {
        interrupts::open(send_interrupt(self.0));
        UartTx { number: self.0, stays_here: PhantomData }
    }
}

/// Reads bytes. When nobody does, the buffer fills and further bytes wait in the hardware.
pub struct UartRx {
    number: usize,
    stays_here: PhantomData<*const ()>,
}
/// Writes bytes.
pub struct UartTx {
    number: usize,
    stays_here: PhantomData<*const ()>,
}

/// The number of the UART whose interrupt is being handled.
fn handled() -> usize {
    let exception: usize;
    // SAFETY: reads the number of the exception that is being handled: 16 more than the interrupt's.
    unsafe { core::arch::asm!("mrs {}, IPSR", out(reg) exception, options(nomem, nostack, preserves_flags)) };
    ((exception & 0x1FF) - 16 - receive_interrupt(0)) / 2 % COUNT
}

pub(super) unsafe extern "C" fn on_receive() {
    receive(handled());
}

/// Serves the interrupts of a core on which they are masked.
#[cfg(feature = "enabled")]
pub(super) fn poll() {
    for number in (0..COUNT).filter(|number| UARTS[*number].opened.load(Ordering::Relaxed)) {
        if interrupts::is_open(receive_interrupt(number)) {
            receive(number);
            // If a byte has come in meanwhile it stays pending.
            interrupts::unpend(receive_interrupt(number));
        }
        if interrupts::is_open(send_interrupt(number)) {
            sent(number);
            interrupts::unpend(send_interrupt(number));
        }
    }
}

/// The receive half of a UART, by its number.
struct Hardware(usize);

impl cmsdk_uart::Registers for Hardware {
    #[inline]
    fn read(&self, register: usize) -> u32 {
        read(registers::uart(self.0) + register)
    }
    #[inline]
    fn write(&self, register: usize, value: u32) {
        write(registers::uart(self.0) + register, value);
    }
    #[inline]
    fn close_receive(&self) {
        interrupts::close(receive_interrupt(self.0));
    }
}

fn receive(number: usize) {
    let shared = &UARTS[number];
    shared.received.fill(|has_room| cmsdk_uart::fetch(&Hardware(number), has_room, &shared.overruns));
}

pub(super) unsafe extern "C" fn on_send() {
    sent(handled());
}

fn sent(number: usize) {
    write(registers::uart(number) + INTERRUPT, INTERRUPT_SEND);
    UARTS[number].sender.wake();
}

impl ErrorType for UartRx {
    type Error = Infallible;
}
impl ErrorType for UartTx {
    type Error = Infallible;
}

/// A read takes bytes out of the ring, and a write gives them to the hardware, in the poll in which it is ready.
impl CancelSafe for UartRx {}
impl CancelSafe for UartTx {}

impl Read for UartRx {
    async fn read(&mut self, into: &mut [u8]) -> Result<usize, Infallible> {
        if into.is_empty() {
            return Ok(0);
        }
        let shared = &UARTS[self.number];
        poll_fn(|context| match shared.received.take(into, context.waker()) {
            0 => Poll::Pending,
            count => {
                interrupts::open(receive_interrupt(self.number));
                Poll::Ready(Ok(count))
            }
        })
        .await
    }
}

impl Write for UartTx {
    async fn write(&mut self, from: &[u8]) -> Result<usize, Infallible> {
        let Some(&first) = from.first() else { return Ok(0) };
        let base = registers::uart(self.number);
        poll_fn(|context| {
            UARTS[self.number].sender.register(context.waker());
            if read(base + STATE) & STATE_SEND_FULL != 0 {
                return Poll::Pending;
            }
            write(base + DATA, first.into());
            let mut count = 1;
            while count < from.len() && read(base + STATE) & STATE_SEND_FULL == 0 {
                write(base + DATA, from[count].into());
                count += 1;
            }
            Poll::Ready(Ok(count))
        })
        .await
    }

    /// Waits until the last byte has left for the line.
    async fn flush(&mut self) -> Result<(), Infallible> {
        let base = registers::uart(self.number);
        poll_fn(|context| {
            UARTS[self.number].sender.register(context.waker());
            if read(base + STATE) & STATE_SEND_FULL != 0 { Poll::Pending } else { Poll::Ready(Ok(())) }
        })
        .await
    }
}

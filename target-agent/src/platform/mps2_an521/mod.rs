//! The reference board: `mps2-an521`, two Cortex-M33 in one SSE-200 subsystem, as QEMU emulates it.
//!
//! | interrupt | core | priority | served by |
//! |---|---|---|---|
//! | MHU1 (7) | both | 0 | doorbell [`Bell::Urgent`] (bit 0): pends interrupt 5 |
//! | TIMER0 (3), TIMER1 (4) | 0, 1 | 0x20 | that core's alarm |
//! | UARTn receive (32 + 2n), send (33 + 2n) | whoever claimed that half | 0x20 | [`uart`] |
//! | dual timer (5), pended by software | both | 0x40 | answers the urgent bell: a core parks in this handler |
//! | MHU0 (6) | both | 0x80 | doorbells [`Bell::Executor`] (bit 0), [`Bell::Mailbox`] (bit 1) |
//!
//! A parked core sleeps. An interrupt ends its sleep only if its priority is above that of every handler that the core is
//! in, so whatever has to wake it comes before the handler in which it parks, and is served in a handler that never parks.
//! All other interrupts have priority 0x80 from the start. A core that parks in a handler of priority 0x20 or above does
//! not sleep, but looks around all the time.
//!
//! Both NVICs see every peripheral's interrupt, so each is unmasked on one core only. The dual timer is the counter:
//! its first half counts at 20 MHz, its second 256 times slower.
mod core1;
mod fault;
mod interrupts;
mod lock;
mod registers;
#[cfg(feature = "enabled")]
mod saved;
pub mod semihosting;
#[cfg(feature = "enabled")]
mod sleep;
mod timer;
pub mod uart;
pub mod watchdog;
pub mod words;

#[cfg(feature = "enabled")]
use super::MAX_CORES;
use super::{Bell, BoardId, CoreId, Mask, Platform, StartError};
use crate::doorbell::Doorbells;
#[cfg(feature = "enabled")]
use crate::fault::FaultHandlers;
#[cfg(feature = "enabled")]
use crate::retained::Retained;
use crate::time::TimeDriver;
use core::convert::Infallible;
#[cfg(feature = "enabled")]
use core::sync::atomic::AtomicU32;
use core::sync::atomic::{AtomicBool, Ordering};
use registers::{read, write};
#[cfg(feature = "enabled")]
use stillpoint_core::control::SavedRegisters;
use stillpoint_core::time::{CounterRate, Counts};

/// The chip this firmware is built for.
pub type Chip = Mps2An521;

/// The reference board as a [`Platform`].
pub struct Mps2An521;

#[cfg(feature = "replay")]
static OBSERVERS: crate::replay::Observers<Mps2An521> = crate::replay::Observers::new();

/// The rate of [`Platform::counter`], which a host reads from the ELF.
#[cfg(feature = "enabled")]
#[unsafe(no_mangle)]
#[used]
static STILLPOINT_COUNTER_HZ: u32 = Mps2An521::COUNTER_RATE.0;

/// The rate of the ticks in the log, which a host reads from the ELF.
#[cfg(feature = "enabled")]
#[unsafe(no_mangle)]
#[used]
static STILLPOINT_TICK_HZ: u32 = crate::time::tick_rate::<Mps2An521>().0;

static DOORBELLS: Doorbells<Mps2An521> = Doorbells::new();
#[cfg(feature = "enabled")]
static FAULT_HANDLERS: FaultHandlers<Mps2An521> = FaultHandlers::new();

#[cfg(feature = "enabled")]
/// A reset of this board clears no RAM, and the start of the program leaves this section alone.
#[unsafe(link_section = ".uninit.stillpoint_retained")]
static RETAINED: [Retained; MAX_CORES] = [const { Retained::new() }; MAX_CORES];

embassy_time_driver::time_driver_impl!(static TIME: TimeDriver<Mps2An521> = TimeDriver::new());

/// Every core's time: freeze it, thaw it, ask for its delay.
#[must_use]
pub fn time() -> &'static TimeDriver<Mps2An521> {
    &TIME
}

/// Prepares the chip and core 0: log rings, counter, alarm, doorbells. Call it first, once, on core 0.
///
/// # Panics
/// When called again.
pub fn init() {
    init_at(0);
}

/// The same, with the counter at `count` of its 40 bits: to see what happens when it wraps.
///
/// # Panics
/// When called again.
pub fn init_at(count: u64) {
    static DONE: AtomicBool = AtomicBool::new(false);
    assert!(!DONE.swap(true, Ordering::Relaxed), "platform::init is called once, on core 0");
    crate::log::init();
    timer::start_counter(count);
    init_core();
}

/// What each core does for itself before it runs anything else.
fn init_core() {
    fault::prepare();
    interrupts::prepare();
    TIME.start();
}

// Embassy's own executor brings one.
#[cfg(not(feature = "stock-executor"))]
#[unsafe(export_name = "__pender")]
fn pender(context: *mut ()) {
    crate::executor::pend::<Mps2An521>(context);
}

#[inline]
fn ring(core: CoreId, bell: Bell) {
    // What the bell is about must be in memory before the bell is heard.
    cortex_m::asm::dmb();
    let (mhu, bit) = registers::doorbell(bell);
    write(registers::mhu_set(mhu, core), bit);
}

/// One copy, since it is rare; and how far it is to here from where a halt begins can be counted.
#[cold]
#[inline(never)]
fn ring_urgently(core: CoreId) {
    ring(core, Bell::Urgent);
}

// SAFETY: CPU_IDENTITY is wired to the core that reads it; PRIMASK masks every interrupt whose handler uses the agent.
unsafe impl Platform for Mps2An521 {
    const COUNTER_RATE: CounterRate = CounterRate(20_000_000);
    const LONG_COUNTER_BITS: u32 = 40;

    #[inline]
    fn core() -> CoreId {
        if read(registers::CPU_IDENTITY) == 0 { CoreId::ZERO } else { CoreId::ONE }
    }

    fn board() -> Option<BoardId> {
        words::argument("board=", |value| match value {
            b"A" => Some(BoardId(0)),
            b"B" => Some(BoardId(1)),
            _ => None,
        })
        .flatten()
    }

    #[inline]
    fn mask() -> Mask {
        let was_open = cortex_m::register::primask::read().is_active();
        cortex_m::interrupt::disable();
        Mask { was_open }
    }

    #[inline]
    fn unmask(before: Mask) {
        if before.was_open {
            // SAFETY: they were open when `mask` was called; nothing guarded is in use any more.
            unsafe { cortex_m::interrupt::enable() };
        }
    }

    fn wait_for_interrupt() {
        cortex_m::asm::dsb();
        cortex_m::asm::wfi();
    }

    #[cfg(feature = "enabled")]
    fn sleep(at_most: Counts<u32>) {
        sleep::sleep(at_most);
    }

    #[inline]
    fn ring(core: CoreId, bell: Bell) {
        match bell {
            Bell::Urgent => ring_urgently(core),
            Bell::Mailbox | Bell::Executor => ring(core, bell),
        }
    }

    #[inline]
    fn counter() -> Counts<u32> {
        timer::counter()
    }

    fn long_counter() -> Counts {
        timer::long_counter()
    }

    fn set_alarm(after: Option<Counts<u32>>) {
        timer::set_alarm(Self::core(), after);
    }

    fn doorbells() -> &'static Doorbells<Self> {
        &DOORBELLS
    }

    #[cfg(feature = "replay")]
    fn observe_with(observer: &'static dyn crate::replay::Observer) {
        OBSERVERS.set(observer);
    }

    #[cfg(feature = "replay")]
    fn observe(event: stillpoint_core::Event) {
        OBSERVERS.tell(event);
    }

    #[cfg(feature = "enabled")]
    fn text_ring(core: CoreId) -> Option<(u32, u32)> {
        Some(crate::log::ring_of(core))
    }

    #[cfg(feature = "enabled")]
    fn place_text_with(standing: &'static dyn crate::log::Standing) {
        crate::log::place_with(standing);
    }

    #[cfg(feature = "enabled")]
    fn fault_handlers() -> &'static FaultHandlers<Self> {
        &FAULT_HANDLERS
    }

    #[cfg(feature = "enabled")]
    fn retained() -> &'static Retained {
        &RETAINED[Self::core().index()]
    }

    fn abandon_lock() {
        lock::abandon();
    }

    fn feed_watchdog() {
        watchdog::feed_in_park();
    }

    #[cfg(feature = "enabled")]
    fn freeze_time() {
        TIME.freeze();
    }

    #[cfg(feature = "enabled")]
    fn thaw_time() {
        TIME.thaw();
    }

    #[cfg(feature = "enabled")]
    fn delay(at: Counts) -> Counts {
        TIME.delay_at(at)
    }

    #[cfg(feature = "enabled")]
    fn has_logical_time() -> bool {
        TIME.is_logical()
    }

    #[cfg(feature = "enabled")]
    #[inline(always)]
    fn save_registers(into: &[AtomicU32; SavedRegisters::WORDS]) {
        saved::save(into);
    }

    #[cfg(feature = "enabled")]
    fn image_id() -> u32 {
        saved::image_id()
    }

    #[cfg(feature = "enabled")]
    fn poll_lines() {
        uart::poll();
    }

    #[cfg(feature = "enabled")]
    fn host_bell(core: CoreId) -> Option<(u32, u32)> {
        let (mhu, bit) = registers::doorbell(Bell::Urgent);
        Some((registers::mhu_set(mhu, core) as u32, bit))
    }

    fn start_core1<F: FnOnce() -> Infallible + Send + 'static>(main: F) -> Result<(), StartError> {
        core1::start(main)
    }
}

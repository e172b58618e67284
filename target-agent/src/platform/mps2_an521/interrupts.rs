//! The vector table's interrupt half, and which core listens to what.
use super::registers::{self, NVIC_DISABLE, NVIC_ENABLE, NVIC_PRIORITY, mhu_clear, mhu_status, read, write};
#[cfg(feature = "enabled")]
use super::registers::{NVIC_PEND, NVIC_UNPEND};
use super::{DOORBELLS, Mps2An521, TIME, uart};
use crate::platform::{Bell, CoreId, Platform};

/// One entry of the vector table.
type Vector = unsafe extern "C" fn();

const COUNT: usize = 92;
pub const ALARM: usize = 3;
/// The dual timer's, which it never raises here: the urgent bell pends it by software.
#[cfg(feature = "enabled")]
const HALT: usize = 5;
pub const MHU0: usize = 6;
#[cfg(feature = "enabled")]
pub const MHU1: usize = 7;

/// How many words of the NVIC have one bit per interrupt.
#[cfg(feature = "enabled")]
pub const WORDS: usize = COUNT.div_ceil(32);

/// The priority of the urgent bell, above all others. Its handler is short and never parks, so that the bell can wake a
/// parked core.
#[cfg(feature = "enabled")]
const URGENT: u32 = 0;
/// The priority of what else ends the sleep of a parked core. Above that of the handler in which a core parks.
pub const WAKING: u32 = 0x20;
/// The priority of the handler in which a core parks when its urgent bell rings.
#[cfg(feature = "enabled")]
const PARKING: u32 = 0x40;
/// The priority of everything else.
const ORDINARY: u32 = 0x80;

unsafe extern "C" {
    /// cortex-m-rt's handler for what nobody expects; `fault` replaces it.
    fn DefaultHandler();
}

/// Both cores use this table; the handlers ask who they are.
#[unsafe(no_mangle)]
#[unsafe(link_section = ".vector_table.interrupts")]
#[used]
static __INTERRUPTS: [Vector; COUNT] = {
    let mut table: [Vector; COUNT] = [DefaultHandler; COUNT];
    table[ALARM] = alarm;
    table[ALARM + 1] = alarm;
    table[MHU0] = ordinary_doorbells;
    #[cfg(feature = "enabled")]
    {
        table[MHU1] = urgent_doorbell;
        table[HALT] = answer_urgent_bell;
    }
    let mut number = 0;
    while number < uart::COUNT {
        table[uart::receive_interrupt(number)] = uart::on_receive;
        table[uart::send_interrupt(number)] = uart::on_send;
        number += 1;
    }
    table
};

/// Opens the calling core's doorbells and its alarm.
pub fn prepare() {
    let core = Mps2An521::core();
    (0..COUNT).for_each(|interrupt| set_priority(interrupt, ORDINARY));
    let lines = (0..uart::COUNT).flat_map(|number| [uart::receive_interrupt(number), uart::send_interrupt(number)]);
    lines.chain([ALARM + core.index()]).for_each(|interrupt| set_priority(interrupt, WAKING));
    #[cfg(feature = "enabled")]
    for (interrupt, priority) in [(MHU1, URGENT), (HALT, PARKING)] {
        set_priority(interrupt, priority);
        open(interrupt);
    }
    for interrupt in [MHU0, ALARM + core.index()] {
        open(interrupt);
    }
}

/// Lets an interrupt through to the calling core.
pub fn open(interrupt: usize) {
    write(NVIC_ENABLE + 4 * (interrupt / 32), 1 << (interrupt % 32));
}

/// Whether an interrupt is let through to the calling core.
#[cfg(feature = "enabled")]
pub fn is_open(interrupt: usize) -> bool {
    read(NVIC_ENABLE + 4 * (interrupt / 32)) >> (interrupt % 32) & 1 != 0
}

/// Keeps an interrupt from the calling core; it stays pending.
pub fn close(interrupt: usize) {
    write(NVIC_DISABLE + 4 * (interrupt / 32), 1 << (interrupt % 32));
}

/// Has an interrupt of the calling core pending no more, unless its peripheral still asks for it.
#[cfg(feature = "enabled")]
pub fn unpend(interrupt: usize) {
    write(NVIC_UNPEND + 4 * (interrupt / 32), 1 << (interrupt % 32));
}

/// Runs `act` while the calling core lets no other interrupts through than these; the others stay pending.
#[cfg(feature = "enabled")]
pub fn with_only(interrupts: [u32; WORDS], act: impl FnOnce()) {
    let mut closed = [0; WORDS];
    for (word, (closed, wanted)) in closed.iter_mut().zip(interrupts).enumerate() {
        *closed = read(NVIC_ENABLE + 4 * word) & !wanted;
        write(NVIC_DISABLE + 4 * word, *closed);
    }
    act();
    for (word, closed) in closed.into_iter().enumerate() {
        write(NVIC_ENABLE + 4 * word, closed);
    }
}

/// The priority of an interrupt at the calling core.
#[cfg(feature = "enabled")]
pub fn priority(interrupt: usize) -> u32 {
    read(NVIC_PRIORITY + (interrupt & !3)) >> (8 * (interrupt as u32 % 4)) & 0xFF
}

fn set_priority(interrupt: usize, priority: u32) {
    let (word, shift) = (NVIC_PRIORITY + (interrupt & !3), 8 * (interrupt as u32 % 4));
    write(word, read(word) & !(0xFF << shift) | priority << shift);
}

/// Silences the bells of the calling core that are rung, and says which.
pub fn take_bells(mhu: usize) -> u32 {
    let core: CoreId = Mps2An521::core();
    let bells = read(mhu_status(mhu, core));
    write(mhu_clear(mhu, core), bells);
    // What was written before the bell was rung is read after this.
    cortex_m::asm::dmb();
    bells
}

unsafe extern "C" fn ordinary_doorbells() {
    if take_bells(0) & registers::doorbell(Bell::Mailbox).1 != 0 {
        DOORBELLS.answer();
    }
    // For the executor's bell, having left the sleep is enough.
}

#[cfg(feature = "enabled")]
unsafe extern "C" fn urgent_doorbell() {
    take_bells(1);
    // Nothing of lower priority runs in between.
    write(NVIC_PEND + 4 * (HALT / 32), 1 << (HALT % 32));
    cortex_m::asm::dsb();
}

#[cfg(feature = "enabled")]
unsafe extern "C" fn answer_urgent_bell() {
    DOORBELLS.answer_urgent();
}

unsafe extern "C" fn alarm() {
    TIME.on_alarm();
}

//! The vector table's interrupt half, and which core listens to what.
use super::registers::{self, NVIC_DISABLE, NVIC_ENABLE, NVIC_PRIORITY, mhu_clear, mhu_status, read, write};
use super::{DOORBELLS, Mps2An521, TIME, uart};
use crate::platform::{Bell, CoreId, Platform};

/// One entry of the vector table.
type Vector = unsafe extern "C" fn();

const COUNT: usize = 92;
const ALARM: usize = 3;
const MHU0: usize = 6;
const MHU1: usize = 7;

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
    for interrupt in (0..COUNT).filter(|&interrupt| interrupt != MHU1) {
        set_priority(interrupt, 0x80);
    }
    #[cfg(feature = "enabled")]
    {
        set_priority(MHU1, 0);
        open(MHU1);
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

fn set_priority(interrupt: usize, priority: u32) {
    let (word, shift) = (NVIC_PRIORITY + (interrupt & !3), 8 * (interrupt as u32 % 4));
    write(word, read(word) & !(0xFF << shift) | priority << shift);
}

/// Silences the bells of the calling core that are rung, and says which.
fn take_bells(mhu: usize) -> u32 {
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
    DOORBELLS.answer_urgent();
}

unsafe extern "C" fn alarm() {
    TIME.on_alarm();
}

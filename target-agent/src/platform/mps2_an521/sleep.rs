//! The sleep of a parked core: interrupts stay masked, and only bells, serial lines and this core's alarm end it.
use super::interrupts::{self, ALARM, MHU0, MHU1};
use super::registers::ICSR;
use super::{DOORBELLS, Mps2An521, registers, timer, uart, watchdog};
use crate::platform::{Bell, Platform};
use stillpoint_core::time::Counts;

/// The interrupts that end the sleep of either core, as the NVIC has them; a core's alarm is added.
const WAKES: [u32; interrupts::WORDS] = {
    let mut words = [0; interrupts::WORDS];
    words[0] = 1 << MHU0 | 1 << MHU1;
    let mut number = 0;
    while number < uart::COUNT {
        let receive = uart::receive_interrupt(number);
        words[receive / 32] |= 0b11 << (receive % 32);
        number += 1;
    }
    words
};

/// Sleeps for at most so many counts, see [`Platform::sleep`].
pub fn sleep(at_most: Counts<u32>) {
    let core = Mps2An521::core();
    if can_be_woken() {
        let before = timer::replace_alarm(core, watchdog::shorten(at_most));
        let mut wakes = WAKES;
        wakes[0] |= 1 << (ALARM + core.index());
        interrupts::with_only(wakes, || {
            cortex_m::asm::dsb();
            cortex_m::asm::wfi();
        });
        timer::restore_alarm(core, before);
        interrupts::unpend(ALARM + core.index());
    } else {
        (0..SPINS).for_each(|_| core::hint::spin_loop());
    }
    if interrupts::take_bells(0) & registers::doorbell(Bell::Mailbox).1 != 0 {
        DOORBELLS.answer();
    }
    interrupts::take_bells(1);
    interrupts::unpend(MHU0);
    interrupts::unpend(MHU1);
}

/// Whether an interrupt that ends the sleep would preempt what runs: WFI ignores PRIMASK, but not the priority of the handler
/// it is called from. A core that crashed in a fault handler cannot be woken.
fn can_be_woken() -> bool {
    match registers::read(ICSR) & 0x1FF {
        0 => true,
        exception @ 16.. => interrupts::priority(exception as usize - 16) > interrupts::WAKING,
        _ => false,
    }
}

/// How often a core that cannot be woken spins instead: some microseconds.
const SPINS: u32 = 200;

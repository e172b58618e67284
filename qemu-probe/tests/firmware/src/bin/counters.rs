//! Two cores that count for ever, and do what the host writes into their command words.
#![no_std]
#![no_main]

use core::arch::asm;
use core::ptr::addr_of;
use core::sync::atomic::{AtomicU32, Ordering::Relaxed};
use qemu_probe_test_firmware::{core_id, spin, start_core1, write};

/// What the host may ask of a core.
mod command {
    pub const NONE: u32 = 0;
    pub const FAULT: u32 = 1;
    pub const BKPT: u32 = 2;
    pub const RESET: u32 = 3;
    pub const SLEEP: u32 = 4;
    pub const SLEEP_UNTIL_IRQ_6: u32 = 5;
}

#[unsafe(no_mangle)]
static COUNT: [AtomicU32; 2] = [const { AtomicU32::new(0) }; 2];
#[unsafe(no_mangle)]
static COMMAND: [AtomicU32; 2] = [const { AtomicU32::new(0) }; 2];
/// What `.data` holds after a start, so that a reset can be seen.
#[unsafe(no_mangle)]
#[used]
static INITIALISED: AtomicU32 = AtomicU32::new(0x1234_5678);
/// Only to be written by the host.
#[unsafe(no_mangle)]
#[used]
static SCRATCH: [AtomicU32; 1024] = [const { AtomicU32::new(0) }; 1024];

/// In the RAM that the host shares.
#[repr(C)]
struct Live {
    /// Counts like `COUNT`, one word per core.
    count: [AtomicU32; 2],
    /// All zeros or all ones, flipping all the time.
    flipping: AtomicU32,
    /// Written by the host; each core copies it to its `seen`.
    from_host: AtomicU32,
    seen: [AtomicU32; 2],
    /// How often core 1 saw a `from_host` whose halves differ.
    torn: AtomicU32,
}

#[unsafe(no_mangle)]
#[unsafe(link_section = ".shared")]
static LIVE: Live = Live {
    count: [const { AtomicU32::new(0) }; 2],
    flipping: AtomicU32::new(0),
    from_host: AtomicU32::new(0),
    seen: [const { AtomicU32::new(0) }; 2],
    torn: AtomicU32::new(0),
};

/// One RTT control block per core, one channel up and one down each.
#[repr(C)]
struct Rtt {
    id: [AtomicU32; 4],
    channels: [u32; 2],
    up: Channel,
    down: Channel,
}

#[repr(C)]
struct Channel {
    name: *const u8,
    buffer: *const AtomicU32,
    len: u32,
    write: AtomicU32,
    read: AtomicU32,
    flags: u32,
}

// SAFETY: the pointers are to statics that are only touched through atomics.
unsafe impl Sync for Channel {}

type Buffer = [AtomicU32; 64];
static BUFFERS: [Buffer; 4] = [const { [const { AtomicU32::new(0) }; 64] }; 4];

const fn rtt(core: usize) -> Rtt {
    const fn channel(index: usize) -> Channel {
        let buffer = &raw const BUFFERS[index] as *const AtomicU32;
        let (write, read) = (AtomicU32::new(0), AtomicU32::new(0));
        Channel { name: c"counts".as_ptr().cast(), buffer, len: 256, write, read, flags: 0 }
    }
    Rtt { id: [const { AtomicU32::new(0) }; 4], channels: [1, 1], up: channel(2 * core), down: channel(2 * core + 1) }
}

#[unsafe(no_mangle)]
static RTT0: Rtt = rtt(0);
#[unsafe(no_mangle)]
static RTT1: Rtt = rtt(1);

impl Rtt {
    /// The magic is written at run time, so that the flash image holds no second copy to be found.
    fn publish(&self) {
        for (word, value) in self.id.iter().zip([*b"SEGG", *b"ER R", *b"TT\0\0", [0; 4]]) {
            word.store(u32::from_le_bytes(value), Relaxed);
        }
    }

    /// Sends one aligned word if it fits.
    fn send(&self, value: u32) {
        let (write, read) = (self.up.write.load(Relaxed), self.up.read.load(Relaxed));
        let next = (write + 4) % self.up.len;
        if next != read {
            // SAFETY: `write` is below the length of the buffer and a multiple of 4.
            unsafe { (*self.up.buffer.add(write as usize / 4)).store(value, Relaxed) };
            self.up.write.store(next, Relaxed);
        }
    }
}

/// Only core 0 comes here.
#[unsafe(no_mangle)]
#[inline(never)]
extern "C" fn tick0(count: u32) -> u32 {
    COUNT[0].store(count, Relaxed);
    count
}

/// Only core 1 comes here.
#[unsafe(no_mangle)]
#[inline(never)]
extern "C" fn tick1(count: u32) -> u32 {
    COUNT[1].store(count, Relaxed);
    count.wrapping_add(0)
}

/// Both cores come here.
#[unsafe(no_mangle)]
#[inline(never)]
extern "C" fn both(core: usize, count: u32) {
    LIVE.count[core].store(count, Relaxed);
}

fn work(core: usize) -> ! {
    let rtt = if core == 0 { &RTT0 } else { &RTT1 };
    rtt.publish();
    let mut count = 0u32;
    loop {
        count = count.wrapping_add(1);
        if core == 0 {
            tick0(count);
            LIVE.flipping.store(0u32.wrapping_sub(count & 1), Relaxed);
        } else {
            tick1(count);
            let value = LIVE.from_host.load(Relaxed);
            if value & 0xFFFF != value >> 16 {
                LIVE.torn.store(LIVE.torn.load(Relaxed) + 1, Relaxed);
            }
        }
        LIVE.seen[core].store(LIVE.from_host.load(Relaxed), Relaxed);
        both(core, count);
        if count & 0xFFF == 0 {
            rtt.send(count | core as u32);
        }
        let asked = COMMAND[core].load(Relaxed);
        if asked != command::NONE {
            COMMAND[core].store(command::NONE, Relaxed);
            obey(asked);
        }
    }
}

fn obey(asked: u32) {
    // SAFETY: the instructions do what the host asked this core for.
    unsafe {
        match asked {
            command::FAULT => asm!("udf #0"),
            command::BKPT => asm!("bkpt #1"),
            command::RESET => write(0xE000_ED0C, 0x05FA_0004),
            command::SLEEP => asm!("cpsid i", "wfi", "cpsie i"),
            command::SLEEP_UNTIL_IRQ_6 => {
                let (iser, icer, icpr) = (0xE000_E100, 0xE000_E180, 0xE000_E280);
                // Masked, so that it wakes the core without a handler.
                asm!("cpsid i");
                write(iser, 1 << 6);
                asm!("wfi");
                write(icer, 1 << 6);
                write(icpr, 1 << 6);
                asm!("cpsie i");
            }
            _ => {}
        }
    }
}

#[cortex_m_rt::entry]
fn main() -> ! {
    debug_assert_eq!(core_id(), 0);
    // Shared RAM is not zeroed at a start.
    let live = addr_of!(LIVE) as usize;
    for word in 0..size_of::<Live>() / 4 {
        write(live + 4 * word, 0);
    }
    start_core1();
    work(0)
}

#[unsafe(no_mangle)]
extern "C" fn core1_reset() -> ! {
    work(1)
}

#[unsafe(no_mangle)]
extern "C" fn core1_hard_fault() -> ! {
    loop {
        spin();
    }
}

#[cortex_m_rt::exception]
unsafe fn HardFault(_: &cortex_m_rt::ExceptionFrame) -> ! {
    loop {
        spin();
    }
}

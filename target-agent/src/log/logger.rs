//! defmt's global logger: the calling core's encoder writes into the calling core's ring.
use super::ring::{Frame, Ring};
use crate::per_core::PerCore;
use crate::platform::{Chip, MAX_CORES, Mask, Platform};
use core::cell::{Cell, RefCell};

const SIZE: usize = 32 * 1024;

/// The rings, core 0's first. The host finds them by this symbol; `examples/README.md` has the layout.
#[unsafe(no_mangle)]
#[unsafe(link_section = ".shared")]
pub static STILLPOINT_DEFMT_RINGS: [Ring<SIZE>; MAX_CORES] = [const { Ring::new() }; MAX_CORES];

/// Makes the rings valid. Called by the platform before anything is logged and before core 1 starts.
pub fn init() {
    STILLPOINT_DEFMT_RINGS.iter().for_each(Ring::init);
}

struct Encoding {
    encoder: RefCell<defmt::Encoder>,
    frame: Cell<Frame>,
    /// Interrupts stay masked from `acquire` to `release`; this is how they were before.
    before: Cell<Option<Mask>>,
}

static ENCODING: PerCore<Chip, Encoding> = PerCore::new(
    [const {
        Encoding {
            encoder: RefCell::new(defmt::Encoder::new()),
            frame: Cell::new(Frame::NONE),
            before: Cell::new(None),
        }
    }; MAX_CORES],
);

/// Lets `encode` write through a closure that puts bytes into this core's open frame.
fn encode(encode: impl FnOnce(&mut defmt::Encoder, &mut dyn FnMut(&[u8]))) {
    ENCODING.with(|own| {
        let ring = &STILLPOINT_DEFMT_RINGS[Chip::core().index()];
        let mut frame = own.frame.get();
        encode(&mut own.encoder.borrow_mut(), &mut |bytes| ring.put(&mut frame, bytes));
        own.frame.set(frame);
    });
}

#[defmt::global_logger]
struct Logger;

// SAFETY: from `acquire` to `release` this core's interrupts are masked and other cores have encoders of their own, so
// calls do not overlap; `acquire` refuses to be entered twice.
unsafe impl defmt::Logger for Logger {
    fn acquire() {
        let before = Chip::mask();
        ENCODING.with(|own| {
            assert!(own.before.replace(Some(before)).is_none(), "a value logs while it is being logged");
            own.frame.set(STILLPOINT_DEFMT_RINGS[Chip::core().index()].open());
        });
        encode(|encoder, put| encoder.start_frame(put));
    }

    unsafe fn flush() {}

    unsafe fn write(bytes: &[u8]) {
        encode(|encoder, put| encoder.write(bytes, put));
    }

    unsafe fn release() {
        encode(|encoder, put| encoder.end_frame(put));
        let before = ENCODING.with(|own| {
            STILLPOINT_DEFMT_RINGS[Chip::core().index()].close(own.frame.get());
            own.before.take()
        });
        if let Some(before) = before {
            Chip::unmask(before);
        }
    }
}

defmt::timestamp!("{=u64:us}", embassy_time_driver::now() / u64::from(Chip::COUNTER_HZ / 1_000_000));

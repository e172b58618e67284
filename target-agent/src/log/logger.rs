//! defmt's global logger: the calling core's encoder writes into the calling core's ring, behind where its node stands.
#[cfg(feature = "enabled")]
use super::Standing;
use super::place::Place;
use super::ring::{Frame, Ring};
use crate::per_core::PerCore;
use crate::platform::{Chip, MAX_CORES, Mask, Platform};
use core::cell::{Cell, RefCell};

const SIZE: usize = 32 * 1024;
/// A reader can begin at least once in so many bytes.
const STRETCH: u32 = SIZE as u32 / 4;

/// The rings, core 0's first. The host finds them by the control blocks; `docs/WIRE.md` has the layout.
#[unsafe(no_mangle)]
#[unsafe(link_section = ".shared")]
pub static STILLPOINT_DEFMT_RINGS: [Ring<SIZE>; MAX_CORES] = [const { Ring::new() }; MAX_CORES];

/// Makes the rings valid. Called by the platform before anything is logged and before core 1 starts.
pub fn init() {
    STILLPOINT_DEFMT_RINGS.iter().for_each(Ring::init);
}

/// Where the ring of a core lies: address and size in bytes.
#[cfg(feature = "enabled")]
pub fn ring_of(core: crate::platform::CoreId) -> (u32, u32) {
    let ring = &STILLPOINT_DEFMT_RINGS[core.index()];
    (core::ptr::from_ref(ring).addr() as u32, size_of_val(ring) as u32)
}

/// Has `standing` say with every line of the calling core where its node stands.
#[cfg(feature = "enabled")]
pub fn place_with(standing: &'static dyn Standing) {
    ENCODING.with(|own| own.place.ask(standing));
}

struct Encoding {
    encoder: RefCell<defmt::Encoder>,
    frame: Cell<Frame>,
    place: Place,
    /// Interrupts stay masked from `acquire` to `release`; this is how they were before.
    before: Cell<Option<Mask>>,
}

static ENCODING: PerCore<Chip, Encoding> = PerCore::new(
    [const {
        Encoding {
            encoder: RefCell::new(defmt::Encoder::new()),
            frame: Cell::new(Frame::NONE),
            place: Place::new(),
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
            let ring = &STILLPOINT_DEFMT_RINGS[Chip::core().index()];
            let mut frame = ring.open();
            own.place.begin(ring.written(), STRETCH, &mut |bytes| ring.put(&mut frame, bytes));
            own.frame.set(frame);
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
            if !STILLPOINT_DEFMT_RINGS[Chip::core().index()].close(own.frame.get()) {
                own.place.lost();
            }
            own.before.take()
        });
        if let Some(before) = before {
            Chip::unmask(before);
        }
    }
}

defmt::timestamp!("{=u64:us}", embassy_time_driver::now() / u64::from(Chip::COUNTER_RATE.0 / 1_000_000));

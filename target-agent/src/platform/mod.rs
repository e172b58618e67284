//! What a chip supplies to the agent, and the chip chosen by feature.
//!
//! To add a chip: one folder beside this file that implements [`Platform`] and defines what must exist once per
//! firmware (interrupt handlers, the cross-core lock, embassy's `__pender` and time driver), and one feature.
use crate::doorbell::Doorbells;
#[cfg(feature = "enabled")]
use crate::fault::FaultHandlers;
#[cfg(feature = "enabled")]
use crate::retained::Retained;
#[cfg(feature = "enabled")]
use core::sync::atomic::AtomicU32;
#[cfg(feature = "enabled")]
use stillpoint_core::control::SavedRegisters;
use stillpoint_core::time::{CounterRate, Counts};

#[cfg(all(feature = "mps2-an521", target_os = "none"))]
#[cfg_attr(feature = "mps2-an521", path = "mps2_an521/mod.rs")]
mod chosen;

#[cfg(all(feature = "mps2-an521", target_os = "none"))]
pub use chosen::*;

/// How many cores a chip can have here; tables with one entry per core are this long.
pub const MAX_CORES: usize = 2;

/// One core of a chip. Always below [`MAX_CORES`].
///
/// # Example
/// ```
/// use stillpoint_agent::platform::CoreId;
/// assert_eq!(CoreId::new(1), Some(CoreId::ONE));
/// assert_eq!(CoreId::new(7), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CoreId(u8);

impl CoreId {
    /// The core that starts at reset.
    pub const ZERO: Self = Self(0);
    /// The core that the first one starts.
    pub const ONE: Self = Self(1);

    /// The core with this number, if there can be one.
    #[must_use]
    pub const fn new(number: usize) -> Option<Self> {
        if number < MAX_CORES { Some(Self(number as u8)) } else { None }
    }

    /// Its number, for tables with one entry per core.
    #[must_use]
    #[inline]
    pub const fn index(self) -> usize {
        // The remainder changes nothing; it lets the compiler see that the index is in bounds.
        self.0 as usize % MAX_CORES
    }
}

/// Which board of a system this is: 0 for board A, 1 for board B.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BoardId(pub u8);

impl BoardId {
    /// Its letter.
    ///
    /// # Example
    /// ```
    /// use stillpoint_agent::platform::BoardId;
    /// assert_eq!(BoardId(1).letter(), 'B');
    /// ```
    #[must_use]
    pub const fn letter(self) -> char {
        (b'A' + self.0 % 26) as char
    }
}

/// What a doorbell means. A platform maps each bell to one bit of its hardware.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bell {
    /// A task of that core's executor was woken from elsewhere. Waking up is the whole answer.
    Executor,
    /// A mailbox has something for that core: [`Doorbells::answer`].
    Mailbox,
    /// To be served before everything else, even while that core waits for the cross-core lock:
    /// [`Doorbells::answer_urgent`].
    Urgent,
}

/// What [`Platform::mask`] found, for [`Platform::unmask`] to restore.
#[must_use = "interrupts stay masked until this is given to `unmask`"]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mask {
    /// Whether interrupts were enabled before.
    pub was_open: bool,
}

/// Why a core was not started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StartError {
    /// It was started before; a core starts once.
    AlreadyRunning,
}

/// What a chip supplies: who am I, ring a doorbell, what time is it, mask, start the other core.
///
/// # Safety
/// The agent shares memory between interrupt handlers and cores on the strength of these promises:
/// - [`core`](Self::core) is the number of the core that executes the call, and no two cores have the same;
/// - between [`mask`](Self::mask) and [`unmask`](Self::unmask) no other code of the agent runs on this core
///   (fault handlers excepted, which use nothing that is guarded so).
pub unsafe trait Platform: Sized + 'static {
    /// The rate of [`counter`](Self::counter).
    const COUNTER_RATE: CounterRate;
    /// How many bits of [`long_counter`](Self::long_counter) count before it wraps; more than 32.
    const LONG_COUNTER_BITS: u32;

    /// The core that executes this call.
    fn core() -> CoreId;

    /// The board, if whoever started it said which.
    fn board() -> Option<BoardId>;

    /// Masks this core's interrupts. The other core notices nothing.
    fn mask() -> Mask;

    /// Restores what [`mask`](Self::mask) found.
    fn unmask(before: Mask);

    /// Sleeps until an interrupt is pending. Called with interrupts masked, so that none slips through before.
    fn wait_for_interrupt();

    /// Sleeps until a bell rings, a serial line has received or can send, or `at_most` (more than 0) has passed. Other
    /// interrupts do not end the sleep and stay pending.
    ///
    /// A parked core calls this with its interrupts masked, so no handler answers the bells: this function silences those
    /// that have rung, whoever waits for a mailbox is woken, and the caller looks at everything an urgent bell may be about
    /// *afterwards*. A bell that rings between that look and the next call ends the next sleep at once. Returning early is
    /// allowed.
    #[cfg(feature = "enabled")]
    fn sleep(at_most: Counts<u32>);

    /// Rings a bell of `core`, which may be the own one. What was written before is visible to its handler.
    fn ring(core: CoreId, bell: Bell);

    /// The free-running counter that all cores share. Cheap; wraps after 2^32 counts.
    fn counter() -> Counts<u32>;

    /// The same counter, wider. Dearer; right even when no core looked for hours. Its low 32 bits are `counter()`.
    fn long_counter() -> Counts;

    /// Has this core interrupted once after so many counts (at least 1), or not at all.
    fn set_alarm(after: Option<Counts<u32>>);

    /// The doorbells of this chip, answered by its interrupt handlers.
    fn doorbells() -> &'static Doorbells<Self>;

    /// Has `observer` told what [`observe`](Self::observe) is told on the calling core.
    #[cfg(feature = "replay")]
    fn observe_with(_observer: &'static dyn crate::replay::Observer) {}

    /// Something happened on the calling core that replay needs to know. By default nobody is told.
    #[cfg(feature = "replay")]
    fn observe(_event: stillpoint_core::Event) {}

    /// Where the text log of `core` lies, if there is one: address and size in bytes.
    #[cfg(feature = "enabled")]
    fn text_ring(_core: CoreId) -> Option<(u32, u32)> {
        None
    }

    /// Has `standing` say with every line of text of the calling core where its node stands.
    #[cfg(feature = "enabled")]
    fn place_text_with(_standing: &'static dyn crate::log::Standing) {}

    /// Who handles crashes; the platform's panic and fault handlers give them there.
    #[cfg(feature = "enabled")]
    fn fault_handlers() -> &'static FaultHandlers<Self>;

    /// The calling core's memory that survives a reset.
    #[cfg(feature = "enabled")]
    fn retained() -> &'static Retained;

    /// Releases the cross-core lock if the calling core, which is dying, holds it: the other core must not hang.
    ///
    /// What the lock guarded may be half changed. Only who handles a crash has reason to call this.
    fn abandon_lock();

    /// Keeps a watchdog from biting while the calling core is parked, if that is wanted; called over and over there.
    fn feed_watchdog() {}

    /// Stops the calling core's time line, see [`crate::time`].
    #[cfg(feature = "enabled")]
    fn freeze_time();

    /// Lets the calling core's time line run on where it stopped.
    #[cfg(feature = "enabled")]
    fn thaw_time();

    /// How many counts the calling core's time line has stood still in all at this reading of
    /// [`long_counter`](Self::long_counter), a stop that goes on included.
    #[cfg(feature = "enabled")]
    fn delay(at: Counts) -> Counts;

    /// Whether the time line stands still in a stop at all; a firmware can switch it off to see what that is good for.
    #[cfg(feature = "enabled")]
    fn has_logical_time() -> bool {
        true
    }

    /// Saves the calling core's registers as [`SavedRegisters`] has them, so that a debugger can unwind the core's stack
    /// without halting the core. By default none are saved, and the debugger halts it.
    ///
    /// It is inlined: what it saves are the registers of its caller's frame.
    ///
    /// [`SavedRegisters`]: stillpoint_core::control::SavedRegisters
    #[cfg(feature = "enabled")]
    #[inline(always)]
    fn save_registers(_into: &[AtomicU32; SavedRegisters::WORDS]) {}

    /// What tells this image from others: [`image_id`](stillpoint_core::control::image_id) of its code. 0, the default, leaves
    /// it to the debugger to compare the code itself.
    #[cfg(feature = "enabled")]
    fn image_id() -> u32 {
        0
    }

    /// Does what the interrupts of this core's serial lines would do, and has them pending no more; called over and over
    /// while they are masked.
    #[cfg(feature = "enabled")]
    fn poll_lines();

    /// The register of the urgent bell of `core`, and what to write there: a host rings it through its probe.
    #[cfg(feature = "enabled")]
    fn host_bell(core: CoreId) -> Option<(u32, u32)>;

    /// Starts core 1 with its own stack. Returns once `main` is on its way there.
    ///
    /// # Errors
    /// [`StartError::AlreadyRunning`] when it was started before.
    fn start_core1<F: FnOnce() -> core::convert::Infallible + Send + 'static>(main: F) -> Result<(), StartError>;

    /// Runs `f` with this core's interrupts masked.
    #[inline]
    fn masked<R>(f: impl FnOnce() -> R) -> R {
        let before = Self::mask();
        let result = f();
        Self::unmask(before);
        result
    }
}

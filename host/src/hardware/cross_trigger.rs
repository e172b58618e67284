//! Halting the cores of a chip together by its cross trigger interfaces (CTI). **Not tried on a chip**: on emulated cores only.
//!
//! Each core has an interface among its own registers, and channels join them. For the time of one halt each is set to tell the
//! others when its core halts, and to halt its core when another tells so. Then one core is halted by the probe, and the others
//! follow within a few cycles. Afterwards the requests are acknowledged and everything is switched off again, so that
//! debuggers that know nothing of it find the cores as they expect them.
//!
//! Registers and trigger numbers: Arm IHI 0029 (CoreSight), chapter "Embedded Cross Trigger", and the technical reference manual
//! of the Cortex-M33.
use crate::session::{Group, HALT_LIMIT, SessionError, run_each};
use probe_rs::{MemoryInterface as _, Session};
use std::time::Duration;

/// Where cores have it: Arm's own place, and that of the STM32H7.
const BASES: [u64; 2] = [0xE004_2000, 0xE004_3000];

const CONTROL: u64 = 0x000;
const INTACK: u64 = 0x010;
const INEN0: u64 = 0x020;
const OUTEN0: u64 = 0x0A0;
const TRIGOUTSTATUS: u64 = 0x134;
const GATE: u64 = 0x140;
const LAR: u64 = 0xFB0;
const DEVTYPE: u64 = 0xFCC;

const KEY: u32 = 0xC5AC_CE55;
/// The type of a component that is a trigger matrix.
const TRIGGER_MATRIX: u32 = 0x14;
const CHANNEL: u32 = 1 << 0;
const ALL_CHANNELS: u32 = 0xF;
/// Trigger output 0: halt the core.
const DEBUG_REQUEST: u32 = 1 << 0;

/// How long the other cores may take to halt: a few cycles, and the time of a slow probe to ask.
const FOLLOW_LIMIT: Duration = Duration::from_millis(500);
/// How often an acknowledged request is looked at until it is gone.
const LOOKS: usize = 100;

/// The cores of a chip whose cross triggers halt them together.
pub(super) struct CrossTrigger;

impl Group for CrossTrigger {
    fn halt(&self, session: &mut Session) -> Result<(), SessionError> {
        let interfaces = find(session)?;
        let halted = route(session, &interfaces).and_then(|()| halt_one(session));
        // Whatever became of it: nothing stays switched on.
        let off = interfaces.iter().enumerate().map(|(core, base)| switch_off(session, core, *base));
        let off = off.fold(Ok(()), Result::and);
        halted.and(off)
    }

    fn resume(&self, session: &mut Session) -> Result<(), SessionError> {
        run_each(session)
    }

    fn is_usual(&self) -> bool {
        // No chip has shown yet that it works.
        false
    }

    fn keep_halted(&self) -> Result<bool, SessionError> {
        Ok(false)
    }

    fn released(&self) -> &[usize] {
        &[]
    }
}

/// Where each core has its interface.
fn find(session: &mut Session) -> Result<Vec<u64>, SessionError> {
    let cores = session.list_cores().len();
    let mut find = |core| {
        let is_one = |base: &u64| read(session, core, base + DEVTYPE).is_ok_and(|found| found & 0xFF == TRIGGER_MATRIX);
        BASES.into_iter().find(is_one).ok_or(SessionError::NoGroup)
    };
    (0..cores).map(&mut find).collect()
}

/// Has the halt of each core halt the others.
fn route(session: &mut Session, interfaces: &[u64]) -> Result<(), SessionError> {
    for (core, base) in interfaces.iter().enumerate() {
        let registers =
            [(LAR, KEY), (CONTROL, 0), (INTACK, DEBUG_REQUEST), (INEN0, CHANNEL), (OUTEN0, CHANNEL), (GATE, CHANNEL)];
        for (register, value) in registers {
            write(session, core, base + register, value)?;
        }
    }
    // No core is told anything before all are set.
    interfaces.iter().enumerate().try_for_each(|(core, base)| write(session, core, base + CONTROL, 1))
}

/// Halts the first core that runs, and waits until all are halted.
fn halt_one(session: &mut Session) -> Result<(), SessionError> {
    let cores = 0..session.list_cores().len();
    for number in cores.clone() {
        let mut core = session.core(number).map_err(SessionError::probe("reach a core"))?;
        if !core.core_halted().map_err(SessionError::probe("ask whether a core is halted"))? {
            core.halt(HALT_LIMIT).map_err(SessionError::probe("halt a core"))?;
            break;
        }
    }
    for number in cores {
        let mut core = session.core(number).map_err(SessionError::probe("reach a core"))?;
        core.wait_for_core_halted(FOLLOW_LIMIT).map_err(SessionError::probe(
            "halt a core by the cross trigger (is it joined to that of the other cores on this chip?)",
        ))?;
    }
    Ok(())
}

/// Acknowledges what halted a core, without which it could not run, and leaves its interface as it was after a reset.
fn switch_off(session: &mut Session, core: usize, base: u64) -> Result<(), SessionError> {
    for (register, value) in [(INEN0, 0), (OUTEN0, 0), (GATE, ALL_CHANNELS), (INTACK, DEBUG_REQUEST)] {
        write(session, core, base + register, value)?;
    }
    for _ in 0..LOOKS {
        if read(session, core, base + TRIGOUTSTATUS)? & DEBUG_REQUEST == 0 {
            break;
        }
    }
    write(session, core, base + CONTROL, 0)
}

fn read(session: &mut Session, core: usize, address: u64) -> Result<u32, SessionError> {
    let mut core = session.core(core).map_err(SessionError::probe("reach a core"))?;
    core.read_word_32(address).map_err(SessionError::probe("read the cross trigger of a core"))
}

fn write(session: &mut Session, core: usize, address: u64, value: u32) -> Result<(), SessionError> {
    let mut core = session.core(core).map_err(SessionError::probe("reach a core"))?;
    core.write_word_32(address, value).map_err(SessionError::probe("write the cross trigger of a core"))
}

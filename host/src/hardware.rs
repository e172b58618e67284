//! Boards behind stock debug probes: whatever probe-rs drives.
mod cross_trigger;
mod live;
mod sequence;

pub(crate) use live::PRIVATE;

use crate::chip::Chip;
use crate::config::{BoardConfig, ProbeConfig};
use crate::did_you_mean;
use crate::quiet::LiveBoard;
use crate::session::{Group, SessionError};
use cross_trigger::CrossTrigger;
use live::LiveProbe;
use probe_rs::Permissions;
use probe_rs::config::{Registry, RegistryError, Target};
use probe_rs::probe::list::Lister;
use probe_rs::probe::{DebugProbeSelector, Probe};
use std::fmt;

/// A debug probe that is plugged in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProbeSeen {
    /// What it calls itself.
    pub name: String,
    /// `VID:PID`, or `VID:PID:SERIAL` if it has a serial number: as in a system file.
    pub selector: String,
}

impl ProbeSeen {
    /// Whether this selector means it.
    #[must_use]
    pub fn is(&self, selector: &str) -> bool {
        let parse = |selector: &str| selector.parse::<DebugProbeSelector>().ok();
        let (Some(mine), Some(wanted)) = (parse(&self.selector), parse(selector)) else { return false };
        let ids = |selector: &DebugProbeSelector| (selector.vendor_id, selector.product_id);
        ids(&mine) == ids(&wanted) && (wanted.serial_number.is_none() || wanted.serial_number == mine.serial_number)
    }
}

impl fmt::Display for ProbeSeen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.name, self.selector)
    }
}

/// The debug probes that are plugged in, as far as this build has drivers for them.
#[must_use]
pub fn connected_probes() -> Vec<ProbeSeen> {
    if !cfg!(feature = "hardware") {
        return Vec::new();
    }
    let seen = |info: &probe_rs::probe::DebugProbeInfo| {
        let ids = format!("{:04x}:{:04x}", info.vendor_id, info.product_id);
        let serial = info.serial_number.as_ref().filter(|serial| !serial.is_empty());
        let selector = serial.map_or_else(|| ids.clone(), |serial| format!("{ids}:{serial}"));
        ProbeSeen { name: info.identifier.clone(), selector }
    };
    Lister::new().list_all().iter().map(seen).collect()
}

/// Opens the probe that the selector of a board names. Nothing of the chip is touched.
fn open_probe(board: &BoardConfig) -> Result<(Probe, Registry, Target), SessionError> {
    let ProbeConfig::Probe { selector, speed_khz, .. } = &board.probe else {
        return Err(SessionError::NotBuiltIn("qemu"));
    };
    if !cfg!(feature = "hardware") {
        return Err(SessionError::NotBuiltIn("hardware"));
    }
    // Before anything is touched: the wrong sequence for a chip can do harm.
    let (registry, target) = target(board)?;
    let wanted: DebugProbeSelector = selector
        .as_str()
        .parse()
        .map_err(|_| SessionError::NoProbe { selector: selector.clone(), found: "that is no selector".into() })?;
    let lister = Lister::new();
    let mut probe = lister.open(wanted).map_err(|error| SessionError::NoProbe {
        selector: selector.clone(),
        found: format!("{error}; connected: {}", connected(&lister)),
    })?;
    let fail =
        |what| move |source: probe_rs::probe::DebugProbeError| SessionError::Probe { what, source: source.into() };
    if let Some(speed) = speed_khz {
        probe.set_speed(*speed).map_err(fail("set the speed of the debug clock"))?;
    }
    Ok((probe, registry, target))
}

/// Attaches a debugger to a board through its probe. This stops the cores for a moment, one after another.
pub(crate) fn open(board: &BoardConfig) -> Result<(probe_rs::Session, Option<Box<dyn Group>>), SessionError> {
    let (probe, registry, _) = open_probe(board)?;
    let (chip, permissions) = (board.chip.as_str(), Permissions::default());
    let attached = match &board.probe {
        ProbeConfig::Probe { under_reset: true, .. } => {
            probe.attach_under_reset_with_registry(chip, permissions, &registry)
        }
        _ => probe.attach_with_registry(chip, permissions, &registry),
    };
    let fail = |source| SessionError::Probe { what: "attach (is it powered, and is `chip` right?)", source };
    attached.map(|session| (session, Some(Box::new(CrossTrigger) as Box<dyn Group>))).map_err(fail)
}

/// How a board behind a probe can be looked at.
pub(crate) enum Look {
    /// Without stopping a core.
    Quiet(Box<dyn LiveBoard>),
    /// By a debugger, which stops its cores: why.
    BySession(String),
}

/// Connects to the memory of a board through its probe, without stopping its cores where that can be done.
pub(crate) fn look(board: &BoardConfig) -> Result<Look, SessionError> {
    let (probe, _, target) = open_probe(board)?;
    Ok(match LiveProbe::open(probe, &target) {
        Ok(live) => Look::Quiet(Box::new(live)),
        Err(why) => Look::BySession(why),
    })
}

/// The chips that probe-rs knows, with those that the system file describes for this board; and the one it has.
pub(crate) fn target(board: &BoardConfig) -> Result<(Registry, Target), SessionError> {
    let mut registry = Registry::from_builtin_families();
    if let Some(path) = &board.chip_description {
        let wrong = |error: &dyn fmt::Display| {
            SessionError::Chip(format!("cannot use the chip description {}: {error}", path.display()))
        };
        let text = crate::input_file::read_text(path).map_err(|error| wrong(&error))?;
        registry.add_target_family_from_yaml(&text).map_err(|error| wrong(&error))?;
    }
    let target =
        registry.get_target_by_name(&board.chip).map_err(|error| unknown_chip(&registry, &board.chip, &error))?;
    Ok((registry, target))
}

/// How many cores the chip has.
pub(crate) fn cores(board: &BoardConfig) -> Option<usize> {
    target(board).ok().map(|(_, target)| target.cores.len())
}

/// What probe-rs knows of the chip of a board.
pub(crate) fn chip(board: &BoardConfig) -> Result<Chip, SessionError> {
    let (_, target) = target(board)?;
    Ok(Chip {
        cores: target.cores.len(),
        memory: target.memory_map.iter().map(|region| region.address_range()).collect(),
    })
}

fn connected(lister: &Lister) -> String {
    let probes: Vec<String> = lister.list_all().iter().map(ToString::to_string).collect();
    if probes.is_empty() { "no probe at all".into() } else { probes.join(", ") }
}

/// A chip that probe-rs does not know, with the nearest that it does.
pub(crate) fn unknown_chip(registry: &Registry, chip: &str, error: &RegistryError) -> SessionError {
    let families = registry.families();
    let names = families.iter().flat_map(|family| &family.variants).map(|variant| variant.name.as_str());
    SessionError::Chip(format!("no chip {chip:?} ({error}){}", did_you_mean(chip, names)))
}

//! Boards behind stock debug probes: whatever probe-rs drives.
use crate::chip::Chip;
use crate::config::{BoardConfig, ProbeConfig};
use crate::did_you_mean;
use crate::session::SessionError;
use probe_rs::Permissions;
use probe_rs::config::{Registry, RegistryError};
use probe_rs::probe::DebugProbeSelector;
use probe_rs::probe::list::Lister;
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

/// Attaches to a board through the probe that its selector names.
pub(crate) fn open(board: &BoardConfig) -> Result<probe_rs::Session, SessionError> {
    let ProbeConfig::Probe { selector, speed_khz, under_reset } = &board.probe else {
        return Err(SessionError::NotBuiltIn("qemu"));
    };
    if !cfg!(feature = "hardware") {
        return Err(SessionError::NotBuiltIn("hardware"));
    }
    let registry = Registry::from_builtin_families();
    // Before anything is touched: the wrong sequence for a chip can do harm.
    registry.get_target_by_name(&board.chip).map_err(|error| unknown_chip(&registry, &board.chip, &error))?;
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
    let chip = board.chip.as_str();
    let attached = if *under_reset {
        probe.attach_under_reset_with_registry(chip, Permissions::default(), &registry)
    } else {
        probe.attach_with_registry(chip, Permissions::default(), &registry)
    };
    attached.map_err(|source| SessionError::Probe { what: "attach (is it powered, and is `chip` right?)", source })
}

/// How many cores the chip has.
pub(crate) fn cores(board: &BoardConfig) -> Option<usize> {
    Registry::from_builtin_families().get_target_by_name(&board.chip).ok().map(|target| target.cores.len())
}

/// What probe-rs knows of a chip.
pub(crate) fn chip(name: &str) -> Result<Chip, SessionError> {
    let registry = Registry::from_builtin_families();
    let target = registry.get_target_by_name(name).map_err(|error| unknown_chip(&registry, name, &error))?;
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

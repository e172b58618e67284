//! Chip descriptions of the machines, for probe-rs.

use crate::machine::MachineKind;
use probe_rs::config::Registry;

/// A registry that knows every machine under its QEMU name, each core behind its own access port.
///
/// ```
/// assert!(qemu_probe::registry().get_target_by_name("mps2-an521").is_ok());
/// ```
pub fn registry() -> Registry {
    let mut registry = Registry::new();
    for kind in MachineKind::ALL {
        registry.add_target_family_from_yaml(&chip_description(kind)).expect("the description is checked by a test");
    }
    registry
}

/// The description of one machine in probe-rs's format, for tools that take it as a file.
///
/// ```
/// let text = qemu_probe::chip_description(qemu_probe::MachineKind::Mps2An521);
/// assert!(text.contains("name: mps2-an521"));
/// ```
pub fn chip_description(kind: MachineKind) -> String {
    use std::fmt::Write;
    let name = kind.name();
    let mut text = format!("name: {name}\nvariants:\n- name: {name}\n  cores:\n");
    let mut names = Vec::new();
    for core in 0..kind.cores() {
        names.push(format!("core{core}"));
        let _ = write!(
            text,
            "  - name: core{core}\n    type: armv8m\n    core_access_options: !Arm\n      ap: !v1 {core}\n"
        );
    }
    text.push_str("  memory_map:\n");
    for region in kind.memory() {
        let (start, end) = (region.base, u64::from(region.base) + u64::from(region.len));
        let cores = names.join(", ");
        let _ =
            write!(text, "  - !Ram\n    range:\n      start: {start:#x}\n      end: {end:#x}\n    cores: [{cores}]\n");
    }
    text.push_str("flash_algorithms: []\n");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_machine_is_a_target_with_all_its_cores() {
        for kind in MachineKind::ALL {
            let target = registry().get_target_by_name(kind.name()).unwrap();
            assert_eq!(target.cores.len(), kind.cores());
            assert_eq!(target.memory_map.len(), kind.memory().len());
        }
    }
}

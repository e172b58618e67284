//! Whether this user may open the probes that are plugged in.
use super::{Check, Finding, Surroundings};
use crate::ProbeSeen;
use std::path::{Path, PathBuf};

pub(super) struct UsbCheck;

/// A USB device as the kernel lists it.
struct Device {
    vendor: String,
    product: String,
    serial: Option<String>,
    node: PathBuf,
}

impl Check for UsbCheck {
    fn name(&self) -> &'static str {
        "USB access"
    }

    fn findings(&self, around: &Surroundings) -> Vec<Finding> {
        let devices = devices(&around.root);
        let mut findings = Vec::new();
        for probe in &around.probes {
            let Some(device) = devices.iter().find(|device| device.is(probe)) else { continue };
            let opened = std::fs::File::options().read(true).write(true).open(&device.node);
            findings.push(match opened {
                Ok(_) => Finding::ok(self.name(), format!("{probe}: {} can be opened", device.node.display())),
                Err(error) => {
                    let what = format!("{probe}: cannot open {}: {error}", device.node.display());
                    Finding::wrong(self.name(), what, allow(&device.vendor))
                }
            });
        }
        if findings.is_empty() { vec![Finding::ok(self.name(), "no probe to open")] } else { findings }
    }
}

/// The commands after which whoever sits at this machine may open devices of a vendor.
fn allow(vendor: &str) -> String {
    let rule = format!(
        "SUBSYSTEM==\"usb\", ATTR{{idVendor}}==\"{vendor}\", MODE=\"0660\", GROUP=\"plugdev\", TAG+=\"uaccess\""
    );
    format!(
        "echo '{rule}' | sudo tee -a /etc/udev/rules.d/69-stillpoint.rules && sudo udevadm control --reload && sudo udevadm trigger"
    )
}

impl Device {
    fn is(&self, probe: &ProbeSeen) -> bool {
        let ids = format!("{}:{}", self.vendor, self.product);
        let seen = ProbeSeen {
            name: String::new(),
            selector: self.serial.as_ref().map_or_else(|| ids.clone(), |serial| format!("{ids}:{serial}")),
        };
        seen.is(&probe.selector)
    }
}

/// The USB devices of this machine, from the kernel's list.
fn devices(root: &Path) -> Vec<Device> {
    let Ok(entries) = std::fs::read_dir(root.join("sys/bus/usb/devices")) else { return Vec::new() };
    let device = |folder: PathBuf| {
        let read = |name: &str| Some(std::fs::read_to_string(folder.join(name)).ok()?.trim().to_owned());
        let number = |name: &str| read(name)?.parse::<u32>().ok();
        // An interface of a device has neither of these.
        let (bus, number) = (number("busnum")?, number("devnum")?);
        let node = root.join(format!("dev/bus/usb/{bus:03}/{number:03}"));
        Some(Device { vendor: read("idVendor")?, product: read("idProduct")?, serial: read("serial"), node })
    };
    entries.flatten().filter_map(|entry| device(entry.path())).collect()
}

#[cfg(test)]
mod tests {
    use super::super::Verdict;
    use super::super::surroundings::Fake;
    use super::*;

    fn plugged(fake: Fake, at: &str, number: u32, ids: (&str, &str), serial: &str) -> Fake {
        let file = |name: &str| format!("sys/bus/usb/devices/{at}/{name}");
        fake.file(&file("idVendor"), ids.0)
            .file(&file("idProduct"), ids.1)
            .file(&file("serial"), serial)
            .file(&file("busnum"), "1\n")
            .file(&file("devnum"), format!("{number}\n"))
    }

    #[test]
    fn a_probe_that_may_not_be_opened_gets_the_rule_for_its_vendor() {
        let fake = Fake::new().probe("Debugprobe", "2e8a:000c:E6");
        let fake = plugged(fake, "1-1", 7, ("2e8a", "000c"), "E6\n");
        // Another of the same kind can be opened: it is told apart by its serial number.
        let fake = plugged(fake, "1-2", 8, ("2e8a", "000c"), "E7\n").file("dev/bus/usb/001/008", "");
        // A folder cannot be opened for writing, not even by root.
        std::fs::create_dir_all(fake.path("dev/bus/usb/001/007")).unwrap();
        let found = UsbCheck.findings(&fake.around());
        assert_eq!((found.len(), found[0].verdict), (1, Verdict::Wrong));
        assert!(found[0].what.contains("cannot open") && found[0].what.contains("001/007"), "{found:?}");
        let fix = found[0].fix.as_ref().unwrap();
        assert!(fix.contains("ATTR{idVendor}==\"2e8a\"") && fix.contains("udevadm trigger"), "{fix}");
    }

    #[test]
    fn a_probe_that_may_be_opened_is_well_and_without_probes_there_is_nothing_to_open() {
        let fake = plugged(Fake::new().probe("P", "1366:0101:1"), "3-1", 2, ("1366", "0101"), "1");
        let found = UsbCheck.findings(&fake.file("dev/bus/usb/001/002", "").around());
        assert_eq!(found[0].verdict, Verdict::Ok, "{found:?}");
        assert_eq!(UsbCheck.findings(&Fake::new().around())[0].what, "no probe to open");
    }
}

//! Whose virtual machine this host is, in the words of systemd-detect-virt(1).

use std::fs;
use std::path::Path;

/// The beginning of what a firmware calls its maker or its machine, and who that is (systemd, `src/basic/virt.c`).
const FIRMWARE: [(&str, &str); 14] = [
    ("KVM", "kvm"),
    ("Amazon EC2", "amazon"),
    ("OpenStack", "kvm"),
    ("KubeVirt", "kvm"),
    ("Google Compute Engine", "google"),
    ("QEMU", "qemu"),
    ("VMware", "vmware"),
    ("VMW", "vmware"),
    ("innotek GmbH", "oracle"),
    ("VirtualBox", "oracle"),
    ("Xen", "xen"),
    ("Bochs", "bochs"),
    ("Parallels", "parallels"),
    ("BHYVE", "bhyve"),
];

/// Reads it below `/`.
pub(super) fn read(root: &Path) -> Option<String> {
    let text = |path: &str| fs::read_to_string(root.join(path)).ok();
    let cpuinfo = text("proc/cpuinfo")?;
    let flags = cpuinfo.lines().find(|line| line.starts_with("flags"));
    // Other processors than x86 do not say whether they are real.
    let guest = flags?.split_whitespace().any(|flag| flag == "hypervisor");
    if !guest {
        return Some("none".to_owned());
    }
    let names = ["product_name", "sys_vendor", "board_vendor", "bios_vendor"];
    let named = names.iter().find_map(|name| {
        let said = text(&format!("sys/class/dmi/id/{name}"))?;
        firmware(said.trim())
    });
    // Microsoft makes real machines too; this one is a guest.
    let microsoft = || {
        let vendor = text("sys/class/dmi/id/sys_vendor")?;
        (vendor.trim() == "Microsoft Corporation").then_some("microsoft")
    };
    let whose = named.or_else(microsoft);
    Some(whose.unwrap_or("vm-other").to_owned())
}

fn firmware(said: &str) -> Option<&'static str> {
    let mut known = FIRMWARE.iter();
    known.find_map(|(begin, whose)| said.starts_with(begin).then_some(*whose))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(flags: &str, dmi: &[(&str, &str)]) -> Option<String> {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        fs::create_dir_all(root.join("proc")).unwrap();
        fs::create_dir_all(root.join("sys/class/dmi/id")).unwrap();
        fs::write(root.join("proc/cpuinfo"), flags).unwrap();
        for (name, text) in dmi {
            fs::write(root.join("sys/class/dmi/id").join(name), text).unwrap();
        }
        read(root)
    }

    #[test]
    fn a_guest_is_told_from_a_machine_and_named_by_its_firmware() {
        let guest = "processor\t: 0\nflags\t\t: fpu sse hypervisor aes\n";
        let machine = "processor\t: 0\nflags\t\t: fpu sse aes\n";
        let vendor = |name: &'static str| [("sys_vendor", name)];
        assert_eq!(host(machine, &[]).as_deref(), Some("none"));
        // A machine on which others are guests, whatever its firmware is called.
        assert_eq!(host(machine, &vendor("QEMU\n")).as_deref(), Some("none"));
        assert_eq!(host(guest, &vendor("QEMU\n")).as_deref(), Some("qemu"));
        let vmware = host(guest, &vendor("VMware, Inc.\n"));
        assert_eq!(vmware.as_deref(), Some("vmware"));
        let hyperv = host(guest, &vendor("Microsoft Corporation\n"));
        assert_eq!(hyperv.as_deref(), Some("microsoft"));
        assert_eq!(host(guest, &[]).as_deref(), Some("vm-other"));
        let arm = "processor\t: 0\nFeatures\t: fp asimd\n";
        assert_eq!(host(arm, &vendor("QEMU\n")), None);
    }
}

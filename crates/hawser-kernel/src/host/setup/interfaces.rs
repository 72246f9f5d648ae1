//! Settings of the interfaces, as their drivers and sysfs tell them.

use std::collections::BTreeMap;
use std::path::Path;

use hawser_model::host::Interface;
use hawser_model::knob::{Knob, Side};
use hawser_model::names::InterfaceName;
use hawser_model::setup::{InterfaceSetup, Ring};

use super::word;
use crate::ethtool::Ethtool;
use crate::knobs::Knobs;

/// Settings that are one file below `/sys/class/net/IF`.
const SETTINGS: [&str; 4] = [
    "gro_flush_timeout",
    "napi_defer_hard_irqs",
    "threaded",
    "tx_queue_len",
];

/// The setup of those that have any.
pub(super) fn read(
    interfaces: &BTreeMap<InterfaceName, Interface>,
) -> BTreeMap<InterfaceName, InterfaceSetup> {
    let Ok(ethtool) = Ethtool::open() else {
        return BTreeMap::new();
    };
    let kernel = nix::sys::utsname::uname().ok();
    let kernel = kernel.map(|names| names.release().to_string_lossy().into_owned());
    let all = interfaces.iter().filter(|(_, i)| i.driver.is_some());
    all.map(|(name, interface)| (name.clone(), one(&ethtool, name, interface, &kernel)))
        .filter(|(_, setup)| *setup != InterfaceSetup::default())
        .collect()
}

fn one(
    ethtool: &Ethtool,
    name: &InterfaceName,
    interface: &Interface,
    kernel: &Option<String>,
) -> InterfaceSetup {
    let knobs = Knobs::default();
    let setting = |knob: Knob| knobs.read(&knob).ok();
    let value = |knob: Knob| setting(knob).map(|setting| setting.value);
    let of = || name.clone();
    let ring = |side| {
        let found = setting(Knob::Ring {
            interface: of(),
            side,
        })?;
        let ring = Ring {
            size: found.value.parse().ok()?,
            largest: found.largest?.parse().ok()?,
        };
        // A driver that has no such ring says 0 of 0.
        (ring.largest > 0).then_some(ring)
    };
    let coalescing = |side| {
        value(Knob::Coalescing {
            interface: of(),
            side,
        })
    };
    let driver = ethtool.driver(name.as_str()).ok();
    let said = |text: &String| !text.is_empty() && text != "N/A";
    let folder = Path::new("/sys/class/net").join(name.as_str());
    // A `/sys` of another network namespace may show an interface of the same name.
    let own = word(&folder.join("ifindex")) == Some(interface.index.to_string());
    let settings = SETTINGS.iter().filter(|_| own);
    InterfaceSetup {
        driver_version: driver
            .as_ref()
            .map(|d| d.version.clone())
            .filter(|version| said(version) && Some(version) != kernel.as_ref()),
        firmware: driver.map(|d| d.firmware).filter(said),
        card: own.then(|| card(&folder)).flatten(),
        rx_ring: ring(Side::Rx),
        tx_ring: ring(Side::Tx),
        rx_coalescing: coalescing(Side::Rx),
        tx_coalescing: coalescing(Side::Tx),
        channels: value(Knob::Channels { interface: of() }),
        pause: value(Knob::Pause { interface: of() }),
        settings: settings
            .filter_map(|file| Some(((*file).to_owned(), word(&folder.join(file))?)))
            .collect(),
    }
}

/// `8086:1572 8086:0007`: of a PCI card, and of its board.
fn card(interface: &Path) -> Option<String> {
    let device = interface.join("device");
    let id = |file: &str| {
        let text = word(&device.join(file))?;
        text.strip_prefix("0x").map(str::to_owned)
    };
    let pair = |vendor, device| Some(format!("{}:{}", id(vendor)?, id(device)?));
    let card = pair("vendor", "device")?;
    Some(match pair("subsystem_vendor", "subsystem_device") {
        Some(board) => format!("{card} {board}"),
        None => card,
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_card_is_named_by_its_numbers() {
        let folder = tempfile::tempdir().unwrap();
        let device = folder.path().join("device");
        fs::create_dir_all(&device).unwrap();
        assert_eq!(card(folder.path()), None);
        fs::write(device.join("vendor"), "0x8086\n").unwrap();
        fs::write(device.join("device"), "0x1572\n").unwrap();
        assert_eq!(card(folder.path()).as_deref(), Some("8086:1572"));
        fs::write(device.join("subsystem_vendor"), "0x8086\n").unwrap();
        fs::write(device.join("subsystem_device"), "0x0007\n").unwrap();
        assert_eq!(card(folder.path()).as_deref(), Some("8086:1572 8086:0007"));
    }

    #[test]
    fn an_interface_without_a_driver_has_no_setup() {
        let all = crate::host_facts().interfaces;
        assert!(!read(&all).contains_key(&InterfaceName::from("lo")));
    }
}

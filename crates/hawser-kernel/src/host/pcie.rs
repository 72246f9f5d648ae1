//! The PCI Express link of a card (`Documentation/ABI/testing/sysfs-bus-pci`).

use std::fs;
use std::path::Path;

use hawser_model::host::PcieLink;

/// The link of the device of this interface; absent for one that has none, and where the kernel does not know it.
///
/// `bus` is where the driver says that the device is: a `/sys` of another network namespace may show an interface of
/// the same name.
pub(super) fn link(classes: &Path, interface: &str, bus: Option<&str>) -> Option<PcieLink> {
    let device = classes.join(interface).join("device");
    let found = fs::canonicalize(&device).ok()?;
    if found.file_name()?.to_str() != Some(bus?) {
        return None;
    }
    // A virtual function has no link of its own: it is the card's.
    let card = Some(device.join("physfn")).filter(|card| card.exists());
    let card = card.unwrap_or(device);
    let read = |name: &str| fs::read_to_string(card.join(name)).ok();
    Some(PcieLink {
        lane_mt_per_s: rate(&read("current_link_speed")?)?,
        lanes: lanes(&read("current_link_width")?)?,
        card_lane_mt_per_s: read("max_link_speed").as_deref().and_then(rate),
        card_lanes: read("max_link_width").as_deref().and_then(lanes),
    })
}

/// `8.0 GT/s PCIe` is 8000 million transfers a second, `2.5 GT/s` is what old kernels write; `Unknown` is nothing.
fn rate(text: &str) -> Option<u32> {
    let (number, _) = text.trim().split_once(" GT/s")?;
    let number: f64 = number.parse().ok()?;
    let known = number.is_finite() && (1.0..=1_000.0).contains(&number);
    known.then(|| (number * 1_000.0).round() as u32)
}

/// From 1 to 32; a device behind no link says 0, one that has fallen off the bus 63 or 255.
fn lanes(text: &str) -> Option<u32> {
    let lanes = text.trim().parse().ok()?;
    (1..=32).contains(&lanes).then_some(lanes)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    /// A card at `pci/NAME` with these files, and the interface of it.
    fn card(root: &Path, interface: &str, files: &[(&str, &str)]) {
        let device = root.join("pci").join(interface);
        fs::create_dir_all(&device).unwrap();
        for (name, text) in files {
            fs::write(device.join(name), text).unwrap();
        }
        let class = root.join("net").join(interface);
        fs::create_dir_all(&class).unwrap();
        symlink(&device, class.join("device")).unwrap();
    }

    #[test]
    fn the_link_of_a_card_is_read_as_sysfs_shows_it() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let net = root.join("net");
        card(
            root,
            "eth0",
            &[
                ("current_link_speed", "8.0 GT/s PCIe\n"),
                ("current_link_width", "1\n"),
                ("max_link_speed", "8.0 GT/s PCIe\n"),
                ("max_link_width", "8\n"),
            ],
        );
        let narrow = PcieLink {
            lane_mt_per_s: 8_000,
            lanes: 1,
            card_lane_mt_per_s: Some(8_000),
            card_lanes: Some(8),
        };
        assert_eq!(link(&net, "eth0", Some("eth0")), Some(narrow));
        assert_eq!(
            link(&net, "eth0", Some("0000:03:00.0")),
            None,
            "another one"
        );

        // An old kernel, and a function of the card.
        card(root, "eth1", &[]);
        symlink(root.join("pci/eth0"), root.join("pci/eth1/physfn")).unwrap();
        assert_eq!(link(&net, "eth1", Some("eth1")), Some(narrow));
        assert_eq!(rate("2.5 GT/s\n"), Some(2_500));

        // Conventional PCI, a device that fell off the bus, a virtual device.
        for (name, speed, width) in [("eth2", "Unknown", "0"), ("eth3", "8.0 GT/s PCIe", "63")] {
            let files = [("current_link_speed", speed), ("current_link_width", width)];
            card(root, name, &files);
            assert_eq!(link(&net, name, Some(name)), None, "{name}");
        }
        fs::create_dir_all(net.join("veth0")).unwrap();
        assert_eq!(link(&net, "veth0", None), None);
    }
}

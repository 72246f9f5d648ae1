//! Parameters and operations of a pool's resources that nothing of the file says.

use super::pools::kind_of;
use crate::crm::Primitive;
use crate::page::Page;
use crate::place::quoted;

/// What the file says, or the page says elsewhere.
const SAID: [(&str, &[&str]); 7] = [
    ("ZFS", &["pool", "importargs", "importforce"]),
    ("Filesystem", &["device", "directory", "fstype", "options"]),
    ("LVM", &["volgrpname", "exclusive"]),
    (
        "LVM-activate",
        &["vgname", "vg_access_mode", "lvname", "activation_mode"],
    ),
    ("IPaddr", IP),
    ("IPaddr2", IP),
    ("exportfs", &["directory", "clientspec", "options", "fsid"]),
];

/// Of an address; the last four are Hawser's own.
const IP: &[&str] = &[
    "ip",
    "cidr_netmask",
    "netmask",
    "nic",
    "arp_bg",
    "arp_count",
    "arp_count_refresh",
    "arp_interval",
];

/// Tells the parameters of a resource that Hawser makes anew without them.
pub(super) fn told(primitive: &Primitive, page: &mut Page) {
    let Some((_, said)) = SAID.iter().find(|(kind, _)| *kind == kind_of(primitive)) else {
        return;
    };
    for (name, value) in &primitive.params {
        if !said.contains(&name.as_str()) {
            let what = format!("{name}={} of {}", quoted(value), quoted(&primitive.id));
            page.changed(
                &primitive.at,
                what,
                "Hawser gives the agent parameters of its own",
            );
        }
    }
    operations(primitive, page);
}

/// What an operation does beside what every one of Hawser's does: a monitor that fails restarts the resource, and a stop
/// that fails fences the node.
fn operations(primitive: &Primitive, page: &mut Page) {
    for (op, pairs) in &primitive.ops {
        for name in ["on-fail", "enabled", "OCF_CHECK_LEVEL"] {
            let Some(value) = pairs.get(name) else {
                continue;
            };
            let own = matches!(
                (op.as_str(), name, value.as_str()),
                ("monitor" | "start", "on-fail", "restart")
                    | ("stop", "on-fail", "fence")
                    | (_, "enabled", "true")
            );
            if !own {
                let what = format!("{} op {op} {name}={}", quoted(&primitive.id), quoted(value));
                page.changed(&primitive.at, what, "Hawser's own operations");
            }
        }
    }
}

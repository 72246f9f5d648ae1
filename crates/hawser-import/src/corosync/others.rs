//! What `corosync.conf` says beside its nodes, its times and its quorum, above all for Corosync 1.

use super::section::Section;
use crate::page::Page;
use crate::picture::{Picture, Said};
use crate::place::quoted;

/// What is neither totem, nodes nor quorum.
pub(super) fn sections(whole: &Section, page: &mut Page) {
    const OLD: &str = "Corosync 1's: it is not there any more";
    const NONE: &str = "Hawser's corosync.conf has none";
    for (key, value, at) in &whole.values {
        page.not_needed(at, format!("{key}: {}", quoted(value)), OLD);
    }
    for section in &whole.sections {
        let Some(at) = &section.at else { continue };
        let what = format!("{} {{ … }}", section.name);
        match section.name.as_str() {
            "totem" | "nodelist" | "quorum" => {}
            "logging" => page.not_needed(
                at,
                what,
                "corosync and pacemaker log to /var/log/corosync and /var/log/pacemaker",
            ),
            "service"
                if section
                    .get("name")
                    .is_some_and(|(name, _)| name == "pacemaker") =>
            {
                page.not_needed(at, what, "systemd starts Pacemaker");
            }
            "aisexec" | "amf" => page.not_needed(at, what, OLD),
            "service" | "system" | "resources" | "uidgid" | "qb" | "nozzle" => {
                page.unsaid(at, what, NONE);
            }
            _ => page.mistake(
                at,
                what,
                "Corosync knows no such section: nothing in it counts",
            ),
        }
    }
}

/// How the rings of Corosync 1 and 2 shared the work, in knet's words.
pub(super) fn rings(totem: &Section, picture: &mut Picture, page: &mut Page) {
    let Some((mode, at)) = totem.get("rrp_mode") else {
        return;
    };
    let what = format!("rrp_mode: {}", quoted(mode));
    match mode {
        "none" | "passive" => {
            page.not_needed(at, what, "one link carries the messages while it is up")
        }
        "active" => {
            page.understood(at, what, "[cluster] link_mode");
            let said = Said::new("active".to_owned(), at);
            picture.link_mode.get_or_insert(said);
        }
        _ => page.mistake(at, what, "it is none, passive or active"),
    }
}

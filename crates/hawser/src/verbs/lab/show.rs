//! Labs in words.

use std::collections::BTreeMap;

use hawser_lab::impair::{Changed, Counts, MachineSetting, Order, Restored};
use hawser_lab::{Health, Kind, LabStatus, LabSummary, MachineStatus, PortImpairment, Power, Role};
use hawser_model::units::{self, grouped};

use crate::render::table::{Align, Table};

/// All labs, a line each.
pub(super) fn list(labs: &[LabSummary]) -> String {
    if labs.is_empty() {
        return "there is no lab; `hawser lab up` builds one\n".to_owned();
    }
    let mut table = Table::new(&[Align::Left; 3]);
    for lab in labs {
        let (state, what) = standing(lab);
        table.row([lab.name.as_str(), state, &what]);
    }
    table.lines("").join("\n") + "\n"
}

/// How it is, and what it has or what is wrong with it.
fn standing(lab: &LabSummary) -> (&'static str, String) {
    match lab.state {
        Health::Up => {
            let clients = if lab.clients.is_empty() {
                String::new()
            } else {
                format!("; beside them {}", join(&lab.clients))
            };
            let (nodes, links) = (join(&lab.nodes), join(&lab.links));
            ("up", format!("{nodes}{clients} on {links}"))
        }
        Health::Broken => ("broken", lab.problems.join(", ")),
    }
}

fn join(names: &[impl ToString]) -> String {
    names
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(" ")
}

/// One lab in full.
pub(super) fn status(lab: &LabStatus) -> String {
    let (state, what) = standing(&lab.summary);
    let mut text = format!("lab {}: {state}: {what}\n", lab.summary.name);
    text.push_str("\nswitches\n");
    for switch in &lab.switches {
        let mut words = vec![format!("  {:12} {}", switch.name, join(&switch.links))];
        if switch.snooping {
            words.push("snooping".to_owned());
        }
        if switch.querier {
            words.push("querier".to_owned());
        }
        if switch.cut {
            words.push("CUT".to_owned());
        }
        text.push_str(&words.join("  "));
        text.push('\n');
    }
    text.push_str("\nmachines\n");
    for machine in &lab.machines {
        text.push_str(&machine_lines(machine));
    }
    if !lab.impairments.is_empty() {
        text.push_str("\nimpairments\n");
        for impairment in &lab.impairments {
            text.push_str(&impairment_lines(impairment));
        }
    }
    if !lab.machine_wide.is_empty() {
        text.push_str("\nmachine-wide settings (they hold for this host and every lab)\n");
        for (setting, changed) in &lab.machine_wide {
            text.push_str(&format!(
                "  {} {}, before {}\n",
                setting.sysctl(),
                changed.now,
                changed.before
            ));
        }
    }
    text
}

fn machine_lines(machine: &MachineStatus) -> String {
    let power = match machine.power {
        Power::On => "on",
        Power::Off => "off",
        Power::Dead => "DEAD",
    };
    let role = match machine.role {
        Role::Member => "",
        Role::Client => "  client",
        Role::Shelf => "  shelf",
        Role::Arbiter => "  arbiter",
    };
    let kind = match machine.kind {
        Kind::Namespace => "",
        Kind::Uml => "  user-mode Linux",
        Kind::Qemu => "  QEMU",
    };
    let mut text = format!("  {:12} {power}{kind}{role}\n", machine.name);
    for port in &machine.ports {
        let cut = if port.cut { "  CUT" } else { "" };
        let mtu = format!("mtu {}", port.mtu);
        let addresses = join(&port.addresses);
        text.push_str(&format!("    {:10} {addresses}  {mtu}{cut}\n", port.link));
    }
    if let Some(filter) = &machine.filter {
        let dropped = filter.dropped.map_or("?".to_owned(), grouped);
        text.push_str(&format!(
            "    packet filter drops {} of incoming UDP: {dropped} dropped\n",
            filter.share
        ));
    }
    text
}

fn impairment_lines(it: &PortImpairment) -> String {
    let direction = it.direction.word();
    let mut text = format!("  {}/{} {direction}: {}\n", it.node, it.link, it.faults);
    if let Some(counts) = &it.counts {
        text.push_str(&format!("    {}\n", counted(counts)));
    }
    if let Some(dropped) = it.queue_dropped {
        text.push_str(&format!(
            "    {} dropped from the queue\n",
            units::counted(dropped, "packet")
        ));
    }
    text
}

fn counted(counts: &Counts) -> String {
    let mut words = vec![format!("{} seen", units::counted(counts.seen, "packet"))];
    for (number, word) in [
        (counts.lost, "lost"),
        (counts.too_big, "too big"),
        (counts.corrupted, "corrupted"),
        (counts.duplicated, "duplicated"),
        (counts.overtaken, "reordered"),
        (counts.held.saturating_sub(counts.released), "held now"),
    ] {
        if number > 0 {
            words.push(format!("{} {word}", grouped(number)));
        }
    }
    words.join(", ")
}

/// What became of machine-wide settings.
pub(super) fn restored(all: &[Restored]) -> String {
    all.iter()
        .map(|it| match it {
            Restored::To { setting, value } => {
                format!("{} is {value} again\n", setting.sysctl())
            }
            Restored::Left {
                setting,
                found,
                before,
            } => format!(
                "{} was changed by somebody else meanwhile: left at {found} (it was {before})\n",
                setting.sysctl()
            ),
        })
        .collect()
}

/// What is in force where something was planted.
pub(super) fn planted(order: &Order, lab: &LabStatus) -> String {
    match order {
        Order::Port { node, link, .. } => lab
            .impairments
            .iter()
            .filter(|it| it.node.as_str() == node && it.link.as_str() == link)
            .map(|it| format!("{node}/{link} {}: {}\n", it.direction.word(), it.faults))
            .collect(),
        Order::Filter { node, share } => {
            format!("{node}: its packet filter drops {share} of incoming UDP\n")
        }
        Order::Switch { switch, .. } => {
            let on = |flag| if flag { "on" } else { "off" };
            let mut switches = lab.switches.iter().filter(|it| it.name == *switch);
            switches.next().map_or(String::new(), |it| {
                let (snooping, querier) = (on(it.snooping), on(it.querier));
                format!("{switch}: snooping {snooping}, querier {querier}\n")
            })
        }
        Order::Machine(_) => machine_wide(&lab.machine_wide),
    }
}

/// Machine-wide settings in force, and the warning that goes with them.
fn machine_wide(settings: &BTreeMap<MachineSetting, Changed>) -> String {
    let mut text: String = settings
        .iter()
        .map(|(setting, changed)| format!("{} is {}\n", setting.sysctl(), changed.now))
        .collect();
    text.push_str(
        "this holds for the whole machine: this host and every lab, until `hawser lab clear \
         --machine` or `hawser lab down`\n",
    );
    text
}

//! The exact commands that undo everything, by Hawser and without it.

use std::collections::BTreeSet;

use hawser_model::knob::{Change, Knob, change_id};
use hawser_model::shell::word;
use hawser_model::topology::Topology;
use hawser_model::trial::Tuning;

use crate::page::Page;
use crate::table::{Column, table};

/// The section; nothing when nothing was changed.
pub fn section(page: &mut Page, topology: &Topology, tuning: &Tuning) {
    let changes = || {
        tuning
            .changes
            .iter()
            .flat_map(|(host, changes)| changes.iter().map(move |c| (host, c)))
    };
    if changes().next().is_none() {
        return;
    }
    page.section("To undo everything", |s| {
        let rows: Vec<Vec<String>> = changes()
            .map(|(host, change)| {
                let lasts = match (&change.persisted_in, &change.not_persisted) {
                    (Some(file), _) => format!("lasts: {file}"),
                    (None, Some(why)) => format!("gone: {why}"),
                    (None, None) => "gone".to_owned(),
                };
                vec![
                    change_id(host, change.number),
                    change.knob.to_string(),
                    change.before.clone(),
                    change.after.clone(),
                    lasts,
                ]
            })
            .collect();
        use Column::Text;
        let heads = [
            Text("id"),
            Text("what"),
            Text("before"),
            Text("now"),
            Text("after a reboot"),
        ];
        table(s, "What was changed and kept", &heads, &rows);
        let which = which(topology);
        s.paragraph("All of it, or one change by its id; each node's journal has the values:");
        let mut commands = vec![format!("hawser undo --all {which}")];
        commands.extend(changes().map(|(host, c)| {
            format!("hawser undo {} {which}", word(&change_id(host, c.number)))
        }));
        s.markup().leaf("pre", &[], commands.join("\n"));
        for (host, changes) in &tuning.changes {
            let by_hand = by_hand(changes);
            if !by_hand.is_empty() {
                s.paragraph(format_args!("By hand, on {host}, as root, without Hawser:"));
                s.markup().leaf("pre", &[], by_hand.join("\n"));
            }
        }
        if changes().any(|(_, change)| change.persisted_in.is_some()) {
            s.remark(
                "The files are Hawser's own. One that makes earlier changes last too takes these with \
                 it; hawser undo does not.",
            );
        }
    });
}

/// The words of a command line that name the cluster again.
fn which(topology: &Topology) -> String {
    let mut words: Vec<String> = Vec::new();
    for node in &topology.nodes {
        let (option, value) = node.reach.option();
        let word = format!("{option} {}", word(value));
        if !words.contains(&word) {
            words.push(word);
        }
    }
    words.join(" ")
}

/// The last change first, then the files that make changes last, which are wholly Hawser's.
fn by_hand(changes: &[Change]) -> Vec<String> {
    let mut commands: Vec<String> = changes.iter().rev().filter_map(command).collect();
    let files: BTreeSet<&String> = changes
        .iter()
        .filter_map(|c| c.persisted_in.as_ref())
        .collect();
    commands.extend(
        files
            .into_iter()
            .map(|file| format!("rm -- {}", word(file))),
    );
    commands
}

/// The command that a person would type; none where there is no single one.
fn command(change: &Change) -> Option<String> {
    let value = word(&change.before);
    Some(match &change.knob {
        Knob::Sysctl { name } => {
            format!("sysctl -w {}", word(&format!("{name}={}", change.before)))
        }
        Knob::Mtu { interface } => {
            format!("ip link set dev {} mtu {value}", word(interface.as_str()))
        }
        Knob::TxQueueLength { interface } => {
            format!(
                "ip link set dev {} txqueuelen {value}",
                word(interface.as_str())
            )
        }
        Knob::Ring { interface, side } => {
            format!(
                "ethtool -G {} {} {value}",
                word(interface.as_str()),
                side.word()
            )
        }
        Knob::Offload { interface, feature } => {
            format!(
                "ethtool -K {} {} {value}",
                word(interface.as_str()),
                word(feature)
            )
        }
        Knob::InterruptAffinity { interrupt } => {
            echo(&value, &format!("/proc/irq/{interrupt}/smp_affinity_list"))
        }
        knob => {
            let (interface, file) = (knob.interface()?, knob.attribute()?);
            echo(&value, &format!("/sys/class/net/{interface}/{file}"))
        }
    })
}

fn echo(value: &str, file: &str) -> String {
    format!("echo {value} > {}", word(file))
}

//! An outage account as a bar of all its phases, and a row a phase.

use hawser_model::names::HostName;
use hawser_model::output::drill::OutagePhase;

use crate::bars::{Bar, bars};
use crate::markup::{Markup, percent};
use crate::page::Section;

/// Height of the account's bar in pixels, and of the words above it.
const BAR: u32 = 34;
const WORDS: u32 = 18;

/// One bar of all phases, then a row a phase. The outage is longer than nothing.
pub fn account(s: &mut Section<'_>, phases: &[OutagePhase], unattributed_s: f64, outage_s: f64) {
    let parts = phases.iter();
    let parts = parts.map(|phase| format!("{} {:.3} s, ", phase.name, phase.seconds));
    let parts: String = parts.collect();
    let description = format!("{parts}unattributed {unattributed_s:.3} s.");
    s.picture("The outage account", description, BAR + WORDS, |m| {
        m.empty(
            "rect",
            &[
                ("class", &"unknown"),
                ("y", &WORDS),
                ("width", &"100%"),
                ("height", &BAR),
            ],
        );
        for phase in phases {
            part(m, phase, outage_s);
        }
    });
    let mut rows: Vec<Bar> = phases.iter().map(|phase| row(phase, outage_s)).collect();
    rows.push(Bar {
        label: "unattributed".to_owned(),
        value: format!("{unattributed_s:.3} s"),
        to: unattributed_s / outage_s,
        class: "unknown",
        ..Bar::default()
    });
    rows.push(Bar {
        label: "in all".to_owned(),
        value: format!("{outage_s:.3} s"),
        to: 1.0,
        class: "whole",
        ..Bar::default()
    });
    bars(s, "Phases in the order of time", ["phase", "took"], &rows);
}

/// How far a boundary may be off.
pub fn clock_error(s: &mut Section<'_>, error_s: f64) {
    s.remark(format_args!(
        "Between two machines a boundary may be off by {error_s:.3} s: their clocks."
    ));
}

/// Who was fenced.
pub fn fenced(hosts: &[HostName]) -> String {
    let hosts: Vec<&str> = hosts.iter().map(HostName::as_str).collect();
    match hosts.is_empty() {
        true => "nobody".to_owned(),
        false => hosts.join(", "),
    }
}

/// Detection and decision, fencing, the pool's own way, the client; a fault that nobody can do anything about, a head that
/// comes back.
fn colour(phase: &str) -> &'static str {
    match phase {
        "fence delay" | "fence agent" | "bmc" | "power wait" | "waiting for a human" => "dot s1",
        "pool" | "exports" | "addresses" | "pool stop" | "exports stop" | "addresses stop"
        | "pre-import hook" | "post-import hook" | "pre-export hook" | "post-export hook"
        | "resource stop" | "resource start" | "first checks" | "other resources" | "nfs grace" => {
            "dot s3"
        }
        "client pace" | "client reconnect" | "first write" | "client timeout" | "path recovery"
        | "nfs retry" => "dot s5",
        "fault" | "no head up" => "dot s7",
        "boot" | "join" | "no pacemaker" | "pacemaker start" => "dot s6",
        _ => "dot s2",
    }
}

fn part(m: &mut Markup, phase: &OutagePhase, whole: f64) {
    let (from, wide) = (phase.start_s / whole, phase.seconds / whole);
    let class = format!("{} part", colour(&phase.name));
    m.empty(
        "rect",
        &[
            ("class", &class),
            ("x", &percent(from)),
            ("y", &WORDS),
            ("width", &percent(wide)),
            ("height", &BAR),
        ],
    );
    // Words only where they have room: about seven pixels a letter on a page of 928.
    if wide * 900.0 > phase.name.len() as f64 * 7.0 {
        m.leaf(
            "text",
            &[
                ("class", &"wide"),
                ("x", &percent(from + wide / 2.0)),
                ("y", &(WORDS - 5)),
                ("text-anchor", &"middle"),
            ],
            &phase.name,
        );
    }
}

fn row(phase: &OutagePhase, whole: f64) -> Bar {
    Bar {
        label: phase.name.clone(),
        note: format!("on {}, from {:.3} s", phase.host, phase.start_s),
        value: format!("{:.3} s", phase.seconds),
        from: phase.start_s / whole,
        to: (phase.start_s + phase.seconds) / whole,
        class: colour(&phase.name),
        ..Bar::default()
    }
}

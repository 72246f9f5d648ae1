//! What a pool stands on, below the pool: a line each, those within others further in.

use hawser_model::output::live::{Light, LiveDevice, LivePath, LivePool};

use super::light::{class, mark};
use crate::markup::Markup;

/// What stands in more groups is not shown further in.
const DEEPEST: usize = 4;

pub(super) fn devices(m: &mut Markup, pool: &LivePool) {
    for what in &pool.about_devices {
        m.leaf("p", &[("class", &"about")], what);
    }
    if pool.devices.is_empty() {
        return;
    }
    let label = format!("Devices of {}", pool.name);
    m.node(
        "ul",
        &[("class", &"plain devices"), ("aria-label", &label)],
        |m| {
            for device in &pool.devices {
                one(m, device);
            }
        },
    );
}

fn one(m: &mut Markup, device: &LiveDevice) {
    let depth = device.depth.min(DEEPEST);
    line(m, depth, device.light, &device.name, &device.words);
    for LivePath { disk, light, words } in &device.paths {
        line(m, depth + 1, *light, disk, words);
    }
}

fn line(m: &mut Markup, depth: usize, light: Light, name: &str, words: &str) {
    let depth = format!("device in{depth}");
    m.node("li", &[("class", &class(&depth, light))], |m| {
        mark(m, light);
        m.text(format_args!("{name} "));
        m.leaf("small", &[], words);
    });
}

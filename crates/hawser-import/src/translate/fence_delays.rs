//! What delays the fencing of a node.

use super::millis;
use super::node_names::NodeNames;
use crate::crm::Primitive;
use crate::page::Page;
use crate::picture::{Picture, Said};
use crate::place::quoted;

/// The device's delay, or what stood for it when devices were started to shoot.
pub(super) fn of(
    device: &Primitive,
    fenced: &[String],
    names: &NodeNames,
    picture: &mut Picture,
    page: &mut Page,
) {
    let start = device
        .op("start", "start-delay")
        .map(|value| (value, "op start start-delay"));
    let base = device
        .param(&["pcmk_delay_base"])
        .map(|value| (value, "pcmk_delay_base"));
    let own = device.param(&["delay"]).map(|value| (value, "delay"));
    if let Some(most) = device.param(&["pcmk_delay_max"]) {
        page.changed(
            &device.at,
            format!("pcmk_delay_max {}", quoted(most)),
            "a random delay may let both nodes shoot; [fencing] delay holds one shot back for certain",
        );
    }
    let Some((value, name)) = base.or(own).or(start) else {
        return;
    };
    let mut said: Vec<(String, &str)> = Vec::new();
    for part in value.split(';') {
        match part.split_once(':') {
            Some((name, value)) => {
                let what = format!("the delay of {} in {}", quoted(name), quoted(&device.id));
                let node = names.told(name, &device.at, &what, page);
                said.extend(node.map(|node| (node, value)));
            }
            None => said.extend(fenced.iter().map(|node| (node.clone(), part))),
        }
    }
    for (node, value) in said {
        match millis(value) {
            Some(0) => {}
            Some(ms) => {
                let why = format!(
                    "[fencing] delay of {node}: the shot at {node} waits, so {node} wins a duel"
                );
                page.understood(
                    &device.at,
                    format!("{} {name} {value}", quoted(&device.id)),
                    why,
                );
                let longest = picture
                    .delays
                    .get(&node)
                    .is_none_or(|before| before.value < ms);
                if longest {
                    picture.delays.insert(node, Said::new(ms, &device.at));
                }
            }
            None => page.unsaid(
                &device.at,
                format!("{name} {}", quoted(value)),
                "it is no time",
            ),
        }
    }
}

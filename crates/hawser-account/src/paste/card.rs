//! `ethtool -S`: a driver's own counters, each driver with its own names.

use hawser_model::output::paste::Pasted;

use super::{BOTH_ENDS, SINCE, number, shown, start};
use crate::packets::is_ring_counter;

pub(super) fn read(text: &str) -> Option<Pasted> {
    let mut said = start("ethtool -S");
    let (mut within, mut any) = (false, false);
    let (mut rings, mut damaged, mut pauses, mut drops) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for line in text.lines() {
        let line = line.trim();
        if line == "NIC statistics:" {
            within = true;
            continue;
        }
        let Some((name, value)) = line.rsplit_once(':').filter(|_| within) else {
            continue;
        };
        let (name, Ok(value)) = (name.trim(), value.trim().parse::<u64>()) else {
            continue;
        };
        any = true;
        let low = name.to_ascii_lowercase();
        let has = |parts: &[&str]| parts.iter().any(|part| low.contains(part));
        let kind = match () {
            () if value == 0 || low.contains("tx_pause_storm_warning") => continue,
            () if is_ring_counter(&low) => &mut rings,
            () if has(&[
                "crc",
                "symbol_err",
                "align",
                "jabber",
                "fcs",
                "rx_length_err",
                "rx_frame_err",
            ]) =>
            {
                &mut damaged
            }
            () if has(&["pause", "xoff", "xon", "flow_control"]) => &mut pauses,
            () if has(&[
                "drop",
                "discard",
                "miss",
                "timeout",
                "carrier",
                "collision",
                "lost",
            ]) || low.ends_with("errors") =>
            {
                &mut drops
            }
            () => continue,
        };
        kind.push((name.to_owned(), value));
    }
    if !any {
        return None;
    }
    let told = |all: &[(String, u64)]| -> String {
        let all: Vec<String> = all
            .iter()
            .map(|(name, value)| format!("{name} {}", shown(*value)))
            .collect();
        all.join(", ")
    };
    said.loss = !rings.is_empty() || !damaged.is_empty();
    if !rings.is_empty() {
        said.follows.push(format!(
            "The card had packets and no room for them in its ring: {} (`hawser explain nic-ring-overflow`). Drivers count one \
             packet under several of these names: they are not to be added up.",
            told(&rings)
        ));
    }
    if !damaged.is_empty() {
        said.follows.push(format!(
            "Frames came damaged: {}. A cable, a transceiver, a port or a mismatch of duplex (`hawser explain nic-errors`).",
            told(&damaged)
        ));
    }
    if !pauses.is_empty() {
        said.open.push(format!(
            "Whether pauses held the link up: {}. Some are how flow control works; a storm stops everybody (`hawser explain \
             pause-storm`).",
            told(&pauses)
        ));
    }
    if !drops.is_empty() {
        said.open.push(format!(
            "What these mean: {}. The names are the driver's, and some count packets that no program misses.",
            told(&drops)
        ));
    }
    for (name, value) in rings.iter().chain(&damaged).chain(&pauses).chain(&drops) {
        said.numbers.push(number(name, *value));
    }
    if said.numbers.is_empty() {
        said.follows
            .push("The card counts no loss under any name that is known here.".into());
    }
    said.open
        .push("Packets lost before the card or above its driver.".into());
    said.open.push(format!("{SINCE}."));
    said.next.push("`ethtool -g INTERFACE` and `ethtool -a INTERFACE`: the ring's size and its limit, and flow control".into());
    said.next.push(BOTH_ENDS.into());
    Some(said)
}

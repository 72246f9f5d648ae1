//! `ip -s link`: an interface's own statistics (`struct rtnl_link_stats64`, `include/uapi/linux/if_link.h`).

use hawser_model::output::paste::Pasted;

use super::{BOTH_ENDS, SINCE, number, shown, start};

pub(super) fn read(text: &str) -> Option<Pasted> {
    let mut said = start("ip -s link");
    let mut interface: Option<String> = None;
    let mut header: Option<(&str, Vec<&str>)> = None;
    let mut any = false;
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            [number, name, ..] if number.ends_with(':') && name.ends_with(':') => {
                let digits = number.trim_end_matches(':');
                if digits.chars().all(|c| c.is_ascii_digit()) {
                    interface = Some(
                        name.trim_end_matches(':')
                            .split('@')
                            .next()
                            .unwrap_or(name)
                            .to_owned(),
                    );
                }
                header = None;
            }
            [way @ ("RX:" | "TX:"), ref names @ ..] if names.first() == Some(&"bytes") => {
                header = Some((way, names.to_vec()));
            }
            _ => {
                let (Some((way, names)), Some(on)) = (header.take(), &interface) else {
                    continue;
                };
                let values: Option<Vec<u64>> = words.iter().map(|word| word.parse().ok()).collect();
                let Some(values) = values.filter(|values| values.len() == names.len()) else {
                    continue;
                };
                any = true;
                for (name, value) in names.iter().zip(values) {
                    if value > 0 && !matches!(*name, "bytes" | "packets" | "mcast") {
                        counter(on, way, name, value, &mut said);
                    }
                }
            }
        }
    }
    if !any {
        return None;
    }
    if said.numbers.is_empty() {
        said.follows
            .push("No interface counts an error or a drop.".into());
    }
    said.open.push("Packets that never reached the card, and those lost above it: in a full socket, by a firewall.".into());
    said.open.push(format!("{SINCE}."));
    said.next
        .push("`ethtool -S INTERFACE`: the driver's own names for them".into());
    said.next.push(BOTH_ENDS.into());
    Some(said)
}

fn counter(on: &str, way: &str, name: &str, value: u64, said: &mut Pasted) {
    let way = way.trim_end_matches(':');
    said.numbers
        .push(number(&format!("{on} {way} {name}"), value));
    let n = shown(value);
    match (way, name) {
        ("RX", "errors") => {
            said.loss = true;
            said.follows.push(format!(
                "{on} received {n} frames that were damaged or that it had no room for; `ip -s -s link show {on}` tells the \
                 kinds apart (`hawser explain nic-errors`)."
            ));
        }
        ("RX", "missed" | "overrun" | "overrun_fifo" | "fifo") => {
            said.loss = true;
            said.follows.push(format!(
                "{on} had no room in its ring for {n} frames (`hawser explain nic-ring-overflow`)."
            ));
        }
        ("RX", "dropped") => said.open.push(format!(
            "Whether the {n} dropped frames of {on} were anybody's loss: the kernel counts so also frames of protocols and VLANs \
             that no program here wants."
        )),
        ("TX", "carrier") => {
            said.loss = true;
            said.follows.push(format!("{on} lost its carrier while it sent {n} frames: a cable, a port or a transceiver."));
        }
        ("TX", "collsns") => said.follows.push(format!(
            "{on} counts {n} collisions: it ran at half duplex when they happened (`hawser explain half-duplex`)."
        )),
        ("TX", "errors" | "dropped") => {
            said.loss = true;
            said.follows.push(format!("{n} frames were not sent by {on}; a full queue and a failed driver are both counted so."));
        }
        _ => said.open.push(format!("What {name} {n} of {on} means: the driver decides.")),
    }
}

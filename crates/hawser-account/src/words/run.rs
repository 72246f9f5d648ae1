//! Words on the run itself: what was not measured, what is not explained.

use hawser_model::units::Packets;

use super::path::suspect;
use super::{Told, Words, counted};

pub(super) fn check_stopped(f: &Told<'_>) -> Words {
    Words {
        text: format!(
            "The check ended early because of {}: {}. {} had been made; of the rest nothing is \
             known.",
            f.host(),
            f.object().unwrap_or("no reason was recorded"),
            counted(f.count("measurements_done"), "measurement"),
        ),
        fix: "See to the cluster engine first (`corosync-cfgtool -s`, `journalctl -u corosync`), \
              then repeat the check; at a lower rate, or in a maintenance window."
            .to_owned(),
    }
}

pub(super) fn fence_device_fails(f: &Told<'_>) -> Words {
    let (device, nodes, failure) = (
        f.object().unwrap_or("a fence device"),
        f.name("fences"),
        f.name("failure"),
    );
    // One device may fence several.
    let each = match nodes.split_once(", ") {
        Some(_) => format!("Whichever of {nodes} died now, it"),
        None => format!("If {nodes} died now it"),
    };
    match &f.0.place.host {
        Some(host) => Words {
            text: format!(
                "{device}, asked from {host}, does not answer: {failure}. {each} could not be \
                 switched off, and nothing would be taken over from it."
            ),
            fix: "A wrong password or user: set the same in the device and where the cluster file's `password` \
                  points, then `hawser apply`. No answer: its address, its cable and its switch; on IPMI \
                  `lanplus` and `cipher` too. `hawser status` asks again."
                .to_owned(),
        },
        None => Words {
            text: format!(
                "{device} was not asked whether it would switch {nodes} off: {failure}. Nothing is known of it."
            ),
            fix: "Start the check where the secret can be read, or see to what the message names.".to_owned(),
        },
    }
}

pub(super) fn pool_at_boot(f: &Told<'_>) -> Words {
    let mut fix = format!("{}.", f.name("remedy"));
    // `plan` and `status` print it as the second half of a sentence.
    if let Some(first) = fix.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    Words {
        text: format!("{}.", f.name("what")),
        fix,
    }
}

pub(super) fn not_measured(f: &Told<'_>) -> Words {
    Words {
        text: format!(
            "From {} to {}{} not everything could be measured: {}. Nothing found there does not \
             mean that nothing is wrong.",
            f.host(),
            f.peer(),
            f.on_link(),
            f.object().unwrap_or("no reason was recorded"),
        ),
        fix: "Remove what the message names and repeat the check.".to_owned(),
    }
}

pub(super) fn unattributed_loss(f: &Told<'_>) -> Words {
    let n = f.count("unattributed_packets");
    let missing = match f.is("echoes_only") {
        true => format!("Echoes of {}", counted(n, "packet")),
        false => counted(n, "packet"),
    };
    let blind = match (f.is("drop_events_read"), f.is("taps_read")) {
        (true, true) => {
            "The kernel's drop events and both taps were read, so the place has no counter and \
             raises no event"
        }
        (false, true) => "The kernel's drop events could not be read on every host",
        (true, false) => "The interfaces could not be tapped on every host",
        (false, false) => {
            "Neither drop events nor taps could be read on every host, and counters alone leave \
             this much open"
        }
    };
    let why = match f.name("collector_unavailable") {
        "" => String::new(),
        why => format!(" ({why})"),
    };
    Words {
        text: format!(
            "{missing} of {} were lost and nothing says where. {blind}{why}. {}",
            Packets(f.count("sent_packets")),
            suspect(f),
        ),
        fix: match f.is("drop_events_read") && f.is("taps_read") {
            true => "Send the case file with a report: `hawser explain` repeats this account \
                     from it anywhere."
                .to_owned(),
            false => "Let the agents run as root on a kernel with BTF \
                      (`/sys/kernel/btf/vmlinux`), so that they see the kernel's drop reasons, \
                      and repeat the check."
                .to_owned(),
        },
    }
}

//! Words on the run itself: what was not measured, what is not explained.

use hawser_model::units::Packets;

use super::path::suspect;
use super::{Told, Words, counted};

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

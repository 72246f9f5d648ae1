//! Another program's socket drops packets while the check runs: its buffer is too small or it
//! reads too slowly. Not our flow's loss, but a cluster engine's or storage server's, seen in
//! the act.
//!
//! Evidence: the socket's own drop count (sock_diag(7), `SK_MEMINFO_DROPS`) moved in a
//! window. Whether the buffer or the program is at fault cannot be told from outside; a full
//! queue at the window's end speaks for the program. Checksum errors and memory pressure are
//! other causes. Likely; an error. Cases: `foreign-socket-dropping`, `foreign-noise`.

use std::collections::BTreeMap;

use hawser_model::finding::{Confidence, Finding, Place, Severity};
use hawser_model::names::HostName;
use hawser_model::sockets::SocketFacts;

use super::Cause;
use super::corosync_buffer::is_halved;
use super::support::Draft;
use super::udp_memory::memory_not_buffer;
use crate::losses::Losses;
use crate::packets::facts::Side;
use crate::view::View;

pub(super) const CAUSE: Cause = Cause {
    code: "foreign-socket-dropping",
    find,
};

/// Other programs' sockets that dropped in some window of their host, with the sum.
pub(super) fn dropping<'a>(view: &View<'a>) -> BTreeMap<(HostName, u64), (&'a SocketFacts, u64)> {
    let mut sums: BTreeMap<(HostName, u64), (&'a SocketFacts, u64)> = BTreeMap::new();
    for phase in &view.phases {
        for side in [Side::Sender, Side::Receiver] {
            for socket in &phase.facts.window(side).sockets {
                let key = (phase.facts.host(side).clone(), socket.inode);
                let (_, sum) = sums.entry(key).or_insert((socket, 0));
                *sum = sum.saturating_add(socket.drops.0);
            }
        }
    }
    sums.retain(|_, (_, drops)| *drops > 0);
    sums
}

/// What the socket dropped in all windows.
pub(super) fn drops_of(view: &View<'_>, host: &HostName, inode: u64) -> u64 {
    dropping(view)
        .get(&(host.clone(), inode))
        .map_or(0, |(_, drops)| *drops)
}

fn find(view: &View<'_>, _: &mut Losses) -> Vec<Finding> {
    let mut found = Vec::new();
    for ((host, _), (socket, drops)) in dropping(view) {
        if is_halved(view, &host, socket) || memory_not_buffer(view, &host) {
            continue;
        }
        let name = socket.process.as_deref().unwrap_or("unknown process");
        let place = Place {
            host: Some(host.clone()),
            object: Some(match socket.pid {
                Some(pid) => format!("{name} (pid {pid}) {}", socket.local),
                None => format!("{name} {}", socket.local),
            }),
            ..Place::default()
        };
        let draft = Draft::new(CAUSE.code, Severity::Error, Confidence::Likely, place)
            .number("dropped_packets", drops)
            .number("buffer_bytes", socket.receive_buffer.0)
            .number("queued_bytes", socket.receive_queued.0);
        found.push(
            draft
                .maybe(
                    "rmem_default_bytes",
                    view.sysctl(&host, "net.core.rmem_default"),
                )
                .maybe("rmem_max_bytes", view.sysctl(&host, "net.core.rmem_max"))
                .done(),
        );
    }
    found
}

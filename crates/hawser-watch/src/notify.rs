//! Words to systemd, which restarts a watch that hangs (sd_notify(3), `WatchdogSec`).

use std::env;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

/// The way to the service manager; none where no service manager listens.
pub struct Manager(Option<(UnixDatagram, SocketAddr)>);

impl Manager {
    /// The one that started this process (`$NOTIFY_SOCKET`).
    pub fn here() -> Self {
        let address = |name: String| match name.strip_prefix('@') {
            Some(name) => SocketAddr::from_abstract_name(name).ok(),
            None => SocketAddr::from_pathname(name).ok(),
        };
        let address = env::var("NOTIFY_SOCKET").ok().and_then(address);
        Self(address.and_then(|address| Some((UnixDatagram::unbound().ok()?, address))))
    }

    /// `READY=1`, `WATCHDOG=1`, `STATUS=…`. One that does not listen is no reason to end.
    pub fn tell(&self, words: &str) {
        if let Some((socket, address)) = &self.0 {
            let _not_heard = socket.send_to_addr(words.as_bytes(), address);
        }
    }
}

//! Hearing hellos on all links of a host.

use std::collections::BTreeMap;
use std::os::fd::{AsRawFd, OwnedFd};

use hawser_model::names::{HostName, InterfaceName, LinkName};
use hawser_model::probe::HelloHeard;
use hawser_model::traffic::RunKey;
use nix::errno::Errno;
use nix::sys::socket::{MsgFlags, recv};

use super::{ETHERTYPE, frame, index_of};
use crate::error::WireError;
use crate::sys::link;

/// Larger than a hello with names of any length that cluster software takes.
const FRAME_BYTES: usize = 2_048;

/// Sockets that have been hearing hellos since they were opened; the kernel keeps the frames.
pub struct Listener {
    key: RunKey,
    sockets: Vec<(LinkName, OwnedFd)>,
}

impl Listener {
    /// Begins to listen on all the interfaces.
    ///
    /// # Errors
    /// [`WireError::Call`] when an interface does not exist or the caller may not listen to
    /// frames (`CAP_NET_RAW`).
    pub fn open(links: &[(InterfaceName, LinkName)], key: RunKey) -> Result<Self, WireError> {
        let mut sockets = Vec::new();
        for (interface, name) in links {
            let socket = link::open(index_of(interface)?, ETHERTYPE)
                .map_err(WireError::call("socket AF_PACKET", interface))?;
            sockets.push((name.clone(), socket));
        }
        Ok(Self { key, sockets })
    }

    /// What was heard since, as host `by`. Frames without the run's key are not.
    pub fn heard(self, by: &HostName) -> Vec<HelloHeard> {
        let mut copies: BTreeMap<(HostName, LinkName, LinkName), BTreeMap<u64, u32>> =
            BTreeMap::new();
        let mut buffer = [0; FRAME_BYTES];
        for (on, socket) in &self.sockets {
            loop {
                let flags = MsgFlags::MSG_DONTWAIT;
                let length = match recv(socket.as_raw_fd(), &mut buffer, flags) {
                    Ok(length) => length,
                    // A link that went down says so once; frames from before are behind it.
                    Err(Errno::ENETDOWN | Errno::EINTR) => continue,
                    Err(_) => break,
                };
                let hello = frame::parse(&buffer[..length]).filter(|h| h.key == self.key);
                if let Some(hello) = hello {
                    let heard = copies.entry((hello.from, hello.link, on.clone()));
                    *heard.or_default().entry(hello.nonce).or_default() += 1;
                }
            }
        }
        copies
            .into_iter()
            .map(|((from, from_link, on_link), frames)| HelloHeard {
                from,
                from_link,
                by: by.clone(),
                on_link,
                copies: frames.into_values().max().unwrap_or(0),
            })
            .collect()
    }
}

//! The root queueing discipline of an interface (`tc(8)`).
//!
//! What was there must come back exactly. The kernel's own choice does, when ours is deleted; a
//! plain FIFO does, with its handle and its limit. The options of any other that somebody has set do
//! not all survive being read and written (`fq_codel` rounds its times), so it is left alone.

use hawser_model::names::InterfaceName;
use nix::net::if_::if_nametoindex;
use nix::sys::socket::SockProtocol;

use crate::KernelError;
use crate::netlink::{Netlink, attribute, find, text, u32_at};

const RTM_NEWQDISC: u16 = 36;
const RTM_DELQDISC: u16 = 37;
const RTM_GETQDISC: u16 = 38;
/// `NLM_F_CREATE | NLM_F_REPLACE`.
const CREATE: u16 = 0x400 | 0x100;
const TC_H_ROOT: u32 = 0xffff_ffff;
const TC_H_INGRESS: u32 = 0xffff_fff1;
const TCA_KIND: u16 = 1;
const TCA_OPTIONS: u16 = 2;
/// `struct tcmsg`: family, padding, interface index, handle, parent, info.
const TC_MESSAGE: usize = 20;

/// The handle of those that Hawser sets, "HW".
const OURS: u32 = 0x4857 << 16;

/// Their one option is a limit, `struct tc_fifo_qopt`.
const FIFOS: [&str; 2] = ["pfifo", "bfifo"];

/// A discipline as it is read and as it is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Qdisc {
    kind: String,
    /// Zero is the kernel's own choice.
    handle: u32,
    limit: Option<u32>,
}

pub(super) fn read(interface: &InterfaceName) -> Result<String, KernelError> {
    root(interface, index(interface)?).map(|(root, _)| root.text())
}

pub(super) fn write(interface: &InterfaceName, value: &str) -> Result<(), KernelError> {
    let wanted = Qdisc::parse(value).ok_or_else(|| {
        KernelError::Absent(format!(
            "qdisc of {interface}: `{value}` is not `KIND [HANDLE:] [limit N]`"
        ))
    })?;
    let index = index(interface)?;
    let (now, children) = root(interface, index)?;
    if !now.comes_back(children) {
        return Err(KernelError::Absent(format!(
            "qdisc of {interface}: it is set to {}, which Hawser could not put back exactly",
            now.text()
        )));
    }
    let mut netlink = Netlink::open(SockProtocol::NetlinkRoute)?;
    let mut call = |request, number, flags, body: &[u8]| {
        netlink
            .change(request, number, flags, body)
            .map_err(|e| KernelError::Absent(format!("qdisc of {interface}, {value}: {e}")))
    };
    if now.handle != 0 {
        call("RTM_DELQDISC", RTM_DELQDISC, 0, &message(index, now.handle))?;
    }
    if wanted.handle == 0 {
        return Ok(());
    }
    let set = call("RTM_NEWQDISC", RTM_NEWQDISC, CREATE, &wanted.message(index));
    if set.is_err() && now.handle != 0 {
        // The one that was there has gone already.
        call("RTM_NEWQDISC", RTM_NEWQDISC, CREATE, &now.message(index))?;
    }
    set
}

fn index(interface: &InterfaceName) -> Result<u32, KernelError> {
    if_nametoindex(interface.as_str())
        .map_err(|e| KernelError::call("if_nametoindex", interface, e))
}

fn message(index: u32, handle: u32) -> Vec<u8> {
    let mut body = vec![0; TC_MESSAGE];
    body[4..8].copy_from_slice(&index.to_ne_bytes());
    body[8..12].copy_from_slice(&handle.to_ne_bytes());
    body[12..16].copy_from_slice(&TC_H_ROOT.to_ne_bytes());
    body
}

/// The root discipline, and whether somebody has set one below it.
fn root(interface: &InterfaceName, index: u32) -> Result<(Qdisc, bool), KernelError> {
    let mut netlink = Netlink::open(SockProtocol::NetlinkRoute)?;
    let found = netlink.dump(
        "RTM_GETQDISC",
        RTM_GETQDISC,
        &message(index, 0)[..],
        || (None, false),
        |(root, children), message| {
            if u32_at(message, 4) != Some(index) {
                return;
            }
            match (u32_at(message, 12), u32_at(message, 8)) {
                (Some(TC_H_ROOT), _) => *root = Qdisc::decode(message),
                (Some(TC_H_INGRESS), _) | (_, Some(0)) => {}
                _ => *children = true,
            }
        },
    )?;
    match found {
        (Some(root), children) => Ok((root, children)),
        (None, _) => Err(KernelError::Absent(format!(
            "{interface}: no queueing discipline while it is down"
        ))),
    }
}

impl Qdisc {
    fn decode(message: &[u8]) -> Option<Self> {
        let attributes = message.get(TC_MESSAGE..)?;
        let kind = text(find(attributes, TCA_KIND)?);
        let fifo = FIFOS.contains(&kind.as_str());
        Some(Self {
            handle: u32_at(message, 8)?,
            limit: find(attributes, TCA_OPTIONS)
                .filter(|_| fifo)
                .and_then(|options| u32_at(options, 0)),
            kind,
        })
    }

    /// `KIND [HANDLE:] [limit N]`; without a handle it is ours.
    fn parse(text: &str) -> Option<Self> {
        let mut words = text.split_whitespace().peekable();
        let kind = words.next()?.to_owned();
        let handle = match words.next_if(|w| w.ends_with(':')) {
            Some(handle) => {
                u32::from_str_radix(handle.trim_end_matches(':'), 16)
                    .ok()
                    .filter(|major| *major <= 0xffff)?
                    << 16
            }
            None => OURS,
        };
        let limit = match (words.next(), words.next(), words.next()) {
            (None, ..) => None,
            (Some("limit"), Some(limit), None) if FIFOS.contains(&kind.as_str()) => {
                Some(limit.parse().ok()?)
            }
            _ => return None,
        };
        Some(Self {
            kind,
            handle,
            limit,
        })
    }

    fn text(&self) -> String {
        let limit = self.limit.map_or(String::new(), |n| format!(" limit {n}"));
        format!("{} {:x}:{limit}", self.kind, self.handle >> 16)
    }

    fn message(&self, index: u32) -> Vec<u8> {
        let mut body = message(index, self.handle);
        attribute(&mut body, TCA_KIND, format!("{}\0", self.kind).as_bytes());
        if let Some(limit) = self.limit {
            attribute(&mut body, TCA_OPTIONS, &limit.to_ne_bytes());
        }
        body
    }

    fn comes_back(&self, children: bool) -> bool {
        let fifo = FIFOS.contains(&self.kind.as_str());
        !children && (self.handle == 0 || self.handle == OURS || fifo)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_can_be_written_and_nothing_else_is_understood() {
        for text in ["noqueue 0:", "pfifo 8001: limit 1000", "fq_codel 4857:"] {
            assert_eq!(Qdisc::parse(text).unwrap().text(), text);
        }
        assert_eq!(
            Qdisc::parse("bfifo limit 9").unwrap().text(),
            "bfifo 4857: limit 9"
        );
        for wrong in [
            "",
            "pfifo limit",
            "pfifo limit x",
            "fq_codel limit 3",
            "pfifo 12345:",
            "x y",
        ] {
            assert_eq!(Qdisc::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn only_what_can_be_put_back_exactly_is_replaced() {
        let replaced = |text: &str, children| Qdisc::parse(text).unwrap().comes_back(children);
        assert!(replaced("mq 0:", false) && replaced("pfifo 8001: limit 3", false));
        assert!(replaced("fq_codel", false), "ours");
        assert!(!replaced("mq 0:", true), "somebody's below it");
        assert!(!replaced("htb 1:", false) && !replaced("fq_codel 8001:", false));
    }
}

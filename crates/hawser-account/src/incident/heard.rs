//! What corosync.log says of heartbeat links and of who is there, and which head has which number.

use hawser_model::names::HostName;

use crate::outage::log_lines::{Mark, after, corosync, number};

/// Corosync has eight links at most (`KNET_MAX_LINK` of kronosnet).
const LINKS: u64 = 8;

/// What a line of corosync.log says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Heard {
    /// A link to a node went down, or came up.
    Link {
        /// The node's number.
        node: u32,
        /// The link's.
        link: u8,
        /// Whether it is up now.
        up: bool,
    },
    /// No link to this node is left.
    NoLink(u32),
    /// A token was awaited in vain for so many milliseconds.
    Silence(u64),
    /// A new membership.
    Members {
        /// Numbers of nodes that were not in the last one.
        joined: Vec<u32>,
        /// Numbers of those that are missing.
        left: Vec<u32>,
    },
    /// Corosync starts: it knows nothing of before.
    Started,
    /// Corosync ends as it was told to.
    Ending,
}

impl Heard {
    /// The numbers of the nodes that it is about.
    pub(super) fn nodes(self) -> Vec<u32> {
        match self {
            Self::Link { node, .. } | Self::NoLink(node) => vec![node],
            Self::Members { joined, left } => [joined, left].concat(),
            Self::Silence(_) | Self::Started | Self::Ending => Vec::new(),
        }
    }
}

/// What a line of corosync.log says of this; its stamp is already cut off.
pub(super) fn heard(text: &str) -> Option<Heard> {
    if let Some(rest) = after(text, "[KNET") {
        // `[KNET  ] link: host: 2 link: 1 is down`, `[KNET  ] rx: host: 2 link: 1 is up`, `host: host: 2 has no active links`.
        let (_, rest) = rest.split_once(": host: ")?;
        let (node, rest) = rest.split_once(' ')?;
        let node = node.parse().ok()?;
        if rest.starts_with("has no active links") {
            return Some(Heard::NoLink(node));
        }
        let (link, state) = rest.strip_prefix("link: ")?.split_once(" is ")?;
        let link = link.parse().ok().filter(|link| u64::from(*link) < LINKS)?;
        let up = match state.trim_end() {
            "up" => true,
            "down" => false,
            _ => return None,
        };
        return Some(Heard::Link { node, link, up });
    }
    if text.contains("Unloading all Corosync service engines") {
        return Some(Heard::Ending);
    }
    if let Some(members) = after(text, "A new membership (") {
        // Who waited for the token in vain may find that nobody is lost: `A new membership (1.d) was formed. Members`.
        return Some(Heard::Members {
            joined: numbers(members, " joined: "),
            left: numbers(members, " left: "),
        });
    }
    match corosync(text)? {
        Mark::TokenLost { token_ms } => Some(Heard::Silence(token_ms)),
        Mark::Started => Some(Heard::Started),
        _ => None,
    }
}

/// `Members joined: 3 4 left: 1`: the numbers behind a word.
fn numbers(members: &str, word: &str) -> Vec<u32> {
    let rest = after(members, word).unwrap_or_default();
    let words = rest.split_ascii_whitespace();
    words.map_while(|word| word.parse().ok()).collect()
}

/// Which head has a number, as a line of pacemaker.log says it: `Node 2 is now known as head2`,
/// `Node head2 state is now lost | nodeid=2`.
pub(super) fn numbered(text: &str) -> Option<(u32, HostName)> {
    if text.contains(" output [ ") || text.contains("stderr: [ ") {
        return None;
    }
    let rest = after(text, "Node ")?;
    let (id, name) = match rest.split_once(" is now known as ") {
        Some((id, name)) => (id.parse().ok()?, name.trim_end()),
        None => {
            let (name, rest) = rest.split_once(" state is now ")?;
            (u32::try_from(number(after(rest, "nodeid=")?)?).ok()?, name)
        }
    };
    is_name(name).then(|| (id, name.into()))
}

/// Whether a head can be called so.
pub(super) fn is_name(name: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
    !name.is_empty() && name.len() <= 64 && name.chars().all(allowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_and_members_are_heard() {
        let knet = |rest: &str| heard(&format!("[14] head2 corosync info    [KNET  ] {rest}"));
        let link = |up| {
            Some(Heard::Link {
                node: 1,
                link: 0,
                up,
            })
        };
        assert_eq!(knet("link: host: 1 link: 0 is down"), link(false));
        assert_eq!(knet("rx: host: 1 link: 0 is up"), link(true));
        assert_eq!(knet("link: host: 1 link: 0 is up"), link(true));
        assert_eq!(
            knet("host: host: 1 has no active links"),
            Some(Heard::NoLink(1))
        );
        for none in [
            "host: host: 1 (passive) best link: 0 (pri: 1)",
            "link: Resetting MTU for link 0 because host 1 joined",
            "link: host: 1 link: 8 is down",
            "link: host: 1 link: 0 is downhill",
            "link: host: 99999999999 link: 0 is down",
        ] {
            assert_eq!(knet(none), None, "{none}");
        }
        assert_eq!(
            heard("x [TOTEM ] A new membership (1.9) was formed. Members joined: 3 4 left: 1"),
            Some(Heard::Members {
                joined: vec![3, 4],
                left: vec![1]
            })
        );
    }

    #[test]
    fn pacemaker_says_whose_a_number_is() {
        let known =
            "head1 pacemaker-fenced    [53] (crm_get_peer) \tinfo: Node 2 is now known as head2";
        assert_eq!(numbered(known), Some((2, "head2".into())));
        let lost = "head1 pacemaker-controld  [57] (x) \tnotice: Node head2 state is now lost | nodeid=2 previous=member";
        assert_eq!(numbered(lost), Some((2, "head2".into())));
        assert_eq!(numbered("info: Node 2 is now known as a b"), None);
        assert_eq!(numbered("info: Node 2 is now known as \u{1b}[2J"), None);
        assert_eq!(numbered("x output [ Node 2 is now known as head3 ]"), None);
    }
}

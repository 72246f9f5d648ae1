//! A hello's bytes, written and read. Pure.
//!
//! Magic (8 bytes), run key (8), nonce (8), then host and link name, each after its length
//! (2), then the CRC-32 of all that (4). Ethernet may pad what follows.

use hawser_model::names::{HostName, LinkName};
use hawser_model::traffic::RunKey;

const MAGIC: [u8; 8] = *b"HWSRHEL1";

/// One announcement of a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hello {
    /// The run it belongs to.
    pub key: RunKey,
    /// Different in each frame, equal in copies of one frame.
    pub nonce: u64,
    /// Who sent it.
    pub from: HostName,
    /// Out of which of its links.
    pub link: LinkName,
}

/// The frame's payload.
pub fn encode(hello: &Hello) -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    bytes.extend(hello.key.0.to_be_bytes());
    bytes.extend(hello.nonce.to_be_bytes());
    for name in [hello.from.as_str(), hello.link.as_str()] {
        // A name that does not fit makes a frame no interface takes: the send says so.
        bytes.extend((name.len() as u16).to_be_bytes());
        bytes.extend(name.as_bytes());
    }
    bytes.extend(crc32fast::hash(&bytes).to_be_bytes());
    bytes
}

/// Reads a frame's payload; absent when it is not an intact hello. Any bytes are fine.
pub fn parse(bytes: &[u8]) -> Option<Hello> {
    let mut rest = bytes.strip_prefix(&MAGIC)?;
    let key = RunKey(u64::from_be_bytes(take(&mut rest)?));
    let nonce = u64::from_be_bytes(take(&mut rest)?);
    let from = HostName(name(&mut rest)?);
    let link = LinkName(name(&mut rest)?);
    let checked = &bytes[..bytes.len() - rest.len()];
    let crc = u32::from_be_bytes(take(&mut rest)?);
    (crc == crc32fast::hash(checked)).then_some(Hello {
        key,
        nonce,
        from,
        link,
    })
}

fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (taken, left) = rest.split_first_chunk::<N>()?;
    *rest = left;
    Some(*taken)
}

fn name(rest: &mut &[u8]) -> Option<String> {
    let length = usize::from(u16::from_be_bytes(take(rest)?));
    let (name, left) = rest.split_at_checked(length)?;
    *rest = left;
    Some(std::str::from_utf8(name).ok()?.to_owned())
}

//! Netlink attributes (`struct nlattr`): walking, composing, numbers in the host's byte order.

const HEADER: usize = 4;
/// `NLA_TYPE_MASK`: the two upper bits say "nested" and "network byte order".
const TYPE_MASK: u16 = 0x3fff;

/// The attributes of `bytes`, as (type, payload). Ends at the first malformed one.
pub(crate) fn attributes(bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        let length = usize::from(u16_at(rest, 0)?);
        let kind = u16_at(rest, 2)? & TYPE_MASK;
        let payload = rest.get(HEADER..length)?;
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or(&[]);
        Some((kind, payload))
    })
}

/// The payload of the first attribute of a kind.
pub(crate) fn find(bytes: &[u8], wanted: u16) -> Option<&[u8]> {
    attributes(bytes).find_map(|(kind, payload)| (kind == wanted).then_some(payload))
}

/// Appends an attribute to a message.
pub(crate) fn attribute(message: &mut Vec<u8>, kind: u16, payload: &[u8]) {
    message.extend(((HEADER + payload.len()) as u16).to_ne_bytes());
    message.extend(kind.to_ne_bytes());
    message.extend(payload);
    message.resize(message.len().next_multiple_of(4), 0);
}

/// The 16-bit number at `offset`, if there are that many bytes.
pub(crate) fn u16_at(bytes: &[u8], offset: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(number(bytes, offset)?))
}

/// The 32-bit number at `offset`, if there are that many bytes.
pub(crate) fn u32_at(bytes: &[u8], offset: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(number(bytes, offset)?))
}

/// The 64-bit number at `offset`, if there are that many bytes.
pub(crate) fn u64_at(bytes: &[u8], offset: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(number(bytes, offset)?))
}

fn number<const N: usize>(bytes: &[u8], offset: usize) -> Option<[u8; N]> {
    bytes.get(offset..)?.first_chunk().copied()
}

/// Text up to the first NUL.
pub(crate) fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|&b| b == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

/// An Ethernet address in colon form; absent for one of zeros or of another length.
pub(crate) fn mac(payload: &[u8]) -> Option<String> {
    let bytes: &[u8; 6] = payload.try_into().ok()?;
    (*bytes != [0; 6]).then(|| bytes.map(|b| format!("{b:02x}")).join(":"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_found_again_as_they_were_composed() {
        let mut message = Vec::new();
        attribute(&mut message, 3, b"eth0\0");
        attribute(&mut message, 0x8000 | 7, &9u32.to_ne_bytes());
        let read: Vec<_> = attributes(&message).collect();
        assert_eq!(read, [(3, &b"eth0\0"[..]), (7, &9u32.to_ne_bytes()[..])]);
        assert_eq!(text(read[0].1), "eth0");
        assert_eq!(find(&message, 7).and_then(|p| u32_at(p, 0)), Some(9));
        assert_eq!(find(&message, 8), None);
    }

    #[test]
    fn a_cut_or_lying_message_ends_the_walk() {
        let mut message = Vec::new();
        attribute(&mut message, 1, &[1, 2, 3, 4]);
        for length in 0..message.len() {
            assert_eq!(attributes(&message[..length]).count(), 0, "{length} bytes");
        }
        assert_eq!(
            attributes(&[0, 0, 1, 0]).count(),
            0,
            "length below the header"
        );
        assert_eq!(u64_at(&[0; 7], 0), None);
    }

    #[test]
    fn a_mac_address_has_six_bytes_and_is_not_zero() {
        assert_eq!(
            mac(&[2, 0, 0, 0, 0, 0x1f]).as_deref(),
            Some("02:00:00:00:00:1f")
        );
        assert_eq!(mac(&[0; 6]), None);
        assert_eq!(mac(&[10, 0, 0, 1]), None, "a tunnel's address is none");
    }
}

//! The power button of a machine: a word to its kernel's management console (`arch/um/drivers/mconsole_kern.c`).

use std::io;
use std::os::unix::net::UnixDatagram;

use super::uml::UMID;

const MAGIC: u32 = 0xcafe_babe;
const VERSION: u32 = 2;
/// `MCONSOLE_MAX_DATA`.
const MOST: usize = 512;

/// Presses Ctrl-Alt-Del, by which the image powers off. The kernel's socket lies in the current folder.
pub(super) fn power_button() -> io::Result<()> {
    let socket = UnixDatagram::unbound()?;
    socket.send_to(&request("cad"), format!("{UMID}/mconsole"))?;
    Ok(())
}

/// `struct mconsole_request`, in the byte order of this machine.
fn request(word: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    for number in [MAGIC, VERSION, word.len() as u32] {
        bytes.extend(number.to_ne_bytes());
    }
    bytes.extend(word.as_bytes());
    bytes.resize(12 + MOST, 0);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_has_its_word_where_the_kernel_looks_for_it() {
        let bytes = request("cad");
        assert_eq!(bytes.len(), 524);
        assert_eq!(bytes[8..16], [3, 0, 0, 0, b'c', b'a', b'd', 0]);
    }
}

//! What a compressed file holds. Its first bytes say how it is compressed, not its name.

use std::io::{self, Cursor, ErrorKind, Read};

use bzip2::read::MultiBzDecoder;
use flate2::read::MultiGzDecoder;
use lzma_rust2::XzReader;

/// KiB for what an xz file may refer back to: `xz -9` needs 65 MiB (xz(1)), and a hostile file says 4 GiB.
const XZ_KIB: u32 = 128 << 10;

/// Reads what it holds; of one that is not compressed, itself.
///
/// # Errors
/// It cannot be read. Of kind `Unsupported`: it is compressed in a way that is not known here.
pub fn unpacked<'r>(mut packed: impl Read + 'r) -> io::Result<Box<dyn Read + 'r>> {
    let mut first = Vec::new();
    packed.by_ref().take(6).read_to_end(&mut first)?;
    let begins = |with: &[u8]| first.starts_with(with);
    let (gzip, bzip2) = (begins(b"\x1f\x8b"), begins(b"BZh"));
    let (xz, zstd) = (begins(b"\xfd7zXZ\0"), begins(b"\x28\xb5\x2f\xfd"));
    let whole = Cursor::new(first).chain(packed);
    Ok(match () {
        () if gzip => Box::new(MultiGzDecoder::new(whole)),
        () if bzip2 => Box::new(MultiBzDecoder::new(whole)),
        () if xz => Box::new(XzReader::new_mem_limit(whole, true, XZ_KIB)),
        () if zstd => {
            let why = "it is compressed by zstd: unpack it first";
            return Err(io::Error::new(ErrorKind::Unsupported, why));
        }
        () => Box::new(whole),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `printf hawser | gzip -n`, and so on.
    const PACKED: [&[u8]; 4] = [
        b"hawser",
        b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\xcb\x48\x2c\x2f\x4e\x2d\x02\x00\xb7\xb3\xe9\xf7\
          \x06\x00\x00\x00",
        b"\x42\x5a\x68\x39\x31\x41\x59\x26\x53\x59\x75\xff\xc2\x79\x00\x00\x01\x01\x80\x22\x40\x18\
          \x80\x20\x00\x30\xc0\x08\x63\x43\x02\xdc\x2e\xe4\x8a\x70\xa1\x20\xeb\xff\x84\xf2",
        b"\xfd\x37\x7a\x58\x5a\x00\x00\x04\xe6\xd6\xb4\x46\x02\x00\x21\x01\x16\x00\x00\x00\x74\x2f\
          \xe5\xa3\x01\x00\x05\x68\x61\x77\x73\x65\x72\x00\x00\x00\x6e\x58\x11\xb8\xd0\x8a\x17\x29\
          \x00\x01\x1e\x06\xc1\x2f\xa4\x1d\x1f\xb6\xf3\x7d\x01\x00\x00\x00\x00\x04\x59\x5a",
    ];

    #[test]
    fn first_bytes_say_how_it_is_compressed() {
        for packed in PACKED {
            let mut text = String::new();
            let mut read = unpacked(packed).expect("it is known");
            read.read_to_string(&mut text).expect("it is whole");
            assert_eq!(text, "hawser");
        }
        let zstd = unpacked(&b"\x28\xb5\x2f\xfd\x04\x00"[..]).err();
        assert_eq!(zstd.map(|why| why.kind()), Some(ErrorKind::Unsupported));
    }

    #[test]
    fn an_xz_file_that_wants_gibibytes_is_refused() {
        // Byte 16 is the size of the dictionary: 40 is 4 GiB less one byte (xz-file-format 5.3.1).
        let mut greedy = PACKED[3].to_vec();
        assert_eq!(greedy[14], 0x21, "the filter LZMA2");
        greedy[16] = 40;
        let header = crc32(&greedy[12..20]).to_le_bytes();
        greedy[20..24].copy_from_slice(&header);
        let mut read = unpacked(greedy.as_slice()).expect("it is xz");
        let why = read.read_to_end(&mut Vec::new()).expect_err("4 GiB");
        assert_eq!(why.kind(), ErrorKind::OutOfMemory, "{why}");
    }

    #[test]
    fn what_is_damaged_anywhere_ends() {
        for packed in PACKED {
            for at in 0..packed.len() * 8 {
                let mut damaged = packed.to_vec();
                damaged[at / 8] ^= 1 << (at % 8);
                let read = unpacked(damaged.as_slice());
                let read = read.and_then(|text| text.take(1 << 20).read_to_end(&mut Vec::new()));
                assert!(
                    read.is_err() || read.is_ok_and(|bytes| bytes < 1 << 20),
                    "{at}"
                );
            }
        }
    }

    fn crc32(bytes: &[u8]) -> u32 {
        let mut crc = flate2::Crc::new();
        crc.update(bytes);
        crc.sum()
    }
}

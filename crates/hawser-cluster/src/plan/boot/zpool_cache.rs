//! The names of pools in ZFS's cache file: a packed nvlist, one pair for each pool
//! (`spa_config_write` in OpenZFS' spa_config.c, nvpair.c for the encodings).

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

/// What a cache file names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cached {
    /// These pools.
    Pools(BTreeSet<String>),
    /// It is not what ZFS writes.
    Unreadable,
}

impl Cached {
    /// Reads a cache file.
    pub fn parse(bytes: &[u8]) -> Self {
        match bytes.is_empty() {
            true => Self::Pools(BTreeSet::new()),
            false => names(bytes).map_or(Self::Unreadable, Self::Pools),
        }
    }

    /// Whether nothing is imported from it: ZFS's own units look whether it is empty.
    pub fn is_empty(&self) -> bool {
        matches!(self, Self::Pools(pools) if pools.is_empty())
    }
}

/// `NV_ENCODE_NATIVE`, which OpenZFS writes, with the byte order in the second byte.
const NATIVE: u8 = 0;
/// `NV_ENCODE_XDR`, which ZFS on Linux 0.6 wrote.
const XDR: u8 = 1;

/// Four bytes of header, then version and flags of the list.
const PAIRS: usize = 12;

fn names(bytes: &[u8]) -> Option<BTreeSet<String>> {
    match (*bytes.first()?, *bytes.get(1)?) {
        (XDR, _) => of_xdr(bytes.get(PAIRS..)?),
        (NATIVE, 0) => of_native(bytes, u32::from_be_bytes),
        (NATIVE, 1) => of_native(bytes, u32::from_le_bytes),
        _ => None,
    }
}

fn of_xdr(mut pair: &[u8]) -> Option<BTreeSet<String>> {
    let number = |pair: &[u8], at| number(pair, at, u32::from_be_bytes);
    let mut found = BTreeSet::new();
    loop {
        // The size of the pair with this number itself, the size in memory, the name. Two zeros end the list.
        let size = number(pair, 0)?;
        if size == 0 && number(pair, 4)? == 0 {
            return Some(found);
        }
        let length = number(pair, 8)?;
        let name = pair.get(12..12_usize.checked_add(length)?)?;
        found.insert(String::from_utf8(name.to_vec()).ok()?);
        pair = pair.get(size..).filter(|_| size > 0)?;
    }
}

/// `DATA_TYPE_NVLIST` and its array: their lists follow the pair and are not in its size.
const LIST: usize = 19;
const LISTS: usize = 20;
/// The size of what stands before the name (`nvpair_t`): size, size of the name, elements, type.
const HEADER: usize = 16;
/// A pool's configuration is a list of devices that have devices: as deep as that is no pool.
const DEEPEST: usize = 64;

/// Pairs of `nvpair_t` as they lie in memory. A zero ends a list.
fn of_native(bytes: &[u8], order: fn([u8; 4]) -> u32) -> Option<BTreeSet<String>> {
    let mut found = BTreeSet::new();
    // How many more lists end before the one that this is in goes on.
    let mut open = vec![1_usize];
    let mut rest = bytes.get(PAIRS..)?;
    loop {
        let size = number(rest, 0, order)?;
        if size == 0 {
            rest = rest.get(4..)?;
            *open.last_mut()? -= 1;
            while open.last() == Some(&0) {
                open.pop();
            }
            if open.is_empty() {
                return Some(found);
            }
            continue;
        }
        let pair = rest.get(..size).filter(|_| size > HEADER)?;
        if open.len() == 1 {
            let name = pair.get(HEADER..)?.split(|byte| *byte == 0).next()?;
            found.insert(String::from_utf8(name.to_vec()).ok()?);
        }
        let inside = match number(pair, 12, order)? {
            LIST => 1,
            LISTS => number(pair, 8, order)?,
            _ => 0,
        };
        if inside > 0 {
            open.push(inside);
        }
        rest = rest.get(size..).filter(|_| open.len() < DEEPEST)?;
    }
}

fn number(bytes: &[u8], at: usize, order: fn([u8; 4]) -> u32) -> Option<usize> {
    let four = bytes.get(at..at + 4)?.try_into().ok()?;
    usize::try_from(order(four)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A list as ZFS packs it, whose pairs hold `inside` instead of a pool's configuration.
    fn packed(pools: &[&str], inside: &[u8]) -> Vec<u8> {
        let mut bytes = vec![XDR, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];
        for pool in pools {
            let mut name = pool.as_bytes().to_vec();
            name.resize(pool.len().next_multiple_of(4), 0);
            let size = 12 + name.len() + 8 + inside.len();
            for part in [size, size, pool.len()] {
                bytes.extend(u32::try_from(part).unwrap().to_be_bytes());
            }
            bytes.extend(name);
            // DATA_TYPE_NVLIST, one element.
            bytes.extend([0, 0, 0, 19, 0, 0, 0, 1]);
            bytes.extend(inside);
        }
        bytes.extend([0; 8]);
        bytes
    }

    #[test]
    fn every_pool_of_a_cache_is_named_and_nothing_that_is_in_its_configuration() {
        let bytes = packed(&["vmpool01", "rpool"], b"name\0\0\0\0otherpool\0\0\0");
        let pools = ["rpool", "vmpool01"].map(str::to_owned);
        assert_eq!(Cached::parse(&bytes), Cached::Pools(pools.into()));
        assert!(Cached::parse(&packed(&[], &[])).is_empty() && Cached::parse(&[]).is_empty());
    }

    /// What OpenZFS 2.3.2 wrote on a head with two mirrors.
    const RECORDED: &[u8] = include_bytes!("../../../tests/zpool.cache");

    #[test]
    fn the_pools_of_a_cache_that_zfs_wrote_are_named() {
        let pools = ["vmpool01", "vmpool02"].map(str::to_owned);
        assert_eq!(Cached::parse(RECORDED), Cached::Pools(pools.into()));
        // A list that is empty has its header and its end.
        let empty = [NATIVE, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0];
        assert!(Cached::parse(&empty).is_empty());
        let mut other = RECORDED.to_vec();
        other[1] = 0;
        assert_eq!(
            Cached::parse(&other),
            Cached::Unreadable,
            "its bytes are not in that order"
        );
    }

    #[test]
    fn half_a_cache_is_not_taken_for_an_empty_one() {
        for whole in [&packed(&["vmpool01"], &[0; 8])[..], RECORDED] {
            for length in 1..whole.len() {
                assert_eq!(Cached::parse(&whole[..length]), Cached::Unreadable);
            }
        }
    }

    proptest! {
        #[test]
        fn no_bytes_bring_it_down(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            Cached::parse(&bytes);
            for encoding in [XDR, NATIVE] {
                let mut list = vec![encoding, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];
                list.extend(&bytes);
                Cached::parse(&list);
            }
        }

        #[test]
        fn nor_does_one_that_is_broken_anywhere(at in 0..RECORDED.len(), byte: u8) {
            let mut bytes = RECORDED.to_vec();
            bytes[at] = byte;
            Cached::parse(&bytes);
        }
    }
}

//! The names of pools in ZFS's cache file: a packed nvlist, one pair for each pool
//! (`spa_write_cachefile` in OpenZFS' spa_config.c, nvpair.c for the encoding).

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

/// `NV_ENCODE_XDR`, the only encoding that ZFS writes to a file.
const XDR: u8 = 1;

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

fn names(bytes: &[u8]) -> Option<BTreeSet<String>> {
    // Four bytes of header, then version and flags of the list.
    if *bytes.first()? != XDR {
        return None;
    }
    let mut pair = bytes.get(12..)?;
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

fn number(bytes: &[u8], at: usize) -> Option<usize> {
    let four = bytes.get(at..at + 4)?.try_into().ok()?;
    usize::try_from(u32::from_be_bytes(four)).ok()
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

    #[test]
    fn half_a_cache_is_not_taken_for_an_empty_one() {
        let whole = packed(&["vmpool01"], &[0; 8]);
        for length in 1..whole.len() {
            assert_eq!(Cached::parse(&whole[..length]), Cached::Unreadable);
        }
    }

    proptest! {
        #[test]
        fn no_bytes_bring_it_down(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            Cached::parse(&bytes);
            let mut list = vec![XDR, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];
            list.extend(bytes);
            Cached::parse(&list);
        }
    }
}

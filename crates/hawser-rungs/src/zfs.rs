//! What OpenZFS measured of its own checksums when its module was loaded
//! (`/proc/spl/kstat/zfs/chksum_bench`, since OpenZFS 2.2). Of its cipher it measures nothing; it
//! says only which implementation it took.

use std::fs;

use hawser_model::ladder::Sample;
use hawser_model::units::{Bytes, Nanos};

use crate::{Measured, RungError};

const BENCH: &str = "/proc/spl/kstat/zfs/chksum_bench";
const GCM: &str = "/sys/module/icp/parameters/icp_gcm_impl";

pub(crate) fn read() -> Measured {
    let gcm = fs::read_to_string(GCM).unwrap_or_default();
    let how = match gcm.split_whitespace().find(|w| w.starts_with('[')) {
        Some(chosen) => format!("OpenZFS, SHA-256; its AES-GCM is {chosen}"),
        None => "OpenZFS, SHA-256".to_owned(),
    };
    let text = fs::read_to_string(BENCH).map_err(|e| {
        RungError::Absent(format!(
            "the zfs module is not loaded here (read {BENCH}: {e})"
        ))
    });
    let fastest = text.and_then(|text| {
        fastest(&text).ok_or_else(|| RungError::Absent(format!("{BENCH} holds no sha256 row")))
    });
    let sample = |mib: u64| Sample {
        elapsed: Nanos::from_millis(1_000),
        bytes: Bytes(mib << 20),
    };
    (how, fastest.map(|mib| vec![sample(mib)]))
}

/// MiB a second of the fastest SHA-256 in the largest blocks.
fn fastest(text: &str) -> Option<u64> {
    text.lines()
        .filter(|line| line.starts_with("sha256-"))
        .filter_map(|line| line.split_whitespace().next_back()?.parse().ok())
        .max()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fastest_row_in_its_last_column() {
        let text = "\
implementation               1k      4k     16k     64k    256k      1m      4m     16m
edonr-generic              1196    1602    1761    1749    1762    1759    1751    1735
sha256-generic              177     242     232     237     233     240     234     236
sha256-x64                  273     303     310     312     314     315     316     315
sha256-ssse3                325     371     382     382     384     386     386     386
sha512-avx2                 498     684     727     735     734     741     736     736
";
        assert_eq!(fastest(text), Some(386));
        assert_eq!(fastest("implementation 1k\n"), None);
    }
}

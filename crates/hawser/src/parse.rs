//! Values of command-line arguments that carry a unit, or must hold before any work begins.

use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::time::Duration;

use hawser_model::units::{self, BitsPerSec, Bytes, NotA};

/// `500us`, `20ms`, `3s`.
pub fn duration(text: &str) -> Result<Duration, String> {
    humantime::parse_duration(text).map_err(|e| format!("{e}; write 500us, 20ms or 3s"))
}

/// `65536`, `64k`, `8M`: bytes, with binary prefixes as sysctls and buffers use them.
pub fn bytes(text: &str) -> Result<u64, String> {
    let bytes: Result<Bytes, _> = text.parse();
    bytes.map(Bytes::get).map_err(|e| e.to_string())
}

/// `10000`, `10k`, `2M`: a number of things that are counted, with decimal prefixes.
pub fn count(text: &str) -> Result<u64, String> {
    units::count(text).map_err(|e| e.to_string())
}

/// A size that a lab's queue, buffer or connection can have.
pub fn lab_size(text: &str) -> Result<Bytes, String> {
    within(bytes, 1..=0x7fff_ffff)(text).map(Bytes)
}

/// A rate that a lab's port can be set to: `tc` counts whole bytes, and a slower one passes no packet for seconds.
pub fn lab_rate(text: &str) -> Result<BitsPerSec, String> {
    let rate: BitsPerSec = text.parse().map_err(|e: NotA| e.to_string())?;
    match (8_000..=1_000_000_000_000).contains(&rate.get()) {
        true => Ok(rate),
        false => Err("8kbit to 1000Gbit is possible".to_owned()),
    }
}

/// A number from a range.
pub fn within<T: TryFrom<u64>>(
    parse: fn(&str) -> Result<u64, String>,
    range: RangeInclusive<u64>,
) -> impl Fn(&str) -> Result<T, String> + Clone {
    move |text| {
        let number = parse(text)?;
        let (least, most) = (range.start(), range.end());
        let fits = range.contains(&number).then(|| T::try_from(number).ok());
        fits.flatten()
            .ok_or_else(|| format!("{least} to {most} is possible"))
    }
}

/// A file that is to be written when the work is done: minutes of measuring must not end with a
/// folder that was never there.
pub fn output(text: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(text);
    if path.is_dir() {
        return Err("it is a folder; name a file in it".into());
    }
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    match folder.is_dir() {
        true => Ok(path),
        false => Err(format!("there is no folder {}", folder.display())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_written_only_into_a_folder_that_is_there() {
        let folder = tempfile::tempdir().unwrap();
        let within = |name: &str| output(folder.path().join(name).to_str().unwrap());
        assert_eq!(within("case.json"), Ok(folder.path().join("case.json")));
        assert!(within("no/case.json").unwrap_err().contains("no folder"));
        assert!(within("").unwrap_err().contains("a folder"));
        assert_eq!(output("case.json"), Ok("case.json".into()));
        assert_eq!(output("/dev/null"), Ok("/dev/null".into()));
    }

    #[test]
    fn counts_are_decimal_and_stay_within_their_range() {
        assert_eq!(count("10k"), Ok(10_000));
        assert_eq!(count("2M"), Ok(2_000_000));
        assert!(count("-1").is_err() && count("k").is_err());
        assert!(count("99999999999999999G").is_err());
        let rate = super::within::<u32>(count, 1..=20_000);
        assert_eq!(rate("10k"), Ok(10_000));
        assert_eq!(rate("30k").unwrap_err(), "1 to 20000 is possible");
    }

    #[test]
    fn sizes_are_binary_and_nonsense_is_refused() {
        assert_eq!(bytes("212992"), Ok(212_992));
        assert_eq!(bytes("64k"), Ok(65_536));
        assert_eq!(bytes("8MiB"), Ok(8 << 20));
        assert!(bytes("lots").is_err());
        assert!(bytes("99999999999999G").is_err());
    }
}

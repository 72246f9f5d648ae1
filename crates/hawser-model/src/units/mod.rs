//! Numbers that carry their unit in their type, and the one formatter that prints them.

pub(crate) mod written;

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Sub};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use written::{NotA, count};

macro_rules! quantity {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(
            Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize,
            Deserialize, JsonSchema,
        )]
        #[serde(transparent)]
        pub struct $name(pub u64);

        impl $name {
            /// Nothing of it.
            pub const ZERO: Self = Self(0);

            /// The bare number.
            pub const fn get(self) -> u64 {
                self.0
            }

            /// The difference, zero where it would be negative.
            pub const fn saturating_sub(self, other: Self) -> Self {
                Self(self.0.saturating_sub(other.0))
            }

            /// True for zero.
            pub const fn is_zero(self) -> bool {
                self.0 == 0
            }
        }

        // What is read from a file or a host may be any number: sums end at the largest, differences at zero.
        impl Add for $name {
            type Output = Self;
            fn add(self, other: Self) -> Self {
                Self(self.0.saturating_add(other.0))
            }
        }

        impl AddAssign for $name {
            fn add_assign(&mut self, other: Self) {
                *self = *self + other;
            }
        }

        impl Sub for $name {
            type Output = Self;
            fn sub(self, other: Self) -> Self {
                self.saturating_sub(other)
            }
        }

        impl Sum for $name {
            fn sum<I: Iterator<Item = Self>>(values: I) -> Self {
                values.fold(Self::ZERO, Self::add)
            }
        }
    };
}

quantity! {
    /// A count of packets. For a fragmented datagram: of datagrams, unless said otherwise.
    Packets
}
quantity! {
    /// A count of bytes.
    Bytes
}
quantity! {
    /// A time span in nanoseconds.
    Nanos
}
quantity! {
    /// Bits per second.
    BitsPerSec
}
quantity! {
    /// Bytes per second.
    BytesPerSec
}
quantity! {
    /// Packets per second.
    PacketsPerSec
}

/// A maximum transmission unit in bytes: the largest IP packet a link takes, headers included.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct Mtu(pub u32);

impl Nanos {
    /// From whole milliseconds.
    pub const fn from_millis(ms: u64) -> Self {
        Self(ms * 1_000_000)
    }

    /// As seconds.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }
}

/// Digits grouped in threes by a thin separator people can copy: `1 234 567`.
pub fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i) % 3 == 0 {
            out.push(' ');
        }
        out.push(c);
    }
    out
}

/// A number of things that are counted: `1 packet`, `12 345 packets`.
pub fn counted(n: u64, noun: &str) -> String {
    let plural = match n {
        1 => "",
        _ if noun.ends_with("ch") || noun.ends_with(['s', 'x']) => "es",
        _ => "s",
    };
    format!("{} {noun}{plural}", grouped(n))
}

/// A value with an SI prefix and three significant digits: `1.25 G`.
fn si(value: f64) -> String {
    let (scaled, prefix) = match value.abs() {
        v if v >= 1e9 => (value / 1e9, "G"),
        v if v >= 1e6 => (value / 1e6, "M"),
        v if v >= 1e3 => (value / 1e3, "k"),
        _ => (value, ""),
    };
    let digits = match scaled.abs() {
        v if v >= 100.0 || (prefix.is_empty() && v.fract() == 0.0) => 0,
        v if v >= 10.0 => 1,
        _ => 2,
    };
    format!("{scaled:.digits$} {prefix}")
}

/// A rate of data in MB/s (10^6 bytes) as disks and networks count: `2.25 GB/s`, `68.0 MB/s`,
/// `310 kB/s`.
pub fn mb_per_s(rate: f64) -> String {
    match rate {
        r if r >= 1_000.0 => format!("{:.2} GB/s", r / 1e3),
        r if r >= 100.0 => format!("{r:.0} MB/s"),
        r if r >= 1.0 => format!("{r:.1} MB/s"),
        r => format!("{:.0} kB/s", r * 1e3),
    }
}

/// Bytes with decimal prefixes, as rates have them: `629 MB`, `1.25 GB`.
pub fn decimal(bytes: u64) -> String {
    format!("{}B", si(bytes as f64))
}

impl fmt::Display for Packets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&grouped(self.0))
    }
}

impl fmt::Display for Bytes {
    /// Binary prefixes, since buffers and sysctls are set in powers of two.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let v = self.0 as f64;
        let text = match self.0 {
            n if n >= 1 << 30 => format!("{:.1} GiB", v / f64::from(1 << 30)),
            n if n >= 1 << 20 => format!("{:.1} MiB", v / f64::from(1 << 20)),
            n if n >= 1 << 10 => format!("{:.1} KiB", v / f64::from(1 << 10)),
            n => format!("{n} B"),
        };
        f.pad(&text)
    }
}

impl fmt::Display for BitsPerSec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}bit/s", si(self.0 as f64)))
    }
}

impl fmt::Display for BytesPerSec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}B/s", si(self.0 as f64)))
    }
}

impl fmt::Display for PacketsPerSec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}pkt/s", si(self.0 as f64)))
    }
}

impl fmt::Display for Nanos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let v = self.0 as f64;
        let text = match self.0 {
            n if n >= 1_000_000_000 => format!("{:.2} s", v / 1e9),
            n if n >= 1_000_000 => format!("{:.2} ms", v / 1e6),
            n if n >= 1_000 => format!("{:.1} µs", v / 1e3),
            n => format!("{n} ns"),
        };
        f.pad(&text)
    }
}

impl fmt::Display for Mtu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_a_hostile_file_neither_wrap_nor_panic() {
        let mut most = Nanos(u64::MAX - 1);
        most += Nanos(2);
        assert_eq!(most, Nanos(u64::MAX));
        assert_eq!([most, most].into_iter().sum::<Nanos>(), most);
        assert_eq!(Nanos(1) - Nanos(2), Nanos::ZERO);
    }

    #[test]
    fn one_is_no_plural() {
        assert_eq!(counted(1, "link"), "1 link");
        assert_eq!(counted(0, "switch"), "0 switches");
        assert_eq!(counted(12_345, "packet"), "12 345 packets");
    }

    #[test]
    fn each_unit_is_printed_as_people_write_it() {
        assert_eq!(Packets(1_234_567).to_string(), "1 234 567");
        assert_eq!(Bytes(212_992).to_string(), "208.0 KiB");
        assert_eq!(BitsPerSec(800_000_000).to_string(), "800 Mbit/s");
        assert_eq!(BitsPerSec(10_000_000_000).to_string(), "10.0 Gbit/s");
        assert_eq!(BytesPerSec(84_300).to_string(), "84.3 kB/s");
        assert_eq!(PacketsPerSec(950).to_string(), "950 pkt/s");
        assert_eq!(decimal(629_145_600), "629 MB");
        assert_eq!(decimal(6), "6 B");
        assert_eq!(Nanos(1_500).to_string(), "1.5 µs");
        assert_eq!(Nanos(2_000_000_000).to_string(), "2.00 s");
    }
}

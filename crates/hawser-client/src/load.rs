//! How heavily a client writes.

use clap::value_parser;
use serde::{Deserialize, Serialize};

/// What each writer is to do. Those of another machine are told it in a question, so it is looked at there too
/// ([`Load::check`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, clap::Args)]
pub struct Load {
    /// How many write at the same time, each to blocks of its own
    #[arg(long, value_name = "N", default_value_t = Self::USUAL.writers, value_parser = value_parser!(u8).range(1..=32))]
    pub writers: u8,
    /// Orders in flight of each writer (a device or file does one at a time)
    #[arg(long, value_name = "N", default_value_t = Self::USUAL.depth, value_parser = value_parser!(u8).range(1..=64))]
    pub depth: u8,
    /// Orders per second of each writer
    #[arg(long, value_name = "N", default_value_t = Self::USUAL.rate, value_parser = value_parser!(u32).range(1..=1_000_000))]
    pub rate: u32,
    /// Blocks of 4 KiB that each writer writes to
    #[arg(long, value_name = "N", default_value_t = Self::USUAL.blocks, value_parser = value_parser!(u32).range(1..=1 << 20))]
    pub blocks: u32,
    /// Blocks of 4 KiB in one write
    #[arg(long, value_name = "N", default_value_t = Self::USUAL.size, value_parser = value_parser!(u8).range(1..=64))]
    pub size: u8,
    /// So many of a hundred orders are reads
    #[arg(long, value_name = "PERCENT", default_value_t = Self::USUAL.reads, value_parser = value_parser!(u8).range(0..=90))]
    pub reads: u8,
}

impl Load {
    /// What is written unless somebody says more.
    pub const USUAL: Self = Self {
        writers: 2,
        depth: 4,
        rate: 200,
        blocks: 512,
        size: 1,
        reads: 6,
    };

    /// Whether a volume of so many blocks has room for all writers.
    ///
    /// # Errors
    /// In words, how much it lacks.
    pub fn fits(&self, blocks: u32) -> Result<(), String> {
        let needed = self.blocks.saturating_mul(u32::from(self.writers));
        match blocks < needed {
            false => Ok(()),
            true => Err(format!(
                "{blocks} blocks of 4 KiB, and {needed} are needed ({} MiB)",
                needed.div_ceil(256)
            )),
        }
    }

    /// Writes that each writer sends in a second, if nothing holds it up.
    pub fn writes(&self) -> f64 {
        f64::from(self.rate) * f64::from(100_u8.saturating_sub(self.reads)) / 100.0
    }

    /// Whether writers can work like that.
    ///
    /// # Errors
    /// In words, why not.
    pub fn check(&self) -> Result<(), String> {
        let needed = u32::from(self.depth) * u32::from(self.size);
        if self.writers == 0 || self.depth == 0 || self.size == 0 || self.rate == 0 {
            return Err(
                "writers, orders in flight, blocks in a write and the rate are 1 at least"
                    .to_owned(),
            );
        }
        // Orders in flight are on blocks of their own, and one more is free.
        match self.blocks > needed {
            true => Ok(()),
            false => Err(format!(
                "{} orders in flight of {} blocks need more than {needed} blocks to write to, and {} were named \
                 (--depth, --size, --blocks)",
                self.depth, self.size, self.blocks
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_that_leaves_no_block_idle_is_refused() {
        assert_eq!(Load::USUAL.check(), Ok(()));
        let heavy = Load {
            depth: 64,
            size: 8,
            ..Load::USUAL
        };
        let why = heavy.check().unwrap_err();
        assert!(why.contains("more than 512 blocks"), "{why}");
        let none = Load {
            writers: 0,
            ..Load::USUAL
        };
        assert!(none.check().is_err());
    }

    #[test]
    fn reads_are_no_writes() {
        let reads = Load {
            reads: 90,
            ..Load::USUAL
        };
        assert_eq!(reads.writes(), 20.0);
    }
}

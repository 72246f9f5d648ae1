//! What is measured, and for how long.

use std::num::NonZero;
use std::thread;
use std::time::Duration;

use crate::bench::Layout;
use crate::key::KeySize;
use crate::mode::{Direction, Mode};

/// What is measured, and for how long.
#[derive(Clone, Debug)]
pub struct BenchPlan {
    /// Modes.
    pub modes: Vec<Mode>,
    /// Key sizes.
    pub key_sizes: Vec<KeySize>,
    /// Encryption, decryption.
    pub directions: Vec<Direction>,
    /// Bytes an operation; multiples of 4 KiB.
    pub chunks: Vec<usize>,
    /// Layouts; contiguous is always among them.
    pub layouts: Vec<Layout>,
    /// Numbers of threads.
    pub threads: Vec<usize>,
    /// Rounds in which each contender has one turn.
    pub rounds: usize,
    /// The time for all of it. A group that would take more than its share has fewer rounds, three
    /// at least: on a busy machine the table gets coarser (its `spread` says so), not endless.
    pub limit: Duration,
    /// The length of a turn.
    pub turn: Duration,
    /// Calls of 32 KiB that are timed one by one, for the longest.
    pub calls: usize,
}

impl BenchPlan {
    /// The whole table: a minute on a machine that does nothing else, eight at most.
    pub fn full() -> Self {
        let all = thread::available_parallelism().map_or(1, NonZero::get);
        let mut threads = vec![1, all];
        threads.dedup();
        Self {
            modes: Mode::ALL.to_vec(),
            key_sizes: KeySize::ALL.to_vec(),
            directions: vec![Direction::Encrypt, Direction::Decrypt],
            chunks: vec![8 << 10, 32 << 10, 128 << 10],
            layouts: Layout::ALL.to_vec(),
            threads,
            rounds: 15,
            limit: Duration::from_secs(8 * 60),
            turn: Duration::from_millis(1),
            calls: 2000,
        }
    }

    /// A look: one key size, two chunks, four layouts; a few seconds.
    pub fn quick() -> Self {
        Self {
            key_sizes: vec![KeySize::Aes128],
            chunks: vec![8 << 10, 128 << 10],
            layouts: vec![
                Layout::Contiguous,
                Layout::InPlace,
                Layout::Scattered64,
                Layout::Scattered4096,
            ],
            rounds: 9,
            calls: 500,
            ..Self::full()
        }
    }

    pub(crate) fn groups(&self) -> Vec<Group> {
        let mut groups = Vec::new();
        for &threads in &self.threads {
            for &key_size in &self.key_sizes {
                for &mode in &self.modes {
                    for &direction in &self.directions {
                        for &chunk in &self.chunks {
                            groups.push(Group {
                                mode,
                                key_size,
                                direction,
                                chunk,
                                threads,
                            });
                        }
                    }
                }
            }
        }
        groups
    }
}

/// What is measured in turns: all layouts of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Group {
    pub(crate) mode: Mode,
    pub(crate) key_size: KeySize,
    pub(crate) direction: Direction,
    pub(crate) chunk: usize,
    pub(crate) threads: usize,
}

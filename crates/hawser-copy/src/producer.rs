//! The sender's first stages: takes blocks, reads, checks, fills frames.

use std::collections::HashMap;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use hawser_model::copy::Stage;
use twox_hash::xxhash3_128::Hasher;

use crate::error::CopyError;
use crate::frame::{DIGEST, Frame, HEADER, Kind};
use crate::plan::Blocks;
use crate::progress::Shared;
use crate::source::{Segment, Source};
use crate::storage::ALIGNMENT;

/// Data that is split to fill a frame is split where pages and sectors are.
const PAGE: u64 = ALIGNMENT as u64;

/// Zeros to feed a checksum with where a hole is.
static ZEROS: [u8; 65_536] = [0; 65_536];

/// What the streams of a sender share.
pub(crate) struct Work<'a> {
    pub(crate) source: &'a Source,
    pub(crate) blocks: Blocks,
    /// Blocks that the receiver has, by their checksums.
    pub(crate) have: HashMap<u64, u128>,
    next: Mutex<u64>,
    /// When a source without an end has been read for long enough.
    until: Option<Instant>,
    digests: Digests,
}

/// The checksum of each block.
pub(crate) struct Digests {
    all: Mutex<Vec<Option<u128>>>,
    /// Its number of blocks is not known before.
    endless: bool,
}

/// So far can the streams of a copy be apart.
const APART: usize = 1 << 10;

impl Digests {
    pub(crate) fn of(blocks: Blocks) -> Self {
        let endless = blocks.endless();
        let known = if endless { 0 } else { blocks.count() as usize };
        Self {
            all: Mutex::new(vec![None; known]),
            endless,
        }
    }

    /// Notes a block; false when it was noted before or there is none of that number.
    pub(crate) fn note(&self, index: u64, digest: u128) -> bool {
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        let index = index as usize;
        if self.endless && (all.len()..all.len() + APART).contains(&index) {
            all.resize(index + 1, None);
        }
        match all.get_mut(index) {
            Some(slot @ None) => {
                *slot = Some(digest);
                true
            }
            _ => false,
        }
    }

    /// How many blocks are missing.
    pub(crate) fn missing(&self) -> usize {
        let all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        all.iter().filter(|digest| digest.is_none()).count()
    }

    /// The checksum of the whole.
    pub(crate) fn whole(&self) -> u128 {
        let all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        let mut hasher = Hasher::new();
        for digest in all.iter().flatten() {
            hasher.write(&digest.to_le_bytes());
        }
        hasher.finish_128()
    }
}

/// Adds `length` zeros to a checksum.
pub(crate) fn add_zeros(hasher: &mut Hasher, mut length: u64) {
    while length > 0 {
        let part = length.min(ZEROS.len() as u64);
        hasher.write(&ZEROS[..part as usize]);
        length -= part;
    }
}

/// The checksum of whole blocks of zeros, computed once a length.
#[derive(Default)]
pub(crate) struct Empty(HashMap<u64, u128>);

impl Empty {
    pub(crate) fn digest(&mut self, length: u64) -> u128 {
        *self.0.entry(length).or_insert_with(|| {
            let mut hasher = Hasher::new();
            add_zeros(&mut hasher, length);
            hasher.finish_128()
        })
    }
}

enum Job {
    /// One block.
    Block(u64),
    /// These blocks are holes.
    Empty(std::ops::Range<u64>),
    /// There is no more.
    Done,
}

impl<'a> Work<'a> {
    pub(crate) fn new(source: &'a Source, have: HashMap<u64, u128>) -> Self {
        let blocks = Blocks::of(source.size);
        Self {
            source,
            blocks,
            have,
            next: Mutex::new(0),
            until: source.duration.map(|duration| Instant::now() + duration),
            digests: Digests::of(blocks),
        }
    }

    pub(crate) fn whole(&self) -> u128 {
        self.digests.whole()
    }

    /// The next block, or as many in a row as are holes.
    fn take(&self) -> Job {
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        let index = *next;
        let over = self.until.is_some_and(|until| Instant::now() >= until);
        if over || index >= self.blocks.count() {
            return Job::Done;
        }
        let (start, end) = self.blocks.range(index);
        let empty = match self.source.segment(start, self.blocks.size) {
            Segment::Hole(until) if until == self.blocks.size => self.blocks.count() - index,
            Segment::Hole(until) if until >= end => (until - start) / self.blocks.block,
            _ => 0,
        };
        *next += empty.max(1);
        if empty > 0 {
            Job::Empty(index..*next)
        } else {
            Job::Block(index)
        }
    }
}

/// A block being sent.
struct Current {
    index: u64,
    at: u64,
    end: u64,
    /// What is at `at`.
    segment: Segment,
    hasher: Hasher,
}

/// One stream's first stages.
pub(crate) struct Producer<'a> {
    work: &'a Work<'a>,
    shared: &'a Shared,
    current: Option<Current>,
    empty: Empty,
    scratch: Vec<u8>,
    zero_copy: bool,
    /// Data of more than a page begins its frame.
    aligned: bool,
}

impl<'a> Producer<'a> {
    /// `aligned` says that data shall lie in memory as `O_DIRECT` wants it.
    pub(crate) fn new(work: &'a Work<'a>, shared: &'a Shared, aligned: bool) -> Self {
        Self {
            work,
            shared,
            current: None,
            empty: Empty::default(),
            scratch: Vec::new(),
            zero_copy: shared.zero_copy.load(Relaxed),
            aligned,
        }
    }

    /// Fills a frame; the last one ends the stream.
    pub(crate) fn fill(&mut self, frame: &mut Frame) -> Result<(), CopyError> {
        frame.clear();
        while frame.room() >= HEADER + DIGEST {
            if self.shared.is_stopping() {
                return Err(CopyError::Stopped);
            }
            match self.current.take() {
                None => match self.work.take() {
                    Job::Block(index) => self.begin(index, frame)?,
                    Job::Empty(range) => self.empty_blocks(range, frame),
                    Job::Done => {
                        frame.put(Kind::End, 0, 0);
                        frame.last = true;
                        return Ok(());
                    }
                },
                Some(block) if block.at == block.end => self.end(&block, frame),
                Some(block) => {
                    if !self.go_on(block, frame)? {
                        return Ok(());
                    }
                }
            }
        }
        Ok(())
    }

    /// Begins a block, unless the receiver has it.
    fn begin(&mut self, index: u64, frame: &mut Frame) -> Result<(), CopyError> {
        let (at, end) = self.work.blocks.range(index);
        if let Some(&theirs) = self.work.have.get(&index) {
            if self.digest_of(at, end)? == theirs {
                frame.put(Kind::Kept, at, end - at);
                self.work.digests.note(index, theirs);
                self.shared.kept.fetch_add(end - at, Relaxed);
                return Ok(());
            }
        }
        self.current = Some(Current {
            index,
            at,
            end,
            segment: self.work.source.segment(at, end),
            hasher: Hasher::new(),
        });
        Ok(())
    }

    fn end(&mut self, block: &Current, frame: &mut Frame) {
        let digest = if self.shared.options.checksum {
            block.hasher.finish_128()
        } else {
            0
        };
        let (start, _) = self.work.blocks.range(block.index);
        frame.put(Kind::BlockEnd, start, 0);
        frame.put_bytes(&digest.to_le_bytes());
        self.work.digests.note(block.index, digest);
    }

    fn empty_blocks(&mut self, range: std::ops::Range<u64>, frame: &mut Frame) {
        let (start, _) = self.work.blocks.range(range.start);
        let (_, end) = self.work.blocks.range(range.end - 1);
        frame.put(Kind::EmptyBlocks, start, end - start);
        for index in range {
            let (from, to) = self.work.blocks.range(index);
            let digest = if self.shared.options.checksum {
                self.empty.digest(to - from)
            } else {
                0
            };
            self.work.digests.note(index, digest);
        }
        self.shared.holes.fetch_add(end - start, Relaxed);
    }

    /// Adds as much of a block as fits; false when the frame must go first.
    fn go_on(&mut self, mut block: Current, frame: &mut Frame) -> Result<bool, CopyError> {
        let (Segment::Data(end) | Segment::Hole(end)) = block.segment;
        if end <= block.at {
            block.segment = self.work.source.segment(block.at, block.end);
        }
        let more = match block.segment {
            Segment::Hole(end) => {
                let length = end - block.at;
                frame.put(Kind::Hole, block.at, length);
                if self.shared.options.checksum {
                    add_zeros(&mut block.hasher, length);
                }
                self.shared.holes.fetch_add(length, Relaxed);
                block.at = end;
                true
            }
            Segment::Data(end) if self.zero_copy => {
                frame.put(Kind::Raw, block.at, end - block.at);
                frame.raw = Some((block.at, end - block.at));
                frame.data = end - block.at;
                block.at = end;
                false
            }
            Segment::Data(end) => self.data(&mut block, end, frame)?,
        };
        self.current = Some(block);
        Ok(more)
    }

    fn data(
        &mut self,
        block: &mut Current,
        end: u64,
        frame: &mut Frame,
    ) -> Result<bool, CopyError> {
        let (room, left) = ((frame.room() - HEADER) as u64, end - block.at);
        // Whole pages, so that neither end touches one twice.
        let length = if left <= room {
            left
        } else {
            room - room % PAGE
        };
        if length == 0 || (self.aligned && !frame.is_empty() && length >= PAGE) {
            return Ok(false);
        }
        let length = length as usize;
        let at = block.at;
        let into = frame.put_data(at, length);
        let source = self.work.source;
        self.shared
            .working(Stage::Read, length as u64, || source.read(into, at))?;
        if self.shared.options.checksum {
            self.shared.working(Stage::Checksum, length as u64, || {
                block.hasher.write(into);
            });
        }
        block.at += length as u64;
        Ok(true)
    }

    /// The checksum of what the source has now.
    fn digest_of(&mut self, mut at: u64, end: u64) -> Result<u128, CopyError> {
        let mut hasher = Hasher::new();
        self.scratch.resize(self.shared.options.chunk as usize, 0);
        while at < end {
            match self.work.source.segment(at, end) {
                Segment::Hole(until) => {
                    add_zeros(&mut hasher, until - at);
                    at = until;
                }
                Segment::Data(until) => {
                    let part = (until - at).min(self.scratch.len() as u64);
                    let (source, into) = (self.work.source, &mut self.scratch[..part as usize]);
                    self.shared
                        .working(Stage::Read, part, || source.read(into, at))?;
                    self.shared
                        .working(Stage::Checksum, part, || hasher.write(into));
                    at += part;
                }
            }
        }
        Ok(hasher.finish_128())
    }
}

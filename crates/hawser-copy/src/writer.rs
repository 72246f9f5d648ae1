//! The receiver's last stages: works off frames, checks blocks, writes.

use std::collections::HashMap;
use std::sync::atomic::Ordering::Relaxed;

use hawser_model::copy::Stage;
use socket2::Socket;
use twox_hash::xxhash3_128::Hasher;

use crate::error::CopyError;
use crate::frame::{Frame, Kind, Record};
use crate::plan::Blocks;
use crate::producer::{Digests, Empty, add_zeros};
use crate::progress::Shared;
use crate::sink::Sink;
use crate::zero_copy::Splicer;

/// What the streams of a receiver share.
pub(crate) struct ReceivedCopy<'a> {
    pub(crate) sink: &'a Sink,
    pub(crate) blocks: Blocks,
    pub(crate) have: HashMap<u64, u128>,
    pub(crate) digests: Digests,
}

/// A block being received.
struct Current {
    index: u64,
    /// Where the next record must begin.
    at: u64,
    end: u64,
    hasher: Hasher,
}

/// One stream's last stages.
pub(crate) struct Writer<'a> {
    copy: &'a ReceivedCopy<'a>,
    shared: &'a Shared,
    socket: &'a Socket,
    peer: &'a str,
    current: Option<Current>,
    empty: Empty,
    splicer: Option<Splicer>,
}

impl<'a> Writer<'a> {
    pub(crate) fn new(
        copy: &'a ReceivedCopy<'a>,
        shared: &'a Shared,
        socket: &'a Socket,
        peer: &'a str,
    ) -> Self {
        Self {
            copy,
            shared,
            socket,
            peer,
            current: None,
            empty: Empty::default(),
            splicer: None,
        }
    }

    /// Works off a frame.
    pub(crate) fn apply(&mut self, frame: &Frame) -> Result<(), CopyError> {
        for record in frame.records() {
            let record = record.map_err(|what| self.wrong(what))?;
            match record.kind {
                Kind::Data => self.data(&record)?,
                Kind::Hole => self.hole(&record)?,
                Kind::Raw => self.raw(&record)?,
                Kind::BlockEnd => self.block_end(&record)?,
                Kind::EmptyBlocks => self.empty_blocks(&record)?,
                Kind::Kept => self.kept(&record)?,
                Kind::End => {
                    return match (frame.last, &self.current) {
                        (true, None) => Ok(()),
                        _ => Err(self.wrong("an end in the middle")),
                    };
                }
            }
        }
        if frame.last {
            return Err(self.wrong("a last frame without an end"));
        }
        Ok(())
    }

    fn data(&mut self, record: &Record<'_>) -> Result<(), CopyError> {
        self.advance(record)?;
        let (sink, data) = (self.copy.sink, record.payload);
        if self.shared.options.checksum {
            if let Some(block) = &mut self.current {
                self.shared.working(Stage::Verify, record.length, || {
                    block.hasher.write(data);
                });
            }
        }
        if !sink.discards() {
            self.shared.working(Stage::Write, record.length, || {
                sink.write(data, record.offset)
            })?;
        }
        self.shared.moved.fetch_add(record.length, Relaxed);
        Ok(())
    }

    fn hole(&mut self, record: &Record<'_>) -> Result<(), CopyError> {
        self.advance(record)?;
        if let (true, Some(block)) = (self.shared.options.checksum, &mut self.current) {
            add_zeros(&mut block.hasher, record.length);
        }
        let sink = self.copy.sink;
        self.shared
            .working(Stage::Write, 0, || sink.hole(record.offset, record.length))?;
        self.shared.holes.fetch_add(record.length, Relaxed);
        Ok(())
    }

    fn raw(&mut self, record: &Record<'_>) -> Result<(), CopyError> {
        if self.shared.options.checksum || self.shared.options.cipher.is_some() {
            return Err(self.wrong("raw data in a checked stream"));
        }
        self.advance(record)?;
        if self.splicer.is_none() {
            self.splicer = Some(Splicer::new()?);
            self.shared.zero_copy.store(true, Relaxed);
        }
        let Some(splicer) = &self.splicer else {
            return Err(self.wrong("no pipe"));
        };
        let (mut at, end) = (record.offset, record.offset + record.length);
        let sink = self.copy.sink;
        while at < end {
            let came = self.shared.waiting(Stage::Receive, 0, || {
                splicer.take(self.socket, self.peer, end - at)
            })?;
            self.shared.passed(Stage::Receive, came);
            self.shared.working(Stage::Write, came, || {
                splicer.put(sink.file(), sink.shown(), at, came)
            })?;
            self.shared.moved.fetch_add(came, Relaxed);
            at += came;
        }
        Ok(())
    }

    /// Checks that a record continues its block, or begins one.
    fn advance(&mut self, record: &Record<'_>) -> Result<(), CopyError> {
        if self.current.is_none() {
            let index = self
                .copy
                .blocks
                .starting_at(record.offset)
                .ok_or_else(|| self.wrong("data that begins no block"))?;
            let (at, end) = self.copy.blocks.range(index);
            self.current = Some(Current {
                index,
                at,
                end,
                hasher: Hasher::new(),
            });
        }
        let fits = self.current.as_mut().is_some_and(|block| {
            let fits = record.offset == block.at && record.length <= block.end - block.at;
            block.at = block.at.saturating_add(record.length);
            fits
        });
        if fits {
            Ok(())
        } else {
            Err(self.wrong("data out of its place"))
        }
    }

    fn block_end(&mut self, record: &Record<'_>) -> Result<(), CopyError> {
        let block = match self.current.take() {
            Some(block) if block.at == block.end => block,
            _ => return Err(self.wrong("an end of a block in its middle")),
        };
        let sent = u128::from_le_bytes(
            record
                .payload
                .try_into()
                .map_err(|_| self.wrong("a checksum of a wrong length"))?,
        );
        let got = if self.shared.options.checksum {
            block.hasher.finish_128()
        } else {
            0
        };
        if got != sent {
            let (start, end) = self.copy.blocks.range(block.index);
            return Err(CopyError::Checksum {
                start,
                end,
                sent,
                got,
            });
        }
        self.note(block.index, got)
    }

    fn empty_blocks(&mut self, record: &Record<'_>) -> Result<(), CopyError> {
        let blocks = self.copy.blocks;
        let (Some(first), Some(end), None) = (
            blocks.starting_at(record.offset),
            record.offset.checked_add(record.length),
            &self.current,
        ) else {
            return Err(self.wrong("a hole out of its place"));
        };
        if end > blocks.size || (end != blocks.size && end % blocks.block != 0) {
            return Err(self.wrong("a hole that ends within a block"));
        }
        let sink = self.copy.sink;
        self.shared
            .working(Stage::Write, 0, || sink.hole(record.offset, record.length))?;
        self.shared.holes.fetch_add(record.length, Relaxed);
        for index in first..end.div_ceil(blocks.block) {
            let (from, to) = blocks.range(index);
            let digest = if self.shared.options.checksum {
                self.empty.digest(to - from)
            } else {
                0
            };
            self.note(index, digest)?;
        }
        Ok(())
    }

    fn kept(&mut self, record: &Record<'_>) -> Result<(), CopyError> {
        let index = self.copy.blocks.starting_at(record.offset);
        let known = index.and_then(|index| Some((index, *self.copy.have.get(&index)?)));
        match known {
            Some((index, digest)) if self.copy.digests.note(index, digest) => {
                let (start, end) = self.copy.blocks.range(index);
                self.shared.kept.fetch_add(end - start, Relaxed);
                Ok(())
            }
            _ => Err(self.wrong("a block kept that is not here")),
        }
    }

    fn note(&self, index: u64, digest: u128) -> Result<(), CopyError> {
        if !self.copy.digests.note(index, digest) {
            return Err(self.wrong("a block twice"));
        }
        self.copy.sink.note(index, digest)
    }

    fn wrong(&self, what: &str) -> CopyError {
        CopyError::Protocol {
            peer: self.peer.to_owned(),
            what: what.to_owned(),
        }
    }
}

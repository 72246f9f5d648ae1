//! What is written to: one narrow trait, and a file or block device behind it.

use std::fs::{File, OpenOptions};
use std::io::{self, IoSlice};
use std::ops::Range;
use std::os::unix::fs::{FileExt, FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::sys::uio::pwritev;

use crate::stamp::{BLOCK, Page};

/// What is asked of a volume.
#[derive(Clone)]
pub enum Order {
    /// Write blocks that follow each other; with `fua` onto stable storage.
    Write {
        /// The first.
        block: u32,
        /// What they are to hold.
        pages: Vec<Page>,
        /// See above.
        fua: bool,
    },
    /// Read a block.
    Read {
        /// Where.
        block: u32,
    },
    /// Put everything that was acknowledged onto stable storage.
    Flush,
}

impl Order {
    /// The blocks that are written or read.
    pub fn blocks(&self) -> Range<u32> {
        match self {
            Self::Write { block, pages, .. } => *block..block.saturating_add(pages.len() as u32),
            Self::Read { block } => *block..block.saturating_add(1),
            Self::Flush => 0..0,
        }
    }
}

/// What a volume says.
pub enum Event {
    /// The order with this number was obeyed; reads bring their block.
    Done(u64, Option<Box<Page>>),
    /// The volume refused it and may be asked again.
    Refused(u64, String),
    /// Everything that had no answer yet will never have one.
    PathLost(u8),
    /// An address accepted a connection.
    Connected(u8),
    /// Orders are obeyed, over this path.
    PathUp(u8),
    /// The target at this address refused a login.
    LoginRefused(String, String),
    /// Something that changes nothing.
    Said(String),
}

/// What every volume says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    /// Its size in blocks.
    pub blocks: u32,
    /// Whether it has a volatile write cache.
    pub cache: bool,
}

/// Something that can be written to.
pub trait Volume {
    /// Sends an order. What becomes of it is an event.
    fn send(&mut self, number: u64, order: &Order);
    /// Waits for events, at most this long.
    ///
    /// # Errors
    /// What no retry will cure.
    fn wait(&mut self, patience: Duration, events: &mut Vec<Event>) -> io::Result<()>;
    /// What it says of itself, once a path is up.
    fn facts(&self) -> Option<Facts>;
    /// Whether orders can be sent now.
    fn ready(&self) -> bool;
}

/// A file or a block device: of a kernel's initiator, or on NFS. One order at a time.
#[derive(Debug)]
pub struct Device {
    path: PathBuf,
    file: File,
    facts: Facts,
    answers: Vec<Answer>,
    announced: bool,
}

#[derive(Debug)]
enum Answer {
    Done(u64, Option<PageBox>),
    Refused(u64, String),
}

struct PageBox(Box<Page>);

impl std::fmt::Debug for PageBox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("PageBox")
    }
}

impl Device {
    /// Whether a block device is free: not mounted, in no use by another device or program that wants it alone.
    ///
    /// # Errors
    /// It is in use, or cannot be opened. A file is always free.
    pub fn free(path: &Path) -> io::Result<()> {
        if std::fs::metadata(path)?.file_type().is_block_device() {
            let mut options = OpenOptions::new();
            // On a block device, without O_CREAT: fail when it is in use (open(2)).
            let alone = options.read(true).custom_flags(nix::libc::O_EXCL);
            alone.open(path)?;
        }
        Ok(())
    }

    /// Opens it, past the page cache where the file system can do that: what is read must come from
    /// the server, not from this machine's memory.
    ///
    /// # Errors
    /// It cannot be opened.
    pub fn open(path: &Path) -> io::Result<Self> {
        let direct = |flags| {
            let mut options = OpenOptions::new();
            options
                .read(true)
                .write(true)
                .custom_flags(flags)
                .open(path)
        };
        let file = match direct(nix::libc::O_DIRECT) {
            Err(e) if e.raw_os_error() == Some(nix::libc::EINVAL) => direct(0)?,
            opened => opened?,
        };
        // A block device's length is where its end is.
        let mut end = &file;
        let length = io::Seek::seek(&mut end, io::SeekFrom::End(0))?;
        let blocks = u32::try_from(length / BLOCK as u64).unwrap_or(u32::MAX);
        Ok(Self {
            path: path.to_owned(),
            file,
            facts: Facts {
                blocks,
                cache: true,
            },
            answers: Vec::new(),
            announced: false,
        })
    }

    /// In one call, as an application writes: what is written of it only in part has failed.
    fn write(&self, pages: &[Page], at: u64) -> io::Result<()> {
        let parts: Vec<IoSlice<'_>> = pages.iter().map(|page| IoSlice::new(&page.0)).collect();
        let at = i64::try_from(at).map_err(io::Error::other)?;
        match pwritev(&self.file, &parts, at)? {
            written if written == parts.len() * BLOCK => Ok(()),
            _ => Err(io::ErrorKind::WriteZero.into()),
        }
    }

    fn obey(&self, order: &Order) -> io::Result<Option<PageBox>> {
        let at = |block: u32| u64::from(block) * BLOCK as u64;
        match order {
            Order::Write { block, pages, fua } => {
                self.write(pages, at(*block))?;
                if *fua {
                    self.file.sync_data()?;
                }
                Ok(None)
            }
            Order::Read { block } => {
                let mut page = Page::zeroed();
                self.file.read_exact_at(&mut page.0, at(*block))?;
                Ok(Some(PageBox(page)))
            }
            Order::Flush => self.file.sync_data().map(|()| None),
        }
    }
}

impl Volume for Device {
    fn send(&mut self, number: u64, order: &Order) {
        self.answers.push(match self.obey(order) {
            Ok(page) => Answer::Done(number, page),
            Err(e) => Answer::Refused(number, format!("{}: {e}", self.path.display())),
        });
    }

    fn wait(&mut self, patience: Duration, events: &mut Vec<Event>) -> io::Result<()> {
        if !std::mem::replace(&mut self.announced, true) {
            events.extend([Event::Connected(0), Event::PathUp(0)]);
        }
        if self.answers.is_empty() && events.is_empty() {
            std::thread::sleep(patience);
        }
        events.extend(self.answers.drain(..).map(|answer| match answer {
            Answer::Done(number, page) => Event::Done(number, page.map(|page| page.0)),
            Answer::Refused(number, why) => Event::Refused(number, why),
        }));
        Ok(())
    }

    fn facts(&self) -> Option<Facts> {
        Some(self.facts)
    }

    fn ready(&self) -> bool {
        self.announced
    }
}

//! The kernel's tables of what is exported and of whose file handle is whose, emptied for certain. An entry holds its file
//! system: while one is there, the pool cannot be unmounted.
//!
//! A table is emptied by a flush, which each call of `exportfs` makes. Its time is the present second or, when the flush
//! before had that one, the next; and before that time has come nothing is taken out (`write_flush` and `cache_clean` in
//! net/sunrpc/cache.c). Twelve calls within a second make a table that cannot be emptied for twelve.

use std::fs;
use std::io::ErrorKind;
use std::time::Duration;

use hawser_files::FileError;
use hawser_tool::Deadline;
use nix::time::{ClockId, clock_gettime};

use super::server::NfsError;
use crate::exports::host::LOOK_AGAIN;

const TABLES: [&str; 2] = ["nfsd.fh", "nfsd.export"];

/// How long the time of a flush may be ahead: three quarters of what Pacemaker gives a stop.
const AHEAD: Duration = Duration::from_secs(90);

/// Does what ends with a flush, and waits until the tables are empty of what was there before.
pub fn emptied(flush: impl FnOnce() -> Result<(), NfsError>) -> Result<(), NfsError> {
    let before = Kernel::second();
    flush()?;
    TABLES
        .iter()
        .try_for_each(|name| until_empty(&mut Kernel(name), before, Deadline::after(AHEAD)))
}

/// One table.
trait Table {
    fn name(&self) -> &str;
    /// The time of its last flush. `None`: there is no such table, nor a server.
    fn flushed(&self) -> Result<Option<i64>, FileError>;
    fn flush(&mut self) -> Result<(), FileError>;
    /// The present second as the kernel has it when it flushes.
    fn now(&self) -> i64;
}

/// What is known of a table.
struct Emptying {
    /// A second that had come before its last flush was made.
    before: i64,
    /// How far ahead the time of that flush is.
    ahead: i64,
}

impl Emptying {
    /// Whether it is empty. It is flushed again once the time of its last flush is past.
    fn done(&mut self, table: &mut dyn Table) -> Result<bool, FileError> {
        let Some(flushed) = table.flushed()? else {
            return Ok(true);
        };
        if flushed <= self.before {
            return Ok(true);
        }
        let now = table.now();
        self.ahead = flushed - now;
        if self.ahead < 0 {
            self.before = now;
            table.flush()?;
        }
        Ok(false)
    }
}

fn until_empty(table: &mut dyn Table, before: i64, until: Deadline) -> Result<(), NfsError> {
    let mut emptying = Emptying { before, ahead: 0 };
    let done = until.ask(LOOK_AGAIN, || {
        let done = emptying.done(table)?;
        Ok::<_, FileError>(done.then_some(()))
    })?;
    done.ok_or_else(|| NfsError::Ahead {
        table: table.name().to_owned(),
        seconds: emptying.ahead,
    })
}

struct Kernel(&'static str);

impl Kernel {
    /// Without what has passed of a tick, as `ktime_get_real_seconds` is.
    fn second() -> i64 {
        clock_gettime(ClockId::CLOCK_REALTIME_COARSE)
            .expect("Linux always has this clock")
            .tv_sec()
    }

    fn path(&self) -> String {
        format!("/proc/net/rpc/{}/flush", self.0)
    }
}

impl Table for Kernel {
    fn name(&self) -> &str {
        self.0
    }

    fn flushed(&self) -> Result<Option<i64>, FileError> {
        let path = self.path();
        let text = match fs::read_to_string(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            text => text.map_err(FileError::io("read", &path))?,
        };
        let time = text.trim().parse().map_err(|_| {
            let what = format!("\"{}\", which is no time", text.trim());
            FileError::io("read", &path)(std::io::Error::new(ErrorKind::InvalidData, what))
        })?;
        Ok(Some(time))
    }

    fn flush(&mut self) -> Result<(), FileError> {
        let path = self.path();
        // What is written is the time for kernels before 4.18, and nothing to those after.
        fs::write(&path, format!("{}\n", Self::second())).map_err(FileError::io("write", &path))
    }

    fn now(&self) -> i64 {
        Self::second()
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use proptest::prelude::*;

    use super::*;

    /// As net/sunrpc/cache.c has it, with a clock that goes on whenever somebody looks.
    struct Simulated {
        now: Cell<i64>,
        looks_a_second: i64,
        looks: Cell<i64>,
        flush_time: i64,
        empty: bool,
    }

    impl Simulated {
        fn passes(&self) {
            self.looks.set(self.looks.get() + 1);
            let second = self.looks.get() % self.looks_a_second == 0;
            self.now.set(self.now.get() + i64::from(second));
        }

        fn write_flush(&mut self) {
            self.flush_time = self.now.get().max(self.flush_time + 1);
            self.empty |= self.flush_time <= self.now.get();
        }
    }

    impl Table for Simulated {
        fn name(&self) -> &str {
            "nfsd.export"
        }

        fn flushed(&self) -> Result<Option<i64>, FileError> {
            self.passes();
            Ok(Some(self.flush_time))
        }

        fn flush(&mut self) -> Result<(), FileError> {
            self.passes();
            self.write_flush();
            Ok(())
        }

        fn now(&self) -> i64 {
            let now = self.now.get();
            self.passes();
            now
        }
    }

    proptest! {
        #[test]
        fn a_table_that_is_said_to_be_empty_is(
            calls in 0..20_i64,
            looks_a_second in 4..9_i64,
            looks in 0..6_i64,
            apart in 0..20_i64,
        ) {
            let mut table = Simulated {
                now: Cell::new(1000),
                looks_a_second,
                looks: Cell::new(looks),
                flush_time: 1,
                empty: false,
            };
            (0..calls).for_each(|_| table.write_flush());
            table.now.set(1000 + apart);
            table.empty = false;
            let before = table.now();
            table.flush().unwrap();
            let mut emptying = Emptying { before, ahead: 0 };
            let looks = (0..1000).position(|_| emptying.done(&mut table).unwrap());
            prop_assert!(looks.is_some() && table.empty);
        }
    }

    #[test]
    fn a_time_that_does_not_come_is_an_error() {
        let mut table = Simulated {
            now: Cell::new(1000),
            looks_a_second: i64::MAX,
            looks: Cell::new(0),
            flush_time: 1012,
            empty: false,
        };
        let said = until_empty(&mut table, 1000, Deadline::after(Duration::ZERO)).unwrap_err();
        assert_eq!(
            said.to_string(),
            "the kernel empties its table nfsd.export only in 12 s: its exports were changed too often in the seconds before"
        );
    }
}

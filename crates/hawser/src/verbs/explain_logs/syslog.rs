//! A syslog as it is read: line by line, since nearly all of it is others'.

use std::io::{self, BufRead, ErrorKind};

use hawser_account::incident::Syslog;

/// Bytes of a line; rsyslog has 8 KiB at most unless it is told otherwise. The rest of a longer one is left out.
const LONGEST: usize = 64 << 10;

/// What was read.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Taken {
    /// Bytes of text.
    pub bytes: u64,
    /// Bytes of the lines that were kept.
    pub kept: u64,
}

/// Takes the cluster's lines of a text, until more than so many bytes are kept.
///
/// # Errors
/// The text cannot be read to its end; `read` says how far it was.
pub fn lines(
    mut text: impl BufRead,
    into: &mut Syslog,
    most: u64,
    read: &mut Taken,
) -> io::Result<()> {
    let mut line = Vec::new();
    while read.kept <= most {
        line.clear();
        match piece(&mut text, &mut line)? {
            0 => break,
            bytes => read.bytes += bytes,
        }
        let text = String::from_utf8_lossy(&line);
        let kept = into.line(text.trim_end_matches(['\r', '\n']));
        read.kept += kept as u64;
    }
    Ok(())
}

/// Reads a line, of which so much is put into `line` as it may have. Returns how many bytes it has.
fn piece(text: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<u64> {
    let mut bytes = 0;
    loop {
        let buffer = match text.fill_buf() {
            Ok(buffer) => buffer,
            Err(why) if why.kind() == ErrorKind::Interrupted => continue,
            Err(why) => return Err(why),
        };
        let end = buffer.iter().position(|byte| *byte == b'\n');
        let length = end.map_or(buffer.len(), |end| end + 1);
        let room = LONGEST.saturating_sub(line.len()).min(length);
        line.extend_from_slice(&buffer[..room]);
        text.consume(length);
        bytes += length as u64;
        if end.is_some() || length == 0 {
            return Ok(bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OURS: &str = "Nov 27 03:12:01 head1 corosync[812]:   [TOTEM ] x";

    fn taken(text: &[u8], most: u64) -> (Taken, usize) {
        let (mut syslog, mut read) = (Syslog::default(), Taken::default());
        // A small buffer: lines go over its end.
        let text = io::BufReader::with_capacity(7, text);
        lines(text, &mut syslog, most, &mut read).expect("memory");
        let (logs, _) = syslog.logs();
        (read, logs.iter().map(|log| log.text.len()).sum())
    }

    #[test]
    fn others_lines_cost_nothing_and_a_line_has_a_bound() {
        let others = "Nov 27 03:12:01 head1 sshd[7]: x\n".repeat(1000);
        let endless = "x".repeat(3 * LONGEST);
        let long = format!("{OURS}{endless}");
        let text = format!("{others}{endless}\n{OURS}\r\n{long}\n\u{e9}\n{OURS}");
        let (read, kept) = taken(text.as_bytes(), u64::MAX);
        assert_eq!(read.bytes, text.len() as u64);
        assert_eq!(kept, 2 * (OURS.len() + 1) + LONGEST + 1);
        assert_eq!(read.kept, kept as u64);
    }

    #[test]
    fn more_than_may_be_kept_ends_the_reading() {
        let text = format!("{OURS}\n").repeat(1000);
        let (read, _) = taken(text.as_bytes(), 100);
        assert!(read.kept > 100 && read.kept < 200, "{read:?}");
        assert_eq!(taken(b"\xff\xfe\n\n", 0).0.bytes, 4);
    }
}

//! QEMU's control protocol (docs/interop/qmp-spec.txt of QEMU): orders and answers in JSON, a line each.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

/// It answers at once, unless it is stopped: processors are emulated by other threads.
const ANSWERS: Duration = Duration::from_secs(2);

/// A connection. QEMU has one at a time.
pub(super) struct Control<S = UnixStream>(BufReader<S>);

impl Control {
    /// Connects to the socket at this path.
    pub fn connect(path: impl AsRef<Path>) -> io::Result<Self> {
        let stream = UnixStream::connect(path)?;
        stream.set_read_timeout(Some(ANSWERS))?;
        stream.set_write_timeout(Some(ANSWERS))?;
        let mut control = Self(BufReader::new(stream));
        let _greeting = control.line()?;
        control.order(&json!({"execute": "qmp_capabilities"}))?;
        Ok(control)
    }

    /// Presses Ctrl-Alt-Del.
    pub fn press_reset_keys(&mut self) -> io::Result<()> {
        let keys = ["ctrl", "alt", "delete"].map(|key| json!({"type": "qcode", "data": key}));
        self.order(&json!({"execute": "send-key", "arguments": {"keys": keys}}))
    }

    /// Gives a card its carrier, or takes it away.
    pub fn set_carrier(&mut self, card: &str, up: bool) -> io::Result<()> {
        self.order(&json!({"execute": "set_link", "arguments": {"name": card, "up": up}}))
    }
}

impl<S: Read + Write> Control<S> {
    /// The next message.
    fn line(&mut self) -> io::Result<Value> {
        let mut line = String::new();
        match self.0.read_line(&mut line)? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            _ => Ok(serde_json::from_str(&line)?),
        }
    }

    /// Has something done. Events that come meanwhile are passed over.
    fn order(&mut self, what: &Value) -> io::Result<()> {
        let stream = self.0.get_mut();
        writeln!(stream, "{what}")?;
        stream.flush()?;
        loop {
            let said = self.line()?;
            if said.get("return").is_some() {
                return Ok(());
            }
            if let Some(error) = said.get("error") {
                return Err(io::Error::other(error.to_string()));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Somebody who has said all beforehand.
    struct Said(io::Cursor<&'static str>, Vec<u8>);

    impl Read for Said {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.0.read(buffer)
        }
    }

    impl Write for Said {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.1.write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn order(said: &'static str) -> io::Result<()> {
        let stream = Said(io::Cursor::new(said), Vec::new());
        Control(BufReader::new(stream)).order(&json!({"execute": "x"}))
    }

    #[test]
    fn an_order_is_done_when_it_is_answered_and_not_by_an_event() {
        assert!(order("{\"event\": \"RESET\"}\n{\"return\": {}}\n").is_ok());
        let refused = order("{\"error\": {\"class\": \"CommandNotFound\"}}\n").unwrap_err();
        assert!(refused.to_string().contains("CommandNotFound"));
        let ended = order("{\"event\": \"SHUTDOWN\"}\n").unwrap_err();
        assert_eq!(ended.kind(), io::ErrorKind::UnexpectedEof);
    }
}

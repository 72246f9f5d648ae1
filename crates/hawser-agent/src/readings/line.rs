//! A reading as a line: a checksum and JSON, which has no line feed of its own. So a file that is cut at any byte loses the
//! line that is cut, and one that is damaged loses the lines that are.

use hawser_model::readings::Reading;

/// Digits of the checksum.
const SUM: usize = 8;

/// The line of a reading.
pub(super) fn encode(reading: &Reading) -> String {
    // A reading is always JSON: its keys are texts and no number of it is infinite.
    let json = serde_json::to_string(reading).unwrap_or_default();
    format!("{:08x} {json}\n", crc32fast::hash(json.as_bytes()))
}

/// What a file holds.
#[derive(Debug, Default)]
pub(super) struct Lines {
    /// The readings, in their order.
    pub(super) readings: Vec<Reading>,
    /// Bytes up to the end of the last good line.
    pub(super) whole_bytes: u64,
    /// Whole lines that are no readings.
    pub(super) damaged: u64,
}

/// Reads a file, whatever it holds. What follows the last line feed is being written, or was cut off.
pub(super) fn decode(bytes: &[u8]) -> Lines {
    let mut lines = Lines::default();
    let mut end = 0;
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        end += line.len() as u64;
        let Some(line) = line.strip_suffix(b"\n") else {
            break;
        };
        match reading(line) {
            Some(reading) => {
                lines.readings.push(reading);
                lines.whole_bytes = end;
            }
            None => lines.damaged += 1,
        }
    }
    lines
}

fn reading(line: &[u8]) -> Option<Reading> {
    let (sum, rest) = line.split_at_checked(SUM)?;
    let json = rest.strip_prefix(b" ")?;
    let sum = u32::from_str_radix(std::str::from_utf8(sum).ok()?, 16).ok()?;
    let intact = crc32fast::hash(json) == sum;
    intact.then(|| serde_json::from_slice(json).ok()).flatten()
}

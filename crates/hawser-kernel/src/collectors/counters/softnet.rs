//! `/proc/net/softnet_stat`: each CPU's network receive work, of the whole machine.

use hawser_model::counters::Counters;

use super::Source;
use crate::{KernelError, proc};

/// `softnet/CPU/{processed,dropped,…}`.
pub(super) struct Softnet;

impl Source for Softnet {
    fn name(&self) -> &'static str {
        "softnet"
    }

    fn read(&mut self, into: &mut Counters) -> Result<(), KernelError> {
        parse(&proc::net("softnet_stat")?, into);
        Ok(())
    }
}

/// Hexadecimal columns of `softnet_seq_show` (`net/core/net-procfs.c`); 3–7 have been zero
/// since the route cache went, 11 and from 13 on are queue lengths.
const COLUMNS: [(usize, &str); 6] = [
    (0, "processed"),
    (1, "dropped"),
    (2, "time_squeeze"),
    (8, "cpu_collision"),
    (9, "received_rps"),
    (10, "flow_limit"),
];

/// The CPU's number, since Linux 5.10; before that lines were numbered by position.
const CPU: usize = 12;

fn parse(text: &str, into: &mut Counters) {
    for (line_number, line) in text.lines().enumerate() {
        let columns: Vec<u64> = line
            .split_whitespace()
            .map_while(|word| u64::from_str_radix(word, 16).ok())
            .collect();
        let cpu = columns.get(CPU).copied().unwrap_or(line_number as u64);
        for (column, name) in COLUMNS {
            if let Some(value) = columns.get(column) {
                into.0.insert(format!("softnet/{cpu}/{name}"), *value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_named_and_cpus_numbered_as_the_kernel_does() {
        let mut read = Counters::default();
        parse(
            "00002f5f 00000003 00000002 00000000 00000000 00000000 00000000 00000000 00000000 \
             00000010 00000000 00000000 00000005 00000000 00000000\n",
            &mut read,
        );
        assert_eq!(read.get("softnet/5/processed"), Some(0x2f5f));
        assert_eq!(read.get("softnet/5/dropped"), Some(3));
        assert_eq!(read.get("softnet/5/received_rps"), Some(16));
        assert_eq!(read.0.len(), COLUMNS.len());
    }

    #[test]
    fn an_older_kernel_numbers_by_line() {
        let mut read = Counters::default();
        parse(
            "00000001 00000000 00000000\n00000002 00000004 00000000\n",
            &mut read,
        );
        assert_eq!(read.get("softnet/1/dropped"), Some(4));
    }
}

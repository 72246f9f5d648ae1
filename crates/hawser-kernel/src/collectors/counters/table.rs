//! The tables of `/proc/net/stat/*`: a line of names, then a line of hexadecimal values per CPU.

use hawser_model::counters::Counters;

/// Adds the columns, summed over the CPUs, under `prefix`.
///
/// The first column is the number of entries of the whole table, repeated on every line: a
/// gauge, left out.
pub(super) fn sum(text: &str, prefix: &str, into: &mut Counters) {
    let mut lines = text.lines();
    let names: Vec<&str> = lines.next().unwrap_or("").split_whitespace().collect();
    for line in lines {
        for (name, value) in names.iter().zip(line.split_whitespace()).skip(1) {
            if let Ok(value) = u64::from_str_radix(value, 16) {
                *into.0.entry(format!("{prefix}/{name}")).or_default() += value;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpus_are_summed_and_the_gauge_is_left_out() {
        let mut read = Counters::default();
        sum(
            "entries  found drop early_drop\n0000001f 00000000 0000000a 00000000\n\
             0000001f 00000001 00000001 00000000\n",
            "conntrack",
            &mut read,
        );
        assert_eq!(
            read,
            Counters::from_iter([
                ("conntrack/found", 1),
                ("conntrack/drop", 11),
                ("conntrack/early_drop", 0)
            ])
        );
    }
}

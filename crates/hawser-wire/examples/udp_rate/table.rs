//! The table that is printed: medians over the rounds, and ratios with their spread.

use std::collections::BTreeMap;
use std::fmt;

use crate::measure::Sample;

/// All samples, by size and program, in the order of the rounds.
#[derive(Default)]
pub struct Results {
    samples: BTreeMap<(u32, String), Vec<Sample>>,
}

/// A number taken from each sample.
struct Column {
    title: &'static str,
    value: fn(&Sample) -> f64,
}

/// The rates are those of frames at the receiving device, and of what the receiving program
/// then read of them; the same again for each second of CPU time of both ends.
const COLUMNS: [Column; 4] = [
    Column {
        title: "kpkt/s at device",
        value: |s| s.frames_per_second / 1e3,
    },
    Column {
        title: "kpkt/s read",
        value: |s| s.frames_per_second * s.delivered / s.frames / 1e3,
    },
    Column {
        title: "kpkt/CPU s at device",
        value: |s| s.frames / s.cpu_seconds / 1e3,
    },
    Column {
        title: "kpkt/CPU s read",
        value: |s| s.delivered / s.cpu_seconds / 1e3,
    },
];

impl Results {
    pub fn add(&mut self, size: u32, program: &str, sample: Sample) {
        let key = (size, program.to_owned());
        self.samples.entry(key).or_default().push(sample);
    }

    /// iperf3 on the better of its two wires.
    fn reference(&self, size: u32, value: fn(&Sample) -> f64) -> Vec<f64> {
        let of = |name: &str| {
            let samples = self.samples.get(&(size, name.to_owned()));
            samples.map_or(Vec::new(), |s| s.iter().map(value).collect())
        };
        let (plain, napi) = (of("iperf3"), of("iperf3-napi"));
        if median(&napi) > median(&plain) {
            napi
        } else {
            plain
        }
    }
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => 0.0,
        odd if odd % 2 == 1 => sorted[odd / 2],
        even => (sorted[even / 2 - 1] + sorted[even / 2]) / 2.0,
    }
}

/// `median (min..max)` of the ratios, round by round.
fn ratio(values: &[f64], reference: &[f64]) -> String {
    let ratios: Vec<f64> = values.iter().zip(reference).map(|(v, r)| v / r).collect();
    if ratios.is_empty() {
        return "-".to_owned();
    }
    let smallest = ratios.iter().copied().fold(f64::INFINITY, f64::min);
    let largest = ratios.iter().copied().fold(0.0, f64::max);
    format!("{:.1} ({smallest:.1}..{largest:.1})", median(&ratios))
}

impl fmt::Display for Results {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:>5} {:12}", "bytes", "program")?;
        for column in &COLUMNS {
            write!(f, " {:>20} {:>15}", column.title, "x iperf3")?;
        }
        writeln!(f, " {:>9}", "separate")?;
        for ((size, program), samples) in &self.samples {
            write!(f, "{size:>5} {program:12}")?;
            for column in &COLUMNS {
                let values: Vec<f64> = samples.iter().map(column.value).collect();
                let reference = self.reference(*size, column.value);
                let ratio = ratio(&values, &reference);
                write!(f, " {:>20.0} {ratio:>15}", median(&values))?;
            }
            let separate: Vec<f64> = samples
                .iter()
                .filter_map(|s| s.sent.map(|sent| 100.0 * s.frames / sent))
                .collect();
            match separate.is_empty() {
                true => writeln!(f, " {:>9}", "-")?,
                false => writeln!(f, " {:>7.1} %", median(&separate))?,
            }
        }
        Ok(())
    }
}

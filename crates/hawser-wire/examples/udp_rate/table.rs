//! The table that is printed: medians over the rounds, with their spread.

use std::collections::BTreeMap;
use std::fmt;

use crate::measure::Sample;

/// All samples, by size and program, in the order of the rounds.
#[derive(Default)]
pub struct Results {
    samples: BTreeMap<(u32, String), Vec<Sample>>,
}

impl Results {
    pub fn add(&mut self, size: u32, program: &str, sample: Sample) {
        let key = (size, program.to_owned());
        self.samples.entry(key).or_default().push(sample);
    }

    /// iperf3 in the better of its two surroundings, round by round.
    fn reference(&self, size: u32, value: impl Fn(&Sample) -> f64) -> Vec<f64> {
        let of = |name: &str| {
            let samples = self.samples.get(&(size, name.to_owned()));
            samples.map_or(Vec::new(), |s| s.iter().map(&value).collect())
        };
        let (plain, napi) = (of("iperf3"), of("iperf3-napi"));
        let better = median(&plain) >= median(&napi) || napi.is_empty();
        if better { plain } else { napi }
    }
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(0.0)
}

/// `median (min..max)`.
fn spread(values: &[f64], digits: usize) -> String {
    let smallest = values.iter().copied().fold(f64::INFINITY, f64::min);
    let largest = values.iter().copied().fold(0.0, f64::max);
    let middle = median(values);
    format!("{middle:.digits$} ({smallest:.digits$}..{largest:.digits$})")
}

impl fmt::Display for Results {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{:>5} {:12} {:>18} {:>16} {:>22} {:>16} {:>9} {:>9}",
            "bytes",
            "program",
            "kpkt/s at device",
            "x iperf3",
            "kpkt per CPU second",
            "x iperf3",
            "read",
            "separate"
        )?;
        for ((size, program), samples) in &self.samples {
            let rate = |s: &Sample| s.frames_per_second / 1e3;
            let economy = |s: &Sample| s.frames / s.cpu_seconds / 1e3;
            let column = |value: &dyn Fn(&Sample) -> f64| -> Vec<f64> {
                samples.iter().map(value).collect()
            };
            let ratio = |value: &dyn Fn(&Sample) -> f64| -> Vec<f64> {
                let reference = self.reference(*size, value);
                let pairs = samples.iter().zip(reference);
                pairs.map(|(sample, base)| value(sample) / base).collect()
            };
            let share = median(&column(&|s| 100.0 * s.delivered / s.frames));
            let separate = samples
                .iter()
                .filter_map(|s| s.sent.map(|sent| 100.0 * s.frames / sent));
            let separate: Vec<f64> = separate.collect();
            let separate = match separate.is_empty() {
                true => "-".to_owned(),
                false => format!("{:.1} %", median(&separate)),
            };
            writeln!(
                f,
                "{size:>5} {program:12} {:>18} {:>16} {:>22} {:>16} {:>7.1} % {separate:>9}",
                spread(&column(&rate), 0),
                spread(&ratio(&rate), 1),
                spread(&column(&economy), 0),
                spread(&ratio(&economy), 1),
                share,
            )?;
        }
        Ok(())
    }
}

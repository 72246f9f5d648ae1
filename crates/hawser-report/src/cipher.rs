//! The page of a `bench cipher`: AES by Hawser, OpenSSL, AWS-LC and the kernel, mode by mode and in both directions.

use hawser_model::units::{Bytes, grouped};

use crate::bars::{Bar, bars};
use crate::page::{Page, Section, Source};
use crate::table::{Column, table};

/// A slower one is counted as slower (docs/cipher.md: equal to the better of the two within 3 %).
const EQUAL: f64 = 0.97;

/// Layouts beside the contiguous one, as [`CipherLine::layout`] names them.
const LAYOUTS: [&str; 6] = ["in place", "16 B", "64 B", "256 B", "1 KiB", "4 KiB"];

/// A line of the table that `hawser bench cipher --json` prints. Speeds are 10^6 bytes a second of processor time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CipherLine {
    /// Mode and direction: `GCM encrypt`.
    pub what: String,
    /// Bits of the key.
    pub key_bits: u32,
    /// Threads that worked at the same time.
    pub threads: usize,
    /// Bytes an operation.
    pub chunk: usize,
    /// How the bytes lie; absent: contiguous.
    pub layout: Option<String>,
    /// Hawser's speed.
    pub ours: f64,
    /// OpenSSL's; absent: not in the build that measured.
    pub openssl: Option<f64>,
    /// AWS-LC's, likewise.
    pub aws_lc: Option<f64>,
    /// The kernel's; absent: not measured.
    pub kernel: Option<f64>,
    /// Why the kernel was not measured, where that is known.
    pub no_kernel: Option<String>,
    /// Hawser's over that of the faster library, the median of the rounds' ratios.
    pub ratio: Option<f64>,
    /// Half the distance between the quartiles of those.
    pub spread: f64,
    /// Over Hawser's own contiguous speed.
    pub of_contiguous: f64,
    /// Of calls of 32 KiB, in microseconds: the median, and the longest that nothing disturbed.
    pub call_us: Option<(f64, Option<f64>)>,
}

impl CipherLine {
    /// The four speeds with whose they are.
    fn speeds(&self) -> [(&'static str, Option<f64>); 4] {
        [
            ("Hawser", Some(self.ours)),
            ("OpenSSL", self.openssl),
            ("AWS-LC", self.aws_lc),
            ("kernel", self.kernel),
        ]
    }
}

/// The page of these lines, which a file of this name has; `by` is the version of Hawser that makes it.
pub fn page(lines: &[CipherLine], file: &str, by: &str) -> String {
    let mut page = Page::untimed("AES on this processor", by);
    let contiguous: Vec<&CipherLine> = lines.iter().filter(|line| line.layout.is_none()).collect();
    page.lead(lead(&contiguous));
    if let Some(first) = contiguous.first() {
        page.section("At a glance", |s| glance(s, &contiguous, first));
    }
    for key_bits in distinct(contiguous.iter().map(|line| line.key_bits)) {
        page.section(&format!("AES-{key_bits}"), |s| {
            let of_key = || contiguous.iter().filter(|line| line.key_bits == key_bits);
            for threads in distinct(of_key().map(|line| line.threads)) {
                let here: Vec<&CipherLine> = of_key()
                    .filter(|line| line.threads == threads)
                    .copied()
                    .collect();
                speeds(s, &here, threads);
                layouts(s, &here, lines);
            }
        });
    }
    calls(&mut page, &contiguous);
    page.section("How it was measured", |s| {
        s.paragraph(
            "All contenders take turns of a millisecond, on one thread and on all; a speed is the median of the rounds, in \
             10^6 bytes a second of processor time. OpenSSL and AWS-LC are called once a chunk, and once a piece where the \
             data is scattered. The ratio is Hawser's over the faster library's, the median of the rounds, ± half the \
             distance between the quartiles. ECB is not secure: it shows what the processor can do.",
        );
        s.paragraph(
            "The kernel is asked through AF_ALG, in messages of 32 KiB at most. Its numbers have two copies and two system \
             calls a message, which a disk or a tunnel within the kernel does not pay. What a driver hands to a device or to \
             another thread is no processor time of the caller.",
        );
        let whys = contiguous.iter().filter_map(|line| line.no_kernel.as_deref());
        for why in distinct(whys) {
            s.remark(format_args!("The kernel was not measured: {why}"));
        }
    });
    page.finish(Source::Printed(file))
}

fn lead(lines: &[&CipherLine]) -> String {
    let beside = lines.iter().filter_map(|line| line.ratio);
    let (all, equal) = beside.fold((0_usize, 0_usize), |(all, equal), ratio| {
        (all + 1, equal + usize::from(ratio >= EQUAL))
    });
    match all {
        0 => "Hawser's AES, with no library beside it.".to_owned(),
        _ => format!(
            "In {equal} of {all} lines Hawser's AES is as fast as the faster of the two libraries, or at most 3 % slower."
        ),
    }
}

/// One bar for each that was measured at one key size, one thread and the chunk that is nearest to 32 KiB.
fn glance(s: &mut Section<'_>, lines: &[&CipherLine], first: &CipherLine) {
    let alike =
        |line: &&&CipherLine| (line.key_bits, line.threads) == (first.key_bits, first.threads);
    let chunks = lines.iter().filter(alike).map(|line| line.chunk);
    let chunk = chunks.min_by_key(|chunk| chunk.abs_diff(32 << 10));
    let here = lines.iter().filter(alike);
    let here: Vec<_> = here.filter(|line| Some(line.chunk) == chunk).collect();
    let all = here.iter().flat_map(|line| line.speeds());
    let best = all
        .filter_map(|(_, speed)| speed)
        .fold(f64::MIN_POSITIVE, f64::max);
    let rows: Vec<Bar> = here
        .iter()
        .flat_map(|line| line.speeds().map(|(who, speed)| (line, who, speed)))
        .filter_map(|(line, who, speed)| {
            let speed = speed?;
            Some(Bar {
                label: line.what.clone(),
                note: who.to_owned(),
                value: whole(speed),
                to: speed / best,
                class: if who == "Hawser" { "good" } else { "whole" },
                ..Bar::default()
            })
        })
        .collect();
    let caption = format!(
        "AES-{}, {}, chunks of {}: MB/s of processor time",
        first.key_bits,
        threads_in_words(first.threads),
        size(chunk.unwrap_or(0))
    );
    bars(s, &caption, ["who", "MB/s"], &rows);
}

fn speeds(s: &mut Section<'_>, lines: &[&CipherLine], threads: usize) {
    use Column::{Number, Text};
    let heads = [
        Text("mode"),
        Number("chunk"),
        Number("Hawser"),
        Number("OpenSSL"),
        Number("AWS-LC"),
        Number("kernel"),
        Number("ratio"),
        Number("±"),
    ];
    let rows = lines.iter().map(|line| {
        let mut cells = vec![line.what.clone(), size(line.chunk)];
        let speeds = line.speeds().into_iter();
        cells.extend(speeds.map(|(_, speed)| speed.map_or_else(dash, whole)));
        cells.push(line.ratio.map_or_else(dash, |ratio| format!("{ratio:.2}")));
        cells.push(
            line.ratio
                .map_or_else(dash, |_| format!("{:.2}", line.spread)),
        );
        cells
    });
    let caption = format!(
        "{}, contiguous: MB/s of processor time",
        threads_in_words(threads)
    );
    table(s, &caption, &heads, &rows.collect::<Vec<_>>());
}

/// Hawser's other layouts over its contiguous one.
fn layouts(s: &mut Section<'_>, here: &[&CipherLine], all: &[CipherLine]) {
    let of = |line: &CipherLine, layout: &str| {
        let same = |other: &&CipherLine| {
            other.layout.as_deref() == Some(layout)
                && (&other.what, other.key_bits, other.threads, other.chunk)
                    == (&line.what, line.key_bits, line.threads, line.chunk)
        };
        all.iter().find(same).map(|other| other.of_contiguous)
    };
    let there: Vec<&'static str> = LAYOUTS
        .into_iter()
        .filter(|layout| here.iter().any(|line| of(line, layout).is_some()))
        .collect();
    if there.is_empty() {
        return;
    }
    let mut heads = vec![Column::Text("mode"), Column::Number("chunk")];
    heads.extend(there.iter().map(|layout| Column::Number(layout)));
    let rows = here.iter().map(|line| {
        let mut cells = vec![line.what.clone(), size(line.chunk)];
        let shares = there.iter().map(|layout| of(line, layout));
        cells.extend(shares.map(|share| share.map_or_else(dash, |share| format!("{share:.2}"))));
        cells
    });
    let rows: Vec<Vec<String>> = rows.collect();
    table(
        s,
        "Hawser in place and over pieces of these sizes: share of its contiguous speed",
        &heads,
        &rows,
    );
}

fn calls(page: &mut Page, lines: &[&CipherLine]) {
    let timed: Vec<(&CipherLine, f64, Option<f64>)> = lines
        .iter()
        .filter_map(|line| {
            line.call_us
                .map(|(median, longest)| (*line, median, longest))
        })
        .collect();
    if timed.is_empty() {
        return;
    }
    page.section("How long a call holds a core", |s| {
        use Column::{Number, Text};
        let heads = [
            Text("mode"),
            Number("key"),
            Number("median, µs"),
            Number("longest undisturbed, µs"),
        ];
        let rows = timed.iter().map(|(line, median, longest)| {
            vec![
                line.what.clone(),
                line.key_bits.to_string(),
                format!("{median:.1}"),
                longest.map_or_else(dash, |longest| format!("{longest:.1}")),
            ]
        });
        let rows: Vec<Vec<String>> = rows.collect();
        table(
            s,
            "Calls of 32 KiB into the implementation, one thread",
            &heads,
            &rows,
        );
    });
}

fn threads_in_words(threads: usize) -> String {
    match threads {
        1 => "one thread".to_owned(),
        n => format!("{n} threads"),
    }
}

fn size(bytes: usize) -> String {
    Bytes(bytes as u64).to_string().replace(".0", "")
}

fn whole(speed: f64) -> String {
    grouped(speed.round() as u64)
}

fn dash() -> String {
    "–".to_owned()
}

/// Each once, in the order in which it comes first.
fn distinct<T: PartialEq>(all: impl Iterator<Item = T>) -> Vec<T> {
    let mut seen = Vec::new();
    for one in all {
        if !seen.contains(&one) {
            seen.push(one);
        }
    }
    seen
}

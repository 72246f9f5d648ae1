//! The rate over time as a picture of characters, with the place where it changed marked.

use hawser_model::output::copy::{ChangePoint, RatePoint};

use hawser_model::units::mb_per_s;

/// Columns and rows of the picture.
const COLUMNS: usize = 60;
const ROWS: usize = 6;

/// An eighth to a whole of a row.
const BARS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// The picture's lines; none when there is too little to show.
pub fn lines(points: &[RatePoint], change: Option<&ChangePoint>) -> Vec<String> {
    let (Some(last), true) = (points.last(), points.len() >= 4) else {
        return Vec::new();
    };
    let columns = columns(points, last.at_s);
    let most = columns.iter().copied().fold(0.0, f64::max);
    if most <= 0.0 {
        return Vec::new();
    }
    let scale = mb_per_s(most);
    let width = scale.chars().count();
    let mut lines: Vec<String> = (0..ROWS)
        .map(|row| {
            let floor = (ROWS - 1 - row) * 8;
            let cells: String = columns
                .iter()
                .map(|rate| {
                    let eighths = (rate / most * (ROWS * 8) as f64).round() as usize;
                    BARS[eighths.saturating_sub(floor).min(8)]
                })
                .collect();
            let label = if row == 0 { scale.as_str() } else { "" };
            format!("{label:>width$} ┤{}", cells.trim_end())
        })
        .collect();
    let axis: String = "─".repeat(COLUMNS);
    lines.push(format!("{:>width$} └{axis}", "0"));
    let end = format!("{:.1} s", last.at_s);
    match change {
        Some(change) => {
            let column = ((change.at_s / last.at_s) * COLUMNS as f64) as usize;
            let mark = format!(
                "▲ {:.2} s, {} → {}",
                change.at_s,
                mb_per_s(change.before_mb_per_s),
                mb_per_s(change.after_mb_per_s)
            );
            let room = (COLUMNS + 1).saturating_sub(mark.chars().count());
            // Where the mark's words do not fit behind it they stand before it.
            let line = if column <= room {
                format!("{}{mark}", " ".repeat(column))
            } else {
                let words: String = mark.chars().skip(2).collect();
                let before = column.saturating_sub(words.chars().count() + 1);
                format!("{}{words} ▲", " ".repeat(before))
            };
            lines.push(format!("{:>width$}  {line}", ""));
        }
        None => lines.push(format!("{:>width$}  {end:>COLUMNS$}", "")),
    }
    lines.push(String::new());
    lines
}

/// The mean rate in each column's time.
fn columns(points: &[RatePoint], end: f64) -> Vec<f64> {
    let step = end / COLUMNS as f64;
    (0..COLUMNS)
        .map(|column| {
            let (from, to) = (column as f64 * step, (column + 1) as f64 * step);
            let mut start = 0.0;
            let mut moved = 0.0;
            for point in points {
                let inside = (point.at_s.min(to) - f64::max(start, from)).max(0.0);
                moved += point.mb_per_s * inside;
                start = point.at_s;
            }
            if step > 0.0 { moved / step } else { 0.0 }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(rates: &[f64]) -> Vec<RatePoint> {
        let mut bytes = 0.0;
        let step = |(i, &rate): (usize, &f64)| {
            bytes += rate * 1e6;
            RatePoint {
                at_s: (i + 1) as f64,
                bytes: bytes as u64,
                mb_per_s: rate,
            }
        };
        rates.iter().enumerate().map(step).collect()
    }

    #[test]
    fn a_fall_is_drawn_and_marked() {
        let mut rates = vec![900.0; 3];
        rates.extend([90.0; 9]);
        let points = points(&rates);
        let change = ChangePoint {
            at_s: 3.0,
            at_bytes: 2_700_000_000,
            before_mb_per_s: 900.0,
            after_mb_per_s: 90.0,
            ahead_bytes: 0,
            statistic: 9.0,
            threshold: 3.0,
        };
        let lines = lines(&points, Some(&change));
        assert_eq!(lines.len(), ROWS + 3);
        assert_eq!(lines[0], format!("900 MB/s ┤{}", "█".repeat(15)));
        assert_eq!(
            lines[ROWS - 1],
            format!("         ┤{}{}", "█".repeat(15), "▅".repeat(45))
        );
        assert_eq!(
            lines[ROWS + 1],
            format!("{:10}{}▲ 3.00 s, 900 MB/s → 90.0 MB/s", "", " ".repeat(15))
        );
        assert!(super::lines(&points[..2], None).is_empty());
    }
}

//! Columns that line up: left- or right-aligned cells, two spaces between them, no line wider than the terminal.

use console::measure_text_width;

use crate::output::paint;
use crate::output::width::{columns, wrapped};

/// How a column is aligned.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Align {
    /// Text.
    Left,
    /// Numbers.
    Right,
    /// A bar, which is as wide as it was drawn.
    Picture,
}

/// A longer name may be broken before others are wrapped word by word.
const NAME: usize = 28;

/// No cell is made narrower.
const NARROWEST: usize = 5;

/// Rows of cells; cells may carry terminal styles, which do not count as width.
pub struct Table {
    columns: Vec<Align>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// An empty table with these columns.
    pub fn new(columns: &[Align]) -> Self {
        Self {
            columns: columns.to_vec(),
            rows: Vec::new(),
        }
    }

    /// Adds a row; missing cells are blank. A cell has no lines of its own, whatever it holds.
    pub fn row<S: Into<String>>(&mut self, cells: impl IntoIterator<Item = S>) {
        let cell = |cell: S| cell.into().replace('\n', "\\u000a");
        self.rows.push(cells.into_iter().map(cell).collect());
    }

    /// The lines, each behind `indent`. Cells of a table that would be too wide are wrapped, texts before numbers.
    pub fn lines(&self, indent: &str) -> Vec<String> {
        let widths = self.widths(columns().saturating_sub(measure_text_width(indent)));
        let rows = self.rows.iter();
        rows.flat_map(|row| self.row_lines(row, &widths))
            .map(|line| format!("{indent}{line}").trim_end().to_owned())
            .collect()
    }

    fn row_lines(&self, row: &[String], widths: &[usize]) -> Vec<String> {
        let cells = row.iter().zip(&self.columns).zip(widths);
        let cells: Vec<Vec<String>> = cells
            .map(|((cell, align), width)| match align {
                _ if measure_text_width(cell) <= *width => vec![cell.clone()],
                Align::Picture => vec![cell.clone()],
                Align::Left | Align::Right => paint::each_line_whole(wrapped(cell, *width, "", "")),
            })
            .collect();
        let high = cells.iter().map(Vec::len).max().unwrap_or(0);
        let line = |at: usize| {
            let parts = cells.iter().zip(&self.columns).zip(widths);
            let parts: Vec<String> = parts
                .map(|((cell, align), width)| {
                    let text = cell.get(at).map_or("", String::as_str);
                    let pad = " ".repeat(width.saturating_sub(measure_text_width(text)));
                    match align {
                        Align::Left | Align::Picture => format!("{text}{pad}"),
                        Align::Right => format!("{pad}{text}"),
                    }
                })
                .collect();
            parts.join("  ")
        };
        (0..high).map(line).collect()
    }

    /// How wide each column is, so that all together take at most `room`.
    fn widths(&self, room: usize) -> Vec<usize> {
        let widest = |measure: &dyn Fn(&str) -> usize| -> Vec<usize> {
            let column = |column: usize| {
                let cells = self.rows.iter().filter_map(|row| row.get(column));
                cells.map(|cell| measure(cell)).max().unwrap_or(0)
            };
            (0..self.columns.len()).map(column).collect()
        };
        let mut widths = widest(&measure_text_width);
        let words = widest(&|cell| {
            // A number with its unit is one word.
            let plain = console::strip_ansi_codes(cell);
            match plain.starts_with(|c: char| c.is_ascii_digit()) {
                true => measure_text_width(cell),
                false => {
                    let words = cell.split(' ').map(measure_text_width);
                    words.max().unwrap_or(0)
                }
            }
        });
        let gaps = 2 * self.columns.len().saturating_sub(1);
        let over = |widths: &[usize]| (widths.iter().sum::<usize>() + gaps).saturating_sub(room);
        // Words stay whole as long as they can, but for long names; numbers are the last to be broken.
        let floors: [(Vec<usize>, [bool; 2]); 4] = [
            (
                words.iter().map(|w| (*w).clamp(NARROWEST, NAME)).collect(),
                [true, false],
            ),
            (words.clone(), [false, true]),
            (vec![NARROWEST; words.len()], [true, false]),
            (vec![NARROWEST; words.len()], [true, true]),
        ];
        for (floor, [texts, numbers]) in floors {
            while over(&widths) > 0 {
                let aligned = |at: usize| match self.columns[at] {
                    Align::Left => texts,
                    Align::Right => numbers,
                    Align::Picture => false,
                };
                let may = |at: &usize| aligned(*at) && widths[*at] > floor[*at];
                let Some(at) = (0..widths.len()).filter(may).max_by_key(|at| widths[*at]) else {
                    break;
                };
                widths[at] -= 1;
            }
        }
        widths
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::paint::style;
    use crate::output::width::tests::at;

    fn table() -> Table {
        let mut table = Table::new(&[Align::Left, Align::Right, Align::Left]);
        table.row(["link", "sent", "why"]);
        let name = "a".repeat(64);
        let why = "the kernel dropped them in front of the socket, whose buffer was full";
        table.row([name.as_str(), "40 500", why]);
        table
    }

    #[test]
    fn texts_are_wrapped_and_numbers_stay_whole() {
        let narrow = at(80, || table().lines("  "));
        assert!(
            narrow.iter().all(|line| measure_text_width(line) <= 80),
            "{narrow:#?}"
        );
        assert!(
            narrow.iter().any(|line| line.contains("40 500")),
            "{narrow:#?}"
        );
        assert_eq!(at(200, || table().lines("  ")).len(), 2);
    }

    #[test]
    fn a_style_ends_with_its_line_and_goes_on_in_the_next() {
        console::set_colors_enabled(true);
        let mut table = Table::new(&[Align::Left, Align::Left]);
        table.row([
            style("red words that are long".repeat(3)).red().to_string(),
            "plain".repeat(4),
        ]);
        let lines = at(40, || table.lines(""));
        console::set_colors_enabled(false);
        assert!(lines.len() > 1);
        for line in lines {
            let shown = paint::shown(&line, |_| false);
            assert!(
                !shown.contains("\u{1b}[31m") || shown.contains("\u{1b}[0m"),
                "{shown:?}"
            );
        }
    }
}

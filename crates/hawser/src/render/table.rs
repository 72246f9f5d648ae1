//! Columns that line up: left- or right-aligned cells, two spaces between them.

use console::measure_text_width;

/// How a column is aligned.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Align {
    /// Text.
    Left,
    /// Numbers.
    Right,
}

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

    /// Adds a row; missing cells are blank. A row is one line, whatever a cell holds.
    pub fn row<S: Into<String>>(&mut self, cells: impl IntoIterator<Item = S>) {
        let cell = |cell: S| cell.into().replace('\n', "\\u000a");
        self.rows.push(cells.into_iter().map(cell).collect());
    }

    /// The lines, each behind `indent`.
    pub fn lines(&self, indent: &str) -> Vec<String> {
        let widths: Vec<usize> = (0..self.columns.len())
            .map(|column| {
                self.rows
                    .iter()
                    .filter_map(|row| row.get(column))
                    .map(|cell| measure_text_width(cell))
                    .max()
                    .unwrap_or(0)
            })
            .collect();
        self.rows
            .iter()
            .map(|row| {
                let cells: Vec<String> = row
                    .iter()
                    .zip(&self.columns)
                    .zip(&widths)
                    .map(|((cell, align), width)| {
                        let pad = " ".repeat(width.saturating_sub(measure_text_width(cell)));
                        match align {
                            Align::Left => format!("{cell}{pad}"),
                            Align::Right => format!("{pad}{cell}"),
                        }
                    })
                    .collect();
                format!("{indent}{}", cells.join("  "))
                    .trim_end()
                    .to_owned()
            })
            .collect()
    }
}

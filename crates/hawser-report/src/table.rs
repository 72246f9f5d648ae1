//! A plain table: the numbers beside a picture. A wide one scrolls on a narrow page.

use crate::page::Section;

/// A column.
pub enum Column {
    /// Text.
    Text(&'static str),
    /// Numbers, aligned right.
    Number(&'static str),
}

/// Draws it; the first cell of a row is its heading.
pub fn table(section: &mut Section<'_>, caption: &str, columns: &[Column], rows: &[Vec<String>]) {
    let label = format!("table: {caption}");
    let scroll: crate::markup::Attributes<'_> = &[
        ("class", &"scroll"),
        ("tabindex", &"0"),
        ("role", &"region"),
        ("aria-label", &label),
    ];
    section.markup().node("div", scroll, |m| {
        m.node("table", &[], |m| {
            m.leaf("caption", &[], caption);
            m.node("thead", &[], |m| {
                m.node("tr", &[], |m| {
                    for column in columns {
                        let (class, head) = parts(column);
                        m.leaf("th", &[("scope", &"col"), ("class", &class)], head);
                    }
                });
            });
            m.node("tbody", &[], |m| {
                for row in rows {
                    m.node("tr", &[], |m| {
                        for (index, (cell, column)) in row.iter().zip(columns).enumerate() {
                            let (class, _) = parts(column);
                            match index {
                                0 => m.leaf("th", &[("scope", &"row"), ("class", &class)], cell),
                                _ => m.leaf("td", &[("class", &class)], cell),
                            }
                        }
                    });
                }
            });
        });
    });
}

fn parts(column: &Column) -> (&'static str, &'static str) {
    match column {
        Column::Text(head) => ("words", head),
        Column::Number(head) => ("number", head),
    }
}

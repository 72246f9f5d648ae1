//! Bars in a table: a row's words, its number, and the picture of the number. Table and picture
//! are one, so nobody has to compare two.

use crate::markup::{Markup, percent};
use crate::page::Section;

/// A row.
#[derive(Default)]
pub struct Bar {
    /// What it is.
    pub label: String,
    /// More about it, in small letters.
    pub note: String,
    /// Its number, as it is written.
    pub value: String,
    /// Where the bar begins and ends, as shares of the width.
    pub from: f64,
    /// See `from`.
    pub to: f64,
    /// Half the length of the line that shows its spread; none for zero.
    pub spread: f64,
    /// Colour: `good`, `bad`, `unknown`, `whole`.
    pub class: &'static str,
}

/// Draws them.
pub fn bars(section: &mut Section<'_>, caption: &str, heads: [&str; 2], rows: &[Bar]) {
    let [label, value] = heads;
    section.markup().node("table", &[("class", &"bars")], |m| {
        m.leaf("caption", &[], caption);
        m.node("thead", &[], |m| {
            m.node("tr", &[], |m| {
                m.leaf("th", &[("scope", &"col")], label);
                m.leaf("th", &[("scope", &"col"), ("class", &"number")], value);
                m.leaf("td", &[("class", &"bar")], "");
            });
        });
        m.node("tbody", &[], |m| {
            for row in rows {
                m.node("tr", &[], |m| draw(m, row));
            }
        });
    });
}

fn draw(m: &mut Markup, row: &Bar) {
    m.node("th", &[("scope", &"row")], |m| {
        m.text(&row.label);
        if !row.note.is_empty() {
            m.leaf("small", &[], &row.note);
        }
    });
    m.leaf("td", &[("class", &"number")], &row.value);
    m.node("td", &[("class", &"bar")], |m| {
        let svg: crate::markup::Attributes<'_> = &[
            ("aria-hidden", &"true"),
            ("width", &"100%"),
            ("height", &"14"),
        ];
        m.node("svg", svg, |m| {
            m.empty(
                "rect",
                &[
                    ("class", &"track"),
                    ("width", &"100%"),
                    ("height", &"14"),
                    ("rx", &"2"),
                ],
            );
            let (from, to) = (row.from.clamp(0.0, 1.0), row.to.clamp(0.0, 1.0));
            if to > from {
                // However small, what is there is seen.
                let wide = (to - from).max(0.003);
                m.empty(
                    "rect",
                    &[
                        ("class", &row.class),
                        ("x", &percent(from.min(1.0 - wide))),
                        ("width", &percent(wide)),
                        ("height", &"14"),
                        ("rx", &"2"),
                    ],
                );
            }
            if row.spread > 0.0 {
                m.empty(
                    "line",
                    &[
                        ("class", &"spread"),
                        ("x1", &percent(to - row.spread)),
                        ("x2", &percent(to + row.spread)),
                        ("y1", &"7"),
                        ("y2", &"7"),
                    ],
                );
            }
        });
    });
}

//! Curves over a horizontal axis, with places on it marked.

use crate::markup::{Attributes, Markup, percent};
use crate::page::Section;
use crate::scale::Scale;

/// Pixels above and below the curves, and of the whole.
const TOP: f64 = 22.0;
const BOTTOM: f64 = 24.0;
const HEIGHT: f64 = 240.0;

/// What is drawn.
pub struct Plot<'a> {
    /// For those who cannot see it.
    pub title: &'a str,
    /// The same, in a sentence or two.
    pub description: String,
    /// From left to right.
    pub x: Axis<'a>,
    /// From below to above.
    pub y: Axis<'a>,
    /// The curves.
    pub curves: Vec<Curve>,
    /// Places on the horizontal axis.
    pub marks: Vec<Mark>,
}

/// An axis.
pub struct Axis<'a> {
    /// Its scale.
    pub scale: Scale,
    /// How a number on it is written.
    pub words: &'a dyn Fn(f64) -> String,
}

/// A curve.
pub struct Curve {
    /// Its name in the legend; none for an empty one.
    pub name: String,
    /// Its points, from left to right.
    pub points: Vec<(f64, f64)>,
    /// Each point is marked.
    pub dots: bool,
    /// What is below is filled.
    pub filled: bool,
}

/// A vertical line with words.
pub struct Mark {
    /// Where.
    pub x: f64,
    /// What.
    pub words: String,
    /// How many lines below the top its words stand, so that neighbours can be read.
    pub row: u32,
}

const COLOURS: [&str; 6] = ["s1", "s2", "s3", "s4", "s5", "s6"];

/// The colour of a curve, by its place in the list.
fn colour(index: usize, curves: usize) -> &'static str {
    // One curve alone is no alarm.
    match curves {
        1 => "s2",
        _ => COLOURS[index % COLOURS.len()],
    }
}

/// Draws it.
pub fn plot(section: &mut Section<'_>, plot: &Plot<'_>) {
    let described = plot.description.as_str();
    section.picture(plot.title, described, HEIGHT as u32, |m| {
        gridlines(m, &plot.y);
        horizontal(m, &plot.x);
        curves(m, plot);
        for mark in &plot.marks {
            marked(m, mark, &plot.x.scale);
        }
    });
    if plot.curves.iter().any(|c| !c.name.is_empty()) {
        legend(section.markup(), &plot.curves);
    }
}

/// A number without needless digits: `0.01`, `2.5`, `100`.
pub fn short(value: f64) -> String {
    let text = match value.abs() {
        v if v >= 10.0 => format!("{value:.0}"),
        v if v >= 1.0 => format!("{value:.1}"),
        _ => format!("{value:.4}"),
    };
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

fn down(share: f64) -> f64 {
    TOP + (1.0 - share) * (HEIGHT - TOP - BOTTOM)
}

fn gridlines(m: &mut Markup, y: &Axis<'_>) {
    for tick in y.scale.ticks(4.0) {
        let at = down(y.scale.share(tick));
        m.empty(
            "line",
            &[
                ("class", &"grid"),
                ("x1", &"0"),
                ("x2", &"100%"),
                ("y1", &at),
                ("y2", &at),
            ],
        );
        m.leaf(
            "text",
            &[("class", &"dim halo"), ("x", &"0"), ("y", &(at - 4.0))],
            (y.words)(tick),
        );
    }
}

fn horizontal(m: &mut Markup, x: &Axis<'_>) {
    for tick in x.scale.ticks(5.0) {
        let share = x.scale.share(tick);
        let anchor = match share {
            s if s < 0.03 => "start",
            s if s > 0.97 => "end",
            _ => "middle",
        };
        m.leaf(
            "text",
            &[
                ("class", &"dim"),
                ("x", &percent(share)),
                ("y", &(HEIGHT - 6.0)),
                ("text-anchor", &anchor),
            ],
            (x.words)(tick),
        );
    }
}

/// Curves are stretched to the page's width; their lines stay as thin as they are.
fn curves(m: &mut Markup, plot: &Plot<'_>) {
    let inner: Attributes<'_> = &[
        ("x", &"0"),
        ("y", &TOP),
        ("width", &"100%"),
        ("height", &(HEIGHT - TOP - BOTTOM)),
        ("viewBox", &"0 0 1000 1000"),
        ("preserveAspectRatio", &"none"),
    ];
    m.node("svg", inner, |m| {
        for (index, curve) in plot.curves.iter().enumerate() {
            let points: Vec<String> = curve
                .points
                .iter()
                .map(|(x, y)| {
                    let x = plot.x.scale.share(*x) * 1000.0;
                    let y = (1.0 - plot.y.scale.share(*y)) * 1000.0;
                    format!("{x:.1},{y:.1}")
                })
                .collect();
            if let (true, Some((first, _)), Some((last, _))) =
                (curve.filled, curve.points.first(), curve.points.last())
            {
                let area = format!(
                    "{:.1},1000 {} {:.1},1000",
                    plot.x.scale.share(*first) * 1000.0,
                    points.join(" "),
                    plot.x.scale.share(*last) * 1000.0
                );
                m.empty("polygon", &[("class", &"area"), ("points", &area)]);
            }
            let class = format!("curve {}", colour(index, plot.curves.len()));
            m.empty(
                "polyline",
                &[
                    ("class", &class),
                    ("points", &points.join(" ")),
                    ("vector-effect", &"non-scaling-stroke"),
                ],
            );
        }
    });
    for (index, curve) in plot.curves.iter().enumerate().filter(|(_, c)| c.dots) {
        let class = format!("dot {}", colour(index, plot.curves.len()));
        for (x, y) in &curve.points {
            m.empty(
                "circle",
                &[
                    ("class", &class),
                    ("cx", &percent(plot.x.scale.share(*x))),
                    ("cy", &down(plot.y.scale.share(*y))),
                    ("r", &"3.5"),
                ],
            );
        }
    }
}

fn marked(m: &mut Markup, mark: &Mark, scale: &Scale) {
    let share = scale.share(mark.x);
    let x = percent(share);
    m.empty(
        "line",
        &[
            ("class", &"mark"),
            ("x1", &x),
            ("x2", &x),
            ("y1", &TOP),
            ("y2", &(HEIGHT - BOTTOM)),
        ],
    );
    let (anchor, aside) = if share > 0.5 {
        ("end", "-6")
    } else {
        ("start", "6")
    };
    m.leaf(
        "text",
        &[
            ("class", &"halo"),
            ("x", &x),
            ("dx", &aside),
            ("y", &(TOP + 12.0 + 15.0 * f64::from(mark.row))),
            ("text-anchor", &anchor),
        ],
        &mark.words,
    );
}

fn legend(m: &mut Markup, curves: &[Curve]) {
    m.node("ul", &[("class", &"legend")], |m| {
        for (index, curve) in curves.iter().enumerate() {
            m.node("li", &[], |m| {
                let svg: Attributes<'_> = &[
                    ("aria-hidden", &"true"),
                    ("width", &"22"),
                    ("height", &"10"),
                ];
                m.node("svg", svg, |m| {
                    let class = format!("key {}", colour(index, curves.len()));
                    m.empty(
                        "line",
                        &[
                            ("class", &class),
                            ("x1", &"0"),
                            ("x2", &"22"),
                            ("y1", &"5"),
                            ("y2", &"5"),
                        ],
                    );
                });
                m.text(&curve.name);
            });
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_short() {
        assert_eq!(short(0.01), "0.01");
        assert_eq!(short(100.0), "100");
        assert_eq!(short(2.5), "2.5");
        assert_eq!(short(0.0), "0");
    }
}

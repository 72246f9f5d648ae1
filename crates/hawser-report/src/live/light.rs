//! How something is, as a shape: it says the same without colours.

use hawser_model::output::live::Light;

use crate::markup::Markup;

/// The name of a colour in the style sheet.
pub fn name(light: Light) -> &'static str {
    match light {
        Light::Good => "good",
        Light::Unknown => "unknown",
        Light::Warning => "warning",
        Light::Bad => "bad",
    }
}

/// A class with the name of a colour.
pub fn class(of: &str, light: Light) -> String {
    format!("{of} {}", name(light))
}

/// The shape: a disc with a tick, a ring with a question mark, a triangle, a square with a cross. The words beside it say
/// what it is to those who do not see it.
pub fn mark(m: &mut Markup, light: Light) {
    m.node(
        "svg",
        &[
            ("class", &class("mark-of", light)),
            ("viewBox", &"0 0 16 16"),
            ("width", &"16"),
            ("height", &"16"),
            ("aria-hidden", &"true"),
        ],
        |m| match light {
            Light::Good => {
                disc(m, "shape");
                stroke(m, "4.5,8.5 7,11 11.5,5.5");
            }
            Light::Unknown => {
                disc(m, "ring");
                m.leaf(
                    "text",
                    &[("x", &"8"), ("y", &"12"), ("text-anchor", &"middle")],
                    "?",
                );
            }
            Light::Warning => {
                m.empty(
                    "polygon",
                    &[("class", &"shape"), ("points", &"8,1 15.5,15 0.5,15")],
                );
                stroke(m, "8,6 8,10.5");
                stroke(m, "8,12.3 8,13.2");
            }
            Light::Bad => {
                m.empty(
                    "rect",
                    &[
                        ("class", &"shape"),
                        ("x", &"1"),
                        ("y", &"1"),
                        ("width", &"14"),
                        ("height", &"14"),
                    ],
                );
                stroke(m, "4.5,4.5 11.5,11.5");
                stroke(m, "11.5,4.5 4.5,11.5");
            }
        },
    );
}

fn disc(m: &mut Markup, class: &str) {
    m.empty(
        "circle",
        &[("class", &class), ("cx", &"8"), ("cy", &"8"), ("r", &"7")],
    );
}

fn stroke(m: &mut Markup, points: &str) {
    m.empty("polyline", &[("class", &"sign"), ("points", &points)]);
}

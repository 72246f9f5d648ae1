//! The cluster as a drawing: nodes, the links between them, what was lost where.

use crate::markup::{Markup, percent};
use crate::page::Section;
use hawser_model::units::counted;

/// What is drawn.
pub struct Drawing {
    /// Names of the nodes.
    pub nodes: Vec<String>,
    /// The links.
    pub links: Vec<Wire>,
}

/// A link.
pub struct Wire {
    /// Its name.
    pub name: String,
    /// Under its line: the switch, the addresses, what was lost.
    pub note: String,
    /// Which nodes are on it, and whether packets were lost there.
    pub ports: Vec<(usize, bool)>,
}

impl Drawing {
    /// A path from one node to another.
    pub fn path(from: &str, to: &str, link: &str, note: String) -> Self {
        Self {
            nodes: vec![from.to_owned(), to.to_owned()],
            links: vec![Wire {
                name: link.to_owned(),
                note,
                ports: vec![(0, false), (1, false)],
            }],
        }
    }
}

impl Wire {
    fn lossy(&self) -> bool {
        self.ports.iter().any(|(_, lossy)| *lossy)
    }
}

/// Draws it: two nodes face each other, more stand below each other.
pub fn draw(section: &mut Section<'_>, drawing: &Drawing) {
    let links: Vec<String> = drawing
        .links
        .iter()
        .map(|l| format!("{}: {}", l.name, l.note))
        .collect();
    let description = format!(
        "{} ({}) on {}. {}.",
        counted(drawing.nodes.len() as u64, "node"),
        drawing.nodes.join(", "),
        counted(drawing.links.len() as u64, "link"),
        links.join("; ")
    );
    let pair = drawing.nodes.len() == 2;
    let height = match pair {
        true => 24 + 56 * drawing.links.len().max(1) as u32,
        false => 44 + 40 * drawing.nodes.len() as u32,
    };
    section.picture("The cluster", description, height, |m| match pair {
        true => facing(m, drawing, height),
        false => columns(m, drawing, height),
    });
    if !pair {
        let rows: Vec<Vec<String>> = drawing
            .links
            .iter()
            .map(|l| vec![l.name.clone(), l.note.clone()])
            .collect();
        use crate::table::Column::Text;
        crate::table::table(section, "Links", &[Text("link"), Text("")], &rows);
    }
}

fn facing(m: &mut Markup, drawing: &Drawing, height: u32) {
    let tall = height - 8;
    for (name, at) in drawing.nodes.iter().zip([0.0, 0.78]) {
        let middle = height / 2 + 2;
        node(m, &clip(name, 10), at, 0.22, 4, tall, middle);
    }
    for (index, link) in drawing.links.iter().enumerate() {
        let y = 40 + 56 * index as u32;
        let class = if link.lossy() { "wire lossy" } else { "wire" };
        line(m, class, (0.22, 0.78), (y, y));
        for (port, lossy) in &link.ports {
            let at = if *port == 0 { 0.22 } else { 0.78 };
            dot(m, at, y, *lossy);
        }
        text(m, "name", 0.5, y - 8, &clip(&link.name, 24));
        text(m, "dim", 0.5, y + 17, &clip(&link.note, 32));
    }
}

fn columns(m: &mut Markup, drawing: &Drawing, height: u32) {
    let across =
        |index: usize| 0.3 + 0.7 * (index as f64 + 0.5) / drawing.links.len().max(1) as f64;
    let row = |index: usize| 40 + 40 * index as u32;
    // As many letters as a column of a narrow page has room for.
    let room = (32 / drawing.links.len().max(1)).max(3);
    for (index, link) in drawing.links.iter().enumerate() {
        let class = if link.lossy() { "wire lossy" } else { "wire" };
        let x = across(index);
        line(m, class, (x, x), (24, height - 20));
        text(m, "name", x, 14, &clip(&link.name, room));
    }
    for (index, name) in drawing.nodes.iter().enumerate() {
        let on = |l: &&Wire| l.ports.iter().any(|(port, _)| *port == index);
        let last = drawing.links.iter().rposition(|l| on(&l));
        let y = row(index);
        if let Some(last) = last {
            line(m, "grid", (0.22, across(last)), (y, y));
        }
        node(m, &clip(name, 10), 0.0, 0.22, y - 14, 28, y + 4);
        for (column, link) in drawing.links.iter().enumerate() {
            if let Some((_, lossy)) = link.ports.iter().find(|(port, _)| *port == index) {
                dot(m, across(column), y, *lossy);
            }
        }
    }
}

fn node(m: &mut Markup, name: &str, x: f64, width: f64, y: u32, height: u32, middle: u32) {
    m.empty(
        "rect",
        &[
            ("class", &"box"),
            ("x", &percent(x)),
            ("width", &percent(width)),
            ("y", &y),
            ("height", &height),
            ("rx", &"4"),
        ],
    );
    text(m, "name", x + width / 2.0, middle, name);
}

fn line(m: &mut Markup, class: &str, x: (f64, f64), y: (u32, u32)) {
    m.empty(
        "line",
        &[
            ("class", &class),
            ("x1", &percent(x.0)),
            ("x2", &percent(x.1)),
            ("y1", &y.0),
            ("y2", &y.1),
        ],
    );
}

fn dot(m: &mut Markup, x: f64, y: u32, lossy: bool) {
    let class = if lossy { "port lossy" } else { "port" };
    m.empty(
        "circle",
        &[
            ("class", &class),
            ("cx", &percent(x)),
            ("cy", &y),
            ("r", &"4.5"),
        ],
    );
}

fn text(m: &mut Markup, class: &str, x: f64, y: u32, words: &str) {
    let attributes: crate::markup::Attributes<'_> = &[
        ("class", &class),
        ("x", &percent(x)),
        ("y", &y),
        ("text-anchor", &"middle"),
    ];
    m.leaf("text", attributes, words);
}

/// At most so many letters; what is missing is told by dots.
pub fn clip(text: &str, letters: usize) -> String {
    if text.chars().count() <= letters {
        return text.to_owned();
    }
    let mut short: String = text.chars().take(letters.saturating_sub(1)).collect();
    short.push('…');
    short
}

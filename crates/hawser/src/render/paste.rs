//! What somebody pasted, and what it says.

use hawser_model::output::paste::{PasteReport, Pasted};

/// The report in words.
pub fn report(report: &PasteReport) -> String {
    let all: Vec<String> = report.pastes.iter().map(one).collect();
    all.join("\n")
}

fn one(pasted: &Pasted) -> String {
    let mut out = format!("{}, of one host\n", pasted.kind);
    let width = pasted
        .numbers
        .iter()
        .map(|number| number.name.chars().count())
        .max();
    for number in &pasted.numbers {
        out += &format!(
            "  {:width$}  {}\n",
            number.name,
            number.value,
            width = width.unwrap_or(0)
        );
    }
    for (heading, lines) in [
        ("What follows", &pasted.follows),
        ("What does not follow from one side", &pasted.open),
        ("Run next", &pasted.next),
    ] {
        if !lines.is_empty() {
            out += &format!("\n{heading}\n");
            for line in lines {
                out += &format!("  - {line}\n");
            }
        }
    }
    out
}

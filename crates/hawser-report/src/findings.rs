//! The findings, worst first, with the numbers each rests on.

use hawser_model::finding::WordedFinding;

use crate::page::{Page, Section};

/// A card a finding.
pub fn section(page: &mut Page, findings: &[WordedFinding]) {
    page.section("Findings", |s| {
        if findings.is_empty() {
            s.paragraph("Nothing wrong was seen.");
        }
        for worded in findings {
            card(s, worded);
        }
    });
}

fn card(s: &mut Section<'_>, worded: &WordedFinding) {
    let finding = &worded.finding;
    let severity = finding.severity.word();
    let class = format!("finding {severity}");
    s.markup().node("article", &[("class", &class)], |m| {
        m.node("h3", &[], |m| {
            let class = format!("severity {severity}");
            m.leaf("span", &[("class", &class)], severity);
            m.text(format_args!(" {} ", finding.code));
        });
        m.leaf(
            "p",
            &[("class", &"muted")],
            format_args!("{} ({})", finding.place, finding.confidence.word()),
        );
        paragraphs(m, &worded.text);
        for one in &worded.differs {
            let elsewhere = match &one.link {
                Some(link) => format!("its {link}"),
                None => one.host.to_string(),
            };
            m.leaf(
                "p",
                &[],
                format_args!(
                    "Differs: {} is {} here and {} on {elsewhere}",
                    one.item, one.here, one.there
                ),
            );
        }
        if !worded.fix.is_empty() {
            m.node("div", &[("class", &"fix")], |m| {
                paragraphs(m, &format!("Fix: {}", worded.fix));
            });
        }
        let evidence: Vec<String> = finding
            .evidence
            .iter()
            .map(|(name, value)| match value.as_str() {
                Some(text) => format!("{} {text}", name.replace('_', " ")),
                None => format!("{} {value}", name.replace('_', " ")),
            })
            .collect();
        m.leaf(
            "p",
            &[("class", &"evidence")],
            format_args!(
                "{}{}hawser explain {}",
                evidence.join(" · "),
                if evidence.is_empty() { "" } else { " · " },
                finding.code
            ),
        );
    });
}

/// A text of sentences, a paragraph a line.
fn paragraphs(m: &mut crate::markup::Markup, text: &str) {
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        m.node("p", &[], |m| code(m, line));
    }
}

/// What stands between back-ticks is a command or a setting.
fn code(m: &mut crate::markup::Markup, text: &str) {
    let pieces: Vec<&str> = text.split('`').collect();
    // An odd back-tick is a character like any other.
    let paired = pieces.len() % 2 == 1;
    if !paired {
        return m.text(unbroken(text));
    }
    for (index, piece) in pieces.into_iter().enumerate() {
        match index % 2 {
            1 => m.leaf("code", &[], piece),
            _ => m.text(unbroken(piece)),
        }
    }
}

/// No line ends within a number, or between it and its per cent. A command is left as it is, to be copied.
fn unbroken(text: &str) -> String {
    let mut last = ' ';
    let mut chars = text.chars().peekable();
    let mut out = String::with_capacity(text.len());
    while let Some(c) = chars.next() {
        let joins = |next: &char| next.is_ascii_digit() || *next == '%';
        let within = c == ' ' && last.is_ascii_digit() && chars.peek().is_some_and(joins);
        out.push(if within { '\u{a0}' } else { c });
        last = c;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_stays_on_one_line_and_a_command_as_it_is() {
        assert_eq!(
            unbroken("40 500 of 2 (1.2 %) in 3 s"),
            "40\u{a0}500 of 2 (1.2\u{a0}%) in 3 s"
        );
        let mut m = crate::markup::Markup::default();
        code(&mut m, "`sysctl -w a=4096 87380` sets 4 096");
        assert_eq!(
            m.into_string(),
            "<code>sysctl -w a=4096 87380</code> sets 4\u{a0}096"
        );
    }
}

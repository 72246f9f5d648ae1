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
        paragraphs(m, "p", &worded.text);
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
                paragraphs(m, "p", &format!("Fix: {}", worded.fix));
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

fn paragraphs(m: &mut crate::markup::Markup, tag: &'static str, text: &str) {
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        m.node(tag, &[], |m| code(m, line));
    }
}

/// What stands between back-ticks is a command or a setting.
fn code(m: &mut crate::markup::Markup, text: &str) {
    let pieces: Vec<&str> = text.split('`').collect();
    // An odd back-tick is a character like any other.
    let paired = pieces.len() % 2 == 1;
    if !paired {
        return m.text(text);
    }
    for (index, piece) in pieces.into_iter().enumerate() {
        match index % 2 {
            1 => m.leaf("code", &[], piece),
            _ => m.text(piece),
        }
    }
}

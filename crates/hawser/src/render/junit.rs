//! Drills as JUnit XML, for the pipelines of those who drill their clusters by a machine: a suite a
//! drill, a test case a promise.

use std::fmt::Write as _;

use hawser_model::output::drill::DrillReport;
use hawser_model::visible;

/// The whole document.
pub fn junit(reports: &[DrillReport]) -> String {
    let count = |held: bool| {
        let promises = reports.iter().flat_map(|report| &report.promises);
        promises.filter(|promise| promise.held == held).count()
    };
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let _ = writeln!(
        out,
        "<testsuites name=\"hawser drill\" tests=\"{}\" failures=\"{}\">",
        count(true) + count(false),
        count(false)
    );
    for report in reports {
        suite(&mut out, report);
    }
    out.push_str("</testsuites>\n");
    out
}

fn suite(out: &mut String, report: &DrillReport) {
    let name = escaped(&report.scenario);
    let _ = writeln!(
        out,
        "  <testsuite name=\"{name}\" tests=\"{}\" failures=\"{}\" errors=\"0\" skipped=\"0\" time=\"{:.3}\">",
        report.promises.len(),
        report.broken.len(),
        report.outage_s
    );
    out.push_str("    <properties>\n");
    let mut property = |name: &str, value: String| {
        let _ = writeln!(
            out,
            "      <property name=\"{}\" value=\"{}\"/>",
            escaped(name),
            escaped(&value)
        );
    };
    property("seed", report.seed.to_string());
    property("outage_s", format!("{:.3}", report.outage_s));
    for phase in &report.phases {
        property(
            &format!("phase {} on {}", phase.name, phase.host),
            format!("{:.3}", phase.seconds),
        );
    }
    property("unattributed_s", format!("{:.3}", report.unattributed_s));
    property("acknowledged", report.writes.acknowledged.to_string());
    property("case", report.case.clone());
    out.push_str("    </properties>\n");
    for promise in &report.promises {
        let _ = write!(
            out,
            "    <testcase classname=\"{name}\" name=\"{}\"",
            escaped(&promise.promise)
        );
        match promise.held {
            true => out.push_str("/>\n"),
            false => {
                let text = escaped(&promise.text);
                let _ = writeln!(
                    out,
                    "><failure message=\"{text}\">{text}</failure></testcase>"
                );
            }
        }
    }
    out.push_str("  </testsuite>\n");
}

/// As XML 1.0 wants it in text and in attributes. Characters that it does not allow at all, and others without a
/// shape, are shown by their numbers.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' => out.push_str("&#10;"),
            '\t' => out.push_str("&#9;"),
            c if visible::is_hidden(c) => visible::push_escape(&mut out, c),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_promise_that_broke_is_a_failure() {
        let text = include_str!("../../../../cases/drill/lost-write/expected.json");
        let mut report: DrillReport = serde_json::from_str(text).expect("a report");
        report.promises[0].text = "a <\u{1}&\"> \u{202e}b".to_owned();
        report.promises[0].held = false;
        let xml = junit(&[report]);
        let text = "message=\"a &lt;\\u0001&amp;&quot;&gt; \\u202eb\"";
        assert!(xml.contains(text), "{xml}");
        assert!(xml.contains("name=\"no-write-lost\"><failure"), "{xml}");
        assert!(xml.contains("failures=\"2\""), "{xml}");
    }
}

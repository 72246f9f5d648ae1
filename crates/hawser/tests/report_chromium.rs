//! The pages of real cases as a browser shows them: alone in the world, on a telephone and on a wide screen, by day and
//! by night, and on paper. Where there is no Chromium this is skipped, and says so.

mod chromium;
mod support;

use std::io::Write;
use std::path::{Path, PathBuf};

use chromium::Chromium;
use hawser_model::output::incident::IncidentsReport;
use serde_json::json;

/// A tune, and by name a case of each other kind of page, those with the widest tables and pictures.
const TUNE: &str = "crates/hawser-report/tests/tune.json";
/// What the heads' logs told of a takeover, of which two services were away.
const INCIDENT: &str = "cases/incident/boot-awaited.json";
/// What a `bench cipher` printed.
const CIPHERS: &str = "crates/hawser/tests/report/ciphers.json";
const CASES: [&str; 8] = [
    TUNE,
    CIPHERS,
    INCIDENT,
    "three-faults-in-one-flow",
    "ladder-iscsi",
    "fanout-one-context",
    "copy/policer",
    "drill/power-cut",
];

fn page(name: &str, folder: &Path) -> PathBuf {
    if name == INCIDENT {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let text = std::fs::read(root.join(name)).unwrap();
        let report: IncidentsReport = serde_json::from_slice(&text).unwrap();
        let file = folder.join("incident.html");
        let page = hawser_report::incident_page(
            &report,
            &report.incidents[0],
            hawser_report::Source::Logs,
            "0",
        );
        std::fs::write(&file, page).unwrap();
        return file;
    }
    let case = match name {
        TUNE | CIPHERS => Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../..")
            .join(name),
        saved => {
            let file = folder.join(saved.replace('/', "-")).with_extension("json");
            std::fs::write(&file, hawser_cases::value(saved).unwrap().to_string()).unwrap();
            file
        }
    };
    let file = folder.join(case.file_name().unwrap());
    let file = file.with_extension("html");
    let (case, to) = (case.to_str().unwrap(), file.to_str().unwrap());
    let ran = support::run(&["report", case, "-o", to]);
    assert_eq!(ran.code, Some(0), "{case}: {}", ran.stderr);
    file
}

#[test]
fn pages_are_whole_in_a_real_browser_whatever_its_width_and_colours() {
    let Some(mut browser) = Chromium::start() else {
        // Past the harness, which keeps what a test that passes prints.
        writeln!(std::io::stderr(), "\nskipped: no chromium here").unwrap();
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    for case in CASES {
        let file = page(case, folder.path());
        browser.visit(&format!("file://{}", file.display()));
        for width in [375, 1400] {
            let (scroll, inner) = browser.widths(width);
            assert_eq!(inner, width, "{case}");
            assert!(scroll <= inner, "{case} is {scroll} wide in {inner}");
        }
        let (light, dark) = (browser.seen("light"), browser.seen("dark"));
        assert_ne!(light.colours, dark.colours, "{case}");
        assert_ne!(light.picture, dark.picture, "{case}");
        let paper = browser.ask("Page.printToPDF", json!({ "printBackground": true }));
        let paper = paper["data"].as_str().unwrap();
        // `%PDF-` in base64; a sheet with nothing on it has some 1 000 bytes.
        assert!(
            paper.starts_with("JVBERi0") && paper.len() > 10_000,
            "{case}: {}",
            paper.len()
        );
        alone(&browser, &file);
    }
}

/// The page asked for nothing but itself, and the browser had nothing to complain of.
fn alone(browser: &Chromium, file: &Path) {
    assert_eq!(browser.requested(), [format!("file://{}", file.display())]);
    browser.has_nothing_to_complain_of();
}

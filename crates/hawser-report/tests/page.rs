//! Pages of saved cases: whole, alone in the world, and deaf to what names in a case would like
//! to be.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use hawser_account::outage::explain_drill;
use hawser_model::case::Case;
use hawser_model::copy::CopyCase;
use hawser_model::drill::DrillCase;
use hawser_model::output::incident::{IncidentReport, IncidentsReport};
use hawser_model::trial::RingGain;
use hawser_report::{Source, copy_page, drill_page, incident_page, page};
use proptest::prelude::*;
use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// Everything a page is made of; none of it loads, runs, sends or leads elsewhere.
const ELEMENTS: &str = "html head meta title style body main header h1 h2 h3 p section footer article \
    div span small code pre ul li table caption thead tbody tr th td \
    svg desc text line rect circle polygon polyline";
const ATTRIBUTES: &str = "lang charset http-equiv content name class role aria-label aria-labelledby \
    aria-hidden id tabindex scope width height x y dx x1 x2 y1 y2 rx cx cy r points viewBox \
    preserveAspectRatio text-anchor vector-effect";

fn saved(folder: &str) -> BTreeMap<String, String> {
    let names = hawser_cases::names(folder).into_iter();
    let found: BTreeMap<_, _> = names.map(|name| (name.clone(), text(&name))).collect();
    assert!(found.len() > 3, "{folder} holds cases");
    found
}

fn text(name: &str) -> String {
    hawser_cases::read::<Value>(name).to_string()
}

fn tune() -> String {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tune.json");
    fs::read_to_string(file).expect("the case of a tune")
}

fn case<T: DeserializeOwned>(text: &str) -> T {
    serde_json::from_str(text).expect("a case")
}

/// Fails unless the page is well-formed and made of the elements and attributes above alone.
/// Gives its text.
fn parsed(page: &str) -> Result<String, String> {
    let mut reader = Reader::from_str(page);
    let (mut open, mut text) = (0_usize, String::new());
    let known = |element: &BytesStart<'_>| {
        let name = String::from_utf8_lossy(element.name().as_ref()).into_owned();
        if !ELEMENTS.split_whitespace().any(|e| e == name) {
            return Err(format!("an element <{name}>"));
        }
        for attribute in element.attributes() {
            let attribute = attribute.map_err(|e| format!("<{name}>: {e}"))?;
            let key = String::from_utf8_lossy(attribute.key.as_ref()).into_owned();
            if !ATTRIBUTES.split_whitespace().any(|a| a == key) {
                return Err(format!("an attribute {key} of <{name}>"));
            }
        }
        Ok(())
    };
    loop {
        match reader.read_event().map_err(|e| e.to_string())? {
            Event::DocType(_) => {}
            Event::Start(element) => {
                known(&element)?;
                open += 1;
            }
            Event::Empty(element) => known(&element)?,
            Event::End(_) => open -= 1,
            Event::Text(found) => text.push_str(&found.decode().map_err(|e| e.to_string())?),
            Event::GeneralRef(_) => text.push('&'),
            Event::Eof if open == 0 => return Ok(text),
            other => return Err(format!("{other:?} with {open} elements open")),
        }
    }
}

/// Holds a page against everything that is true of every page.
fn sound(name: &str, page: &str) {
    let text = parsed(page).unwrap_or_else(|e| panic!("{name}: {e}"));
    assert!(page.starts_with("<!DOCTYPE html>"), "{name}");
    for nowhere in [
        "http:", "https:", "<script", "url(", "@import", "NaN", "inf%",
    ] {
        assert!(!page.contains(nowhere), "{name} holds {nowhere}");
    }
    let pictures = [
        "The cluster",
        "The path",
        "Where the time went",
        "Receivers against loss",
        "groups that were joined",
    ];
    assert!(
        pictures.iter().any(|there| text.contains(there)),
        "{name} draws neither cluster, path, outage, fan-out nor groups"
    );
}

#[test]
fn every_saved_check_and_ladder_is_a_page() {
    let mut headings = [0, 0, 0];
    for (name, text) in saved("") {
        let page = page(&case(&text), "case.json");
        sound(&name, &page);
        headings[0] += usize::from(page.contains("<h2>Where the packets went</h2>"));
        headings[1] += usize::from(page.contains("<h2>Where the rate is lost</h2>"));
        headings[2] += usize::from(page.contains("<h2>How it was measured</h2>"));
    }
    assert_eq!(headings[0], headings[2], "every check says how it was made");
    assert!(headings[0] > 50 && headings[1] > 10, "{headings:?}");
}

#[test]
fn every_saved_copy_is_a_page() {
    for (name, text) in saved("copy") {
        let page = copy_page(&case::<CopyCase>(&text), "case.json");
        sound(&name, &page);
        assert!(page.contains("<h2>What each stage did</h2>"), "{name}");
    }
}

#[test]
fn every_saved_drill_is_a_page_with_everything_that_happened_marked() {
    for (name, text) in saved("drill") {
        let case = case::<DrillCase>(&text);
        let page = drill_page(&case, "case.json");
        sound(&name, &page);
        for there in ["Writes over time", "The outage account"] {
            assert!(page.contains(there), "{name}: {there}");
        }
        let (end, waited) = match explain_drill(&case).held_open_s {
            Some(_) => ("first file", "No file was created for"),
            None => ("first write", "Nothing was acknowledged to one writer for"),
        };
        assert!(page.contains(end), "{name}: {end}");
        assert!(page.contains(waited), "{name}: {waited}");
        let broken = [
            "two-heads",
            "lost-write",
            "unwatched",
            "logs-missing",
            "duel",
        ];
        let broken = broken.iter().any(|broken| name.ends_with(broken));
        assert_eq!(page.contains("BROKEN"), broken, "{name}");
    }
}

/// Each incident of a report as a page.
fn incident_pages(report: &IncidentsReport) -> Vec<(&IncidentReport, String)> {
    let page = |one| (one, incident_page(report, one, Source::Logs, "0.1.0"));
    report.incidents.iter().map(page).collect()
}

fn incidents() -> BTreeMap<String, String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../cases/incident");
    let files = fs::read_dir(folder).expect("the incidents' folder");
    let files = files.map(|file| file.expect("a file").path());
    files
        .map(|file| {
            let text = fs::read_to_string(&file).expect("a report");
            (file.display().to_string(), text)
        })
        .collect()
}

#[test]
fn every_incident_is_a_page_with_the_lines_that_prove_it() {
    let mut proven = [0, 0];
    for (name, text) in incidents() {
        let report: IncidentsReport = case(&text);
        for (incident, page) in incident_pages(&report) {
            let text = parsed(&page).unwrap_or_else(|e| panic!("{name}: {e}"));
            let hold = |word: &&str| page.contains(word);
            let nowhere = ["http:", "https:", "<script", "url(", "NaN", "inf%"];
            assert_eq!(nowhere.iter().find(|word| hold(word)), None, "{name}");
            for there in [incident.trigger.as_str(), "The heads' logs and clocks"] {
                assert!(text.contains(&there.replace('\'', "&")), "{name}: {there}");
            }
            for service in &incident.services {
                for phase in &service.phases {
                    let [begins, ends] = hawser_account::incident::proof(incident, service, phase);
                    proven[0] += usize::from(!begins.is_empty() || !ends.is_empty());
                    proven[1] += 1;
                }
            }
        }
    }
    // A phase that neither begins nor ends with a line is one between two rules.
    assert!(
        proven[1] > 50 && proven[0] * 20 > proven[1] * 19,
        "{proven:?}"
    );
}

#[test]
fn the_page_of_a_power_cut_quotes_the_line_that_gave_the_token_up() {
    let (_, text) = incidents()
        .into_iter()
        .find(|(name, _)| name.ends_with("/power-cut.json"))
        .unwrap();
    let report = IncidentsReport {
        read_at: Some(1_795_346_100),
        ..case(&text)
    };
    let (_, page) = &incident_pages(&report)[0];
    for there in [
        "<h3>token loss: 1.000 s, on head2</h3><p class=\"muted\">It begins at 0.000 s: no line is written then, a rule of \
         docs/outage.md says so.</p><p class=\"muted\">It ends at 1.000 s with:</p><pre>head2 corosync.log: Nov 22 11:14:13.903",
        "token timed out (1000ms)",
        "vmpool01 was away for 5.548 s, until it stood on head2.",
        "Why it happened is not in these logs.",
        "Read 2026-11-22 11:15:00 UTC by Hawser 0.1.0",
        "<td class=\"number\">+0.000 s</td>",
    ] {
        assert!(page.contains(there), "{there}\n{page}");
    }
}

/// An incident, and what a head's watch read around it.
fn switchover_with_readings() -> String {
    let all = incidents();
    let mut texts = all
        .iter()
        .filter(|(name, _)| name.ends_with("/switchover.json"));
    let (_, text) = texts.next().expect("the case");
    let mut report: Value = case(text);
    let alarm = json!({ "code": "link-down", "severity": "error", "where": { "host": "head1", "link": "ring1" },
        "since": 7, "times": 1, "text": "ring1 of head1 has no carrier" });
    report["incidents"][0]["readings"] = json!([{
        "host": "head1",
        "first_s": -60.0,
        "first": [
            { "pool": { "name": "tank", "here": true, "used_percent": 7 } },
            { "exports": { "pool": "tank", "offered": false, "missing": ["lun 3"] } },
        ],
        "changes": [
            { "at_s": 0.001, "what": { "now": { "alarm": alarm } } },
            { "at_s": 0.5, "what": { "clock-stepped": -3600.0 } },
            { "at_s": 9.0, "what": { "gone": { "alarm": ["link-down", { "host": "head1" }] } } },
        ],
    }]);
    report.to_string()
}

#[test]
fn what_a_watch_read_stands_among_the_lines() {
    let report: IncidentsReport = case(&switchover_with_readings());
    let (_, page) = &incident_pages(&report)[0];
    let text = parsed(page).unwrap();
    for there in [
        "As head1 read it -60.000 s from the beginning",
        "pool tank is here, 7 % full; the exports of tank are missing: lun 3.",
        "alarm: error link-down: ring1 of head1 has no carrier",
        "the clock was stepped by -3600.000 s",
        "ended: link-down: head1",
    ] {
        assert!(text.contains(there), "{there}: {text}");
    }
}

#[test]
fn a_tune_shows_its_windows_its_proof_and_the_way_back() {
    let page = page(&case(&tune()), "case.json");
    sound("tune", &page);
    for there in [
        "<h2>What was tried</h2>",
        "The windows of",
        "The proof: the same check before and after",
        "not tried",
        "rolled back",
        "hawser undo --all --lab demo",
        "sysctl -w net.core.rmem_default=4096",
        "rm -- /etc/sysctl.d/60-hawser.conf",
    ] {
        assert!(page.contains(there), "{there}");
    }
}

#[test]
fn a_page_names_its_case_and_the_command_that_made_it() {
    let mut case: Case = case(&tune());
    case.command = Some("hawser tune --lab 'a b' <script>".into());
    let page = page(&case, "a <b>.json");
    sound("named", &page);
    for there in [
        "Made by: hawser tune --lab &#39;a b&#39; &lt;script&gt;",
        "the case file a &lt;b&gt;.json",
        "<code>hawser explain &#39;a &lt;b&gt;.json&#39;</code>",
    ] {
        assert!(page.contains(there), "{there}: {page}");
    }
}

#[test]
fn a_tune_shows_what_a_change_did_besides() {
    let mut case: Case = case(&tune());
    let tuning = case.tuning.as_mut().unwrap();
    let trial = tuning.trials.iter_mut().find(|t| t.kept).unwrap();
    for pair in &mut trial.pairs {
        (pair.without.delay, pair.with.delay) = (Some(-7_000_000_000), Some(-6_998_000_000));
    }
    let gained = RingGain {
        token_lost: Some(0),
        retransmits: Some(4),
    };
    trial.corosync.insert("head1".into(), gained);
    let page = page(&case, "case.json");
    for there in [
        "Besides: delay +2.00 ms",
        "Corosync on head1: messages sent again × 4",
    ] {
        assert!(page.contains(there), "{there}");
    }
    assert!(!page.contains("token lost"));
}

#[test]
fn the_same_case_is_the_same_page() {
    let case: Case = case(&tune());
    assert_eq!(page(&case, "case.json"), page(&case, "case.json"));
}

#[test]
fn a_picture_can_be_read_aloud() {
    let page = page(&case(&tune()), "case.json");
    let pictures = page.matches("role=\"img\"").count();
    assert!(pictures > 1);
    assert_eq!(pictures, page.matches("<desc id=").count());
    assert_eq!(pictures, page.matches("<title id=").count());
}

/// A case, and every string in it that may be another one without its being no case any more.
struct Victim {
    case: Value,
    free: Vec<String>,
}

impl Victim {
    fn new<T: DeserializeOwned>(text: &str) -> Self {
        let case: Value = serde_json::from_str(text).expect("JSON");
        let mut free = Vec::new();
        strings(&case, &mut free);
        free.sort();
        free.dedup();
        free.retain(|s| {
            let only = BTreeMap::from([(s.as_str(), "x<y\"z".to_owned())]);
            serde_json::from_value::<T>(renamed(&case, &only)).is_ok()
        });
        assert!(free.iter().any(|s| s == "head1"), "hosts have free names");
        Self { case, free }
    }

    /// Every free string replaced, each by its own so that names stay different ones.
    fn hostile<T: DeserializeOwned>(&self, words: &str) -> T {
        let names = self.free.iter().enumerate();
        let names = names
            .map(|(n, s)| (s.as_str(), format!("{words}{n}")))
            .collect();
        serde_json::from_value(renamed(&self.case, &names)).expect("still a case")
    }
}

fn strings(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::String(text) => found.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|v| strings(v, found)),
        Value::Object(fields) => fields.values().for_each(|v| strings(v, found)),
        _ => {}
    }
}

fn renamed(value: &Value, names: &BTreeMap<&str, String>) -> Value {
    let name = |text: &str| names.get(text).cloned().unwrap_or_else(|| text.to_owned());
    match value {
        Value::String(text) => Value::String(name(text)),
        Value::Array(items) => items.iter().map(|v| renamed(v, names)).collect(),
        Value::Object(fields) => {
            let fields = fields.iter().map(|(k, v)| (name(k), renamed(v, names)));
            Value::Object(fields.collect())
        }
        other => other.clone(),
    }
}

static TUNE: LazyLock<Victim> = LazyLock::new(|| Victim::new::<Case>(&tune()));
static DRILL: LazyLock<Victim> =
    LazyLock::new(|| Victim::new::<DrillCase>(&text("drill/two-heads")));

static INCIDENT: LazyLock<Victim> =
    LazyLock::new(|| Victim::new::<IncidentsReport>(&switchover_with_readings()));
static LADDER: LazyLock<Victim> =
    LazyLock::new(|| Victim::new::<Case>(&text("ladder-cipher-below-link")));
static COPY: LazyLock<Victim> =
    LazyLock::new(|| Victim::new::<CopyCase>(&text("copy/retransmits")));

fn hostile() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        prop::sample::select(vec![
            "<script>alert(1)</script>",
            "<img src=x onerror=alert(1)>",
            "</title>",
            "</style>",
            "</svg>",
            "]]>",
            "<!--",
            "-->",
            "<![CDATA[",
            "<?x",
            "\" onload=\"alert(1)",
            "'",
            "&lt;",
            "&",
            "`",
            "\n",
            "\u{0}",
            "\u{202e}",
            "\u{ffff}",
            "😀",
        ])
        .prop_map(str::to_owned),
        any::<char>().prop_map(String::from),
    ];
    prop::collection::vec(piece, 0..6).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn no_name_is_markup(words in hostile()) {
        let pages = [
            page(&TUNE.hostile(&words), "case.json"),
            page(&LADDER.hostile(&words), "case.json"),
            copy_page(&COPY.hostile(&words), "case.json"),
            drill_page(&DRILL.hostile(&words), "case.json"),
        ];
        let incident = INCIDENT.hostile(&words);
        let incident = incident_pages(&incident).into_iter().map(|(_, page)| page);
        for page in pages.into_iter().chain(incident) {
            if let Err(e) = parsed(&page) {
                return Err(TestCaseError::fail(e));
            }
        }
    }
}

//! The alert rules and the board that are shipped, held against what a watch serves. What only Prometheus' own `promtool`
//! can judge is skipped where that is not installed, and says so.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::served::served;
use hawser_tool::{Tool, is_installed};
use hawser_watch::site::cause_page;
use serde_json::Value;

const RULES: &str = include_str!("../../../../packaging/prometheus/hawser.rules.yml");
const CASES: &str = include_str!("../../../../packaging/prometheus/hawser.rules.test.yml");
const BOARD: &str = include_str!("../../../../packaging/grafana/hawser.json");
const PAGE: &str = include_str!("../../../../docs/watch.md");

/// What the scrape configuration adds.
const ADDED: &[&str] = &["cluster", "head", "instance", "job"];

fn samples(served: &str) -> impl Iterator<Item = &str> {
    served.lines().filter(|line| !line.starts_with('#'))
}

/// The names of the metrics that are served.
fn metrics(served: &str) -> BTreeSet<&str> {
    samples(served)
        .filter_map(|line| line.split(['{', ' ']).next())
        .collect()
}

/// Words of a text that are names of Hawser's metrics, or are meant to be.
fn named(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .filter(|word| word.starts_with("hawser_"))
}

/// Each text that stands between these two.
fn between<'a>(text: &'a str, before: &'a str, after: &'a [char]) -> impl Iterator<Item = &'a str> {
    let rest = text.split(before).skip(1);
    rest.map(move |rest| rest.split(after).next().unwrap_or(rest))
}

/// The panels of the board that ask for something.
fn panels() -> Vec<Value> {
    let board: Value = serde_json::from_str(BOARD).unwrap();
    let panels = board["panels"].as_array().unwrap().clone();
    panels
        .into_iter()
        .filter(|panel| panel["type"] != "row")
        .collect()
}

/// What they ask for.
fn questions() -> Vec<String> {
    let panels = panels();
    let targets = panels
        .iter()
        .flat_map(|panel| panel["targets"].as_array().unwrap());
    let of = |target: &Value| target["expr"].as_str().unwrap().to_owned();
    targets.map(of).collect()
}

#[test]
fn rules_board_and_page_name_only_metrics_that_are_served() {
    let served = served();
    let metrics = metrics(&served);
    for (file, text) in [
        ("rules", RULES),
        ("cases", CASES),
        ("board", BOARD),
        ("page", PAGE),
    ] {
        let unknown: Vec<&str> = named(text).filter(|name| !metrics.contains(name)).collect();
        assert_eq!(unknown, Vec::<&str>::new(), "{file}");
    }
    assert!(named(RULES).count() > 10);
}

#[test]
fn the_page_names_each_metric_in_full_or_by_its_end() {
    let served = served();
    let ticked: Vec<&str> = PAGE.split('`').skip(1).step_by(2).collect();
    for metric in metrics(&served) {
        let is =
            |word: &&str| *word == metric || (word.starts_with('_') && metric.ends_with(*word));
        assert!(ticked.iter().any(is), "{metric}");
    }
}

#[test]
fn labels_that_rules_and_board_use_are_served_or_added_by_the_scrape_configuration() {
    let served = served();
    let labels = samples(&served).flat_map(|line| {
        let all = line.split_once('{').map_or("", |(_, all)| all);
        all.split("=\"")
            .filter_map(|before| before.rsplit(['"', ',']).next())
    });
    let known: BTreeSet<&str> = labels.chain(ADDED.iter().copied()).collect();
    let legends: Vec<Value> = panels();
    let legends = legends
        .iter()
        .flat_map(|panel| panel["targets"].as_array().unwrap());
    let legends: Vec<String> = legends
        .map(|target| target["legendFormat"].as_str().unwrap().to_owned())
        .collect();
    let of_legends = legends
        .iter()
        .flat_map(|legend| between(legend, "{{", &['}']));
    let of_links = between(BOARD, "${__data.fields.", &['}']);
    let of_rules = between(RULES, "$labels.", &[' ', '}']);
    for label in of_legends.chain(of_links).chain(of_rules) {
        assert!(known.contains(label), "{label}: {known:?}");
    }
}

#[test]
fn each_alert_says_how_bad_it_is_what_it_is_and_links_to_a_page_that_is_there() {
    let alerts: Vec<&str> = RULES.split("- alert: ").skip(1).collect();
    assert!(alerts.len() > 10);
    for alert in &alerts {
        for field in ["severity", "summary: ", "description: "] {
            assert!(alert.contains(field), "{field}: {alert}");
        }
    }
    let labels = between(RULES, "\n          code: ", &['\n']);
    let links = between(RULES, "/explain/", &['\'']);
    for code in labels.chain(links.filter(|code| !code.starts_with('{'))) {
        assert!(cause_page(code).is_some(), "{code}");
    }
}

#[test]
fn each_alert_has_a_case_in_which_it_is_said_and_one_in_which_it_is_not() {
    for name in between(RULES, "- alert: ", &['\n']) {
        let said = format!("alertname: {name}\n        exp_alerts:\n");
        let silent = format!("alertname: {name}}}\n");
        assert!(CASES.contains(&said), "{name} is never said");
        assert!(CASES.contains(&silent), "{name} is never silent");
    }
}

#[test]
fn the_panels_of_the_board_have_a_title_an_own_number_and_an_own_place() {
    let mut numbers = BTreeSet::new();
    let mut taken = BTreeSet::new();
    for panel in panels() {
        let title = panel["title"].as_str().unwrap();
        assert!(numbers.insert(panel["id"].as_u64().unwrap()), "{title}");
        let [x, y, w, h] = ["x", "y", "w", "h"].map(|key| panel["gridPos"][key].as_u64().unwrap());
        assert!(x + w <= 24, "{title}");
        for place in (x..x + w).flat_map(|x| (y..y + h).map(move |y| (x, y))) {
            assert!(taken.insert(place), "{title} lies on another");
        }
    }
}

/// Whether there is a promtool; else says that this test is skipped.
fn promtool_for(test: &str) -> bool {
    let there = is_installed("promtool");
    if !there {
        // Past the harness, which keeps what a test that passes prints.
        let line = format!("\nskipped: {test}: no promtool here (packaging/setup prometheus)\n");
        std::io::stderr().write_all(line.as_bytes()).unwrap();
    }
    there
}

fn promtool(arguments: &[&str], input: &str) -> Result<String, String> {
    let tool = Tool::new("promtool").args(arguments).input(input);
    let output = tool.output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said).into_owned();
    match output.status.success() {
        true => Ok(said),
        false => Err(said),
    }
}

fn path(name: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.join(name)
}

#[test]
fn promtool_takes_the_rules_and_they_say_what_their_cases_expect() {
    if !promtool_for("promtool_takes_the_rules_and_they_say_what_their_cases_expect") {
        return;
    }
    let rules = path("packaging/prometheus/hawser.rules.yml");
    let cases = path("packaging/prometheus/hawser.rules.test.yml");
    let rules = rules.to_str().unwrap();
    promtool(&["check", "rules", "--lint-fatal", rules], "").unwrap();
    promtool(&["test", "rules", cases.to_str().unwrap()], "").unwrap();
    // A rule that never fires is found.
    let folder = tempfile::tempdir().unwrap();
    let broken = RULES.replace("hawser_quorate == 0", "hawser_quorate == 2");
    std::fs::write(folder.path().join("hawser.rules.yml"), broken).unwrap();
    let copy = folder.path().join("hawser.rules.test.yml");
    std::fs::write(&copy, CASES).unwrap();
    let said = promtool(&["test", "rules", copy.to_str().unwrap()], "").unwrap_err();
    assert!(said.contains("alertname: HawserNoQuorum"), "{said}");
}

#[test]
fn promtool_can_read_what_each_panel_asks() {
    if !promtool_for("promtool_can_read_what_each_panel_asks") {
        return;
    }
    let mut rules = "groups:\n  - name: board\n    rules:\n".to_owned();
    for (n, question) in questions().iter().enumerate() {
        let question = question.replace("$cluster", ".*");
        let question = question.replace("$__rate_interval", "1m");
        let question = serde_json::to_string(&question).unwrap();
        rules += &format!("      - record: panel:{n}\n        expr: {question}\n");
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("board.yml");
    std::fs::write(&file, rules).unwrap();
    promtool(&["check", "rules", file.to_str().unwrap()], "").unwrap();
}

/// The same in Prometheus' older text format, the only one that `promtool check metrics` reads: there a family of counters
/// has the name of its samples, and an info is a gauge.
fn classic(served: &str) -> String {
    let end = |kind: &str| match kind {
        "counter" => "_total",
        "info" => "_info",
        _ => "",
    };
    let mut kinds: Vec<(&str, &str)> = between(served, "# TYPE ", &['\n'])
        .filter_map(|line| line.split_once(' '))
        .collect();
    // The longest first: one name may begin another.
    kinds.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
    let lines = served.lines().filter(|line| *line != "# EOF");
    let lines = lines.map(|line| {
        let (name, kind) = kinds
            .iter()
            .find(|(name, _)| line.starts_with('#') && line.contains(&format!(" {name} ")))
            .copied()
            .unwrap_or_default();
        match name.is_empty() {
            true => line.to_owned() + "\n",
            false => {
                let own = format!(" {name} ");
                let whole = format!(" {name}{} ", end(kind));
                line.replacen(&own, &whole, 1).replace(" info", " gauge") + "\n"
            }
        }
    });
    lines.collect()
}

#[test]
fn promtool_finds_nothing_wrong_with_what_is_served() {
    if !promtool_for("promtool_finds_nothing_wrong_with_what_is_served") {
        return;
    }
    let text = classic(&served());
    let said = promtool(&["check", "metrics"], &text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    assert_eq!(said.trim(), "");
    let planted = text.replace("_latency_seconds", "_latency_milliseconds");
    promtool(&["check", "metrics"], &planted).unwrap_err();
}

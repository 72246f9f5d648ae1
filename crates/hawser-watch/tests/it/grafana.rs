//! The board for Grafana, which no test here can open: that Grafana finds in it what it needs, and in the metrics of a watch what
//! each of its panels asks for.

use std::collections::{BTreeMap, BTreeSet};

use crate::served::served;
use serde_json::{Value, json};

const BOARD: &str = include_str!("../../../../packaging/grafana/hawser.json");

/// What the scrape configuration adds to each sample.
const ADDED: [&str; 4] = ["cluster", "head", "instance", "job"];

/// The panels that Grafana 9 and later has of itself, of those that may be here.
const KINDS: [&str; 5] = ["row", "stat", "state-timeline", "table", "timeseries"];

type Labels = BTreeMap<String, BTreeSet<String>>;

/// The labels of each metric that is served.
fn labels(served: &str) -> Labels {
    let mut all = Labels::new();
    for line in served.lines().filter(|line| !line.starts_with('#')) {
        let (name, rest) = line.split_once(['{', ' ']).unwrap();
        let labels = all.entry(name.to_owned()).or_default();
        labels.extend(ADDED.map(str::to_owned));
        let (inside, _) = rest.rsplit_once('}').unwrap_or_default();
        let named = inside
            .split("=\"")
            .filter_map(|it| it.rsplit(['"', ',', ' ']).next());
        labels.extend(named.filter(|it| !it.is_empty()).map(str::to_owned));
    }
    all
}

/// Names in a question that are followed by one of these, with what stands in the brackets.
fn called<'a>(question: &'a str, name: &str, open: char, close: char) -> Vec<&'a str> {
    let after = question.split(name).skip(1);
    let inside = after.filter_map(|it| it.trim_start().strip_prefix(open)?.split_once(close));
    inside.map(|(inside, _)| inside).collect()
}

/// What is wrong with one question: a metric or a label that no sample has.
fn question(expr: &str, legend: &str, labels: &Labels) -> Vec<String> {
    let mut wrong = Vec::new();
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let metrics = expr
        .split(|c| !is_name(c))
        .filter(|it| it.starts_with("hawser_"));
    let metrics: BTreeSet<&str> = metrics.collect();
    if metrics.is_empty() {
        wrong.push(format!("{expr} asks for nothing of Hawser's"));
    }
    let grouped = called(expr, "by", '(', ')');
    let names = |inside: &str| -> Vec<String> {
        let names = inside
            .split(',')
            .filter_map(|it| it.split(['=', '!', '~']).next());
        names.map(|it| it.trim().to_owned()).collect()
    };
    let in_legend = legend
        .split("{{")
        .skip(1)
        .filter_map(|it| it.split("}}").next());
    let in_legend: BTreeSet<String> = in_legend.map(str::to_owned).collect();
    for metric in metrics {
        let Some(known) = labels.get(metric) else {
            wrong.push(format!("{metric} is not served"));
            continue;
        };
        let selected = called(expr, metric, '{', '}');
        let asked = selected.iter().chain(&grouped).flat_map(|it| names(it));
        for label in asked.chain(in_legend.iter().cloned()) {
            if !known.contains(&label) {
                wrong.push(format!("{metric} has no label {label}"));
            }
        }
    }
    for grouped in &grouped {
        let left: BTreeSet<String> = names(grouped).into_iter().collect();
        wrong.extend(
            in_legend
                .difference(&left)
                .map(|it| format!("{it} is not left by {grouped}")),
        );
    }
    wrong
}

/// What Grafana would not find in a board (its schema of dashboards, `kinds/dashboard`), or a panel not in the metrics.
fn wrong(board: &Value, labels: &Labels) -> Vec<String> {
    let mut wrong = Vec::new();
    for field in ["title", "uid"] {
        if board[field].as_str().is_none_or(str::is_empty) {
            wrong.push(format!("no {field}"));
        }
    }
    if board["schemaVersion"].as_u64().is_none_or(|it| it < 36) {
        wrong.push("no schemaVersion".to_owned());
    }
    let variables = board["templating"]["list"].as_array();
    let variables = variables.into_iter().flatten();
    let variables: Vec<&str> = variables.filter_map(|it| it["name"].as_str()).collect();
    let mut ids = BTreeSet::new();
    for panel in board["panels"].as_array().into_iter().flatten() {
        let title = panel["title"].as_str().unwrap_or_default();
        let kind = panel["type"].as_str().unwrap_or_default();
        let mut say = |what: &str| wrong.push(format!("panel {title}: {what}"));
        if title.is_empty() || !KINDS.contains(&kind) {
            say(&format!("title or type {kind}"));
        }
        if panel["id"].as_u64().is_none_or(|id| !ids.insert(id)) {
            say("no id of its own");
        }
        if ["x", "y", "w", "h"]
            .iter()
            .any(|it| panel["gridPos"][it].as_u64().is_none())
        {
            say("no gridPos");
        }
        if kind == "row" {
            continue;
        }
        if !panel["fieldConfig"]["defaults"].is_object()
            || !panel["fieldConfig"]["overrides"].is_array()
        {
            say("no fieldConfig");
        }
        if !panel["options"].is_object() {
            say("no options");
        }
        if panel["datasource"]["uid"] != "${datasource}"
            || panel["datasource"]["type"] != "prometheus"
        {
            say("another datasource");
        }
        let targets = panel["targets"].as_array().map_or(&[][..], Vec::as_slice);
        let refs: BTreeSet<&str> = targets
            .iter()
            .filter_map(|it| it["refId"].as_str())
            .collect();
        if targets.is_empty() || refs.len() < targets.len() {
            say("no refId of its own in each target");
        }
        for target in targets {
            let [expr, legend] = ["expr", "legendFormat"].map(|it| target[it].as_str());
            let expr = expr.unwrap_or_default();
            for found in question(expr, legend.unwrap_or_default(), labels) {
                say(&found);
            }
            let used = expr.split('$').skip(1);
            for variable in used.map(|it| {
                it.split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
                    .next()
            }) {
                let variable = variable.unwrap_or_default();
                if !variable.starts_with("__") && !variables.contains(&variable) {
                    say(&format!("no variable {variable}"));
                }
            }
        }
    }
    if !variables.contains(&"datasource") || ids.len() < 10 {
        wrong.push("no datasource, or no panels".to_owned());
    }
    wrong
}

#[test]
fn the_board_has_what_grafana_needs_and_asks_for_what_a_watch_serves() {
    let board: Value = serde_json::from_str(BOARD).unwrap();
    assert_eq!(wrong(&board, &labels(&served())), Vec::<String>::new());
}

#[test]
fn what_grafana_would_not_find_is_found() {
    let labels = labels(&served());
    let board: Value = serde_json::from_str(BOARD).unwrap();
    let at = |title: &str| {
        let panels = board["panels"].as_array().unwrap();
        let found = panels.iter().position(|it| it["title"] == title);
        format!("/panels/{}", found.unwrap())
    };
    let (links, here) = (at("Links"), at("Offered as they were started"));
    let trip = at("Round trip");
    let planted = [
        ("/uid".to_owned(), json!("")),
        ("/schemaVersion".to_owned(), json!("39")),
        ("/templating/list".to_owned(), json!([])),
        (format!("{links}/type"), json!("statetimeline")),
        (format!("{links}/id"), json!(1)),
        (format!("{links}/options"), json!(null)),
        (format!("{links}/fieldConfig"), json!({})),
        (format!("{links}/datasource/uid"), json!("prometheus")),
        (format!("{links}/gridPos/w"), json!(null)),
        (format!("{links}/targets/0/refId"), json!(null)),
        (
            format!("{links}/targets/0/expr"),
            json!("hawser_heartbeat_link_ups"),
        ),
        (
            format!("{links}/targets/0/expr"),
            json!("hawser_heartbeat_link_up{peers=~\"$cluster\"}"),
        ),
        (
            format!("{links}/targets/0/expr"),
            json!("hawser_heartbeat_link_up{cluster=~\"$clusters\"}"),
        ),
        // A label that another metric has.
        (
            format!("{trip}/targets/0/legendFormat"),
            json!("{{interface}}"),
        ),
        (format!("{here}/targets/0/legendFormat"), json!("{{head}}")),
        (
            format!("{here}/targets/0/expr"),
            json!("max by (link) (hawser_pool_offered)"),
        ),
    ];
    for (place, value) in planted {
        let mut board = board.clone();
        *board.pointer_mut(&place).unwrap() = value.clone();
        assert!(!wrong(&board, &labels).is_empty(), "{place} {value}");
    }
}

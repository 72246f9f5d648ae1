//! The published schemas are what the types say. `UPDATE_SCHEMAS=1 cargo test -p hawser-model`
//! writes them again; a human reads the diff, since scripts rely on them.

use std::path::Path;

use hawser_model::case::Case;
use hawser_model::copy::CopyCase;
use hawser_model::drill::DrillCase;
use hawser_model::output::clients::ClientsReport;
use hawser_model::output::compare::CompareReport;
use hawser_model::output::copy::CopyReport;
use hawser_model::output::drill::DrillReport;
use hawser_model::output::exports::ExportsReport;
use hawser_model::output::fanout::FanoutReport;
use hawser_model::output::incident::{IncidentsReport, ListedIncident};
use hawser_model::output::tune::{ChangesReport, TuneReport, UndoReport};
use hawser_model::output::watch::WatchReading;
use hawser_model::output::{CheckReport, LadderReport};
use schemars::{Schema, schema_for};

#[track_caller]
fn published(name: &str, schema: &Schema) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../docs/schema")
        .join(name);
    let text = serde_json::to_string_pretty(schema).unwrap() + "\n";
    if std::env::var_os("UPDATE_SCHEMAS").is_some() {
        std::fs::write(&path, text).unwrap();
        return;
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        found == text,
        "{} is not what the types say; UPDATE_SCHEMAS=1 cargo test -p hawser-model rewrites it",
        path.display()
    );
}

#[test]
fn check_report() {
    published("check.schema.json", &schema_for!(CheckReport));
}

#[test]
fn incident_list() {
    published(
        "incident-list.schema.json",
        &schema_for!(Vec<ListedIncident>),
    );
}

#[test]
fn incidents_report() {
    published("incidents.schema.json", &schema_for!(IncidentsReport));
}

#[test]
fn watch_reading() {
    published("watch.schema.json", &schema_for!(WatchReading));
}

#[test]
fn ladder_report() {
    published("ladder.schema.json", &schema_for!(LadderReport));
}

#[test]
fn compare_report() {
    published("compare.schema.json", &schema_for!(CompareReport));
}

#[test]
fn clients_report() {
    published("clients.schema.json", &schema_for!(ClientsReport));
}

#[test]
fn fanout_report() {
    published("fanout.schema.json", &schema_for!(FanoutReport));
}

#[test]
fn tune_report() {
    published("tune.schema.json", &schema_for!(TuneReport));
}

#[test]
fn changes_report() {
    published("changes.schema.json", &schema_for!(ChangesReport));
}

#[test]
fn undo_report() {
    published("undo.schema.json", &schema_for!(UndoReport));
}

#[test]
fn operate_output() {
    published(
        "operate.schema.json",
        &schema_for!(hawser_model::output::cluster::OperateOutput),
    );
}

#[test]
fn apply_output() {
    published(
        "apply.schema.json",
        &schema_for!(hawser_model::output::cluster::ApplyOutput),
    );
}

#[test]
fn plan_output() {
    published(
        "plan.schema.json",
        &schema_for!(hawser_model::output::cluster::PlanOutput),
    );
}

#[test]
fn saved_plan() {
    published(
        "saved-plan.schema.json",
        &schema_for!(hawser_model::saved_plan::SavedPlan),
    );
}

#[test]
fn cluster_status() {
    published(
        "status.schema.json",
        &schema_for!(hawser_model::output::cluster::ClusterStatus),
    );
}

#[test]
fn case_file() {
    published("case.schema.json", &schema_for!(Case));
}

#[test]
fn copy_report() {
    published("copy.schema.json", &schema_for!(CopyReport));
}

#[test]
fn copy_case() {
    published("copy-case.schema.json", &schema_for!(CopyCase));
}

#[test]
fn drill_report() {
    published("drill.schema.json", &schema_for!(DrillReport));
}

#[test]
fn drill_case() {
    published("drill-case.schema.json", &schema_for!(DrillCase));
}

#[test]
fn cluster_file() {
    published(
        "hawser-toml.schema.json",
        &hawser_model::cluster_file::schema(),
    );
}

#[test]
fn exports_report() {
    published("exports.schema.json", &schema_for!(ExportsReport));
}

#[test]
fn paste_report() {
    published(
        "paste.schema.json",
        &schema_for!(hawser_model::output::paste::PasteReport),
    );
}

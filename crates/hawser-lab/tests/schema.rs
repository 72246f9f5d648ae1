//! The published schemas are what the types say. `UPDATE_SCHEMAS=1 cargo test -p hawser-lab`
//! writes them again; a human reads the diff, since scripts rely on them.

use std::path::Path;

use hawser_lab::machines::image::ImageStatus;
use hawser_lab::{LabStatus, LabSummary};
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
        "{} is not what the types say; UPDATE_SCHEMAS=1 cargo test -p hawser-lab rewrites it",
        path.display()
    );
}

#[test]
fn lab_list() {
    published("lab-list.schema.json", &schema_for!(Vec<LabSummary>));
}

#[test]
fn lab_images() {
    published("lab-images.schema.json", &schema_for!(Vec<ImageStatus>));
}

#[test]
fn lab_status() {
    published("lab-status.schema.json", &schema_for!(LabStatus));
}

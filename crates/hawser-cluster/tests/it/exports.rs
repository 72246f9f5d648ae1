//! `exports.toml`: its schema.

use std::path::Path;

use crate::golden::compare;

#[test]
fn the_published_schema_is_what_the_types_say() {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schema/exports-toml.schema.json");
    let text = serde_json::to_string_pretty(&hawser_cluster::exports::schema()).unwrap() + "\n";
    compare(&path, &text);
}

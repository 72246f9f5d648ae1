//! What a command prints as JSON is held against its published schema wherever a test reads it.

use std::fs;
use std::path::Path;

use serde_json::Value;

use super::Ran;

/// What a command printed, held against `docs/schema/SCHEMA.schema.json`.
#[track_caller]
pub fn json(ran: &Ran, schema: &str) -> Value {
    let value: Value = serde_json::from_str(&ran.stdout)
        .unwrap_or_else(|e| panic!("no JSON ({e}): {}\n{}", ran.stdout, ran.stderr));
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../docs/schema")
        .join(format!("{schema}.schema.json"));
    let text = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let published: Value = serde_json::from_str(&text).expect("a published schema is JSON");
    let wrong: Vec<String> = jsonschema::validator_for(&published)
        .expect("a published schema is a schema")
        .iter_errors(&value)
        .map(|e| format!("{}: {e}", e.instance_path))
        .collect();
    assert!(wrong.is_empty(), "not as {schema} says: {wrong:?}");
    value
}

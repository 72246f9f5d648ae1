//! The published schema of `hawser bench cipher --json` is what the types say.
//! `UPDATE_SCHEMAS=1 cargo test -p hawser-cipher --test schema` writes it again; a human reads the diff.

use std::path::Path;

use hawser_cipher::bench::Row;
use schemars::schema_for;

#[test]
fn bench_cipher() {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schema/bench-cipher.schema.json");
    let text = serde_json::to_string_pretty(&schema_for!(Vec<Row>)).unwrap() + "\n";
    if std::env::var_os("UPDATE_SCHEMAS").is_some() {
        std::fs::write(&path, text).unwrap();
        return;
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        found == text,
        "{} is not what the types say; UPDATE_SCHEMAS=1 cargo test -p hawser-cipher --test schema rewrites it",
        path.display()
    );
}
